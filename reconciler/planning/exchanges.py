"""Changes that exchange the URLs of two subscriptions: most often two lines of `config/` were mixed up."""

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
    from reconciler.model.record import Record

Move = tuple[str, str]
"""The old URL of an address and its new one, in the form URLs compare in."""


def with_exchanges(changes: Iterable[Change], record: Record) -> list[Change]:
    """`changes` of one target, with a warning at each that takes from an address the URL that another is given.

    Those that put both back to their first URLs have none: they end an exchange.
    """
    changes = list(changes)
    moved = list(_moves(changes))
    pairs = _pairs([(move, change.address) for move, change in moved], record)
    exchanging = {id(change): pairs[move, change.address] for move, change in moved if (move, change.address) in pairs}
    return [_warned(change, exchanging.get(id(change), ())) for change in changes] if exchanging else changes


def exchanges(record: Record, changes: Sequence[Change]) -> tuple[tuple[Address, ...], ...]:
    """The pairs of addresses of one target whose URLs were exchanged, as long as what delivers to the old ones exists.

    `changes` are what is left to apply: one of the two may be done, and the other not.
    """
    moved = [*_moved(record), *((move, change.address) for move, change in _moves(changes))]
    return tuple(sorted(set(_pairs(moved, record).values())))


def _moves(changes: Sequence[Change]) -> Iterator[tuple[Move, Change]]:
    """The old URL and the new one of each attempt whose removal a change requests, with a successor at its address."""
    restored = {
        change.address: [attempt.url for attempt in change.restored]
        for change in changes
        if change.action is Action.RESTORE
    }
    for change in changes:
        successors = restored.get(change.address, []) if change.action is Action.RETIRE else []
        if change.action is Action.REPLACE and change.request is not None:
            successors = [change.request.url]
        for attempt in change.before if successors else ():
            if attempt.id in change.concerns:
                yield from (((normal_url(attempt.url), normal_url(url)), change) for url in successors)


def _moved(record: Record) -> Iterator[tuple[Move, Address]]:
    """The moves that the record shows: what a plan has retired, or is about to, and its successor at another URL."""
    for address, known in record.by_address().items():
        olds = [attempt for attempt in known if attempt.in_force and not attempt.on_purpose] if len(known) > 1 else []
        for old in olds:
            for new in known if old.status is Status.AWAITING_REMOVAL else known[known.index(old) + 1 :]:
                move = normal_url(old.url), normal_url(new.url)
                if new.status is not Status.AWAITING_REMOVAL and move[0] != move[1]:
                    yield move, address


def _warned(change: Change, pair: tuple[Address, ...]) -> Change:
    if not pair:
        return change
    return replace(change, warnings=(*change.warnings, exchanged(*pair)), exchanged=pair)


def _pairs(moved: Sequence[tuple[Move, Address]], record: Record) -> dict[tuple[Move, Address], tuple[Address, ...]]:
    """For each move, the sorted pair of its address and the one that moves the other way, if there is one."""
    moves: dict[Move, Address] = {}
    for move, address in moved:
        moves.setdefault(move, address)
    pairs: dict[tuple[Move, Address], dict[Address, str]] = {}
    for (old, new), address in moved:
        other = moves.get((new, old), address)
        if other != address:
            pairs[(old, new), address] = {address: new, other: old}
    first = _first_urls(record) if pairs else {}
    return {
        move: tuple(sorted(urls))
        for move, urls in pairs.items()
        if any(first.get(address) != url for address, url in urls.items())
    }


def _first_urls(record: Record) -> Mapping[Address, str]:
    """The URL of the oldest attempt of each address that delivers, or has delivered."""
    urls: dict[Address, str] = {}
    for attempt in record.attempts.values():
        if attempt.in_force or attempt.removed:
            urls.setdefault(attempt.address, normal_url(attempt.url))
    return urls
