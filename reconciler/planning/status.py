"""The status of targets: what is in force with the evidence that it delivers, and what waits for a person."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.record import Status as Stage
from reconciler.model.selection import Selection
from reconciler.model.status import Evidence, ObservedAttempt, Proof, Status, TargetStatus
from reconciler.planning.evidence import received
from reconciler.planning.excess import duplicates_by_target, excess

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.plan import Duplicate, Plan
    from reconciler.model.record import Attempt, Record

SILENT_AFTER = timedelta(days=30)
"""How long nothing may be received of a route before it counts as silent."""

DOUBTED_FOR = timedelta(days=14)
"""How long the operator may still act on a removal request that was cancelled."""


def status(desired: Desired, record: Record, plan: Plan, now: float) -> Status:
    """Return the status at `now` (epoch seconds) of every target that the plan selects, declared or not.

    A target that is not declared is listed if it has something in force or unresolved.
    """
    selection = Selection(plan.selection)
    beyond = excess(record)
    twice = duplicates_by_target(beyond.twice, record, selection)
    recorded = duplicates_by_target(beyond.recorded, record, selection)
    by_target: dict[TargetName, list[Attempt]] = {name: [] for name in plan.targets}
    for address in record.addresses:
        for attempt in record.at_address(address):
            if attempt.status is not Stage.GONE and selection.has(attempt.address):
                by_target.setdefault(attempt.address.target, []).append(attempt)
    targets = tuple(
        _target_status(name, by_target[name], desired, record, plan, now, twice, recorded)
        for name in sorted(by_target)
        if name in desired.targets or by_target[name]
    )
    return Status(now, targets, plan, record.open_losses)


def _target_status(
    name: TargetName,
    attempts: Sequence[Attempt],
    desired: Desired,
    record: Record,
    plan: Plan,
    now: float,
    twice: Mapping[TargetName, Sequence[Duplicate]],
    recorded: Mapping[TargetName, Sequence[Duplicate]],
) -> TargetStatus:
    planned = plan.targets.get(name)
    silent, doubted = stamp(now - SILENT_AFTER.total_seconds()), stamp(now - DOUBTED_FOR.total_seconds())
    return TargetStatus(
        name,
        tuple(_observed(attempt, desired, record, silent) for attempt in attempts),
        declared=planned is not None,
        awaiting_removal=tuple(attempt for attempt in attempts if attempt.status is Stage.AWAITING_REMOVAL),
        surplus=planned.surplus if planned else (),
        duplicates=tuple(twice.get(name, ())),
        recorded_twice=tuple(recorded.get(name, ())),
        revived=tuple(attempt for attempt in attempts if attempt.revived),
        cancelled=tuple(attempt for attempt in attempts if _is_doubtful(attempt, record, doubted)),
    )


def _observed(attempt: Attempt, desired: Desired, record: Record, silent: str) -> ObservedAttempt:
    times = received(record, attempt)
    evidence = {}
    for code in attempt.codes:
        _, last = times.get(code, ("", ""))
        proof = Proof.NEVER_SEEN if not last else Proof.PROVEN if last >= silent else Proof.SILENT
        evidence[code] = Evidence(proof, last)
    return ObservedAttempt(attempt, evidence, _superseded(attempt, desired, record))


def _superseded(attempt: Attempt, desired: Desired, record: Record) -> tuple[str, ...]:
    """Return the earlier attempts that were given up, and whose codes are live without them wherever desired."""
    if attempt.status is not Stage.LIVE:
        return ()
    others = record.at_address(attempt.address)
    earlier = others[: others.index(attempt)]
    return tuple(other.id for other in earlier if other.given_up and _is_replaced(other, desired, record))


def _is_replaced(attempt: Attempt, desired: Desired, record: Record) -> bool:
    service = record.service_of(attempt.base_url)
    wanted = (
        (subscription.address, code)
        for subscription in desired.subscriptions.values()
        if record.service_of(desired.targets[subscription.address.target].base_url) == service
        for code in attempt.codes
        if code in subscription.codes
    )
    return all(
        any(
            code in other.codes
            for other in record.at_address(address)
            if other.status is Stage.LIVE
            and (not other.given_up or (other.since, other.id) > (attempt.since, attempt.id))
        )
        for address, code in wanted
    )


def _is_doubtful(attempt: Attempt, record: Record, since: str) -> bool:
    """True if a request to remove it was cancelled since then, and no notification has shown since that it exists."""
    if attempt.status is not Stage.LIVE or not attempt.cancelled or attempt.cancelled < since:
        return False
    return all(last <= attempt.cancelled for _, last in received(record, attempt).values())
