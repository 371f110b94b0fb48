"""Computes a plan from the desired state and the record.

1. Each address whose attempts differ from what is desired gets its changes (`subscription`), which take into account
   everything in force on its service (`routes`).
2. Closed gates of the record or of the target block changes (`blocking`).
3. Removals wait for the creates that take over their codes, and the selection is applied (`order`).
4. Deliveries that are not desired are listed (`duplicates`), and every change gets its digest.

An apply checks the gates of the record again before each call (see `objection` in `applying`).
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from msgspec.json import encode
from msgspec.structs import replace

from reconciler.errors import Message, Refused, SelectionError, Step
from reconciler.model.address import Address, suggestion
from reconciler.model.plan import Change, Plan, Request, Surplus, TargetPlan, Verdict
from reconciler.model.record import Attempt, Status
from reconciler.planning.blocking import blocked, foreign, without_commands
from reconciler.planning.duplicates import duplicates_by_target, find_duplicates, surplus_of
from reconciler.planning.order import ordered
from reconciler.planning.routes import Routes
from reconciler.planning.subscription import Case, changes_of, is_as_desired
from reconciler.record.gates import obstacle_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.model.address import Selection, TargetName
    from reconciler.model.desired import Desired, Target
    from reconciler.model.record import Record
    from reconciler.record.gates import Standing

_Addressed = TypeVar("_Addressed", Change, Attempt, Surplus)


def plan(
    desired: Desired,
    record: Record,
    standing: Standing,
    selection: Selection,
    *,
    now: float,
    accounts: Mapping[TargetName, str] | None = None,
    unrecovered: Iterable[Message] = (),
    allow_empty: bool = False,
) -> Plan:
    """Return the plan for the selection. Every gate before a create is decided here.

    `now` is in epoch seconds. `accounts` has a hash of the client id for each target with a client id. `unrecovered`
    are messages about recovery files: the record lacks the facts in these files, so nothing is created before the
    facts are added. Raises SelectionError for a pattern that matches nothing and, unless `allow_empty`, Refused for a
    target that has live subscriptions but no desired ones.
    """
    selected = _selected(desired, record, selection, allow_empty=allow_empty)
    differing, undeclared = _differing(desired, record)
    pending = tuple(dict.fromkeys(unrecovered))
    gates = pending + (obstacle_messages(record, standing, now, desired.record) if standing.obstacles else ())
    strange = {name: foreign(target, record, (accounts or {}).get(name)) for name, target in desired.targets.items()}
    routes = Routes(desired, record)
    wishes = desired.subscriptions
    wanted = {name: Request(wishes[name].codes, wishes[name].template) for name in differing if name in wishes}
    cases = (
        Case(address, wanted.get(address), attempts, desired.targets[address.target], record, routes, now)
        for address, attempts in differing.items()
    )
    planned = [blocked(change, record, standing, gates, strange, now) for case in cases for change in changes_of(case)]
    if pending or not standing.first_gate_open:
        planned = [without_commands(change) for change in planned]
    changes = [_with_digest(change, desired, record) for change in ordered(planned, routes, selection)]
    targets = _target_plans(selected, planned, changes, differing, desired, record, selection, strange)
    return Plan(
        selection=selection.patterns,
        targets=targets,
        digest=_digest([[str(name), planned.digest] for name, planned in targets.items()]),
        place=standing.place,
        record=record.id,
        head=record.head,
        entries=record.entries,
        gates=gates,
        losses_open=tuple(loss.id for loss in record.open_losses),
        heads_missing=standing.missing,
        recipients=tuple(sorted(desired.recipients)),
        undeclared=tuple(attempt for attempt in undeclared if selection.has(attempt.address)),
        superseded=tuple(attempt for attempt in routes.superseded_attempts if selection.has(attempt.address)),
    )


def verdict_of_plan(plan: Plan, now: float, *, in_flight: Verdict = Verdict.UNRESOLVED) -> Verdict:
    """Return the verdict of a plan; UNRESOLVED takes precedence over CHANGES, and CHANGES over DONE.

    UNRESOLVED means that a create at a selected address has an unknown outcome or is overdue; a create that may be in
    flight at `now` counts as `in_flight`. CHANGES means that there are changes, that what is in force differs from what
    is desired, or that it may differ because a gate of the record is closed. A subscription that awaits removal,
    in full or in part, does not count as a change.
    """
    blocking = [attempt for change in plan.changes for attempt in change.blocking if attempt.blocks]
    unresolved = blocking + [attempt for attempt in plan.undeclared if attempt.blocks]
    verdicts = {in_flight if attempt.in_flight(now) else Verdict.UNRESOLVED for attempt in unresolved}
    if Verdict.UNRESOLVED in verdicts:
        return Verdict.UNRESOLVED
    unmanaged = any(attempt.status is Status.LIVE for attempt in plan.undeclared)
    surplus = any(not item.requested for target in plan.targets.values() for item in target.surplus)
    beyond = any(target.duplicates or target.foreign for target in plan.targets.values())
    differs = plan.changes or plan.gates or unmanaged or verdicts or surplus or beyond
    return Verdict.CHANGES if differs else Verdict.DONE


def _target_plans(
    selected: Sequence[Target],
    planned: Sequence[Change],
    changes: Sequence[Change],
    differing: Mapping[Address, Sequence[Attempt]],
    desired: Desired,
    record: Record,
    selection: Selection,
    strange: Mapping[TargetName, tuple[Message, ...]],
) -> dict[TargetName, TargetPlan]:
    """Return the plan of each selected target.

    `planned` are the changes to all addresses, and `changes` are the selected changes in order, with their digests.
    """
    changed, here = {change.address for change in planned}, _by_target(changes)
    awaited = (attempt for attempt in record.attempts.values() if attempt.status is Status.AWAITING_REMOVAL)
    awaiting = _by_target(attempt for attempt in awaited if selection.has(attempt.address))
    surplus = _by_target(
        item
        for address in sorted(differing)
        if differing[address] and address in desired.subscriptions and selection.has(address)
        for item in surplus_of(desired.subscriptions[address], differing[address])
    )
    duplicates = find_duplicates(record).delivered
    twice = duplicates_by_target(duplicates, record, selection) if duplicates else {}
    plans = {}
    for target in selected:
        name, wanted = target.name, [subscription.address for subscription in desired.by_target.get(target.name, ())]
        if changed or selection.patterns:
            wanted = [address for address in wanted if address not in changed and selection.has(address)]
        plans[name] = TargetPlan(
            target,
            digest=_digest([str(name), [change.digest for change in here.get(name, ())]]),
            changes=tuple(here.get(name, ())),
            unchanged=len(wanted),
            awaiting_removal=tuple(sorted(awaiting.get(name, ()), key=lambda attempt: (attempt.address, attempt.id))),
            surplus=tuple(surplus.get(name, ())),
            duplicates=tuple(twice.get(name, ())),
            foreign=strange[name],
        )
    return plans


def _selected(desired: Desired, record: Record, selection: Selection, *, allow_empty: bool) -> list[Target]:
    """Return the selected declared targets, sorted. Raises SelectionError for patterns that match nothing.

    Raises Refused for a target that has live subscriptions but no desired ones: this is probably a mistake.
    """
    if selection.patterns:
        addresses = {*desired.subscriptions, *map(Address, record.addresses)}
        names = {*desired.targets, *(address.target for address in addresses)}
        unmatched = selection.unmatched(names, addresses)
        if unmatched:
            what = f"matches no target or address{suggestion(unmatched, [*names, *addresses])}"
            declared = Step(f"declared targets: {', '.join(desired.targets) or 'none'}")
            raise SelectionError(*(Message("no-match", what, f"-t {pattern}", (declared,)) for pattern in unmatched))
    selected = [desired.targets[name] for name in sorted(desired.targets) if selection.touches(name)]
    empty = {target.name for target in selected if not allow_empty and not desired.by_target.get(target.name)}
    attempts = record.attempts.values() if empty else ()
    live = Counter(attempt.address.target for attempt in attempts if attempt.status is Status.LIVE)
    what = "config/ defines no subscription for this target"
    remove = Step("to have all its subscriptions removed, use --allow-empty")
    messages = [
        Message("nothing-desired", f"{what}; in force: {live[name]}", name, (remove,))
        for name in sorted(empty & live.keys())
    ]
    if messages:
        raise Refused(*messages)
    return selected


def _differing(desired: Desired, record: Record) -> tuple[dict[Address, Sequence[Attempt]], list[Attempt]]:
    """Return the addresses that differ from what is desired, with their attempts, and the undeclared attempts.

    The undeclared attempts are in force or unresolved, on targets that `config/` does not declare.
    """
    at_address = record.at_address
    differing: dict[Address, Sequence[Attempt]] = {}
    for address, subscription in desired.subscriptions.items():
        attempts = at_address(address)
        if len(attempts) != 1 or not is_as_desired(subscription, attempts[0]):
            differing[address] = attempts
    undeclared: list[Attempt] = []
    for name in record.addresses:
        if name not in desired.subscriptions:
            address, attempts = Address(name), at_address(name)
            if address.target in desired.targets:
                differing[address] = attempts
            else:
                undeclared += (attempt for attempt in attempts if attempt.in_force or attempt.blocks)
    return differing, undeclared


def _by_target(items: Iterable[_Addressed]) -> dict[TargetName, list[_Addressed]]:
    groups: dict[TargetName, list[_Addressed]] = {}
    for item in items:
        groups.setdefault(item.address.target, []).append(item)
    return groups


def _with_digest(change: Change, desired: Desired, record: Record) -> Change:
    """Return a change with the digest of its content.

    The digest does not depend on times, accounts or other addresses. It depends on notifications only if they change a
    status.
    """
    target, request = desired.targets[change.address.target], change.request
    attempts = sorted(record.at_address(change.address), key=lambda attempt: attempt.id)
    digest = _digest(
        [
            str(change.address),
            change.action,
            request and [request.codes, request.template],
            change.concerns,
            [[attempt.id, attempt.status, attempt.codes, attempt.url] for attempt in attempts],
            record.id,
            [target.auth_url, target.base_url, target.audience_base],
            sorted(desired.recipients),
        ]
    )
    return replace(change, digest=digest)


def _digest(value: object) -> str:
    return "sha256:" + sha256(encode(value)).hexdigest()
