"""The create calls of a run, from the drafts of their intents to their pending outcomes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.applying.append_queue import ChangeDraft
from reconciler.applying.calls import (
    Breaker,
    Call,
    Phase,
    answered,
    intended,
    local_facts,
    objection,
    removal_requests,
    retry_delay,
)
from reconciler.applying.events import Reread
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Action, Done

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.applying.append_queue import AppendQueue
    from reconciler.applying.calls import ApplyFact
    from reconciler.applying.events import CallEnded, Context, Effect
    from reconciler.applying.work_queue import WorkQueue
    from reconciler.model.address import Address, TargetName
    from reconciler.model.plan import Change
    from reconciler.record.journal import Reading
    from reconciler.values import Instant

LOST_RESPONSE = "stopped: the response to another create could not be saved"
_INTERRUPTED = "interrupted before it was sent"


class Creates:
    """Makes the calls of a run: takes changes from `work`, and adds their outcomes to `appends`.

    `authorised` are the targets with a token. `lost_response` is true if the response to a create could not be saved.
    Calls that were given up without an answer are remembered, because a late answer still counts.
    """

    def __init__(self, context: Context, work: WorkQueue, appends: AppendQueue) -> None:
        self.authorised: set[TargetName] = set()
        self.interrupted = False
        self.lost_response = False
        self._context = context
        self._work = work
        self._appends = appends
        self._calls: dict[str, Call] = {}
        self._given_up: dict[str, Call] = {}
        self._open: Counter[TargetName] = Counter()
        self._breakers: dict[TargetName, Breaker] = {}
        self._reread_in_flight = False

    def __bool__(self) -> bool:
        return bool(self._calls)

    def __contains__(self, attempt: str) -> bool:
        return attempt in self._calls

    @property
    def stopped(self) -> str | None:
        """Return the reason why nothing more is sent to any target, or None if calls may be sent."""
        if self.interrupted:
            return _INTERRUPTED
        return LOST_RESPONSE if self.lost_response else None

    @property
    def in_flight(self) -> dict[str, Address]:
        """Return the addresses of the attempts whose calls are in flight, by attempt id."""
        return {call.attempt: call.change.address for call in self._calls.values() if call.phase is Phase.IN_FLIGHT}

    @property
    def wake_at(self) -> float | None:
        """Return the time of the next timeout, in steady seconds, or None if no call has a timeout."""
        times = (call.wake_at for call in self._calls.values())
        return min((time for time in times if time is not None), default=None)

    # Before a call is sent

    def take_drafts(self, now: Instant) -> list[ChangeDraft]:
        """Return drafts of the next intents, as many as the limit of calls in flight allows.

        A target with an outage gets no drafts.
        """
        limits, work, drafts = self._context.limits, self._work, []
        for target in [*work.sends]:
            breaker = self._breakers.get(target, Breaker())
            if (outage := breaker.tripped(limits)) is not None:
                work.drop_sends(target, Done.SKIPPED, outage)
            slots = 1 if breaker.alone else limits.parallelism
            while (
                target in self.authorised
                and target in work.sends
                and self._open[target] < slots
                and len(self._calls) < limits.parallelism
            ):
                drafts += self._draft(target, now)
        return drafts

    def discard(self, drafts: Iterable[ChangeDraft]) -> None:
        """Forget the calls of drafts that were not appended."""
        for draft in drafts:
            if draft.attempt:
                self._forget(self._calls[draft.attempt])

    def send_first(
        self, attempts: Sequence[str], now: Instant, read_at: Instant, reading: Reading | None
    ) -> list[Effect]:
        """Send the calls whose intents have been durable since `read_at`.

        `reading` is a reading that contains the intents, or None if appending them is known to have succeeded.
        """
        return [effect for attempt in attempts for effect in self._send(self._calls[attempt], now, read_at, reading)]

    def retry_due(self, now: Instant) -> None:
        """Mark the calls whose retry is due, so that the record is read again for them."""
        for call in list(self._calls.values()):
            if call.phase is Phase.RETRYING and call.retry_at <= now.steady:
                call.phase = Phase.STALE

    def reread(self) -> list[Effect]:
        """Return the effect that reads the record again for all waiting calls, or no effect if no call waits."""
        waiting = [call for call in self._calls.values() if call.phase is Phase.STALE]
        if self._reread_in_flight or not waiting:
            return []
        self._reread_in_flight = True
        for call in waiting:
            call.phase = Phase.READING
        return [Reread()]

    def on_reread(self, reading: Reading, read_at: Instant, now: Instant) -> list[Effect]:
        """Send the calls that waited for this reading of the record, unless the record forbids them."""
        return [effect for call in self._end_reread() for effect in self._send(call, now, read_at, reading)]

    def on_reread_failed(self, detail: str, now: Instant) -> None:
        """Withdraw the calls that waited for a reading of the record, because the reading failed."""
        for call in self._end_reread():
            self._withdraw(call, detail, now)

    def _end_reread(self) -> list[Call]:
        self._reread_in_flight = False
        return [call for call in self._calls.values() if call.phase is Phase.READING]

    # After a call was sent

    def on_answer(self, event: CallEnded, now: Instant) -> None:
        """Settle the call that ended, or schedule its retry."""
        if event.lost:
            self.lost_response = True
            for target in [*self._work.sends]:
                self._work.drop_sends(target, Done.SKIPPED, LOST_RESPONSE)
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
            call.phase, call.retry_at = Phase.RETRYING, now.steady + delay
            call.renew = call.renew and event.answer.status != 401

    def give_up_overdue(self, now: Instant) -> None:
        """Give up on calls that have timed out.

        Also withdraw calls whose send window expired while the record was being read.
        """
        for call in list(self._calls.values()):
            if call.phase is Phase.IN_FLIGHT and call.give_up_at <= now.steady:
                detail = "interrupted while the call was in flight" if self.interrupted else "timed out"
                self._settle(call, Answer(Outcome.UNKNOWN, detail=detail), now)
                self._given_up[call.attempt] = call
            elif call.phase in (Phase.STALE, Phase.READING) and call.is_overdue(now):
                self._withdraw(call, "send window expired", now)

    def interrupt(self, give_up_at: float, now: Instant) -> None:
        """Send nothing more. Calls still in flight at `give_up_at` (steady seconds) are given up."""
        self.interrupted = True
        for call in list(self._calls.values()):
            call.give_up_at = min(call.give_up_at, give_up_at)
            if call.phase in (Phase.STALE, Phase.READING, Phase.RETRYING):
                self._withdraw(call, _INTERRUPTED, now)

    def salvage(self, answers: Iterable[CallEnded], failure: str, now: Instant) -> None:
        """After an unexpected error, settle every call, with its answer from `answers` if there is one."""
        ended = {event.attempt: event for event in answers}
        for call in [*self._given_up.values(), *self._calls.values()]:
            if event := ended.get(call.attempt):
                self.lost_response |= event.lost
                self._settle(call, event.answer, now, event.response)
            elif call.attempt in self._calls and call.phase is Phase.IN_FLIGHT:
                self._settle(call, Answer(Outcome.UNKNOWN, detail=failure), now)
            elif call.attempt in self._calls:
                self._withdraw(call, failure, now)

    def _draft(self, target: TargetName, now: Instant) -> list[ChangeDraft]:
        """Return drafts of a target's next change and of the local changes that are recorded with its intent."""
        change, local = self._work.take_send(target)
        limits, intent = self._context.limits, intended(change, self._context, now)
        self._calls[intent.attempt] = Call(
            change, intent, send_by=now.steady + limits.send_window, give_up_at=now.steady + limits.settled_in
        )
        self._open[target] += 1
        drafts = [ChangeDraft(change, (intent,), intent.attempt)]
        return drafts + [self.local_draft(change, now) for change in local]

    def local_draft(self, change: Change, now: Instant) -> ChangeDraft:
        """Return the draft of a change that needs no call."""
        return ChangeDraft(change, local_facts(change, self._context, now))

    def _send(self, call: Call, now: Instant, read_at: Instant, reading: Reading | None) -> list[Effect]:
        """Send the call, withdraw it, or request a new reading of the record before it is sent."""
        against = objection(call, reading) if reading is not None else None
        send = call.send(read_at, self._context.limits.freshness)
        if (stopped := self.stopped) is not None:
            self._withdraw(call, stopped, now)
        elif call.is_overdue(now):
            self._withdraw(call, "send window expired", now)
        elif against is not None:
            self._withdraw(call, against, now)
        elif send.is_late(now):
            call.phase = Phase.STALE
        else:
            call.phase = Phase.IN_FLIGHT
            call.tries += 1
            return [send]
        return []

    def _withdraw(self, call: Call, detail: str, now: Instant) -> None:
        """Settle a call that will not be sent again.

        Its outcome is the outcome of its last answer, or NOT_SENT if it has no answer.
        """
        if call.last is None:
            answer = Answer(Outcome.NOT_SENT, detail=detail)
        else:
            answer = replace(call.last, detail=f"{call.last.detail or call.last.outcome}; not retried: {detail}")
        self._settle(call, answer, now)

    def _settle(self, call: Call, answer: Answer, now: Instant, response: str | None = None) -> None:
        """End the attempt, and queue its outcome and the requests to remove the attempts that it replaced."""
        change, target, context = call.change, call.change.address.target, self._context
        self._forget(call)
        facts: list[ApplyFact] = [answered(call.intent, answer, response, context, now)]
        if answer.outcome is Outcome.CREATED and change.action is Action.REPLACE:
            facts += removal_requests(change, f"replaced by {change.address}", context, now)
            self._work.requested += change.concerns
        self._appends.add(facts, now)
        self._breakers[target] = self._breakers.get(target, Breaker()).after(answer)
        self._work.finish(change, Done(answer.outcome), answer.status, call.attempt, answer.detail)

    def _forget(self, call: Call) -> None:
        if self._calls.pop(call.attempt, None) is not None:
            self._open[call.change.address.target] -= 1
