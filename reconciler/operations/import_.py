"""Imports subscriptions that were created manually: records them as existing, as config/ defines them now."""

import uuid
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from reconciler.errors import Refused
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Subscription
from reconciler.model.entry import Imported
from reconciler.model.plan import Block
from reconciler.model.record import Record
from reconciler.model.selection import Selection
from reconciler.model.url import normal_url
from reconciler.operations.edit import now_by, parse_address, record_entries
from reconciler.operations.known_results import with_known_results
from reconciler.operations.same_service import concerning, read_others, warn_of_unread
from reconciler.operations.workspace import Workspace, refuse_unmatched
from reconciler.planning.planner import plan_target
from reconciler.reports.wording import how_to_resolve_attempt


class Import(Struct, frozen=True):
    """What was imported of a desired subscription: its missing codes, or none, for these reasons."""

    subscription: Subscription
    codes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def import_subscriptions(workspace: Workspace, address: str | None, patterns: tuple[str, ...]) -> Iterator[Import]:
    """Import the subscription at `address`, or all that the patterns select; what came of each, target by target.

    Raises Refused for an address that is not desired, SelectionError for patterns that match nothing, and StateError.
    """
    desired = _desired(workspace, address, patterns)
    for target in sorted({subscription.address.target for subscription in desired}):
        here = [subscription for subscription in desired if subscription.address.target == target]
        yield from _import(workspace, target, here)


def _desired(workspace: Workspace, address: str | None, patterns: tuple[str, ...]) -> list[Subscription]:
    """The desired subscriptions that are meant."""
    subscriptions = workspace.desired.subscriptions
    if address is None:
        selection = Selection.of(patterns)
        refuse_unmatched(selection, [*workspace.desired.targets], [*subscriptions])
        return [subscription for subscription in subscriptions.values() if selection.has(subscription.address)]
    named = parse_address(address, "use an address that config/ defines; to import several, use --all -t PATTERN")
    if named not in subscriptions:
        raise Refused(
            "not defined in config/", where=named, remedy="define it in config/ exactly as it exists, then import it"
        )
    return [subscriptions[named]]


def _import(workspace: Workspace, target: TargetName, desired: Iterable[Subscription]) -> list[Import]:
    """Record what is missing of `desired`, all of it on one target."""
    imports: list[Import] = []

    def draft(recorded: Record) -> list[Imported]:
        record = with_known_results(workspace, recorded)
        blocked = _blocked(workspace, record)
        imports[:] = [_checked(record, subscription, blocked) for subscription in desired]
        at, by = now_by(workspace)
        return [
            Imported(
                at=at,
                by=by,
                attempt=uuid.uuid4().hex[:16],
                address=done.subscription.address,
                codes=done.codes,
                url=done.subscription.url,
            )
            for done in imports
            if done.codes
        ]

    record_entries(workspace, target, draft, "imported")
    return imports


def _blocked(workspace: Workspace, record: Record) -> Mapping[Address, tuple[str, ...]]:
    """Why what is desired on a target would not be created there, as a plan says it: it is, or may be, in force.

    What is recorded under another address is that subscription. Recorded once more, one of the two would be retired,
    and the operator asked to delete the only one there is.
    """
    desired, records = workspace.desired, {record.target: record}
    read = read_others(workspace, desired, records, workspace.store.targets())
    warn_of_unread(workspace.notices, concerning(read.unread, desired, records))
    plan = plan_target(record.target, desired, read.records, Selection())
    blocked = (change for change in plan.changes if change.block in (Block.ELSEWHERE, Block.UNRESOLVED))
    return {change.address: change.reasons for change in blocked}


def _checked(record: Record, desired: Subscription, blocked: Mapping[Address, tuple[str, ...]]) -> Import:
    """What of a desired subscription is missing in the record and can be imported."""
    attempts = record.at_address(desired.address)
    unresolved = [attempt for attempt in attempts if attempt.unresolved]
    if unresolved:
        reason = f"a create has an unknown outcome; {how_to_resolve_attempt(unresolved[0])}"
        return Import(desired, skipped=(reason,))
    url = normal_url(desired.url)
    recorded = {code for attempt in attempts if normal_url(attempt.url) == url for code in attempt.codes}
    missing = tuple(code for code in desired.codes if code not in recorded)
    if not missing:
        return Import(desired, skipped=("already recorded",))
    if desired.address in blocked:
        return Import(desired, skipped=blocked[desired.address])
    return Import(desired, codes=missing)
