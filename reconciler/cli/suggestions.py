"""What a shell is offered while a value is typed: names from `config/` and the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, assert_never

from click.shell_completion import CompletionItem

from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.address import ADDRESS
from reconciler.operations.known_names import known_addresses, known_attempts, known_patterns, known_targets
from reconciler.operations.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

Kind = Literal["target", "address", "pattern", "attempt"]


def suggestions(kind: Kind, context: click.Context, beginning: str) -> list[CompletionItem[str]]:
    """The names of a kind that begin so, for a command line as far as it is typed.

    None if anything is wrong, be it in `config/`: a message would appear in the middle of that line.
    """
    try:
        workspace = Workspace(Terminal({**context.obj.flags, "quiet": True}))
        return list(_items(kind, workspace, context, beginning))
    except Exception:  # noqa: BLE001
        return []


def _items(kind: Kind, workspace: Workspace, context: click.Context, beginning: str) -> Iterator[CompletionItem[str]]:
    match kind:
        case "target":
            names = [name for name in known_targets(workspace) if name.startswith(beginning)]
        case "address":
            names = known_addresses(workspace, beginning)
        case "pattern":
            names = known_patterns(workspace, beginning)
        case "attempt":
            # As long as the option has no value, click takes what is typed before it for no argument yet.
            address = next(filter(ADDRESS.fullmatch, context.args), None)
            for attempt in known_attempts(workspace, address):
                if attempt.id.startswith(beginning):
                    yield CompletionItem(attempt.id, help=f"{attempt.address} {attempt.status}")
            return
        case _:
            assert_never(kind)
    yield from map(CompletionItem, names)
