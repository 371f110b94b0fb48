"""Desired and record in, plan out.

Planning works on routes (an event code delivered to one URL), against every attempt in force: what is missing gets
created, alone; what is too much gets retired, by a person. Nothing that may exist is ever planned a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.errors import SelectionError
from reconciler.model.plan import Plan, TargetPlan
from reconciler.model.record import Status
from reconciler.model.url import normal_url
from reconciler.planning.dependencies import with_dependencies
from reconciler.planning.digest import plan_digest, target_digest
from reconciler.planning.routes import Routes
from reconciler.planning.subscription import changes_of, is_as_wanted, surplus_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reconciler.model.address import Address, TargetName
    from reconciler.model.desired import Desired, Subscription, Target
    from reconciler.model.plan import Surplus
    from reconciler.model.record import Attempt, Record
    from reconciler.model.selection import Selection


def make_plan(desired: Desired, records: Mapping[TargetName, Record], selection: Selection) -> Plan:
    """The plan for the targets selected.

    `records` holds the record of every selected target, and others that tell of the same service: what is in force
    there counts against creating it here. Raises SelectionError for a pattern that matches nothing.
    """
    _refuse_unmatched(desired, records, selection)
    targets = {
        name: plan_target(name, desired, records, selection)
        for name in sorted(desired.targets)
        if selection.touches(name)
    }
    digest = plan_digest({name: target.digest for name, target in targets.items()})
    return Plan(selection.patterns, targets, digest)


def plan_target(
    name: TargetName, desired: Desired, records: Mapping[TargetName, Record], selection: Selection
) -> TargetPlan:
    """The plan for one target; what `make_plan` gives for it."""
    target, record = desired.targets[name], records[name]
    routes = Routes(desired, _records_of_service(target, desired, records))
    wanted = {subscription.address: subscription for subscription in desired.of_target(name)}
    held = record.by_address()
    differing = [
        address for address in sorted({*wanted, *held}) if not is_as_wanted(wanted.get(address), held.get(address, ()))
    ]
    planned = [
        change
        for address in differing
        for change in changes_of(address, wanted.get(address), held.get(address, ()), routes, target.replace)
    ]
    changed = {change.address for change in planned}
    changes = tuple(change for change in with_dependencies(planned, selection) if selection.has(change.address))
    selected = [address for address in differing if address in wanted and selection.has(address)]
    surplus = [extra for address in selected for extra in surplus_of(wanted[address], held.get(address, ()))]
    return TargetPlan(
        name=name,
        digest=target_digest(target, record, changes, desired.recipients),
        head=record.head,
        entries=record.entries,
        changes=changes,
        awaiting_removal=_awaiting_removal(held, selection),
        surplus=tuple(_without_wanted_elsewhere(surplus, record, wanted)),
        unchanged=sum(address not in changed and selection.has(address) for address in wanted),
    )


def _refuse_unmatched(desired: Desired, records: Mapping[TargetName, Record], selection: Selection) -> None:
    addresses = [*desired.subscriptions]
    for record in records.values():
        addresses += (attempt.address for attempt in record.attempts.values())
    unmatched = selection.unmatched([*desired.targets], addresses)
    if unmatched:
        raise SelectionError(
            "matches no target or address",
            where=" ".join(f"-t {pattern}" for pattern in unmatched),
            remedy=f"declared targets: {', '.join(desired.targets) or 'none'}",
        )


def _without_wanted_elsewhere(
    surplus: Sequence[Surplus], record: Record, wanted: Mapping[Address, Subscription]
) -> Iterator[Surplus]:
    """The surplus without routes that another subscription wants: they are to be renamed, and not to be removed."""
    takers: dict[tuple[str, str], set[Address]] = {}
    for subscription in wanted.values() if surplus else ():
        for code in subscription.codes:
            takers.setdefault((code, normal_url(subscription.url)), set()).add(subscription.address)
    for extra in surplus:
        url = normal_url(record.attempts[extra.attempt].url)
        codes = tuple(code for code in extra.codes if not takers.get((code, url), set()) - {extra.address})
        if codes:
            yield replace(extra, codes=codes)


def _awaiting_removal(held: Mapping[Address, Sequence[Attempt]], selection: Selection) -> tuple[Attempt, ...]:
    attempts = (attempt for at_address in held.values() for attempt in at_address if selection.has(attempt.address))
    awaiting = (attempt for attempt in attempts if attempt.status is Status.AWAITING_REMOVAL)
    return tuple(sorted(awaiting, key=lambda attempt: (attempt.address, attempt.id)))


def _records_of_service(target: Target, desired: Desired, records: Mapping[TargetName, Record]) -> list[Record]:
    """The records that say what exists at the service of `target`."""
    names = desired.of_services([target.base_url], {name: record.base_url for name, record in records.items()})
    return [record for name, record in records.items() if name in names]
