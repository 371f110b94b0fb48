"""Records of the same service as a plan's targets: what they hold counts, and those that cannot be used do too."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from shlex import quote
from typing import Final

from msgspec import Struct

from reconciler.errors import RecordMissing, Refused, StateError
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Desired
from reconciler.model.plan import SENDS, Plan
from reconciler.model.record import Record
from reconciler.model.url import service_key
from reconciler.operations.known_results import KnownResults
from reconciler.operations.notices import Notices
from reconciler.operations.workspace import Workspace
from reconciler.reports.wording import counted
from reconciler.state.heads.seen import Seen
from reconciler.state.heads.tracking import known_journal
from reconciler.state.heads.unusable import UnusableRecord, replaced_records, unusable_record

_NAMED: Final = 10
"""As many addresses as a message names."""

_PATTERNS: Final = 3
"""As many patterns as a message names."""


class StoreRecords(Struct, frozen=True):
    """The records that a plan is made from, and what else the store has.

    `records` are those of the plan's targets, and of other targets of the same services. `undeclared` are all records
    of targets that are not declared. `unread` are the records that the store has, or had, and that cannot be used.
    """

    records: dict[TargetName, Record]
    undeclared: dict[TargetName, Record]
    unread: tuple[UnusableRecord, ...]


class Readable(Struct, frozen=True):
    """Records by target, and those that cannot be used, as in StoreRecords."""

    records: dict[TargetName, Record]
    unread: tuple[UnusableRecord, ...]


def read_others(
    workspace: Workspace,
    known: KnownResults,
    desired: Desired,
    records: Mapping[TargetName, Record],
    recorded: Iterable[TargetName],
) -> StoreRecords:
    """`records` of declared targets, and the others of the store; `recorded` are the targets that have a record.

    A record belongs to the service it is bound to, whether its target is declared or not. Raises SettingsError.
    """
    seen, place = workspace.heads.seen(), workspace.store.place
    base_urls = {desired.targets[name].base_url for name in records}
    services = set(map(service_key, base_urls))
    names = {*recorded, *seen.targets_at(place)} - records.keys()
    names = {name for name in names if not _counts_elsewhere(workspace, known, desired, name, services, seen)}
    others = read_usable(workspace, known, desired, names, seen)
    replaced = (stray for record in records.values() for stray in replaced_records(record, seen, place))
    same = desired.of_services(base_urls, {name: record.base_url for name, record in others.records.items()})
    return StoreRecords(
        {**records, **{name: record for name, record in others.records.items() if name in same}},
        {name: record for name, record in others.records.items() if name not in desired.targets},
        (*replaced, *others.unread),
    )


def read_usable(
    workspace: Workspace, known: KnownResults, desired: Desired, names: Iterable[TargetName], seen: Seen
) -> Readable:
    """The records of these targets, as far as they have one; `seen` are the heads last known before."""
    place = workspace.store.place
    records: dict[TargetName, Record] = {}
    unread: list[UnusableRecord] = []
    for name in sorted(names):
        try:
            records[name] = known.read(name)
        except RecordMissing:
            continue  # this machine never saw one, so nothing that it held can be created again
        except StateError as problem:
            target = desired.targets.get(name)
            declared = None if target is None else target.base_url
            unread.append(unusable_record(workspace.store, name, problem, seen, declared))
        else:
            unread += replaced_records(records[name], seen, place)
    return Readable(records, tuple(unread))


def _counts_elsewhere(
    workspace: Workspace, known: KnownResults, desired: Desired, name: TargetName, services: Collection[str], seen: Seen
) -> bool:
    """Whether a record need not be decoded: it is what this machine remembers of it, and of none of these `services`.

    Nothing in it counts then, nor is anything to be told of it: there is nothing on this machine that it lacks.
    """
    target = desired.targets.get(name)
    if target is None or service_key(target.base_url) in services or known.may_have_results:
        return False
    head = known_journal(workspace.store, name, seen)
    if head is None or not head.base_url or service_key(head.base_url) in services:
        return False
    if known.may_have_responses(head.record):
        return False
    workspace.say_what_was_read(head)
    return True


def warn_of_unread(notices: Notices, unread: Iterable[UnusableRecord]) -> None:
    """Warn of records that cannot be used, where that stops nothing."""
    for record in unread:
        notices.warn(f"{record.target}: cannot use its state record: {record.problem}")


def creates_after_loss(plan: Plan, records: Mapping[TargetName, Record], accepted: Collection[str]) -> Refused | None:
    """Why an apply must not send creates: the loss of a record was accepted, and not all was imported since.

    Whatever the lost record listed would be created a second time; that is accepted for the targets `accepted`.
    """
    open_losses = (name for name in plan.targets if records[name].open_losses and name not in accepted)
    creates = {name: _sending(plan, name) for name in open_losses}
    found = [name for name, addresses in creates.items() if addresses]
    if not found:
        return None
    addresses = list(chain.from_iterable(creates.values()))
    others = continue_with(name for name in plan.targets if name not in found)
    return Refused(
        f"the loss of an earlier record was accepted, and {_some(addresses)} not imported"
        f" since: if {'it exists' if len(addresses) == 1 else 'they exist'} at the service, an apply creates"
        f" {'it' if len(addresses) == 1 else 'them'} a second time",
        where=", ".join(found),
        remedy="; ".join(filter(None, (_import_or_create(found, addresses), others))),
    )


def _import_or_create(targets: Collection[TargetName], addresses: Sequence[Address]) -> str:
    """What to do about creates after a loss on these targets: import what exists, and only then create the rest."""
    accepting = f"apply with {' '.join(f'--accept-possible-duplicates {name}' for name in targets)}"
    if len(addresses) == 1:
        return (
            f"ask the operator whether it exists; if it does, run: reconciler state import {addresses[0]}; if it does"
            f" not (it is new), {accepting}"
        )
    return (
        "ask the operator which of them exist; if all of them do, run: reconciler state import --all"
        f" {' '.join(f'-t {name}' for name in targets)}; if only some do, import each of those, and nothing else; run:"
        f" reconciler state import ADDRESS; once all that exists is imported, {accepting}, which creates the rest"
    )


def continue_with(others: Iterable[str]) -> str:
    """How to continue with patterns that select on the other targets; it names a few, and is empty for none."""
    patterns = list(others)
    options = " ".join(f"-t {quote(pattern)}" for pattern in patterns[:_PATTERNS])
    more = " …" if patterns[_PATTERNS:] else ""
    return f"to continue with the other targets, use {options}{more}" if patterns else ""


def _sending(plan: Plan, name: TargetName) -> list[Address]:
    """The addresses of a target for which an apply would send creates."""
    return [change.address for change in plan.targets[name].changes if change.action in SENDS]


def _some(found: Sequence[Address]) -> str:
    """Addresses as the subject of a sentence, the first of many."""
    first, rest = found[:_NAMED], found[_NAMED:]
    names = ", ".join(first) + (f" and {counted(len(rest), 'other')}" if rest else "")
    return f"{names} {'was' if len(found) == 1 else 'were'}"


def refuse_possible_duplicates(
    notices: Notices, plan: Plan, desired: Desired, unread: Iterable[UnusableRecord], accepted: Collection[str]
) -> None:
    """Raises Refused for creates that an unusable record may list as existing, but for the records `accepted`.

    Warns of such records if there are no creates, or they are accepted.
    """
    unread = list(unread)
    sending = {name for name in plan.targets if _sending(plan, name)}
    refused = [record for record in concerning(unread, desired, sending) if record.target not in accepted]
    warn_of_unread(notices, (record for record in concerning(unread, desired, plan.targets) if record not in refused))
    for name in sorted({*accepted} - {record.target for record in unread}):
        notices.warn(
            f"--accept-possible-duplicates {name}: not needed; the record of this target is neither missing nor damaged"
        )
    if refused:
        names = sorted({record.target for record in refused})
        raise Refused(
            "refusing to create subscriptions: this state record cannot be used, and it may list the same"
            " subscriptions as existing",
            where=", ".join(names),
            remedy="; ".join(str(record.problem) for record in refused)
            + "; to accept possible duplicates, add: "
            + " ".join(f"--accept-possible-duplicates {name}" for name in names),
        )


def concerning(
    unread: Iterable[UnusableRecord], desired: Desired, targets: Iterable[TargetName]
) -> list[UnusableRecord]:
    """Those that may hold what exists at the services of these targets."""
    services = {desired.targets[name].base_url for name in targets}
    return [record for record in unread if any(record.concerns(base_url) for base_url in services)]
