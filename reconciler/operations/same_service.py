"""Other records of the services that a plan is about: what they hold counts, and those that cannot be read do too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import RecordMissing, Refused, StateError
from reconciler.model.plan import SENDS
from reconciler.model.url import service_key
from reconciler.operations.known_results import read_with_known_results
from reconciler.state.heads.remembered import targets_seen
from reconciler.state.heads.tracking import whereabouts
from reconciler.state.heads.unread import strays_of, unread_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.plan import Plan
    from reconciler.model.record import Record
    from reconciler.operations.notices import Notices
    from reconciler.operations.workspace import Workspace
    from reconciler.state.heads.unread import Unread


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What the store says, and does not say, beside the records that a plan is made for.

    `records` are those, and the ones of other targets that share a service with one of them. `undeclared` are all
    records of targets that are not declared. `unread` are the records that were here once, or are, and cannot be used.
    """

    records: dict[TargetName, Record]
    undeclared: dict[TargetName, Record]
    unread: tuple[Unread, ...]


def find_neighbours(
    workspace: Workspace, desired: Desired, records: Mapping[TargetName, Record], recorded: Iterable[TargetName]
) -> Neighbours:
    """The neighbours of `records`, which are of declared targets; `recorded` are the targets that have a record.

    A record tells of the service it is bound to, whether its target is declared or not. Raises SettingsError.
    """
    seen, location = workspace.heads.seen(), whereabouts(workspace.store)
    names = {*recorded, *targets_seen(seen, location)}
    others: dict[TargetName, Record] = {}
    unread = [stray for record in records.values() for stray in strays_of(record, seen, location)]
    for name in sorted(names - records.keys()):
        try:
            others[name] = read_with_known_results(workspace, name)
        except RecordMissing:
            continue  # none was ever seen here, so nothing of it stands in the way
        except StateError as problem:
            target = desired.targets.get(name)
            declared = None if target is None else target.base_url
            unread.append(unread_of(workspace.store, name, problem, seen, location, declared))
        else:
            unread += strays_of(others[name], seen, location)
    return Neighbours(
        {**records, **_of_services(desired, records, others)},
        {name: record for name, record in others.items() if name not in desired.targets},
        tuple(unread),
    )


def _of_services(
    desired: Desired, records: Iterable[TargetName], others: Mapping[TargetName, Record]
) -> dict[TargetName, Record]:
    """Those of the other records that are bound to a service of `records`, or whose target is declared there."""
    services = {service_key(desired.targets[name].base_url) for name in records}
    declared = {name for name, target in desired.targets.items() if service_key(target.base_url) in services}
    return {
        name: record for name, record in others.items() if name in declared or service_key(record.base_url) in services
    }


def warn_of_unread(notices: Notices, unread: Iterable[Unread]) -> None:
    """Warn of records that cannot be used, where that stops nothing."""
    for one in unread:
        notices.warn(f"{one.target}: its state record cannot be used: {one.problem}")


def refuse_possible_duplicates(
    notices: Notices, plan: Plan, desired: Desired, unread: Iterable[Unread], accepted: frozenset[str]
) -> None:
    """Raises Refused for creates that a record which cannot be used may know to exist, but for those `accepted`.

    Warns of such records where there are no creates, or they are accepted.
    """
    unread = list(unread)
    sending = {name for name, one in plan.targets.items() if any(change.action in SENDS for change in one.changes)}
    refused = [one for one in concerning(unread, desired, sending) if one.target not in accepted]
    warn_of_unread(notices, (one for one in concerning(unread, desired, plan.targets) if one not in refused))
    for name in sorted(accepted - {one.target for one in unread}):
        notices.warn(
            f"--accept-possible-duplicates {name}: no record of that target is missing or damaged; leave the flag out"
        )
    if refused:
        names = sorted({one.target for one in refused})
        raise Refused(
            "nothing is created while this state record cannot be used: what it holds may exist already",
            where=", ".join(names),
            remedy=". ".join(str(one.problem) for one in refused)
            + ". Or, if subscriptions may be created a second time: "
            + " ".join(f"--accept-possible-duplicates {name}" for name in names),
        )


def concerning(unread: Iterable[Unread], desired: Desired, targets: Iterable[TargetName]) -> list[Unread]:
    """Those that may hold what exists at the services of these targets."""
    services = {desired.targets[name].base_url for name in targets}
    return [one for one in unread if any(one.concerns(base_url) for base_url in services)]
