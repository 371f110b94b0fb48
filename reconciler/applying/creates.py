"""The create calls of one run, from the drafts of their intents to their pending outcomes."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from reconciler.applying.append_queue import AppendQueue, Draft
from reconciler.applying.calls import Call, CircuitBreaker, InFlight, Rereading, RereadNeeded, RetryWaiting, retry_delay
from reconciler.applying.context import RunContext
from reconciler.applying.events import Answered, Effect, Reread, RereadDone
from reconciler.applying.objections import objection
from reconciler.applying.work_queue import WorkQueue
from reconciler.applying.writing import intent_entry, outcome_entry, retirements
from reconciler.model.address import Address
from reconciler.model.clock import Instant
from reconciler.model.entry import REPLACED_BY
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Change
from reconciler.model.result import Done

LOST_RESPONSE = "stopped: the response to another create could not be saved"
_TOO_LATE = "send window expired"
_INTERRUPTED = "interrupted before it was sent"


class Creates:
    """The calls of one run. It takes changes from `work`, and adds their outcomes to `appends`.

    Calls that were given up without an answer stay known: a late answer still counts.
    """

    def __init__(self, context: RunContext, work: WorkQueue, appends: AppendQueue) -> None:
        self.authorised = False
        self.interrupted = False
        self.lost_response = False
        self._context = context
        self._work = work
        self._appends = appends
        self._calls: dict[str, Call] = {}
        self._given_up: dict[str, Call] = {}
        self._reread_in_flight = False
        self._breaker = CircuitBreaker()

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def in_flight(self) -> set[str]:
        """The attempts whose calls have not ended."""
        return {attempt for attempt, call in self._calls.items() if call.is_in_flight}

    @property
    def awaited(self) -> list[Address]:
        """The addresses whose calls have not ended, sorted."""
        return sorted(call.change.address for call in self._calls.values() if call.is_in_flight)

    @property
    def left(self) -> int:
        """How many calls may still have to be sent, as far as is known; none before they may be."""
        if not self.authorised or self.interrupted:
            return 0
        return len(self._work.sends) + sum(not call.is_in_flight for call in self._calls.values())

    @property
    def addresses(self) -> set[Address]:
        """The addresses with creates that are not over."""
        return {call.change.address for call in self._calls.values()}

    @property
    def wake_at(self) -> float | None:
        """When, in steady seconds, there is something to do, if no event comes until then."""
        times = (call.wake_at for call in self._calls.values())
        return min((time for time in times if time is not None), default=None)

    # Before a call is sent

    def drafts(self, now: Instant) -> list[Draft]:
        """The next intents to append: never more than calls may be in flight, and none during an outage."""
        limits = self._context.limits
        if self._breaker.unknowns >= limits.unknowns:
            detail = (
                f"{limits.unknowns} unknown outcomes in a row: the service seems to be unavailable; once it answers"
                " again, the next apply sends this, and repeats no create"
            )
            self._work.drop_sends(Done.SKIPPED, detail)
        slots = 1 if self._breaker.alone else limits.parallelism
        drafts = []
        while self.authorised and self._work.sends and len(self._calls) < slots:
            drafts.append(self._draft(self._work.sends.popleft(), now))
        return drafts

    def discard(self, drafts: Iterable[Draft]) -> None:
        """Forget the calls of drafts that were not appended."""
        for draft in drafts:
            self._calls.pop(draft.attempt, None)

    def send_first(self, attempts: Sequence[str], now: Instant) -> list[Effect]:
        """Send the calls whose intents have become durable; first re-read the other records of the service, if any."""
        read_at = None if self._context.shares_service else self._appends.first_tried_at
        return [effect for attempt in attempts for effect in self._send(self._calls[attempt], now, read_at)]

    def retry_due(self, now: Instant) -> list[Effect]:
        phases = [(call, call.phase) for call in self._calls.values()]
        due = [call for call, phase in phases if isinstance(phase, RetryWaiting) and phase.at <= now.steady]
        return [effect for call in due for effect in self._send(call, now)]

    def reread(self) -> list[Effect]:
        """Re-read the record if calls wait for it: once at a time, for all that wait when it begins."""
        waiting = [call for call in self._calls.values() if isinstance(call.phase, RereadNeeded)]
        if self._reread_in_flight or not waiting:
            return []
        self._reread_in_flight = True
        for call in waiting:
            call.phase = Rereading()
        return [Reread()]

    def on_reread(self, event: RereadDone, now: Instant) -> list[Effect]:
        """Send the calls that wait for it, except those that the records object to."""
        problem = event.same_service.problem or self._appends.discontinuity(event.journal)
        if problem is not None:
            self.on_failed_reread(problem, now)
            return []
        effects: list[Effect] = []
        for call in self._end_reread():
            against = objection(call, event.journal.record(), event.same_service.records)
            if against is None:
                effects += self._send(call, now, event.at)
            else:
                self._withdraw(call, against, now)
        return effects

    def on_failed_reread(self, detail: str, now: Instant) -> None:
        for call in self._end_reread():
            self._withdraw(call, detail, now)

    # After a call was sent

    def on_answer(self, event: Answered, now: Instant) -> None:
        if event.lost:
            self.lost_response = True
            self._work.drop_sends(Done.SKIPPED, LOST_RESPONSE)
        late = self._given_up.pop(event.attempt, None)
        if late is not None:
            if event.answer.outcome is not Outcome.UNKNOWN:
                self._settle(late, event.answer, now, event.response)
            return
        call = self._calls[event.attempt]
        call.last = event.answer
        delay = None if self.interrupted else retry_delay(call.tries, event.answer, self._context.limits.backoff)
        if delay is None or now.steady + delay >= call.send_by:
            self._settle(call, event.answer, now, event.response)
        else:
            call.phase = RetryWaiting(now.steady + delay)
            call.renew = call.renew and event.answer.status != 401

    def give_up_overdue(self, now: Instant) -> None:
        """Give up calls that cannot be waited for any longer, and those whose window passed during a re-read."""
        for call in [call for call in self._calls.values() if call.is_in_flight and call.give_up_at <= now.steady]:
            detail = "interrupted while the call was in flight" if self.interrupted else "timed out"
            self._settle(call, Answer(Outcome.UNKNOWN, detail=detail), now)
            self._given_up[call.attempt] = call
        for call in [call for call in self._calls.values() if call.waits_for_reread and call.is_overdue(now)]:
            self._withdraw(call, _TOO_LATE, now)

    def interrupt(self, give_up_at: float, now: Instant) -> None:
        """Send nothing more, and wait for calls in flight until `give_up_at` (steady seconds) at most."""
        self.interrupted = True
        for call in list(self._calls.values()):
            call.give_up_at = min(call.give_up_at, give_up_at)
            if call.waits_for_reread or isinstance(call.phase, RetryWaiting):
                self._withdraw(call, _INTERRUPTED, now)

    def salvage(self, answers: Iterable[Answered], failure: str, now: Instant) -> None:
        """Settle every call after an unexpected error: by its answer, if it is among `answers`."""
        answered = {event.attempt: event for event in answers}
        for call in [*self._given_up.values(), *self._calls.values()]:
            if event := answered.get(call.attempt):
                self.lost_response |= event.lost
                self._settle(call, event.answer, now, event.response)
            elif call.attempt in self._calls and call.is_in_flight:
                self._settle(call, Answer(Outcome.UNKNOWN, detail=failure), now)
            elif call.attempt in self._calls:
                self._withdraw(call, failure, now)

    def _draft(self, change: Change, now: Instant) -> Draft:
        request, limits = change.request, self._context.limits
        assert request is not None  # noqa: S101 - every change in SENDS has one
        attempt = self._context.new_id()
        self._calls[attempt] = Call(
            change,
            request,
            attempt,
            send_by=now.steady + limits.send_window,
            send_by_wall=now.wall + limits.send_window,
            give_up_at=now.steady + limits.settled_in,
        )
        return Draft(change, (intent_entry(change, request, attempt, self._context, now),), attempt)

    def _end_reread(self) -> list[Call]:
        """The calls that have waited for the re-read that is over now."""
        self._reread_in_flight = False
        return [call for call in self._calls.values() if isinstance(call.phase, Rereading)]

    def _send(self, call: Call, now: Instant, read_at: Instant | None = None) -> list[Effect]:
        """Send the call, have the record re-read first, or withdraw it. `read_at`: when the record was read for it."""
        if self.interrupted or call.is_overdue(now):
            self._withdraw(call, _INTERRUPTED if self.interrupted else _TOO_LATE, now)
            return []
        send = call.send(now, read_at, self._context.limits.freshness)
        if send is None:
            call.phase = RereadNeeded()
            return []
        call.phase = InFlight()
        call.tries += 1
        return [send]

    def _withdraw(self, call: Call, detail: str, now: Instant) -> None:
        """Do not send the call, or not again: its last answer is its outcome, if there was one."""
        if call.last is None:
            answer = Answer(Outcome.NOT_SENT, detail=detail)
        else:
            answer = replace(call.last, detail=f"{call.last.detail or call.last.outcome}; not retried: {detail}")
        self._settle(call, answer, now)

    def _settle(self, call: Call, answer: Answer, now: Instant, response: str | None = None) -> None:
        """The attempt is over: its outcome is pending, with the retirement of what a created one replaces."""
        self._calls.pop(call.attempt, None)
        self._appends.add(outcome_entry(call.attempt, answer, response, self._context, now), now)
        if answer.outcome is Outcome.CREATED:
            for entry in retirements(call.change, f"{REPLACED_BY}{call.change.address}", self._context, now):
                self._appends.add(entry, now)
            self._work.retired += call.change.concerns
        self._breaker = self._breaker.after(answer.outcome)
        self._work.conclude(call.change, Done.of(answer.outcome), answer.status, call.attempt, answer.detail)
