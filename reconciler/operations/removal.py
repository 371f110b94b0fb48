"""Requests the removal of subscriptions, cancels the request, or records that the operator has deleted them."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from msgspec import Struct

from reconciler.errors import ConfigError, Refused
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Subscription
from reconciler.model.entry import ASKED_FOR, Removed, Restored, Retired
from reconciler.model.record import Attempt, Record, Status
from reconciler.model.url import normal_url
from reconciler.operations.attempts import AttemptEdit, AttemptSelector, awaiting_removal, live
from reconciler.operations.edit import now_by
from reconciler.operations.workspace import Workspace


def retirement(workspace: Workspace, selector: AttemptSelector, *, withdraw: bool) -> AttemptEdit:
    """The removal requests to record, or those to withdraw. Raises Refused if nothing is selected, and StateError.

    Of one address, the request for what already awaits removal is printed again.
    """
    what = "awaiting removal" if withdraw else "in force"

    def narrow(attempts: list[Attempt]) -> list[Attempt]:
        if withdraw:
            return awaiting_removal(attempts)
        return live(attempts) or ([] if selector.is_pattern else awaiting_removal(attempts))

    def choose(record: Record) -> list[Attempt]:
        return selector.pick(record, narrow, what)

    def draft(attempt: Attempt) -> list[Retired | Restored]:
        at, by = now_by(workspace)
        if withdraw:
            return [Restored(at=at, by=by, attempt=attempt.id)]
        requested_before = attempt.status is not Status.LIVE and attempt.on_purpose
        return [] if requested_before else [Retired(at=at, by=by, attempt=attempt.id, reason=ASKED_FOR)]

    note = f"{'withdrawn' if withdraw else 'retired'} {selector.text}"
    return AttemptEdit(workspace, selector.choose(workspace, choose, what), choose, draft, note)


def removal(workspace: Workspace, selector: AttemptSelector, *, force: bool) -> AttemptEdit:
    """The removals to record; `force` takes in one that is live. Raises Refused and StateError."""
    if selector.is_pattern and force:
        raise Refused(
            "--force works with one address only",
            where=selector.text,
            remedy="use the exact address of the deleted subscription",
        )

    def narrow(attempts: list[Attempt]) -> list[Attempt]:
        return awaiting_removal(attempts) or ([] if selector.is_pattern else live(attempts))

    def choose(record: Record) -> list[Attempt]:
        chosen = selector.pick(record, narrow, "in force")
        for attempt in () if force else live(chosen):
            raise Refused(
                f"attempt {attempt.id} is live, and {_request(workspace, attempt)}",
                where=attempt.address,
                remedy="if it was deleted anyway, repeat with --force; the next apply creates it again if config/"
                " still defines it",
            )
        return chosen

    def draft(attempt: Attempt) -> list[Removed]:
        at, by = now_by(workspace)
        return [Removed(at=at, by=by, attempt=attempt.id, forced=attempt.status is Status.LIVE)]

    chosen = selector.choose(workspace, choose, "awaiting removal" if selector.is_pattern else "in force")
    return AttemptEdit(workspace, chosen, choose, draft, f"removed {selector.text}")


class WaysBack(Struct, frozen=True):
    """The addresses of removed attempts whose import is the way back if they turn out to exist.

    `as_defined`: the next apply creates it again just as it was. `once_defined`: before the import, `config/` is to
    define it as it was.
    """

    as_defined: Sequence[Address]
    once_defined: Sequence[Address]


def ways_back(workspace: Workspace, removed: Iterable[Attempt]) -> WaysBack:
    """The ways back from these removals; none from that of a duplicate, which no import records. Raises StateError.

    None if `config/` has mistakes either: then there is no next apply before somebody corrects it.
    """
    as_defined: list[Address] = []
    once_defined: list[Address] = []
    records: dict[TargetName, Record] = {}
    with suppress(ConfigError):
        for attempt in removed:
            target = attempt.address.target
            if target not in records:
                records[target] = workspace.read(target).record()
            in_force = [other for other in records[target].at_address(attempt.address) if other.in_force]
            if _is_created_again(workspace.desired.subscriptions.get(attempt.address), attempt, in_force):
                as_defined.append(attempt.address)
            elif not attempt.routes.issubset(route for other in in_force for route in other.routes):
                once_defined.append(attempt.address)
    return WaysBack(as_defined, once_defined)


def _is_created_again(wanted: Subscription | None, removed: Attempt, in_force: Iterable[Attempt]) -> bool:
    """Whether the next apply creates a removed attempt again with the same URL."""
    if wanted is None or normal_url(wanted.url) != normal_url(removed.url):
        return False
    return not {code for other in in_force for code in other.codes}.issuperset(wanted.codes)


def _request(workspace: Workspace, attempt: Attempt) -> str:
    """That the removal of a live attempt was not requested, or when it was, and when that was cancelled."""
    entries = [entry for entry, _ in workspace.read(attempt.address.target).lines]
    requested = [entry.at for entry in entries if isinstance(entry, Retired) and entry.attempt == attempt.id]
    cancelled = [entry.at for entry in entries if isinstance(entry, Restored) and entry.attempt == attempt.id]
    if not (requested and cancelled):
        return "its removal was not requested"
    return f"its removal was requested at {requested[-1]} and cancelled at {cancelled[-1]}"
