"""A group whose commands are imported when they are run, so that a command pays only for what it uses."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from itertools import takewhile
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.options import COMMON_OPTIONS, Context, explained, refuse_single_dash, write_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """`table` has each command's line in the help.

    A module of `package` that is named after the command, with `_` for `-`, holds it as `command`.
    """

    context_class = Context

    def __init__(self, *args: Any, package: str, table: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params[:0] = COMMON_OPTIONS
        self.package = package
        self.table = table
        self.no_args_is_help = False  # see parse_args

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without anything, give the help, as what was wrong; click itself does so differently in each version."""
        if not args and not ctx.resilient_parsing:
            with suppress(OSError):
                click.echo(ctx.get_help(), err=True)
            ctx.exit(1)
        refuse_single_dash(self, ctx, list(takewhile(lambda word: word.startswith("-"), args)))
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as problem:
            raise explained(self, ctx, problem) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it; for a command that does not exist, say which may be meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            raise click.UsageError(f"{problem.message.rstrip('.')}{self._meant(ctx, args[0])}", ctx) from None

    def _meant(self, ctx: click.Context, name: str) -> str:
        """What another tool's command is called here; commands elsewhere of this very name; or those spelt alike."""
        from reconciler.cli.other_tools import command_meant  # noqa: PLC0415 - needed only to explain an error
        from reconciler.model.spelling import suggestion  # noqa: PLC0415 - needed only to explain an error

        path = f"{ctx.command_path} {name}".partition(" ")[2]
        if meant := command_meant(path):
            return meant
        root = ctx.find_root().command
        assert isinstance(root, LazyGroup)  # noqa: S101 - all our groups are
        elsewhere = [path for path in root.paths(ctx) if path.rpartition(" ")[2] == name]
        if elsewhere:
            return f" (did you mean {' or '.join(f'`reconciler {path}`' for path in elsewhere)}?)"
        return suggestion([name], self.table)

    def paths(self, ctx: click.Context) -> Iterator[str]:
        """The words of every command below. Only groups, which are packages, are imported for it."""
        from importlib.util import find_spec  # noqa: PLC0415 - needed only to explain an error

        for name in self.table:
            yield name
            spec = find_spec(f"{self.package}.{name}")
            group = self.get_command(ctx, name) if spec and spec.submodule_search_locations else None
            if isinstance(group, LazyGroup):
                yield from (f"{name} {path}" for path in group.paths(ctx))

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module = f"{self.package}.{cmd_name.replace('-', '_')}{'_' if iskeyword(cmd_name) else ''}"
        command = import_module(module).command
        assert isinstance(command, click.Command)  # noqa: S101 - the table is ours
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The commands, from the table alone, and the options."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - loaded by now, if a shell asks

        commands = [CompletionItem(name, help=line) for name, line in self.table.items() if name.startswith(incomplete)]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, then the commands; the common options are explained by the root alone."""
        if ctx.parent is None:
            super().format_options(ctx, formatter)
        else:
            write_options(self, ctx, formatter)
            self.format_commands(ctx, formatter)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.table.items()))
