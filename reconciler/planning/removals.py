"""The requests to the operator: one for each target that has subscriptions awaiting removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.record import Status
from reconciler.model.removal import AwaitingRemoval, RemovalRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.record import Attempt
    from reconciler.model.selection import Selection
    from reconciler.model.status import TargetStatus


def removal_requests(standings: Iterable[TargetStatus], selection: Selection, now: float) -> list[RemovalRequest]:
    """The requests for what `selection` has of these targets, as of `now` (epoch seconds); none for the others.

    Also for a target of which nothing awaits removal, but a request was withdrawn lately.
    """
    requests = []
    for standing in standings:
        attempts = [observed.attempt for observed in standing.attempts]
        awaiting = tuple(
            awaiting_beside(attempt, attempts, standing.withdrawn)
            for attempt in attempts
            if attempt.status is Status.AWAITING_REMOVAL and selection.has(attempt.address)
        )
        withdrawn = tuple(attempt for attempt in standing.withdrawn if selection.has(attempt.address))
        if awaiting or withdrawn:
            wanted = frozenset(attempt.id for attempt in standing.plan.restored)
            going = [one.attempt for one in awaiting if one.attempt.id not in wanted]
            pairs = standing.exchanged_of(going)
            unknown = tuple(attempt for attempt in attempts if attempt.unresolved)
            requests.append(RemovalRequest(standing.name, stamp(now), awaiting, wanted, withdrawn, pairs, unknown))
    return requests


def awaiting_beside(
    attempt: Attempt, attempts: Sequence[Attempt], withdrawn: Sequence[Attempt] = ()
) -> AwaitingRemoval:
    """What awaits removal, beside `attempts` of its target, of which the requests for `withdrawn` were withdrawn."""
    elsewhere = _elsewhere(attempt, attempts)
    certain = _elsewhere(attempt, [other for other in attempts if other not in withdrawn])
    doubtful = frozenset(
        (code, url) for code, urls in elsewhere.items() for url in urls if url not in certain.get(code, ())
    )
    return AwaitingRemoval(attempt, elsewhere, staying_beside(attempt, attempts), doubtful)


def _elsewhere(attempt: Attempt, attempts: Sequence[Attempt]) -> dict[str, tuple[str, ...]]:
    """For each code of `attempt` that live attempts of the target deliver too: where they deliver it."""
    live = [other for other in attempts if other.status is Status.LIVE]
    urls = {code: sorted({other.url for other in live if code in other.codes}) for code in attempt.codes}
    return {code: tuple(found) for code, found in urls.items() if found}


def staying_beside(attempt: Attempt, attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """The live ones of `attempts`, those of its target, that deliver a code of `attempt` to the URL of `attempt`."""
    return _with_a_route_of(attempt, (other for other in attempts if other.status is Status.LIVE))


def unknown_beside(attempt: Attempt, attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """As `staying_beside`, but those of unknown outcome."""
    return _with_a_route_of(attempt, (other for other in attempts if other.unresolved))


def in_force_beside(attempt: Attempt, attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """As `staying_beside`, but those in force, oldest first: what else the operator may find for `attempt`."""
    return _with_a_route_of(attempt, (other for other in attempts if other.in_force))


def _with_a_route_of(attempt: Attempt, others: Iterable[Attempt]) -> tuple[Attempt, ...]:
    return tuple(other for other in others if not attempt.routes.isdisjoint(other.routes))
