"""The write-ahead protocol of one target, as a state machine without I/O.

Events in, effects out (`events`). Time is told with each event; randomness, planning and the record are handed in. So
what runs in production, with threads and a network, is the very code that a simulation runs in one thread.

What it holds to:

- A create is sent only once its intent is durable, and only inside the window that the intent names.
- Where some time has passed since the record was seen, and before any repeat, it is read again: an attempt that
  somebody has settled, or that the record no longer holds, is not sent.
- Entries are appended to the head they were made for. Where somebody else was first, the target is planned again, and
  a change goes on only if it comes out the same. An outcome is owed: it is appended over anything.
- The outcomes and the next intents that gather while an append is under way go out together in the next.
- Never are more intents open than calls may be in flight; one alone until the service has given an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

from reconciler.applying.agenda import Agenda
from reconciler.applying.calls import Call, Sight, objection
from reconciler.applying.events import (
    Answered,
    Appended,
    AppendFailed,
    Authorise,
    Authorised,
    Effect,
    Event,
    InterruptAsked,
    Look,
    Looked,
    LookFailed,
    Moved,
    Siblings,
    Ticked,
    Unauthorised,
)
from reconciler.applying.ledger import Ledger, Proposal
from reconciler.applying.writing import intent_of, outcome_of, quiet_entries, retirements
from reconciler.errors import ReconcilerError
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Action
from reconciler.model.result import Done

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.applying.ledger import Batch
    from reconciler.applying.terms import Terms
    from reconciler.model.address import Address
    from reconciler.model.clock import Instant
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Change
    from reconciler.model.record import Record
    from reconciler.model.result import Result
    from reconciler.state.journal.chain import Journal


_TOO_LATE = "its time to be sent had passed"
_TAKEN = "the record of this address was changed meanwhile, by another run or a person"
LOST_RESPONSE = "the response to another create could not be kept, so nothing more is created"


@dataclass(slots=True)
class TargetRun:
    """One target's part of an apply. `start` and `handle` give effects to perform; `finished` says when to stop.

    `failure` is the error that has ended it, where one did that nobody expected.
    """

    changes: Sequence[Change]
    journal: Journal
    terms: Terms
    retired: list[str] = field(default_factory=list)
    lost_response: bool = False
    failure: str = ""
    finished: bool = False
    _agenda: Agenda = field(default_factory=Agenda)
    _calls: dict[str, Call] = field(default_factory=dict)
    _given_up: dict[str, Call] = field(default_factory=dict)
    _ledger: Ledger = field(init=False)
    _looking: bool = False
    _authorised: bool = False
    _interrupts: int = 0
    _unknowns: int = 0
    _alone: bool = True

    def __post_init__(self) -> None:
        self._ledger = Ledger(self.journal, self.terms)

    def keep_only(self, fresh: Sequence[Change]) -> None:
        """Before the start: skip the changes that do not come out the same on the record as it is now."""
        self.changes = self._agenda.same(fresh, self.changes, _TAKEN)

    # What the driver calls

    def start(self, now: Instant) -> list[Effect]:
        """The first effects."""
        for change in self.changes:
            self._agenda.add(change)
        effects: list[Effect] = [Authorise()] if self._agenda.sends else []
        return effects + self._pump(now)

    def handle(self, event: Event, now: Instant) -> list[Effect]:
        """What to do now that `event` has happened."""
        effects: list[Effect] = []
        match event:
            case Authorised():
                self._authorised = True
            case Unauthorised(detail):
                self._agenda.drop_sends(Done.NOT_SENT, detail)
            case Appended() | Moved() | AppendFailed():
                effects = self._on_append(event, now)
            case Looked():
                effects = self._on_look(event, now)
            case LookFailed(detail):
                self._on_failed_look(f"the record could not be read again before it was sent: {detail}", now)
            case Answered():
                self._on_answer(event, now)
            case InterruptAsked():
                self._on_interrupt(now)
            case Ticked():
                pass
            case _:
                assert_never(event)
        return effects + self._pump(now)

    def salvage(self, answers: Iterable[Answered], failure: str, now: Instant) -> None:
        """End the run after an error that nobody expected: owe what became of its calls, as far as `answers` say it."""
        heard = {answered.attempt: answered for answered in answers}
        self.failure, self.finished = failure, True
        for attempt, call in {**self._given_up, **self._calls}.items():
            if attempt in heard:
                self.lost_response |= heard[attempt].lost
                self._settle(call, heard[attempt].answer, now, heard[attempt].response)
            elif call.in_flight:
                self._settle(call, Answer(Outcome.UNKNOWN, detail=failure), now)
            elif attempt in self._calls:
                self._withdraw(call, failure, now)
        for change in self.changes:
            if (change.address, change.action) not in self.results:
                self._agenda.conclude(change, Done.SKIPPED, detail=failure)

    @property
    def in_flight(self) -> set[str]:
        """The attempts whose calls have not ended."""
        return {attempt for attempt, call in self._calls.items() if call.in_flight}

    @property
    def wake_at(self) -> float | None:
        """When, in steady seconds, to say Ticked at the latest, if nothing else happens."""
        times = [self._ledger.wake_at, *(call.wake_at for call in self._calls.values())]
        return min((time for time in times if time is not None), default=None)

    @property
    def results(self) -> Mapping[tuple[Address, Action], Result]:
        """What became of the changes that are over, by address and action."""
        return self._agenda.results

    @property
    def record(self) -> Record:
        """The record as this run last read it."""
        return self._ledger.record

    @property
    def unrecorded(self) -> Sequence[AnyEntry]:
        """What is owed to the record and could not be appended, with its intents; once finished, that is for good."""
        return self._ledger.to_keep

    @property
    def problem(self) -> str:
        """Why the last append failed; empty where none did."""
        return self._ledger.problem

    # What events mean

    def _on_append(self, event: Appended | Moved | AppendFailed, now: Instant) -> list[Effect]:
        verdict, batch = self._ledger.conclude(event, now)
        match verdict:
            case "durable":
                return self._on_durable(batch.proposals, now)
            case "moved":
                assert not isinstance(event, Appended)  # noqa: S101 - only what was read shows a move
                self._plan_again(batch, event.siblings)
            case "failed":
                self._stop_for_store(batch)
            case "again":
                pass
            case _:
                assert_never(verdict)
        return []

    def _on_durable(self, proposals: Iterable[Proposal], now: Instant) -> list[Effect]:
        calls = []
        for proposal in proposals:
            match proposal.change.action:
                case Action.RESTORE:
                    self._agenda.conclude(proposal.change, Done.RESTORED)
                case Action.RETIRE:
                    self.retired += proposal.change.concerns
                    self._agenda.conclude(proposal.change, Done.RETIRED)
                case _:
                    calls.append(self._calls[proposal.attempt])
        return self._send_first(calls, now)

    def _on_look(self, event: Looked, now: Instant) -> list[Effect]:
        """Send the calls that wait for it, but for what the record, or one of the siblings', says against it."""
        problem = event.siblings.problem or self._ledger.break_in(event.journal)
        if problem is not None:
            self._on_failed_look(problem, now)
            return []
        effects: list[Effect] = []
        for call in self._seen():
            against = objection(call, event.journal.record(), event.siblings.records)
            if against is None:
                call.trust(event.at, self.terms.limits.freshness)
                effects += self._send(call, now)
            else:
                self._withdraw(call, against, now)
        return effects

    def _on_failed_look(self, detail: str, now: Instant) -> None:
        for call in self._seen():
            self._withdraw(call, detail, now)

    def _seen(self) -> list[Call]:
        """The calls that have waited for the look that is over now."""
        self._looking = False
        seen = [call for call in self._calls.values() if call.sight is Sight.UNDER_WAY]
        for call in seen:
            call.sight = Sight.NOT_WANTED
        return seen

    def _plan_again(self, batch: Batch, siblings: Siblings) -> None:
        """Somebody else appended first: go on only with what comes out the same on the record as it is now."""
        waiting = [*(proposal.change for proposal in batch.proposals), *self._agenda.take_all()]
        for proposal in batch.proposals:
            self._calls.pop(proposal.attempt, None)
        fresh: Sequence[Change] = ()
        reason = "interrupted" if self._interrupts else siblings.problem
        if waiting and reason is None:
            try:
                fresh = self.terms.replan(self._ledger.record, siblings.records)
            except ReconcilerError as problem:
                reason = str(problem)
        for change in self._agenda.same(fresh, waiting, reason or _TAKEN):
            self._agenda.add(change)

    def _stop_for_store(self, batch: Batch) -> None:
        """The store cannot be written: nothing more is begun."""
        detail = f"the state record could not be written: {self._ledger.problem}"
        for proposal in batch.proposals:
            self._calls.pop(proposal.attempt, None)
            self._agenda.add(proposal.change)
        self._agenda.drop_sends(Done.NOT_SENT, detail)
        self._agenda.drop_quiet(detail)

    def _on_answer(self, event: Answered, now: Instant) -> None:
        if event.lost:
            self.lost_response = True
            self._agenda.drop_sends(Done.SKIPPED, LOST_RESPONSE)
        late = self._given_up.pop(event.attempt, None)
        if late is not None:
            if event.answer.outcome is not Outcome.UNKNOWN:
                self._settle(late, event.answer, now, event.response)
            return
        call = self._calls[event.attempt]
        call.in_flight = False
        call.last = event.answer
        wait = self._wait_before_repeat(call, event.answer, now)
        if wait is None:
            self._settle(call, event.answer, now, event.response)
        else:
            call.retry_at = now.steady + wait
            call.renew = call.renew and event.answer.status != 401

    def _wait_before_repeat(self, call: Call, answer: Answer, now: Instant) -> float | None:
        """How long to wait before the call is repeated, None where it is not: only what was certainly not created."""
        backoff = self.terms.limits.backoff
        invited = answer.status == 429 or (answer.status == 401 and answer.retry_after is not None)
        if not (answer.outcome is Outcome.NOT_SENT or invited):
            return None
        if self._interrupts or call.tries > len(backoff):
            return None
        wait = backoff[call.tries - 1]
        if invited and answer.retry_after is not None:
            wait = max(answer.retry_after, 0.0)
        return wait if now.steady + wait < call.send_by else None

    def _on_interrupt(self, now: Instant) -> None:
        self._interrupts += 1
        self._agenda.drop_sends(Done.SKIPPED, "interrupted")
        self._agenda.drop_quiet("interrupted")
        limits, limit = self.terms.limits, now.steady
        if self._interrupts == 1:
            limit += limits.grace
            self._ledger.give_up_at = limit + limits.closing
        else:
            self._ledger.give_up_at = limit + limits.parting
        for call in list(self._calls.values()):
            call.give_up_at = min(call.give_up_at, limit)
            if call.retry_at is not None or call.sight is not Sight.NOT_WANTED:
                self._send(call, now)

    # What to do next

    def _pump(self, now: Instant) -> list[Effect]:
        effects = self._repeat_due(now)
        self._give_up_overdue(now)
        effects += self._look()
        if not self._waits_for_others(now):
            effects += self._append(now)
        self.finished = not (self._agenda or self._calls or self._ledger.busy)
        return effects

    def _waits_for_others(self, now: Instant) -> bool:
        """Whether the next append waits for calls in flight, whose outcomes it could carry too."""
        in_flight = any(call.in_flight for call in self._calls.values())
        return in_flight and not self._interrupts and self._ledger.gathers(now)

    def _append(self, now: Instant) -> list[Effect]:
        """The append to make now, with what there is to propose."""
        if self._ledger.idle:
            self._propose_quiet(now)
            self._propose_sends(now)
        append = self._ledger.next_append(now)
        return [] if append is None else [append]

    def _repeat_due(self, now: Instant) -> list[Effect]:
        due = [call for call in self._calls.values() if call.retry_at is not None and call.retry_at <= now.steady]
        return [effect for call in due for effect in self._send(call, now)]

    def _look(self) -> list[Effect]:
        """Read the record again if calls wait for it; one look at a time, each for all that wait when it begins."""
        waiting = [call for call in self._calls.values() if call.sight is Sight.WANTED]
        if self._looking or not waiting:
            return []
        self._looking = True
        for call in waiting:
            call.sight = Sight.UNDER_WAY
        return [Look()]

    def _send_first(self, calls: Sequence[Call], now: Instant) -> list[Effect]:
        """Send the calls whose intents are durable now, once the siblings were read again where there are some."""
        if not self.terms.shares:
            for call in calls:
                call.trust(self._ledger.begun, self.terms.limits.freshness)
        return [effect for call in calls for effect in self._send(call, now)]

    def _send(self, call: Call, now: Instant) -> list[Effect]:
        """Send the call, have the record read again before, or say that it never was: its intent is durable."""
        call.retry_at = None
        if self._interrupts or call.is_overdue(now):
            self._withdraw(call, "interrupted before it was sent" if self._interrupts else _TOO_LATE, now)
            return []
        send = call.send(now)
        call.fresh_until = None  # a repeat must look again
        if send is None:
            call.sight = Sight.WANTED
            return []
        call.in_flight = True
        call.tries += 1
        return [send]

    def _withdraw(self, call: Call, detail: str, now: Instant) -> None:
        """The call is not sent, or not again: its last answer counts, if there was one."""
        if call.last is None:
            answer = Answer(Outcome.NOT_SENT, detail=detail)
        else:
            answer = replace(call.last, detail=f"{call.last.detail or call.last.outcome}; not repeated: {detail}")
        self._settle(call, answer, now)

    def _give_up_overdue(self, now: Instant) -> None:
        """No answer, and none can be waited for: nobody knows. And a store that does not answer is left alone."""
        for call in [one for one in self._calls.values() if one.in_flight and one.give_up_at <= now.steady]:
            detail = "interrupted while the call was in flight" if self._interrupts else "no answer in time"
            call.in_flight = False
            self._settle(call, Answer(Outcome.UNKNOWN, detail=detail), now)
            self._given_up[call.attempt] = call
        for call in [one for one in self._calls.values() if one.sight is not Sight.NOT_WANTED and one.is_overdue(now)]:
            self._withdraw(call, _TOO_LATE, now)
        abandoned = self._ledger.abandon_overdue(now)
        if abandoned is not None:
            self._stop_for_store(abandoned)

    def _propose_quiet(self, now: Instant) -> None:
        """Put forward what needs no call and waits for none."""
        if not self._agenda.quiet:
            return
        waiting = {change.address for change in self._agenda.sends}
        for change in self._agenda.take_ready(waiting | {call.change.address for call in self._calls.values()}):
            self._ledger.propose(Proposal(change, quiet_entries(change, self.terms, now)))

    def _propose_sends(self, now: Instant) -> None:
        limits = self.terms.limits
        if self._unknowns >= limits.unknowns:
            detail = f"{limits.unknowns} outcomes in a row are unknown: the service seems to be out of order"
            self._agenda.drop_sends(Done.SKIPPED, detail)
        slots = 1 if self._alone else limits.parallelism
        while self._authorised and self._agenda.sends and len(self._calls) < slots:
            self._propose_send(self._agenda.sends.popleft(), now)

    def _propose_send(self, change: Change, now: Instant) -> None:
        request, limits = change.request, self.terms.limits
        assert request is not None  # noqa: S101 - every change in SENDS has one
        attempt = self.terms.new_id()
        self._calls[attempt] = Call(
            change,
            request,
            attempt,
            send_by=now.steady + limits.send_window,
            send_by_wall=now.wall + limits.send_window,
            give_up_at=now.steady + limits.settled_in,
        )
        intent = intent_of(change, request, attempt, self.terms, now)
        self._ledger.propose(Proposal(change, (intent,), attempt))

    # What is over

    def _settle(self, call: Call, answer: Answer, now: Instant, response: str | None = None) -> None:
        """The attempt is over: its outcome is owed to the record."""
        self._calls.pop(call.attempt, None)
        self._ledger.owe(outcome_of(call.attempt, answer, response, self.terms, now), now)
        if answer.outcome is Outcome.CREATED:
            for entry in retirements(call.change, f"replaced by {call.change.address}", self.terms, now):
                self._ledger.owe(entry, now)
            self.retired += call.change.concerns
        self._heed(answer.outcome)
        self._agenda.conclude(call.change, Done.of(answer.outcome), answer.status, call.attempt, answer.detail)

    def _heed(self, outcome: Outcome) -> None:
        """While the service does not answer, creates go one at a time: an outage costs few of them."""
        if outcome is Outcome.UNKNOWN:
            self._unknowns += 1
        elif outcome is not Outcome.NOT_SENT:
            self._unknowns = 0
        self._alone = self._unknowns > 0
