"""Defines groups that import a command only when it is used, and commands whose help shows examples."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.invocation import GLOBALS, Invocation
from reconciler.cli.streams import columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from click.shell_completion import CompletionItem

Entry = tuple[str, str]
"""The module and name of a command in this package ("plan:plan"), and its line in the help."""
_ONE_DASH = ("-target", "-auto-approve", "-out", "-detailed-exitcode")
"""Options as Terraform writes them. Click would read `-target=X` as `-t arget=X`."""


class Context(click.Context):
    """A context whose help is as wide as stdout, within limits. Click would load `shutil` to find the width."""

    def make_formatter(self) -> click.HelpFormatter:
        return click.HelpFormatter(width=max(min(columns(sys.stdout), 100) - 2, 50))


class Group(click.Group):
    """A group of commands in sections. A section maps each name to a command's entry or to a group."""

    context_class = Context

    def __init__(self, name: str, sections: Mapping[str, Mapping[str, Entry | Group]], **kwargs: Any) -> None:
        super().__init__(name, no_args_is_help=False, **kwargs)
        self.params += GLOBALS
        self.sections = sections
        self.entries = {command: entry for section in sections.values() for command, entry in section.items()}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse empty arguments and option values, which are often caused by unset variables.

        Without arguments, print the help to stderr and exit with 1.
        """
        if any(not word or (word.startswith("--") and word.find("=") == len(word) - 1) for word in args):
            raise click.UsageError("an option or argument is empty", ctx)
        if found := [word for word in args if word.partition("=")[0] in _ONE_DASH]:
            raise click.UsageError(f"{found[0]} has one dash; write -{found[0].partition('=')[0]}", ctx)
        if not args and not ctx.resilient_parsing:
            with suppress(OSError):
                click.echo(ctx.get_help(), err=True)
            ctx.exit(1)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command. For an unknown command, suggest commands with similar names."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            from reconciler.model.address import suggestion  # noqa: PLC0415 - only for an error

            meant = suggestion(args[:1], self.entries)
            raise click.UsageError(f"{problem.message.partition(' Did you')[0].rstrip('.')}{meant}", ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = self.entries.get(cmd_name)
        if entry is None or isinstance(entry, Group):
            return entry
        module, _, name = entry[0].partition(":")
        command = getattr(import_module(f"{__package__}.{module}"), name)
        assert isinstance(command, click.Command)  # noqa: S101 - the table is ours
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete options and the names of commands, without importing the commands."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only if a shell asks

        items = [CompletionItem(name, help=self._line(name)) for name in self.entries if name.startswith(incomplete)]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their sections, then the options. Only the root's help shows the global options."""
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, self._line(name)) for name in section])
        _write_options(self, ctx, formatter, with_globals=ctx.parent is None)

    def _line(self, name: str) -> str:
        entry = self.entries[name]
        return str(entry.short_help) if isinstance(entry, Group) else entry[1]


class Command(click.Command):
    """A command that also accepts the global flags. `examples` are command lines to show in its help."""

    context_class = Context

    def __init__(self, *args: Any, examples: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += GLOBALS
        self.examples = examples

    def invoke(self, ctx: click.Context) -> Any:
        assert self.callback is not None  # noqa: S101 - each command is a function
        return ctx.invoke(self.callback, ctx.ensure_object(Invocation), **ctx.params)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_options(self, ctx, formatter, with_globals=False)
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"  {example}\n")


def _write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter, *, with_globals: bool
) -> None:
    options = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
    shown = [option for option in options if with_globals or option not in GLOBALS]
    with formatter.section("Options"):
        formatter.write_dl([record for option in shown if (record := option.get_help_record(ctx)) is not None])
    if not with_globals:
        formatter.write_paragraph()
        formatter.write_text("Global options: see reconciler --help")


def command(name: str, *examples: str) -> Callable[[Callable[..., int | None]], Command]:
    """Return a decorator that turns a function into a command.

    The function gets the invocation as its first argument, and returns the exit code, or None for 0.
    """
    return click.command(name, cls=Command, examples=examples)
