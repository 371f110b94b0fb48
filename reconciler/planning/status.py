"""Computes the status of targets: subscriptions in force with their evidence, tasks for a person, and the verdict."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.model.address import Selection
from reconciler.model.plan import Action, Verdict
from reconciler.model.record import Status
from reconciler.model.status import (
    AwaitingRemoval,
    Evidence,
    ObservedAttempt,
    ProjectStatus,
    Proof,
    Removals,
    TargetStatus,
)
from reconciler.model.url import normal_url
from reconciler.planning.duplicates import duplicates_by_target, find_duplicates
from reconciler.planning.planner import verdict_of_plan
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.plan import Duplicate, Plan
    from reconciler.model.record import Attempt, Record


SILENT_AFTER = timedelta(days=30)
"""A route without notifications for this long counts as silent."""

DOUBTED_FOR = timedelta(days=14)
"""The time for which the operator may still act on a cancelled removal request."""


def status(desired: Desired, record: Record, plan: Plan, now: float) -> ProjectStatus:
    """Return the status at `now` (epoch seconds) of every selected target.

    A target that `config/` does not declare is included if it has something in force or unresolved.
    """
    selection = Selection(plan.selection)
    duplicates = find_duplicates(record)
    delivered = duplicates_by_target(duplicates.delivered, record, selection)
    recorded = duplicates_by_target(duplicates.recorded, record, selection)
    by_target: dict[TargetName, list[Attempt]] = {name: [] for name in plan.targets}
    for address in record.addresses:
        for attempt in record.at_address(address):
            if attempt.status is not Status.GONE and selection.has(attempt.address):
                by_target.setdefault(attempt.address.target, []).append(attempt)
    targets = tuple(
        _target_status(name, by_target[name], desired, record, plan, now, delivered, recorded)
        for name in sorted(by_target)
        if name in desired.targets or by_target[name]
    )
    return ProjectStatus(now, targets, plan, record.open_losses)


def _target_status(
    name: TargetName,
    attempts: Sequence[Attempt],
    desired: Desired,
    record: Record,
    plan: Plan,
    now: float,
    delivered: Mapping[TargetName, Sequence[Duplicate]],
    recorded: Mapping[TargetName, Sequence[Duplicate]],
) -> TargetStatus:
    planned = plan.targets.get(name)
    silent, doubted = stamp(now - SILENT_AFTER.total_seconds()), stamp(now - DOUBTED_FOR.total_seconds())
    return TargetStatus(
        name,
        tuple(_observed(attempt, desired, record, silent) for attempt in attempts),
        declared=planned is not None,
        awaiting_removal=tuple(attempt for attempt in attempts if attempt.status is Status.AWAITING_REMOVAL),
        surplus=planned.surplus if planned else (),
        duplicates=tuple(delivered.get(name, ())),
        recorded_twice=tuple(recorded.get(name, ())),
        revived=tuple(attempt for attempt in attempts if attempt.revived),
        cancelled=tuple(_doubtful(attempts, record, doubted)),
    )


def _observed(attempt: Attempt, desired: Desired, record: Record, silent: str) -> ObservedAttempt:
    times = record.received_by(attempt)
    evidence = {}
    for code in attempt.codes:
        _, last = times.get(code, ("", ""))
        proof = Proof.NEVER_SEEN if not last else Proof.PROVEN if last >= silent else Proof.SILENT
        evidence[code] = Evidence(proof, last)
    return ObservedAttempt(attempt, evidence, _superseded(attempt, desired, record))


def _superseded(attempt: Attempt, desired: Desired, record: Record) -> tuple[str, ...]:
    """Return the ids of earlier `given_up` attempts whose desired codes are all delivered by other live attempts."""
    if attempt.status is not Status.LIVE:
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
            if other.status is Status.LIVE
            and (not other.given_up or (other.since, other.id) > (attempt.since, attempt.id))
        )
        for address, code in wanted
    )


def _doubtful(attempts: Iterable[Attempt], record: Record, since: str) -> Iterator[Attempt]:
    """Yield the attempts with a removal request that was cancelled at or after `since`.

    An attempt is omitted if a code of these requests was received after its request was cancelled. The field
    `cancelled` of each yielded attempt has only the codes of these requests.
    """
    for attempt in attempts:
        cancelled = {code: at for code, at in attempt.cancelled.items() if at >= since}
        heard = record.received_by(attempt) if cancelled else {}
        if cancelled and all(code not in heard or heard[code][1] <= at for code, at in cancelled.items()):
            yield replace(attempt, cancelled=cancelled)


def verdict_of_status(status: ProjectStatus) -> Verdict:
    """Return the verdict on a status. Unlike in `verdict_of_plan`, a create in flight counts as a change."""
    return verdict_of_plan(status.plan, status.now, in_flight=Verdict.CHANGES)


def removals(status: ProjectStatus) -> list[Removals]:
    """Return the removals that each target's operator should know about; targets with nothing to report are omitted."""
    restored = {
        attempt for change in status.plan.changes if change.action is Action.RESTORE for attempt in change.concerns
    }
    found = [_removals(target, restored, stamp(status.now), status.now) for target in status.targets]
    return [each for each in found if each.awaiting or each.restored or each.cancelled or each.unknown]


def _removals(target: TargetStatus, restored: set[str], at: str, now: float) -> Removals:
    attempts = [observed.attempt for observed in target.attempts]
    requested = [attempt for attempt in attempts if attempt.in_force and attempt.requested_codes]
    return Removals(
        target.name,
        at,
        awaiting=tuple(_awaiting(attempt, attempts) for attempt in requested if attempt.id not in restored),
        restored=tuple(attempt for attempt in requested if attempt.id in restored),
        # A letter that asks to delete some of the codes also says which to keep.
        cancelled=tuple(attempt for attempt in target.cancelled if attempt not in requested),
        unknown=tuple(attempt for attempt in attempts if attempt.unresolved and not attempt.in_flight(now)),
    )


def _awaiting(attempt: Attempt, attempts: list[Attempt]) -> AwaitingRemoval:
    codes, url = set(attempt.requested_codes), normal_url(attempt.url)
    staying = (other for other in attempts if other.status is Status.LIVE and other.id != attempt.id)
    return AwaitingRemoval(
        attempt,
        attempt.requested_codes,
        attempt.requested,
        tuple(other for other in staying if normal_url(other.url) == url and not codes.isdisjoint(other.codes)),
    )
