"""Desired and record in, plan out.

Planning works on routes (an event code delivered to one URL), against every attempt in force: what is missing gets
created, alone; what is too much gets retired, by a person. Nothing that may exist is ever planned a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.errors import SelectionError
from reconciler.model.plan import Destination, Plan, TargetPlan
from reconciler.model.record import Status
from reconciler.model.url import normal_url
from reconciler.planning.dependencies import with_dependencies
from reconciler.planning.digest import plan_digest, target_digest
from reconciler.planning.exchanges import with_exchanges
from reconciler.planning.routes import ServiceRoutes
from reconciler.planning.subscription import changes_of, is_as_wanted, surplus_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reconciler.model.address import Address, TargetName
    from reconciler.model.desired import Desired, Subscription, Target
    from reconciler.model.plan import Surplus
    from reconciler.model.record import Attempt, Record
    from reconciler.model.selection import Selection
    from reconciler.planning.routes import Routes


def make_plan(desired: Desired, records: Mapping[TargetName, Record], selection: Selection) -> Plan:
    """The plan for the targets selected.

    `records` holds the record of every selected target, and others that tell of the same service: what is in force
    there counts against creating it here. Raises SelectionError for a pattern that matches nothing.
    """
    _refuse_unmatched(desired, records, selection)
    planner = Planner(desired, selection)
    planner.use(records)
    targets = {name: planner.plan(name) for name in sorted(desired.targets) if selection.touches(name)}
    digest = plan_digest({name: target.digest for name, target in targets.items()})
    return Plan(selection.patterns, targets, digest, tuple(sorted(desired.recipients)))


class Planner:
    """Plans targets one after the other, and again when records have changed: that costs as much as these records."""

    def __init__(self, desired: Desired, selection: Selection) -> None:
        self._desired = desired
        self._selection = selection
        self._records: dict[TargetName, Record] = {}
        self._routes = ServiceRoutes(desired)

    def use(self, records: Mapping[TargetName, Record]) -> None:
        """Plan from these records, as `make_plan` does, and from no others."""
        for name in self._records.keys() - records.keys():
            self._routes.remove(self._records.pop(name))
        for record in records.values():
            self.put(record)

    def put(self, record: Record) -> None:
        """Plan from this record of its target, and from no other."""
        before = self._records.get(record.target)
        if before is record:
            return
        if before is not None:
            self._routes.remove(before)
        self._records[record.target] = record
        self._routes.add(record)

    def plan(self, name: TargetName) -> TargetPlan:
        """The plan for one target; what `make_plan` gives for it."""
        target = self._desired.targets[name]
        routes = self._routes.at(target.base_url)
        return _plan_target(target, self._desired, self._records[name], routes, self._selection)


def _plan_target(target: Target, desired: Desired, record: Record, routes: Routes, selection: Selection) -> TargetPlan:
    wanted = {subscription.address: subscription for subscription in desired.of_target(target.name)}
    held = record.by_address()
    known = (*wanted, *(held.keys() - wanted.keys()))
    differing = sorted(address for address in known if not is_as_wanted(wanted.get(address), held.get(address, ())))
    planned = [
        change
        for address in differing
        for change in changes_of(address, wanted.get(address), held.get(address, ()), routes, target.replace)
    ]
    changed = {change.address for change in planned}
    changes = tuple(
        change
        for change in with_dependencies(with_exchanges(planned, record.attempts.values()), selection)
        if selection.has(change.address)
    )
    selected = [address for address in differing if address in wanted and selection.has(address)]
    surplus = [extra for address in selected for extra in surplus_of(wanted[address], held.get(address, ()))]
    return TargetPlan(
        name=target.name,
        digest=target_digest(target, record, changes, desired.recipients),
        head=record.head,
        entries=record.entries,
        changes=changes,
        awaiting_removal=_awaiting_removal(held, selection),
        surplus=tuple(_without_wanted_elsewhere(surplus, record, wanted)),
        unchanged=sum(address not in changed and selection.has(address) for address in wanted),
        destination=_destination(target, record),
    )


def _destination(target: Target, record: Record) -> Destination:
    resealed_to = frozenset(
        key for sealings in record.sealings.values() for sealing in sealings for key in sealing.recipients
    )
    return Destination(target.base_url, target.auth_url, target.audience_base, record.base_url, resealed_to)


def _refuse_unmatched(desired: Desired, records: Mapping[TargetName, Record], selection: Selection) -> None:
    addresses = {*desired.subscriptions} if selection.names_addresses else set()
    for record in records.values() if selection.names_addresses else ():
        addresses |= {attempt.address for attempt in record.attempts.values()}
    unmatched = selection.unmatched(desired.targets, addresses)
    if unmatched:
        from reconciler.model.spelling import suggestion  # noqa: PLC0415 - needed only to explain an error

        raise SelectionError(
            f"matches no target or address{suggestion(unmatched, [*desired.targets, *addresses])}",
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
    attempts = (attempt for at_address in held.values() for attempt in at_address)
    awaiting = (attempt for attempt in attempts if attempt.status is Status.AWAITING_REMOVAL)
    selected = (attempt for attempt in awaiting if selection.has(attempt.address))
    return tuple(sorted(selected, key=lambda attempt: (attempt.address, attempt.id)))
