"""Write the man pages of all commands, from their help, into `man`; run it after a change of a help text.

They are kept with the sources: to write them takes all that the program imports, which a build of the wheel has not.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click_man.man import ManPage  # type: ignore[import-untyped]

from reconciler import __version__
from reconciler.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = Path(__file__).parents[1] / ".github" / "man"
UNWRAPPED = "\b\n"
"""What click has at the beginning of a paragraph whose lines stay as they are."""


def pages(command: click.Command = cli, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """The name of each page, such as `reconciler-state-init.1`, and its text."""
    context = click.Context(command, info_name=command.name if parent else "reconciler", parent=parent)
    yield f"{context.command_path.replace(' ', '-')}.1", page(context)
    for _, member in members(context):
        yield from pages(member, context)


def page(context: click.Context) -> str:
    """The page of one command."""
    command = context.command
    help_text = cleandoc(command.help or "")
    man = ManPage(context.command_path)
    man.short_help = escaped(line(command))
    man.synopsis = " ".join(command.collect_usage_pieces(context))
    paragraphs = [*help_text.split("\n\n"), *filter(None, [command.epilog])]
    man.description = "\n.PP\n".join(map(paragraph, paragraphs))
    options = (option.get_help_record(context) for option in command.params if isinstance(option, click.Option))
    man.options = [(record[0], escaped(record[1])) for record in options if record]
    man.commands = [(name, escaped(line(member))) for name, member in members(context)]
    name = man.command.replace(" ", "-")
    # Without a date: the pages of a version are the same whenever they are written.
    title = f'.TH "{name.upper()}" "1" "" "reconciler {__version__}" "reconciler manual"'
    text = str(man).partition("\n")[2].replace(f"See \\fB{man.command}-", f"See \\fB{name}-")
    return f"{title}\n{text}"


def members(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """The commands of a group by name; none of another command."""
    group = context.command
    for name in group.list_commands(context) if isinstance(group, click.Group) else ():
        if (member := group.get_command(context, name)) is not None:
            yield name, member


def line(command: click.Command) -> str:
    """The first paragraph of the help of a command, on one line."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


def paragraph(text: str) -> str:
    """A paragraph of a help text, filled unless it is marked to stay as it is."""
    if text.startswith(UNWRAPPED):
        return f".nf\n{escaped(text.removeprefix(UNWRAPPED))}\n.fi"
    return escaped(text)


def escaped(text: str) -> str:
    """Text as roff has it: nothing in it is a request, and a minus stays one."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\&", text, flags=re.MULTILINE)


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.glob("*.1"):
        old.unlink()
    for file, content in pages():
        (PAGES / file).write_text(content, encoding="utf-8")
