"""The rows for statements about the record as a whole, and the table of all rows."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from reconciler.errors import Message, Refused, step
from reconciler.model.record import Loss
from reconciler.model.url import has_attempt, normal_url, service_key
from reconciler.record import gates, statements
from reconciler.record.attempt_rows import move, removal, resolve, set_secret, unresolved_message
from reconciler.record.chain import missing
from reconciler.record.descriptions import describe, subjects
from reconciler.record.facts import Begun, Completed, LossOpened, Rebound, SecretSet
from reconciler.record.fold import fold
from reconciler.record.gates import (
    LOST_FOR_GOOD,
    Obstacle,
    complete_step,
    in_flight_until,
    obstacle_messages,
    use_place,
)
from reconciler.record.import_row import import_
from reconciler.record.statements import UNGATED, Draft
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reconciler.model.record import Record
    from reconciler.record.facts import AnyFact
    from reconciler.record.statements import Statement, StatementContext


def draft(statement: Statement, context: StatementContext) -> Draft:
    """Return a draft with the facts that a statement appends. Raises Refused and SelectionError."""
    if isinstance(statement, statements.Begin):
        return _begin(statement, context)
    if isinstance(statement, statements.AcceptLoss):
        return _accept_loss(context)
    if context.record is None:
        raise Refused(Message("record-missing", "there is no record", context.standing.place))
    return _ROWS[type(statement)](statement, context, context.record)


def _begin(statement: statements.Begin, context: StatementContext) -> Draft:
    place = context.standing.place
    if context.record is not None:
        what = f"there is already a record, {context.record.id}"
        see = step("to see it, run", "reconciler", "state", "show")
        end = complete_step("when nothing is missing from it", context.record.open_losses, context.now)
        raise Refused(Message("record-exists", what, place, (see, *([end] if context.record.open_losses else []))))
    known = []
    back = (step(f"correct the place ({place}), or restore the record there"), LOST_FOR_GOOD)
    if context.expected:
        known.append(Message("record-named", f"config/ names the record {context.expected}", "record", back))
    for note in gates.usable(context.notes):
        length = "" if note.second else f", {note.entries} entries"
        what = f"this machine knows a record of this project: {note.record}{length}"
        use = step(f"use it: {use_place(note.place, context.standing.named_by)}")
        known.append(Message("record-known", what, note.place, back if note.place == place else (use, LOST_FOR_GOOD)))
    if context.second:
        what = f"the branch {gates.head_branch(place)} with the head of a record exists, so there was a record here"
        known.append(Message("record-known", what, place, back))
    if known:
        raise Refused(*known)
    usual, aside = context.desired.state or context.desired.record, tuple[Message, ...]()
    if usual and context.standing.named_by:
        what = f"config/ names another record ({usual}), whose entries do not count here"
        aside = (Message("record-aside", what, place, (step("for a rehearsal only"),)),)
    opened = LossOpened(at=context.at, loss=context.new_id(), cause="begun")
    facts: list[AnyFact] = [Begun(at=context.at, record=context.new_id()), opened]
    if statement.complete:
        facts.append(Completed(at=context.at, losses=(opened.loss,)))
        return Draft(tuple(facts), (_said_by_complete(place, "no subscription exists yet"), *aside), weakens=True)
    return Draft(tuple(facts), (_until_complete(context, opened), *aside))


def _accept_loss(context: StatementContext) -> Draft:
    record, standing = context.record, context.standing
    if Obstacle.OTHER_RECORD in standing.obstacles and record is not None:
        raise Refused(*obstacle_messages(record, standing, context.now, context.expected)[:1])
    if context.continues and record is not None:
        what = f"the record continues at {record.closed_to}, where it is neither lost nor closed"
        (closed,) = obstacle_messages(record, standing, context.now)
        raise Refused(Message("record-continues", what, standing.place, closed.steps[:-1]))
    facts: list[AnyFact] = []
    heads = standing.missing
    if record is None:
        heads = tuple(sorted({note.head for note in context.notes} | ({context.second} if context.second else set())))
        if not (heads or context.expected):
            begin = () if context.in_ci else (step("to begin the record, run", "reconciler", "state", "init"),)
            raise Refused(Message("nothing-lost", "no record of this project is known", standing.place, begin))
        here = [note.record for note in context.notes if note.place == standing.place]
        ids = [context.expected, *here, *(note.record for note in context.notes)]
        facts.append(Begun(at=context.at, record=next(filter(None, ids), "") or context.new_id()))
    elif standing.first_gate_open and any(context.now < in_flight_until(loss) for loss in record.open_losses):
        return Draft()  # just accepted
    opened = LossOpened(at=context.at, loss=context.new_id(), cause="accepted", heads=heads)
    return Draft((*facts, opened), (_until_complete(context, opened),), weakens=True)


def _until_complete(context: StatementContext, opened: LossOpened) -> Message:
    loss = Loss(opened.loss, opened.cause, opened.at, opened.by)
    steps = (
        step("record what exists, with", "reconciler", "state", "import", "ADDRESS"),
        step("add what another copy of the record has", "reconciler", "state", "recover", "FILE"),
        complete_step("when nothing is missing", (loss,), context.now),
    )
    return Message(
        "until-complete", "nothing is created until everything that exists is recorded", context.standing.place, steps
    )


def _complete(statement: statements.Complete, context: StatementContext, record: Record) -> Draft:
    unknown = sorted(set(statement.losses) - record.losses.keys())
    if unknown:
        raise Refused(Message("loss-unknown", f"the record has no loss {', '.join(unknown)}", context.standing.place))
    losses = [loss for loss in record.open_losses if loss.id in statement.losses or not statement.losses]
    if not losses:
        return Draft()
    refusals = [message for loss in losses if (message := _not_ended_by_complete(loss, context, record))]
    refusals += dict.fromkeys(context.unrecovered.values())
    refusals += [unresolved_message(attempt, context.now) for attempt in record.attempts.values() if attempt.blocks]
    if refusals:
        raise Refused(*refusals)
    fact = Completed(at=context.at, losses=tuple(sorted(loss.id for loss in losses)))
    said = _said_by_complete(context.standing.place, "the record lists exactly what exists")
    return Draft((fact,), (said, *_not_recorded(context, record)), weakens=True)


def _said_by_complete(place: str, what: str) -> Message:
    what = f"you declare that {what} at the services, and that no other record of them is in use"
    return Message("said-by-complete", what, place)


def _not_ended_by_complete(loss: Loss, context: StatementContext, record: Record) -> Message | None:
    if loss.cause == "copy":
        others = [word for other in record.open_losses if other.cause != "copy" for word in ("--loss", other.id)]
        steps = [step("finish the copy", "reconciler", "state", "copy", loss.of, context.standing.place)]
        if others:
            steps.append(step("to end only the other losses, run", "reconciler", "state", "complete", *others))
        what = f"loss {loss.id} was opened by a copy; finishing the copy ends it"
        return Message("loss-of-copy", what, context.standing.place, tuple(steps))
    until = in_flight_until(loss)
    if context.now >= until:
        return None
    what = f"a call that was sent before loss {loss.id} may be in flight until {stamp(until)}"
    return Message(
        "loss-too-recent", what, context.standing.place, (complete_step("if nothing is missing", (loss,), context.now),)
    )


def _not_recorded(context: StatementContext, record: Record) -> list[Message]:
    """Return a message for each desired subscription that is not recorded, because the next apply would create it."""
    messages = []
    for subscription in context.desired.subscriptions.values():
        target = context.desired.targets[subscription.address.target]
        routes = record.routes_at(record.service_of(target.base_url))
        url = normal_url(subscription.template)
        codes = [code for code in subscription.codes if (code, url) not in routes]
        if codes:
            where = f"{subscription.address}: {', '.join(codes)} to {subscription.template}"
            new_id = ("--attempt", "ID") if has_attempt(subscription.template) else ()
            exists = step("if it exists, first run", "reconciler", "state", "import", subscription.address, *new_id)
            messages.append(Message("beyond-record", "not recorded, so the next apply creates it", where, (exists,)))
    return messages


def _rebind(statement: statements.Rebind, context: StatementContext, record: Record) -> Draft:
    target = context.desired.target(statement.target, f"-t {statement.target}")
    bound = {record.service_of(url) for url in record.base_urls.get(target.name, ())}
    accounts, account = record.accounts.get(target.name, frozenset()), context.accounts.get(target.name, "")
    # A job without credentials shows what a run with credentials would append.
    unknown = not account and not context.in_ci
    if not (bound or accounts):
        what = "nothing is recorded for this target, so it is bound to no service; to use another target's service,"
        raise Refused(Message("target-unbound", f"{what} set the same `base_url`", target.name))
    if bound <= {record.service_of(target.base_url)} and (unknown or not accounts or account in accounts):
        return Draft()
    fact = Rebound(at=context.at, target=str(target.name), base_url=target.base_url, account=account)
    what = (
        f"you declare that {', '.join(record.base_urls[target.name])} and {target.base_url} are the same service (or"
        " account): what is recorded at either is in force at both"
    )
    return Draft((fact,), (Message("said-by-rebind", what, target.name),), weakens=True)


def _observe(statement: statements.Observe, context: StatementContext, record: Record) -> Draft:
    facts = []
    for heard in statement.received:
        known = record.received.get((service_key(heard.base_url), normal_url(heard.url), heard.code), ())
        if not any(first <= heard.first and heard.last <= last for first, last in known):
            facts.append(replace(heard, at=context.at))
    return Draft(tuple(facts), statement.notices)


def _recover(statement: statements.Recover, context: StatementContext, record: Record) -> Draft:
    if record.closed_to:
        use = step("recover it there", "reconciler", "state", "recover", statement.source, "--state", record.closed_to)
        what = f"the record continues at {record.closed_to}"
        raise Refused(Message("record-closed", what, context.standing.place, (use,)))
    theirs = fold(statement.lines)
    given_up = step("or, if it was abandoned for another copy, run", "reconciler", "state", "accept-loss")
    refusals = []
    for loss in theirs.open_losses:
        if loss.cause == "copy" and loss.id not in record.losses:
            what = f"loss {loss.id} in that record comes from an unfinished copy"
            finish = step("finish that copy first", "reconciler", "state", "copy", loss.of, statement.source)
            refusals.append(Message("copy-unfinished", what, statement.source, (finish, given_up)))
    for target, urls in theirs.base_urls.items():
        declared = [each.base_url for name, each in context.desired.targets.items() if name == target]
        ours = record.base_urls.get(target) or declared
        if ours and not any(
            {side.service_of(url) for url in ours} & {side.service_of(url) for url in urls} for side in (record, theirs)
        ):
            what = (
                f"{statement.source} binds this target to {', '.join(urls)}, a different service from {', '.join(ours)}"
            )
            same = step("if both are the same service, first run", "reconciler", "state", "rebind", "-t", target)
            if not (target in record.base_urls and context.standing.first_gate_open):  # `rebind` would not work
                same = step(
                    f"if both are the same service, set `base_url: {urls[0]}` in config/ until this is recovered"
                )
            refusals.append(Message("other-service", what, target, (same,)))
    if refusals:
        raise Refused(*refusals)
    facts = missing(record.contained, statement.lines, context.at, context.by)
    ended = {loss for merged in facts if isinstance(merged, Completed) for loss in merged.losses}
    losses = {loss.id for loss in record.open_losses}
    if not (losses and losses <= ended):
        return Draft(tuple(facts))
    # The other record may still be in use, so its `complete` does not count here: this record gets a loss of its own.
    opened = LossOpened(at=context.at, loss=context.new_id(), cause="accepted")
    return Draft((*facts, opened), (_until_complete(context, opened),))


_ROWS: Mapping[type[Statement], Callable[[Any, StatementContext, Record], Draft]] = {
    statements.Complete: _complete,
    statements.Rebind: _rebind,
    statements.Observe: _observe,
    statements.Recover: _recover,
    statements.Import: import_,
    statements.Resolve: resolve,
    statements.Move: move,
    statements.RequestRemoval: removal,
    statements.CancelRemoval: removal,
    statements.ConfirmRemoval: removal,
    statements.SetSecret: set_secret,
}


_ID = re.compile(b"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


class Proposal(Struct, frozen=True):
    """The facts that a statement would append. If there is nothing to do, `facts` is empty, and `shown` says so.

    `shown` has a message for each fact and each notice. `weakens` is true if the statement weakens a gate, so that a
    person must agree. `digest` covers the record and the facts, but not times, authors and newly drawn ids. `ids` are
    the newly drawn ids.
    """

    facts: tuple[AnyFact, ...]
    shown: tuple[Message, ...]
    weakens: bool
    digest: str
    ids: tuple[str, ...] = ()


def propose(statement: Statement, context: StatementContext, ids: Sequence[str] = ()) -> Proposal:
    """Return the proposal for a statement. Raises Refused and SelectionError, with the steps to take.

    `ids` are the ids of a proposal that was shown earlier; they are reused before new ones are drawn.
    """
    if context.record is not None and not isinstance(statement, UNGATED) and not context.standing.first_gate_open:
        raise Refused(*obstacle_messages(context.record, context.standing, context.now, context.expected))
    drawn: list[str] = []

    def draw() -> str:
        drawn.append(ids[len(drawn)] if len(drawn) < len(ids) else context.new_id())
        return drawn[-1]

    made = draft(statement, replace(context, new_id=draw))
    facts = tuple(fact if fact.origin else replace(fact, by=context.by) for fact in made.facts)
    # A complete record opens a loss and ends it at once; showing this would only confuse.
    telling = facts[:1] if isinstance(statement, statements.Begin) and statement.complete else facts
    shown = [Message("appends", describe(fact), _subject(fact, context)) for fact in telling]
    if not (facts or made.notices):
        shown.append(Message("nothing-to-do", "nothing to do: already recorded", context.standing.place))
    record = context.record.id if context.record else ""
    return Proposal(facts, (*shown, *made.notices), made.weakens, digest_of(record, facts, drawn), tuple(drawn))


def digest_of(record: str, facts: Sequence[AnyFact], drawn: Sequence[str]) -> str:
    """Return the digest of facts to be appended to a record; `drawn` are the ids newly drawn for them."""
    comparable = [_comparable(replace(fact, at="", by={})) for fact in facts]
    numbers = {new.encode(): b"new %d" % number for number, new in enumerate(drawn)}
    text = _ID.sub(lambda match: numbers.get(match[0], match[0]), encode([record, comparable]))
    return f"sha256:{sha256(text).hexdigest()}"


def _comparable(fact: AnyFact) -> AnyFact:
    """Return a fact without the fields that vary between runs (a sealed secret) or need credentials (an account)."""
    match fact:
        case SecretSet():
            return replace(fact, secret="")
        case Rebound():
            return replace(fact, account="")
        case _:
            return fact


def _subject(fact: AnyFact, context: StatementContext) -> str:
    about = subjects(fact, context.record) if context.record else ()
    return about[0] if about else context.standing.place
