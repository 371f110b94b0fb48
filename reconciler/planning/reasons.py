"""Why a change is planned, and what to know before it is applied: the words of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.entry import who
from reconciler.model.plan import SENDS, Action
from reconciler.model.record import Status
from reconciler.model.url import is_sandbox

_CALLS = {Action.CREATE: "new", Action.EXTEND: "extended", Action.REPLACE: "replaced"}

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.address import Address, TargetName
    from reconciler.model.plan import Request
    from reconciler.model.record import Attempt


def create_calls(actions: Iterable[Action]) -> str:
    """How many of `actions` send a create call, and how many of each kind: "3 create calls (2 new, 1 extended)"."""
    sending = [action for action in actions if action in SENDS]
    kinds = [f"{count} {word}" for action, word in _CALLS.items() if (count := sending.count(action))]
    of_which = f" ({', '.join(kinds)})" if kinds else ""
    return f"{len(sending)} create call{'' if len(sending) == 1 else 's'}{of_which}"


def rebind_to_service(target: TargetName, recorded: str, current: str) -> str:
    """What to do about a record of another service, `recorded`, than the settings use: most often a setting is wrong.

    If one of the two is a sandbox, neither has moved to the other, and each needs a record of its own.
    """
    if is_sandbox(recorded) == is_sandbox(current):
        check = f"check `base_url` in config/ and {target.variable_prefix}BASE_URL, which may be of another target"
    else:
        check = f"this record is {'' if is_sandbox(recorded) else 'not '}a sandbox's: use another place, with --state"
    return f"{check}; only if the service has moved, run: reconciler state rebind -t {target}"


def no_record(target: TargetName) -> str:
    """That a target has no record, and what to do: this machine may not be the one that knew it."""
    return (
        "no state record; if it had one, restore it (see A lost record in BAD_DAY.md); if it never had one, run:"
        f" reconciler state init -t {target}"
    )


def unresolved(attempt: Attempt) -> str:
    """What is not known about an attempt, since when and by whom, and how to resolve it.

    A result that is in a file of this machine is recovered first: before that, the record may lack the attempt itself.
    """
    started = f"a create started {attempt.since} by {who(attempt.started_by)}"
    if attempt.recovery_file:
        return (
            f"{started} has a result that is not in the record; run: reconciler state recover {attempt.recovery_file}"
        )
    until = stamp(attempt.settled_by)
    evidence = evidence_of(attempt)
    if evidence:
        flight = f" may be in flight until {until}" if attempt.status is Status.PENDING else " has an unknown outcome"
        return f"{started}{flight}; {evidence}"
    if attempt.status is Status.PENDING:
        return f"{started} {_resolved_after_flight(attempt)}"
    return f"{started} has an unknown outcome; {how_to_resolve(attempt.address, until)}"


def evidence_of(attempt: Attempt) -> str | None:
    """What shows that an unresolved attempt was created, and the command for it; None if nothing does."""
    resolve = f"run: reconciler state resolve {attempt.address} --created"
    if attempt.answered:
        return f"this machine has the response to its create call, so it was created; {resolve}"
    if attempt.received:
        codes = ", ".join(f"{code} (last {at})" for code, at in attempt.received)
        return f"notifications were received since: {codes}, so it probably exists; {after_flight(attempt)}{resolve}"
    return None


def after_flight(attempt: Attempt) -> str:
    """The wait that comes before the command to resolve: the apply of a call in flight may still record the outcome."""
    return f"wait until {stamp(attempt.settled_by)}, then " if attempt.status is Status.PENDING else ""


def renamed_with_url(source: Attempt, destination: Address, template: str) -> str:
    """What it means that a subscription was renamed whose URL contains its name, and both ways out.

    `template` is its webhookUrl as config/ has it, which may be that of several targets.
    """
    renamed = (
        f"{source.address} was probably renamed to {destination}, and its URL changed only with {{name}}: apply creates"
        " it"
    )
    keep = (
        f"write the old name in place of {{name}} in webhookUrl of {destination.name}, so that it is"
        f" {template.replace('{name}', source.address.name)}, and run: reconciler state mv {source.address}"
        f" {destination}"
    )
    if source.unresolved:
        return (
            f"{renamed} at the new URL. Whether the old one was created is not known; if it was, a plan requests its"
            f" removal once that is recorded. To keep the old one instead, resolve it first; if it was created, {keep}"
        )
    if source.status is Status.AWAITING_REMOVAL:
        return f"{renamed} again at the new URL; the old one awaits removal. To keep the old one instead, {keep}"
    return (
        f"{renamed} again at the new URL and requests the removal of the old one. To keep the old one instead, {keep}"
    )


def how_to_resolve(address: str, after: str = "") -> str:
    """What to do about an unknown outcome; until the time `after` the service may still process the call."""
    resolve = f"run: reconciler state resolve {address}"
    return (
        f"check with the operator whether the subscription exists; if it does, {resolve} --created;"
        f" if it certainly does not, {f'wait until {after}, then ' if after else ''}{resolve} --not-created"
    )


def how_to_resolve_attempt(attempt: Attempt) -> str:
    """How to resolve an attempt with an unknown outcome, or to record the result that a recovery file holds."""
    if attempt.recovery_file:
        return f"its result is not in the record; run: reconciler state recover {attempt.recovery_file}"
    if attempt.status is Status.PENDING:
        return f"its call {_resolved_after_flight(attempt)}"
    return how_to_resolve(attempt.address, stamp(attempt.settled_by))


def _resolved_after_flight(attempt: Attempt) -> str:
    until, resolve = stamp(attempt.settled_by), how_to_resolve(attempt.address)
    return f"may be in flight until {until}; if it has no outcome after that, {resolve}"


def elsewhere(address: Address, request: Request, attempt: Attempt, renaming: Sequence[str]) -> str:
    """Why `request` cannot be created for `address`: `attempt`, of another address, has a route of it.

    `renaming` are the commands that rename that address to this one, where it was renamed.
    """
    if attempt.unresolved:
        return f"it may already be in force as {attempt.address}: {unresolved(attempt)}"
    codes = _shared(request, attempt)
    what = f"{codes} to {attempt.url} is already in force as {attempt.address} (attempt {attempt.id})"
    if attempt.address.target != address.target:
        what = f"{what}, another target of the same service"
    if not renaming or attempt.on_purpose:
        return f"{what}; {_record_removed(attempt) if attempt.status is Status.AWAITING_REMOVAL else _remove(attempt)}"
    renamed = "the subscription was" if len(renaming) == 1 else "these subscriptions were"
    return f"{what}; if {renamed} renamed, run: {' && '.join(renaming)}"


def waiting(attempt: Attempt, *, is_going: bool) -> str:
    """What a create waits for where the target says `replace: wait`.

    `is_going` says whether `attempt` awaits removal after the plan is applied. If it does not, a person has to request
    the removal: no plan would, for instance, because a code too many is only surplus. What is live cannot be recorded
    as removed before the plan is applied.
    """
    what = f"replace: wait; waiting for the removal of {attempt.address} (attempt {attempt.id}, {attempt.url})"
    if attempt.unresolved:
        return f"{what}, whose create is unresolved: {unresolved(attempt)}"
    if not is_going:
        return f"{what}; {_remove(attempt)}"
    return f"{what}; {_record_removed(attempt) if attempt.status is not Status.LIVE else 'apply requests its removal'}"


def also_delivered(codes: Iterable[str], why_not: str) -> list[str]:
    """What else comes back with something that is restored; empty if there are no such codes."""
    named = ", ".join(sorted(codes))
    return [f"it also delivers {named} ({why_not})"] if named else []


def cancel_removal(address: Address, attempt: str) -> str:
    """What to do before a restore: an attempt that the operator has deleted already must not be restored."""
    return (
        f"cancel the removal request for attempt {attempt} with the operator; if it is already deleted,"
        f" first run: reconciler state removed {address} --attempt {attempt}"
    )


BOTH_DELIVER = "both subscriptions deliver until the operator removes the old one"
"""What a replacement means; reports that show what is delivered say it with the codes."""


def exchanged(*addresses: Address) -> str:
    """What to ask of replacements whose new URLs are each other's old ones."""
    *others, last = sorted(addresses)
    return f"the URLs of {', '.join(others)} and {last} are exchanged; is that intended?"


def second_secret(url: str) -> str:
    """What a second subscription with the same URL means for the endpoint there, which verifies notifications."""
    return f"this endpoint must now accept two signing secrets: {url}"


def moving(request: Request, attempts: Iterable[Attempt]) -> tuple[str, ...]:
    """Which of the codes that move here other subscriptions deliver, or may, until the operator removes them."""
    return tuple(_moving(_shared(request, attempt), attempt) for attempt in attempts)


def _moving(codes: str, attempt: Attempt) -> str:
    name = f"{attempt.address} (attempt {attempt.id})"
    if attempt.unresolved:
        return (
            f"{codes}: if {name} was created, which is not known, also delivered to {attempt.url} until the operator"
            " removes it"
        )
    return f"{codes}: also delivered to {attempt.url} until the operator removes {name}"


def _remove(attempt: Attempt) -> str:
    return f"to have it removed first, run: reconciler state retire {attempt.address} --attempt {attempt.id}"


def _record_removed(attempt: Attempt) -> str:
    return f"after the operator has deleted it, run: reconciler state removed {attempt.address} --attempt {attempt.id}"


def _shared(request: Request, attempt: Attempt) -> str:
    return ", ".join(code for code in attempt.codes if code in request.codes)
