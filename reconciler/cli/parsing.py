"""Parses a command line without running it, so that the GitHub action can decide who must approve the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from reconciler.cli.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

_OF_THE_RECORD = ("state recover", "state copy")
"""The commands whose SOURCE and TO are places, not addresses."""
_NAMES = ("where", "address", "source", "to")
"""The parameters, in addition to `-t`, that hold an address or a pattern."""


class Parsed(Struct, frozen=True):
    """A parsed command: its name, its parameters by name, and the words it was parsed from."""

    name: str
    params: dict[str, Any]
    words: list[str]

    @property
    def patterns(self) -> list[str]:
        """Return the addresses and patterns that the command names."""
        return [*(str(self.params[name]) for name in _NAMES if self.params.get(name)), *self.params.get("patterns", ())]

    @property
    def environments(self) -> set[str]:
        """Return the environments in `patterns`, as written. There are none for a command about the whole record."""
        if self.name in _OF_THE_RECORD:
            return set()
        return {pattern.split("/")[1] if "/" in pattern else "" for pattern in self.patterns}


def parse(cli: click.Group, words: Sequence[str]) -> Parsed:
    """Parse a command line without running it.

    Raises ClickException for a usage error or a global option, and click's Exit for --help.
    """
    given, invocation, name = list(words), Invocation(), ""
    context = click.Context(cli, info_name="reconciler", obj=invocation)
    command: click.Command | None = cli
    while isinstance(command, click.Group):
        if not words:
            raise click.UsageError("expected a command", context)
        word, command, words = command.resolve_command(context, list(words))
        name = f"{name} {word}".strip()
    assert command is not None  # noqa: S101 - an unknown name has raised an error
    params = command.make_context(name, list(words), parent=context).params
    if invocation.flags:
        raise click.UsageError(f"global options are not allowed here: {', '.join(invocation.flags)}", context)
    return Parsed(name, params, given)
