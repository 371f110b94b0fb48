"""URLs that subscriptions have exchanged, two or more in a circle: most often lines of `config/` were mixed up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from reconciler.model.plan import Action, Block
from reconciler.model.record import Status
from reconciler.model.url import normal_url
from reconciler.planning.reasons import exchanged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from reconciler.model.address import Address
    from reconciler.model.plan import Change
    from reconciler.model.record import Attempt


class _Move(NamedTuple):
    """An address that goes from one URL to another, both in the form URLs compare in; `attempt` has the old one."""

    address: Address
    attempt: str
    old: str
    new: str


def with_exchanges(changes: Sequence[Change], attempts: Collection[Attempt]) -> list[Change]:
    """`changes` of one target, with a warning at each that retires what delivers to a URL that was exchanged.

    `attempts` are those of the target, oldest first: a part of the exchange may be done. Changes that put every URL
    back to where it was first have no warning.
    """
    if not any(change.action in _RETIRING for change in changes):
        return [*changes]
    moves = [*(move for change in changes for move in _planned(change)), *_recorded(attempts, _restored(changes))]
    circles: dict[str, tuple[Address, ...]] = {}
    for move, addresses in _circles(moves, attempts):
        circles.setdefault(move.attempt, addresses)
    return [_warned(change, circles) for change in changes]


def exchanges(attempts: Collection[Attempt], changes: Sequence[Change]) -> tuple[tuple[Address, ...], ...]:
    """The addresses of one target whose URLs were exchanged, as long as what delivers to the old ones exists.

    `attempts` and what is left out are as in `with_exchanges`, and `changes` is what is left to apply: a part of the
    exchange may be done, and the other not.
    """
    moves = [*_recorded(attempts, _restored(changes)), *(move for change in changes for move in _planned(change))]
    return tuple(sorted({addresses for _, addresses in _circles(moves, attempts)}))


_RETIRING = (Action.REPLACE, Action.RETIRE)


def _planned(change: Change) -> list[_Move]:
    """The moves of a replacement, also of one that waits for the removal of what it replaces."""
    wanted = change.after if change.block is Block.WAITS else change.request
    if wanted is None or not (change.action is Action.REPLACE or change.block is Block.WAITS):
        return []
    new = normal_url(wanted.url)
    going = (attempt for attempt in change.before if attempt.id in change.concerns and not attempt.on_purpose)
    moves = (_Move(change.address, attempt.id, normal_url(attempt.url), new) for attempt in going)
    return [move for move in moves if move.old != new]


def _restored(changes: Iterable[Change]) -> set[str]:
    return {attempt.id for change in changes for attempt in change.restored}


def _recorded(attempts: Iterable[Attempt], restored: Collection[str]) -> Iterator[_Move]:
    """The moves that the record shows: what a plan has retired, or is about to, and its successor at another URL.

    `restored` is what the plan restores.
    """
    held: dict[Address, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.status is not Status.GONE:
            held.setdefault(attempt.address, []).append(attempt)
    for address, known in held.items():
        for number, old in enumerate(known):
            if not old.in_force or old.on_purpose or old.id in restored:
                continue
            going = old.status is Status.AWAITING_REMOVAL
            news = [new for place, new in enumerate(known) if going or place > number or new.id in restored]
            replacing = {normal_url(new.url) for new in news if _is_of_before(new, old)} - {normal_url(old.url)}
            staying = [new for new in news if new.status is not Status.AWAITING_REMOVAL or new.id in restored]
            for url in sorted(replacing.intersection(normal_url(new.url) for new in staying)):
                yield _Move(address, old.id, normal_url(old.url), url)


def _is_of_before(new: Attempt, old: Attempt) -> bool:
    """Whether `new` is of before the removal of `old` was requested: what is created after that does not replace it."""
    return old.status is Status.LIVE or new.since <= old.requested


def _warned(change: Change, circles: Mapping[str, tuple[Address, ...]]) -> Change:
    """`change`, with a warning if it retires an attempt of `circles`: the addresses of an exchange, by attempt."""
    for attempt in change.concerns if change.action in _RETIRING else ():
        if attempt in circles:
            addresses = circles[attempt]
            return replace(change, warnings=(*change.warnings, exchanged(*addresses)), exchanged=addresses)
    return change


def _circles(moves: Sequence[_Move], attempts: Iterable[Attempt]) -> Iterator[tuple[_Move, tuple[Address, ...]]]:
    """The moves that are part of an exchange, each with its addresses, sorted: two, or those of the whole circle."""
    opposite: dict[tuple[str, str], _Move] = {}
    for move in moves:
        opposite.setdefault((move.new, move.old), move)
    around = _around(moves)
    found = []
    for move in moves:
        other = opposite.get((move.old, move.new))
        circle = [move, other] if other else around.get((move.old, move.new), [move])
        if len({each.address for each in circle}) > 1:
            found.append((move, circle))
    first = _first(attempts, [each for _, circle in found for each in circle])
    for move, circle in found:
        if any(first.get((each.address, each.old, each.new)) != each.new for each in circle):
            yield move, tuple(sorted({each.address for each in circle}))


def _around(moves: Iterable[_Move]) -> dict[tuple[str, str], list[_Move]]:
    """The moves of each circle, by the old and the new URL of each of them; of each URL the first move counts."""
    onward: dict[str, _Move] = {}
    for move in moves:
        onward.setdefault(move.old, move)
    circles: dict[tuple[str, str], list[_Move]] = {}
    seen: set[str] = set()
    for start in onward:
        path: dict[str, _Move] = {}
        url = start
        while url in onward and url not in seen:
            seen.add(url)
            path[url] = onward[url]
            url = onward[url].new
        if url in path:
            urls = [*path]
            circle = [path[each] for each in urls[urls.index(url) :]]
            circles |= {(move.old, move.new): circle for move in circle}
    return circles


def _first(attempts: Iterable[Attempt], moves: Sequence[_Move]) -> dict[tuple[Address, str, str], str]:
    """Which of its two URLs the address of each move had first, as far as something delivers there, or has."""
    urls: dict[Address, list[str]] = {move.address: [] for move in moves}
    for attempt in attempts if moves else ():
        if attempt.address in urls and (attempt.in_force or attempt.removed):
            urls[attempt.address].append(normal_url(attempt.url))
    return {
        (address, old, new): url
        for address, _, old, new in moves
        if (url := next((url for url in urls[address] if url in (old, new)), ""))
    }
