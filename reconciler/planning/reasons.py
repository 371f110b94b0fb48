"""Why a change is planned, and what to know before it is applied: the words of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.entry import who
from reconciler.model.record import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.address import Address
    from reconciler.model.plan import Request
    from reconciler.model.record import Attempt


def unsettled(attempt: Attempt) -> str:
    """What is open about an attempt, since when and by whom, and how to settle it.

    What a file of this machine tells of it is recorded first: before that, the record may not even hold the attempt.
    """
    begun = f"a create begun {attempt.since} by {who(attempt.begun_by)}"
    if attempt.kept:
        return f"{begun} has a result that is not in the record; record it: reconciler state recover {attempt.kept}"
    until = stamp(attempt.settled_by)
    if attempt.status is Status.PENDING:
        return f"{begun} may be in flight until {until}; if it has no outcome by then, {how_to_settle(attempt.address)}"
    return f"{begun} has an unknown outcome; {how_to_settle(attempt.address, until)}"


def how_to_settle(address: str, after: str = "") -> str:
    """What to do about an unknown outcome; until the time `after` the service may still carry the call out."""
    resolve = f"reconciler state resolve {address}"
    return (
        f"ask the operator; if the subscription exists: {resolve} --created;"
        f" if it certainly does not exist{f', and only after {after}' if after else ''}: {resolve} --not-created"
    )


def elsewhere(address: Address, request: Request, attempt: Attempt, renaming: Sequence[str]) -> str:
    """Why `request` cannot be created for `address`: `attempt`, of another address, has a route of it.

    `renaming` are the commands that rename that address to this one, where it was renamed.
    """
    if attempt.unsettled:
        return f"it may be in force under {attempt.address} already: {unsettled(attempt)}"
    codes = _shared(request, attempt)
    what = f"{codes} to {attempt.url} is in force under {attempt.address} (attempt {attempt.id})"
    if attempt.address.target != address.target:
        what = f"{what}, another target of the same service"
    if not renaming or attempt.on_purpose:
        return f"{what}; {_record_removed(attempt) if attempt.status is Status.AWAITING_REMOVAL else _remove(attempt)}"
    order = "if it was renamed" if len(renaming) == 1 else "if they were renamed, in this order"
    return f"{what}; {order}: {' && '.join(renaming)}"


def waiting(attempt: Attempt, *, is_going: bool) -> str:
    """What a create waits for where the target says `replace: wait`.

    `is_going` says whether `attempt` awaits removal once the plan is carried out. Where it does not, a person has to
    ask for it: no plan would, for instance, because a code too many is only surplus. What is live cannot be recorded as
    removed before the plan is carried out.
    """
    what = f"replace: wait; created once {attempt.address} (attempt {attempt.id}, {attempt.url}) is removed"
    if attempt.unsettled:
        return f"{what}, or was never created: {unsettled(attempt)}"
    if not is_going:
        return f"{what}; {_remove(attempt)}"
    return f"{what}; {_record_removed(attempt) if attempt.status is not Status.LIVE else 'apply asks for its removal'}"


def beyond(codes: Iterable[str], what: str) -> list[str]:
    """What else comes back with something that is restored; nothing where there are no such codes."""
    named = ", ".join(sorted(codes))
    return [f"it delivers {named} as well, which {'are' if ',' in named else 'is'} {what}"] if named else []


def withdrawing(address: Address, attempts: Sequence[str]) -> str:
    """What restoring attempts wants of a person; one that the operator has deleted already must not be restored."""
    which = attempts[0] if len(attempts) == 1 else "ID"
    return (
        f"withdraw the request to the operator to remove {', '.join(attempts)}; if it was deleted already, record that"
        f" before the apply: reconciler state removed {address} --attempt {which}"
    )


def another_secret(url: str) -> str:
    """What a second subscription with one URL means for whoever verifies notifications there."""
    return f"{url} then has one more secret: its notifications are signed with either"


def moving(request: Request, attempts: Iterable[Attempt]) -> tuple[str, ...]:
    """What stays delivered elsewhere, until a person sees to it, of the codes that move here."""
    return tuple(
        f"{_shared(request, one)} stay delivered to {one.url} as well, until the operator removes"
        f" {one.address} (attempt {one.id})"
        for one in attempts
    )


def _remove(attempt: Attempt) -> str:
    return f"have that removed first: reconciler state retire {attempt.address} --attempt {attempt.id}"


def _record_removed(attempt: Attempt) -> str:
    return f"when the operator has deleted it: reconciler state removed {attempt.address} --attempt {attempt.id}"


def _shared(request: Request, attempt: Attempt) -> str:
    return ", ".join(code for code in attempt.codes if code in request.codes)
