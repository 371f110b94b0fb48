"""The messages of a plan: the reasons for each change, and the warnings to read before it is applied.

Every command in them names its attempts, so that pasting it late does no harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import Message, Step, step
from reconciler.model.record import Status
from reconciler.model.url import is_sandbox
from reconciler.record.gates import removal_command, settling
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.model.address import Address
    from reconciler.model.desired import Target
    from reconciler.model.plan import Request
    from reconciler.model.record import Attempt

NOTHING_IN_FORCE = Message("nothing-in-force", "no subscription in force")
NOT_DESIRED = Message("not-desired", "no longer in config/")
SUPERSEDED = Message("superseded", "this create was sent again, and the later create delivers; this one can be removed")
WANTED_AGAIN = Message("desired-again", "awaiting removal, but in config/ again")
TO_BE_REPLACED = Message("to-be-replaced", "to be replaced after its removal")
SECOND_SECRET = Message("second-secret", "its endpoint must now accept one more signing secret")
STILL_DELIVERS = Message("still-delivers", "apply requests its removal; until the operator acts, it delivers")
BOTH_DELIVER = Message("both-deliver", "both subscriptions deliver until the operator removes the old one")


def who(by: Mapping[str, str]) -> str:
    """Return the author of a fact in a few words, from its `by` field."""
    name = by.get("actor") or by.get("user") or "?"
    if "rerun_by" in by:
        name = f"{by['rerun_by']}, rerunning a run of {name}"
    host = f" on {by['host']}" if "host" in by else ""
    run = f" ({by['url']})" if "url" in by else ""
    return f"{name}{host}{run}"


def missing_codes(codes: Iterable[str]) -> Message:
    """Return the reason for an extension: new event codes."""
    return Message("new-codes", f"new event codes: {', '.join(codes)}")


def url_changed(old: Iterable[str]) -> Message:
    """Return the reason for a replacement: the URL changed."""
    return Message("url-changed", f"the URL changed from {', '.join(sorted(set(old)))}")


def already_delivered(after: Request, old: Iterable[Attempt]) -> Message:
    """Return the reason for the removal of an attempt at an old URL."""
    beyond = sorted({code for attempt in old for code in attempt.codes}.difference(after.codes))
    also = f"; no longer in config/: {', '.join(beyond)}" if beyond else ""
    return Message("already-delivered", f"superseded: the URL in config/ is {after.template}{also}")


def sent_again(attempts: Iterable[Attempt]) -> Message:
    """Return the reason for a retry: the outcome of earlier attempts is unknown."""
    names = ", ".join(attempt.id for attempt in attempts)
    return Message(
        "sent-again",
        f"`unknown: retry`: the outcome of attempt {names} is unknown, and each attempt has its own URL",
    )


def also_delivers(codes: Iterable[str], why_not: str) -> tuple[Message, ...]:
    """Return a note about the undesired codes that a restored attempt also delivers, or no note if there are none."""
    named = ", ".join(sorted(codes))
    return (Message("also-delivers", f"it also delivers {named} ({why_not})"),) if named else ()


def moving(request: Request, attempt: Attempt) -> Message:
    """Return a warning that an attempt of another address also delivers codes of a request until it is removed."""
    what = f"{_shared(request, attempt)}: also delivered to {attempt.template} until the operator removes"
    what = f"{what} {attempt.address} (attempt {attempt.id})"
    return Message("moving-codes", f"{what}, if that attempt was created" if attempt.unresolved else what)


def unmanaged(request: Request, attempt: Attempt, renaming: Sequence[str]) -> Message:
    """Return a message saying that an attempt on an undeclared target keeps codes of a request in force.

    `renaming` is as in `elsewhere`.
    """
    what = f"{_shared(request, attempt)}: also delivered to {attempt.template} as {attempt.address}"
    what = f"{what} (attempt {attempt.id}); no removal is planned, since config/ does not declare its target"
    codes = [code for code in attempt.codes if code in request.codes]
    steps = (*_renamed(attempt, renaming), *_gone(attempt, codes))
    return Message("in-force-undeclared", what, steps=steps)


def declared_absent(attempt: Attempt) -> Message:
    """Return a warning that a create may duplicate an attempt that a person resolved as not created."""
    what = f"attempt {attempt.id} was resolved as not created; if it exists after all, this creates a duplicate"
    return Message("declared-absent", what)


def exchanged(one: Address, other: Address) -> Message:
    """Return a warning about two replacements that swap their URLs."""
    return Message("urls-exchanged", f"the URLs of {one} and {other} are swapped; is that intended?")


def cancel_removal(attempt: Attempt) -> Message:
    """Return a message saying that a person must cancel a removal request with the operator before a restore."""
    return Message(
        "cancel-removal",
        f"cancel the removal request for attempt {attempt.id} with the operator",
        steps=(step("if it has already been removed, first run", *removal_command("confirm", attempt, attempt.codes)),),
    )


def sent_again_later(attempt: Attempt, after: float, now: float) -> Message:
    """Return a message saying that an unknown create needs no action, because an apply after `after` sends it again."""
    known = "its call may be in flight" if attempt.in_flight(now) else "outcome unknown"
    what = f"{known}; nothing to do: the next apply after {stamp(after)} sends it again"
    return Message("sent-again-later", what, attempt.address, settling(attempt, after)[2:])


def unresolved(attempt: Attempt, received: Mapping[str, tuple[str, str]], now: float) -> Message:
    """Return a message saying that the outcome of a create is unknown, and when and by whom the create was started.

    The steps resolve the outcome. `received` has the codes that were received since then at the URL of the create, as
    `Record.received_by` returns them.
    """
    started = f"create started at {attempt.since} by {who(attempt.by)}"
    steps = settling(attempt, now)
    if received:
        codes = ", ".join(f"{code} (last {last})" for code, (_, last) in sorted(received.items()))
        what = f"{started}: outcome unknown, but it probably exists: notifications received since then: {codes}"
        return Message("unresolved", what, attempt.address, steps[:1])
    if attempt.in_flight(now):
        what = f"{started}: its call may be in flight until {stamp(attempt.settled_by)}; if it has no outcome then,"
        return Message("in-flight", f"{what} check with the operator", attempt.address, steps)
    what = f"{started}: outcome unknown; do not create it by other means; check with the operator"
    return Message("unresolved", what, attempt.address, steps)


def elsewhere(request: Request, attempt: Attempt, renaming: Sequence[str]) -> Message:
    """Return the reason why a request is blocked: an attempt of another address has one of the request's routes.

    `renaming` has the arguments of the `state mv` command that moves the attempt to the address of the request, or that
    first moves another subscription away from this address. It is empty if there is no such command.
    """
    what = f"{_shared(request, attempt)} to {attempt.template} is already in force as {attempt.address}"
    what = f"{what} (attempt {attempt.id})"
    codes = [code for code in attempt.codes if code in request.codes]
    return Message("in-force-elsewhere", what, steps=_renamed(attempt, renaming) or _gone(attempt, codes))


def rival(codes: Iterable[str], address: Address) -> Message:
    """Return the reason why codes are not created: another address of the service desires them too."""
    what = f"{address} at the same service also has {', '.join(codes)}"
    return Message("desired-twice", what, steps=(step("in config/, remove these event codes from one of the two"),))


def removed_first(attempt: Attempt) -> Message:
    """Return the reason why a change under `replace: wait` waits for a removal that the plan itself requests."""
    return Message("waits-for-removal", f"{_awaited(attempt)}; apply requests its removal")


def waiting(attempt: Attempt, codes: Sequence[str], *, is_staying: bool) -> Message:
    """Return the reason why a change under `replace: wait` waits: a person must request the removal of these codes.

    `is_staying` is true if the attempt awaits removal and the plan restores it.
    """
    if attempt.unresolved:
        return Message("waits-for-removal", f"{_awaited(attempt)}, whose outcome is unknown")
    return Message("waits-for-removal", _awaited(attempt), steps=_gone(attempt, codes, is_staying=is_staying))


def leaving(attempt: Attempt, codes: Iterable[str]) -> Message:
    """Return the reason why a desired route is neither kept nor created: its removal was requested."""
    named = tuple(codes)
    what = f"{', '.join(named)}: still in config/, but removal was requested (attempt {attempt.id})"
    keep = step("to cancel the request, run", *removal_command("cancel", attempt, named))
    done = step("after the removal, run", *removal_command("confirm", attempt, named))
    return Message("removal-requested", what, steps=(keep, done))


def after(takers: Iterable[Address]) -> Message:
    """Return the reason why a removal waits: other addresses take over its codes first."""
    return Message("after-takers", f"waits until its event codes are taken over by {', '.join(takers)}")


def depends(blocked: Sequence[Address], unselected: Sequence[Address]) -> tuple[Message, ...]:
    """Return the reasons why a removal is blocked: an address that takes over its codes is blocked or unselected."""
    messages = [Message("waits-for-blocked", f"waiting for {address}, which is blocked") for address in blocked]
    options = [word for address in unselected for word in ("-t", address)]
    if unselected:
        what = f"its event codes move to {', '.join(unselected)} (not selected)"
        create = step("create them there first, with", "reconciler", "apply", *options)
        messages.append(Message("waits-for-unselected", what, steps=(create,)))
    return tuple(messages)


def other_service(target: Target, recorded: str) -> Message:
    """Return a message saying that the record binds a target to another service; usually a setting is wrong."""
    what = f"the record binds this target to the service at {recorded}, but the settings name {target.base_url}"
    what = f"{what}; nothing is created there"
    if is_sandbox(recorded) != is_sandbox(target.base_url):
        belongs = "belongs" if is_sandbox(recorded) else "does not belong"
        other = step(f"this record {belongs} to a sandbox: use another place, with --state")
        return Message("other-service", what, target.name, (other,))
    check = step(f"check `base_url` in config/ and {target.name.variable_prefix}BASE_URL")
    return Message("other-service", what, target.name, (check, _rebind(target, "service")))


def other_account(target: Target, recorded: Iterable[str], current: str) -> Message:
    """Return a message saying that the record binds a target to another account. Accounts are shown as short hashes."""
    bound = ", ".join(sorted(account[:19] for account in recorded))
    what = f"the record binds this target to the account {bound}…, but the settings name {current[:19]}…"
    what = f"{what}; nothing is created there"
    check = step(f"check {target.name.variable_prefix}CLIENT_ID")
    return Message("other-account", what, target.name, (check, _rebind(target, "account")))


def _rebind(target: Target, what: str) -> Step:
    return step(f"only if both are the same {what}, run", "reconciler", "state", "rebind", "-t", target.name)


def _renamed(attempt: Attempt, renaming: Sequence[str]) -> tuple[Step, ...]:
    if not renaming:
        return ()
    first = "run" if renaming[0] == attempt.address else "free its new name, then plan again"
    return (step(f"if the subscription was renamed, {first}", "reconciler", "state", "mv", *renaming),)


def _gone(attempt: Attempt, codes: Sequence[str], *, is_staying: bool = False) -> tuple[Step, ...]:
    """Return the step that requests the removal of these codes or, if it has already been requested, confirms it."""
    if not is_staying and set(codes) <= set(attempt.requested_codes):
        asked = codes if attempt.status is Status.LIVE else attempt.codes  # the operator is to remove all of its codes
        return (step("after the operator has removed it, run", *removal_command("confirm", attempt, asked)),)
    return (step("to have it removed first, run", *removal_command("request", attempt, codes)),)


def _awaited(attempt: Attempt) -> str:
    attempt_at = f"{attempt.address} (attempt {attempt.id}, {attempt.template})"
    return f"waiting for the removal of {attempt_at}, as `replace: wait` requires"


def _shared(request: Request, attempt: Attempt) -> str:
    return ", ".join(code for code in attempt.codes if code in request.codes)
