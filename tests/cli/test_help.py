"""Every command says what it does, in the same words wherever it is named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from reconciler import __version__
from reconciler.cli.lazy import LazyGroup
from reconciler.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.project import Project


def walk(group: LazyGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, click.Command]]:
    """Every command below a group: its words, its line in the help of its group, and itself."""
    context = click.Context(group)
    for name, line in group.table.items():
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), line, command
        if isinstance(command, LazyGroup):
            yield from walk(command, (*path, name))


COMMANDS = list(walk(cli))


def one_line(text: str) -> str:
    """The text however it was wrapped."""
    return " ".join(text.split())


@pytest.mark.parametrize(("path", "line", "command"), COMMANDS, ids=[" ".join(path) for path, *_ in COMMANDS])
class TestEveryCommand:
    """What holds for each of them."""

    def test_its_line_is_its_first_sentence(self, path: tuple[str, ...], line: str, command: click.Command) -> None:
        """The one rule for the lines in the tables: the first paragraph of the command's own help."""
        assert line == one_line((command.help or "").partition("\n\n")[0])

    def test_every_option_has_help(self, path: tuple[str, ...], line: str, command: click.Command) -> None:
        """An option without a word is none."""
        mute = [one.name for one in command.params if isinstance(one, click.Option) and not one.help]
        assert [] == mute

    def test_help(self, project: Project, path: tuple[str, ...], line: str, command: click.Command) -> None:
        """`--help` works from nowhere, names every option, and begins with the first sentence."""
        project.environment["COLUMNS"] = "200"
        done = project.step(*path, "--help")
        assert done.err == ""
        assert done.out.startswith(f"Usage: reconciler {' '.join(path)} ")
        assert line in one_line(done.out)
        options = {name for one in command.params if isinstance(one, click.Option) for name in one.opts}
        assert set() == {name for name in options if not re.search(rf"(?<![\w-]){name}\b", done.out)}


@pytest.mark.parametrize("words", [["plan"], ["state"], ["state", "list"]], ids=" ".join)
def test_common_options_are_explained_once(project: Project, words: list[str]) -> None:
    """By the root; the help of a command names them in one line."""
    project.environment["COLUMNS"] = "200"
    text = project.step(*words, "--help").out
    names = "--config --state --cache-dir --timeout --parallelism --color -v/--verbose -q/--quiet --log-format"
    assert names in one_line(text)
    assert "Common options, see `reconciler --help`:" in text
    for sentence in ("Desired state: a directory or a file.", "Errors only on stderr."):
        assert (False, True) == (sentence in text, sentence in project.step("--help").out)


def test_the_root_help_names_every_command(project: Project) -> None:
    """With its line, and with what the exit codes mean."""
    project.environment["COLUMNS"] = "200"
    text = one_line(project.step("-h").out)
    assert [] == [path for path, line, _ in COMMANDS if len(path) == 1 and f"{path[0]} {line}" not in text]
    assert "Exit codes: 0 success; 1 error; 2 " in text


@pytest.mark.parametrize(
    ("columns", "longest"), [("200", 108), ("70", 68), ("60", 58), ("", 78), ("-1", 78), ("x", 78)]
)
def test_the_help_is_as_wide_as_the_terminal(project: Project, columns: str, longest: int) -> None:
    """Or as a terminal is taken to be where there is none; never so wide that lines are hard to follow."""
    project.environment["COLUMNS"] = columns
    widths = {len(line) for line in project.step("apply", "--help").out.splitlines()}
    assert longest - 8 < max(widths) <= longest


def rows_of_the_readme() -> Iterator[tuple[list[tuple[str, ...]], list[str]]]:
    """Each row of the table of commands: the words of its commands, and the lists of formats that it names."""
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    table = readme.partition("\n## Commands\n")[2].partition("\n## ")[0]
    for names, text in re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.MULTILINE):
        first, *others = (tuple(name.split()) for name in re.findall(r"`([^`]+)`", names))
        yield [first, *((*first[:-1], *name) for name in others)], re.findall(r"`--format ([^`]+)`", text)


def test_the_readme_names_every_command_and_its_formats() -> None:
    """In its table of commands, with the formats other than text that `--format` takes."""
    formats: dict[tuple[str, ...], list[str]] = {}
    for path, _, command in COMMANDS:
        choices = [one.type for one in command.params if "--format" in one.opts and isinstance(one.type, click.Choice)]
        if not isinstance(command, click.Group):
            formats[path] = ["\\|".join(form for form in choice.choices if form != "text") for choice in choices]
    rows = list(rows_of_the_readme())
    assert sorted(formats) == sorted(path for paths, _ in rows for path in paths)
    for paths, named in rows:
        assert [form for path in paths for form in formats[path]] == named, paths


@pytest.mark.parametrize("group", [[], ["state"], ["secret"]], ids=" ".join)
def test_without_a_command_there_is_help(project: Project, group: list[str]) -> None:
    """On stderr, since nothing was done."""
    done = project.run_fork(*group)
    assert (1, "") == (done.code, done.out)
    assert done.err.startswith(f"Usage: {' '.join(['reconciler', *group])} [OPTIONS] COMMAND")


def test_version(project: Project) -> None:
    """One line."""
    assert f"reconciler {__version__}\n" == project.step("--version").out
