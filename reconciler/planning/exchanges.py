"""Replacements that exchange the URLs of two subscriptions: most often two lines of `config/` were mixed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.model.plan import Action
from reconciler.model.url import normal_url
from reconciler.planning.reasons import exchanged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.plan import Change


def with_exchanges(changes: Iterable[Change]) -> list[Change]:
    """`changes` of one target, with a warning at each of two replacements whose new URL is the other's old one."""
    changes = list(changes)
    moves: dict[tuple[str, str], Change] = {}
    for change in changes:
        for move in _moves(change):
            moves.setdefault(move, change)
    return [_warned(change, moves) for change in changes] if len(moves) > 1 else changes


def _moves(change: Change) -> list[tuple[str, str]]:
    """The old URL and the new one of each attempt that a replacement retires."""
    if change.action is Action.REPLACE and change.request is not None:
        new = normal_url(change.request.url)
        return [(normal_url(attempt.url), new) for attempt in change.before if attempt.id in change.concerns]
    return []


def _warned(change: Change, moves: dict[tuple[str, str], Change]) -> Change:
    for old, new in _moves(change):
        other = moves.get((new, old))
        if other is not None:
            return replace(change, warnings=(*change.warnings, exchanged(change.address, other.address)))
    return change
