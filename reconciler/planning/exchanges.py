"""Replacements that exchange the URLs of two subscriptions: most often two lines of `config/` were mixed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.model.plan import Action
from reconciler.model.record import Status
from reconciler.model.url import normal_url
from reconciler.planning.reasons import exchanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reconciler.model.address import Address
    from reconciler.model.plan import Change
    from reconciler.model.record import Attempt

Move = tuple[str, str]
"""The old URL of an address and its new one, in the form URLs compare in."""


def with_exchanges(changes: Iterable[Change]) -> list[Change]:
    """`changes` of one target, with a warning at each of two replacements whose new URL is the other's old one."""
    changes = list(changes)
    moves: dict[Move, Address] = {}
    for change in changes:
        for move in _moves(change):
            moves.setdefault(move, change.address)
    return [_warned(change, moves) for change in changes] if len(moves) > 1 else changes


def exchanges(attempts: Sequence[Attempt], changes: Iterable[Change]) -> tuple[tuple[Address, ...], ...]:
    """The pairs of addresses of one target whose URLs were exchanged, as long as what delivers to the old ones exists.

    `attempts` are those of the target that are not GONE, oldest first for each address, and `changes` what is left to
    apply: one of the two replacements may be done, and the other not.
    """
    moved = [*_moved(attempts), *((move, change.address) for change in changes for move in _moves(change))]
    moves: dict[Move, Address] = {}
    for move, address in moved:
        moves.setdefault(move, address)
    pairs = (_pair(address, move, moves) for move, address in moved)
    return tuple(sorted({pair for pair in pairs if pair}))


def _moves(change: Change) -> list[Move]:
    """The old URL and the new one of each attempt that a replacement retires."""
    if change.action is Action.REPLACE and change.request is not None:
        new = normal_url(change.request.url)
        return [(normal_url(attempt.url), new) for attempt in change.before if attempt.id in change.concerns]
    return []


def _moved(attempts: Sequence[Attempt]) -> Iterator[tuple[Move, Address]]:
    """The moves that the record shows: what a plan has retired, or is about to, and a later attempt at another URL."""
    by_address: dict[Address, list[Attempt]] = {}
    for attempt in attempts:
        by_address.setdefault(attempt.address, []).append(attempt)
    for address, known in by_address.items():
        for number, old in enumerate(known):
            for new in known[number + 1 :] if old.in_force and not old.on_purpose else ():
                move = normal_url(old.url), normal_url(new.url)
                if new.status is not Status.AWAITING_REMOVAL and move[0] != move[1]:
                    yield move, address


def _warned(change: Change, moves: Mapping[Move, Address]) -> Change:
    for move in _moves(change):
        pair = _pair(change.address, move, moves)
        if pair:
            return replace(change, warnings=(*change.warnings, exchanged(*pair)), exchanged=pair)
    return change


def _pair(address: Address, move: Move, moves: Mapping[Move, Address]) -> tuple[Address, ...]:
    """The address and the one that has moved the other way, sorted; empty if none has."""
    old, new = move
    other = moves.get((new, old))
    return () if other in (None, address) else tuple(sorted((address, other)))
