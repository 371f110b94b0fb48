"""The requests to the operator: one for each target that has subscriptions awaiting removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.record import Status
from reconciler.model.removal import AwaitingRemoval, RemovalRequest
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.record import Attempt
    from reconciler.model.selection import Selection
    from reconciler.model.status import TargetStatus


def removal_requests(standings: Iterable[TargetStatus], selection: Selection, now: float) -> list[RemovalRequest]:
    """The requests for what `selection` has of these targets, as of `now` (epoch seconds); none for the others."""
    requests = []
    for standing in standings:
        attempts = [observed.attempt for observed in standing.attempts]
        awaiting = tuple(
            AwaitingRemoval(attempt, _elsewhere(attempt, attempts), _staying(attempt, attempts))
            for attempt in attempts
            if attempt.status is Status.AWAITING_REMOVAL and selection.has(attempt.address)
        )
        if awaiting:
            wanted = frozenset(attempt.id for attempt in standing.plan.restored)
            requests.append(RemovalRequest(standing.name, stamp(now), awaiting, wanted))
    return requests


def _elsewhere(attempt: Attempt, attempts: Sequence[Attempt]) -> dict[str, tuple[str, ...]]:
    """For each code of `attempt` that live attempts of the target deliver too: where they deliver it."""
    live = [other for other in attempts if other.status is Status.LIVE]
    urls = {code: sorted({other.url for other in live if code in other.codes}) for code in attempt.codes}
    return {code: tuple(found) for code, found in urls.items() if found}


def _staying(attempt: Attempt, attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The live attempts of the target that deliver a code of `attempt` to the URL of `attempt`."""
    url = normal_url(attempt.url)
    here = (other for other in attempts if other.status is Status.LIVE and normal_url(other.url) == url)
    return tuple(other for other in here if not set(other.codes).isdisjoint(attempt.codes))
