"""The rows for statements about attempts: outcomes, removals, names and secrets.

A statement that names no attempts applies to every attempt for which it is currently possible. A statement that names
attempts applies only to these attempts, so its command can safely be pasted twice, late, or by two people.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from reconciler.errors import Message, Refused, SelectionError, step
from reconciler.model.address import ADDRESS, Selection, is_pattern, suggestion
from reconciler.model.outcome import Outcome
from reconciler.model.record import Status, is_recorded_twice
from reconciler.model.url import normal_url
from reconciler.record import facts as fact
from reconciler.record.facts import Exists, What
from reconciler.record.gates import removal_command, resolve_step, secret_command, settling
from reconciler.record.statements import CancelRemoval, ConfirmRemoval, Draft, RequestRemoval
from reconciler.values import later, stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.errors import Step
    from reconciler.model.record import Attempt, Record
    from reconciler.record.facts import AnyFact
    from reconciler.record.statements import Move, Removal, Resolve, SetSecret, StatementContext


def selected(record: Record, where: str, attempts: Sequence[str]) -> list[Attempt]:
    """Return the attempts of an address or a pattern. If ids are given, return only the attempts with these ids.

    Raises SelectionError if `where` is neither an address nor a pattern, or matches nothing. Raises Refused for an id
    that belongs to no attempt of the address or pattern.
    """
    if not is_pattern(where):
        raise SelectionError(Message("bad-address", "expected region/environment/name, or a pattern", where))
    selection = Selection((where,))
    there = [attempt for attempt in record.attempts.values() if selection.has(attempt.address)]
    if not there:
        what = f"not in the record{suggestion([where], record.addresses)}"
        show = step("to list what is recorded, run", "reconciler", "state", "show")
        raise SelectionError(Message("not-recorded", what, where, (show,)))
    unknown = sorted(set(attempts) - {attempt.id for attempt in there})
    if unknown:
        show = step("to list its attempts, run", "reconciler", "state", "show", where)
        raise Refused(Message("attempt-unknown", f"no such attempt: {', '.join(unknown)}", where, (show,)))
    return [attempt for attempt in there if attempt.id in attempts or not attempts]


def secret_step(attempt: Attempt) -> Step:
    """Return the step that records the secret of a create whose answer was lost."""
    lost = "its response, with the secret, was lost: ask the operator for the secret, then run"
    return step(lost, *secret_command(attempt.address, attempt.id))


def _without_secret(attempt: Attempt) -> Message:
    return Message("secret-lost", "its secret is not recorded", attempt.address, (secret_step(attempt),))


def unresolved_message(attempt: Attempt, now: float) -> Message:
    """Return a message saying that an attempt must be resolved first. Its steps name the earliest time to do so."""
    what = f"attempt {attempt.id}: outcome unknown"
    return Message("outcome-unknown", what, attempt.address, settling(attempt, now))


def resolve(statement: Resolve, context: StatementContext, record: Record) -> Draft:
    """Return the facts that resolve unknown outcomes."""
    attempts = selected(record, statement.where, statement.attempts)
    if not statement.attempts:
        open_attempts = [attempt for attempt in attempts if attempt.unresolved]
        if not open_attempts and not ADDRESS.fullmatch(statement.where):
            return Draft(notices=(Message("nothing-unresolved", "no unresolved attempts found", statement.where),))
        attempts = open_attempts or sorted(attempts, key=lambda attempt: attempt.in_force)[-1:]
    refusals = [message for attempt in attempts if (message := _contradicted(statement, attempt, context))]
    if refusals:
        raise Refused(*refusals)
    facts: list[AnyFact] = []
    forced = statement.force and statement.attempts  # attempts that are not named are resolved only if still unknown
    for attempt in attempts:
        if statement.created and (not _exists(attempt) or (forced and attempt.status is Status.GONE)):
            facts.append(
                Exists(
                    at=context.at,
                    attempt=attempt.id,
                    what=(call := what_of(attempt)),
                    note=statement.note,
                    disproves=attempt.confirmations,
                    beside=_distinct(attempt, in_force_with(call, record), record),
                )
            )
        elif not statement.created and attempt.unresolved:
            facts.append(fact.Absent(at=context.at, attempt=attempt.id, note=statement.note))
    said = {each.attempt for each in facts if isinstance(each, Exists)}
    notices = [_without_secret(each) for each in attempts if each.id in said and not (each.responses or each.secrets)]
    if not statement.created and facts:
        what = "if it exists after all, the next apply creates it a second time"
        notices = [Message("created-again", what, attempt.address) for attempt in attempts if attempt.unresolved]
    if statement.created and not facts:
        notices = [_recorded_as_removed(each) for each in attempts if each.removed and each.status is Status.GONE]
    return Draft(tuple(facts), tuple(notices), weakens=bool(facts) and not statement.created)


def _distinct(attempt: Attempt, sharing: Iterable[str], record: Record) -> tuple[str, ...]:
    """Return the ids in `sharing` of the attempts that are certainly not the same subscription as `attempt`.

    These are the attempts with another URL or, if `attempt` is gone, all of them.
    """
    is_gone, url = attempt.status is Status.GONE, normal_url(attempt.url)
    return tuple(other for other in sharing if is_gone or normal_url(record.attempts[other].url) != url)


def in_force_with(call: What, record: Record) -> tuple[str, ...]:
    """Return the ids of the attempts in force that deliver a route of a create call."""
    routes, url = record.routes_at(record.service_of(call.base_url)), normal_url(call.template or call.url)
    sharing = (attempt for code in call.codes for attempt in routes.get((code, url), ()))
    return tuple(sorted({attempt.id for attempt in sharing if attempt.in_force}))


def _recorded_as_removed(attempt: Attempt) -> Message:
    exists = resolve_step(attempt, "if it still exists, run", "--created", force=True)
    what = f"attempt {attempt.id} was created, and is recorded as removed"
    return Message("recorded-as-removed", what, attempt.address, (exists,))


def _contradicted(statement: Resolve, attempt: Attempt, context: StatementContext) -> Message | None:
    """Return the reason to refuse a statement about an attempt, or None if it is allowed or already recorded."""
    flag = "--created" if statement.created else "--not-created"
    if not attempt.unresolved:
        if _exists(attempt) == statement.created or (statement.created and statement.force and statement.attempts):
            return None
        if attempt.received:
            what = f"it was created: a notification arrived at the attempt's own URL at {attempt.received}"
            return Message("resolve-disproved", what, attempt.address)
        known = "created" if _exists(attempt) else "not created"
        way = step("if the operator removed it, run", *removal_command("confirm", attempt, attempt.codes))
        if statement.created:
            way = resolve_step(attempt, "if it exists after all, run", flag, force=True, note=statement.note)
        what = f"attempt {attempt.id} is already recorded as {known}"
        return Message("resolve-contradicted", what, attempt.address, (way,))
    if not statement.created and attempt.id in context.unrecovered:
        return context.unrecovered[attempt.id]
    if not attempt.settled(context.now):
        after = stamp(attempt.settled_by)
        what = f"the call of attempt {attempt.id} may be in flight until {after}"
        way = resolve_step(attempt, f"after {after}, run", flag, note=statement.note)
        return Message("resolve-too-early", what, attempt.address, (way,))
    signs = () if statement.created or statement.force else context.signs(attempt)
    if not signs:
        return None
    steps = (
        resolve_step(attempt, "if it exists, run", "--created"),
        resolve_step(attempt, "only if the operator says that it does not exist, run", flag, force=True),
    )
    what = f"notifications of {', '.join(signs)} have since arrived at its URL: it probably exists"
    return Message("resolve-against-signs", what, attempt.address, steps)


def what_of(attempt: Attempt) -> What:
    """Return the complete create call of an attempt, for facts that replace a lost intent."""
    return What(
        address=str(attempt.address),
        codes=tuple(sorted({*attempt.codes, *attempt.removed_codes})),
        url=attempt.url,
        base_url=attempt.base_url,
        template=attempt.template if attempt.own_url else "",
        action=attempt.action,
        account=attempt.account,
        send_by=attempt.send_by,
        settled_by=attempt.settled_by,
        supersedes=attempt.supersedes,
    )


def _exists(attempt: Attempt) -> bool:
    """True if the attempt is known to have been created; it may have been removed since."""
    return bool(attempt.exists or attempt.received or attempt.outcome is Outcome.CREATED)


def removal(statement: Removal, context: StatementContext, record: Record) -> Draft:
    """Return the facts about removals by the operator. Raises Refused if attempts must be resolved first."""
    there = selected(record, statement.where, statement.attempts)
    attempts = [attempt for attempt in there if attempt.in_force]
    unknown = [attempt for attempt in there if attempt.unresolved and (statement.attempts or not attempts)]
    if unknown:
        raise Refused(*(unresolved_message(attempt, context.now) for attempt in unknown))
    known = {code for attempt in attempts for code in (*attempt.codes, *attempt.removed_codes)}
    strange = sorted(set(statement.codes) - known)
    if strange and attempts:
        raise Refused(Message("code-unknown", f"no subscription there has {', '.join(strange)}", statement.where))
    match statement:
        case RequestRemoval():
            return _request(statement, attempts, context)
        case CancelRemoval():
            return _cancel(statement, attempts, context)
        case ConfirmRemoval():
            return _confirm(statement, there, context, record)
        case _:
            assert_never(statement)


def _request(statement: RequestRemoval, attempts: list[Attempt], context: StatementContext) -> Draft:
    facts = []
    for attempt in attempts:
        asked = set() if attempt.by_plan else set(attempt.requested_codes)
        codes = tuple(
            code for code in attempt.codes if code in (statement.codes or attempt.codes) and code not in asked
        )
        if codes:
            facts.append(fact.RemovalRequested(at=context.at, attempt=attempt.id, codes=codes))
    messages = (Message("send-request", "only the record changes: also ask the operator for the removal"),)
    return Draft(tuple(facts), messages if facts else ())


def _cancel(statement: CancelRemoval, attempts: list[Attempt], context: StatementContext) -> Draft:
    facts: list[AnyFact] = []
    for attempt in attempts:
        rest = tuple(code for code in attempt.requested_codes if statement.codes and code not in statement.codes)
        if rest != attempt.requested_codes:
            at, by_plan = context.at, attempt.by_plan
            facts.append(fact.RemovalCancelled(at=at, attempt=attempt.id, requests=attempt.requests))
            if rest:
                facts.append(fact.RemovalRequested(at=at, attempt=attempt.id, codes=rest, by_plan=by_plan))
    tell = step("if the operator already has the request, withdraw it there too")
    return Draft(tuple(facts), (Message("tell-operator", "the codes stay in force", "", (tell,)),) if facts else ())


def _confirm(statement: ConfirmRemoval, attempts: list[Attempt], context: StatementContext, record: Record) -> Draft:
    """Return the facts that confirm removals.

    A live attempt must be named, so that the same command pasted again cannot end another attempt. Raises Refused if
    there is nothing to confirm, unless a removal has already been confirmed.
    """
    facts, weakens, live, twins = [], False, [], dict[str, Message]()
    for attempt in filter(lambda attempt: attempt.in_force, attempts):
        codes = attempt.requested_codes
        if statement.codes:
            codes = tuple(code for code in attempt.codes if code in statement.codes)
            if not codes:  # they are already removed, or belong to another attempt
                continue
        elif not codes and not attempt.removed_codes:
            codes = attempt.codes
        asked = set(codes) <= set(attempt.requested_codes)
        if not codes or not (asked or statement.attempts):
            live.append(attempt)
            continue
        weakens = weakens or not asked
        facts.append(fact.RemovalConfirmed(at=context.at, attempt=attempt.id, codes=codes))
        twins |= _twins(attempt, codes, record)
    notices = () if facts else tuple(_not_requested(attempt, statement.codes) for attempt in live)
    if notices and not any(attempt.confirmations for attempt in attempts):
        raise Refused(*notices)
    confirmed = {each.attempt for each in facts}
    left = tuple(message for attempt, message in twins.items() if attempt not in confirmed)
    return Draft(tuple(facts), notices + left, weakens)


def _twins(attempt: Attempt, codes: Sequence[str], record: Record) -> dict[str, Message]:
    """Return a message for each attempt in force that may be the same subscription as one whose codes were removed."""
    messages = {}
    for other in map(record.attempts.__getitem__, in_force_with(what_of(attempt), record)):
        shared = tuple(code for code in other.codes if code in codes)
        if shared and other.id != attempt.id and is_recorded_twice(attempt, other):
            way = step("if it is, run", *removal_command("confirm", other, shared))
            what = f"attempt {other.id} may be the same subscription, and stays in force"
            messages[other.id] = Message("recorded-twice", what, other.address, (way,))
    return messages


def _not_requested(attempt: Attempt, named: Sequence[str]) -> Message:
    words = removal_command("confirm", attempt, named or tuple(attempt.cancelled) or attempt.codes)
    what = f"attempt {attempt.id} is in force, and its removal was not requested"
    way = step("if the operator removed it, run", *words)
    return Message("removal-not-requested", what, attempt.address, (way,))


def move(statement: Move, context: StatementContext, record: Record) -> Draft:
    """Return the fact that moves all attempts of an address to another address."""
    for text in (statement.source, statement.to):
        if not ADDRESS.fullmatch(text):
            raise SelectionError(Message("bad-address", "expected an address region/environment/name", text))
    there = [attempt for attempt in record.at_address(statement.to) if attempt.status is not Status.GONE]
    former = {address for attempt in record.at_address(statement.to) for address in attempt.former_addresses}
    if statement.source in former and not record.at_address(statement.source):
        return Draft()
    attempts = selected(record, statement.source, ())
    rivals = any(attempt.other_addresses for attempt in attempts)
    if there and not (rivals and statement.source == statement.to):
        show = step("to see it, run", "reconciler", "state", "show", statement.to)
        raise Refused(Message("address-in-use", "already in the record", statement.to, (show,)))
    _refuse_other_service(statement, attempts, context, record)
    replaced = tuple(sorted({rename for attempt in attempts for rename in attempt.renames}))
    ids = tuple(sorted(attempt.id for attempt in attempts))
    return Draft((fact.Renamed(at=context.at, attempts=ids, to=str(statement.to), replaces=replaced),))


def _refuse_other_service(statement: Move, attempts: list[Attempt], context: StatementContext, record: Record) -> None:
    source, to = (text.rpartition("/")[0] for text in (statement.source, statement.to))
    if source == to:
        return
    bound, desired = record.base_urls.get(to, ()), context.desired
    declared = [] if bound and to not in desired.targets else [desired.target(to, statement.to).base_url]
    services = {record.service_of(url) for url in (*declared, *bound)}
    if services != {record.service_of(attempt.base_url) for attempt in attempts}:
        what = f"this subscription exists at a different service from that of {to}"
        words = ("reconciler", "removal", "request", statement.source)
        way = step("create it there, then request its removal here", *words)
        raise Refused(Message("other-service", what, statement.source, (way,)))


def set_secret(statement: SetSecret, context: StatementContext, record: Record) -> Draft:
    """Return the fact that records a secret."""
    named = (statement.attempt,) if statement.attempt else ()
    attempts = [a for a in selected(record, statement.where, named) if a.status is not Status.GONE or named]
    if len(attempts) != 1:
        choices = tuple(step("", *secret_command(attempt.address, attempt.id)) for attempt in attempts)
        what = "several subscriptions there" if attempts else "nothing is in force there"
        raise Refused(Message("attempt-ambiguous", what, statement.where, choices))
    at = max(context.at, later(attempts[0].at, timedelta(seconds=1)))  # of two secrets, the one set last counts
    return Draft((fact.SecretSet(at=at, attempt=attempts[0].id, secret=statement.secret),))
