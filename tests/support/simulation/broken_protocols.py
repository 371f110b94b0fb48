"""Protocols that are broken on purpose, each in one way: a simulation that finds nothing wrong with them is useless."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.applying import calls, creates, objections, run, writing
from reconciler.applying.append_queue import AppendQueue, Idle
from reconciler.applying.calls import Call
from reconciler.applying.creates import Creates
from reconciler.applying.events import Appended, Send
from reconciler.applying.protocol import TargetRun
from reconciler.applying.work_queue import WorkQueue
from reconciler.model.entry import Settled
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.result import Verdict
from reconciler.state.heads import remembered as heads
from support.simulation.sim_disk import Disk
from support.simulation.sim_machine import Machine
from support.simulation.sim_store import SimStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import pytest

    Break = Callable[[pytest.MonkeyPatch], None]


def forget_outcomes(patch: pytest.MonkeyPatch) -> None:
    """Outcomes are not recorded."""
    add = AppendQueue.add

    def add_no_outcome(self: AppendQueue, entry: Any, now: Any) -> None:
        if not isinstance(entry, Settled):
            add(self, entry, now)

    patch.setattr(AppendQueue, "add", add_no_outcome)


def append_to_a_closed_record(patch: pytest.MonkeyPatch) -> None:
    """A run does not notice that the record it appends to was closed, since it is copied to another store."""
    adopt = AppendQueue._adopt

    def adopt_as_open(self: AppendQueue, journal: Any) -> None:
        adopt(self, journal)
        self.record = replace(self.record, closed=None)

    patch.setattr(AppendQueue, "_adopt", adopt_as_open)


def save_nothing_of_a_closed_record(patch: pytest.MonkeyPatch) -> None:
    """Outcomes that cannot be appended any more, since the record was closed, are not saved."""
    to_save: Any = vars(AppendQueue)["to_save"]
    patch.setattr(AppendQueue, "to_save", property(lambda self: () if self.record.closed else to_save.fget(self)))


def send_first(patch: pytest.MonkeyPatch) -> None:
    """A call is sent at once, and its intent is appended meanwhile."""
    pump, send_first = TargetRun._pump, Creates.send_first

    def pump_and_send(self: Any, now: Any) -> list[Any]:
        effects = pump(self, now)
        unsent = [attempt for attempt, call in self.creates._calls.items() if not call.tries]
        return effects + send_first(self.creates, unsent, now)

    patch.setattr(TargetRun, "_pump", pump_and_send)
    patch.setattr(Creates, "send_first", lambda self, attempts, now: [])


def append_without_comparing(patch: pytest.MonkeyPatch) -> None:
    """The store appends whatever the head is."""
    patch.setattr(SimStore, "append", lambda self, target, head, seq, lines, note: self.graft(target, lines))


def take_unknown_for_rejected(patch: pytest.MonkeyPatch) -> None:
    """An unknown outcome is taken for a rejection."""
    settle = Creates._settle

    def settle_boldly(self: Any, call: Any, answer: Answer, now: Any, response: str | None = None) -> None:
        known = Answer(Outcome.REJECTED) if answer.outcome is Outcome.UNKNOWN else answer
        settle(self, call, known, now, response)

    patch.setattr(Creates, "_settle", settle_boldly)


def retry_unknown(patch: pytest.MonkeyPatch) -> None:
    """A call with an unknown outcome is retried."""

    def delay_for_all(tries: int, answer: Answer, backoff: Any) -> float | None:
        known = Answer(Outcome.NOT_SENT) if answer.outcome is Outcome.UNKNOWN else answer
        return calls.retry_delay(tries, known, backoff)

    patch.setattr(creates, "retry_delay", delay_for_all)


def keep_to_the_old_plan(patch: pytest.MonkeyPatch) -> None:
    """Where somebody else was first, the old plan is carried out all the same."""
    patch.setattr(WorkQueue, "unchanged", lambda self, fresh, old, reason: list(old))


def trust_a_plan_of_yesterday(patch: pytest.MonkeyPatch) -> None:
    """The plan is not compared with the record as it is when the run starts."""
    patch.setattr(TargetRun, "keep_only", lambda self, fresh: None)


def adopt_any_head(patch: pytest.MonkeyPatch) -> None:
    """After a lost answer, the head is taken from what was read: others may have gone on from there, unplanned."""
    conclude = AppendQueue.conclude

    def conclude_and_adopt(self: Any, event: Any, now: Any) -> Any:
        end, batch = conclude(self, event, now)
        if end == "durable" and not isinstance(event, Appended) and event.journal is not None:
            self._adopt(event.journal)
        return end, batch

    patch.setattr(AppendQueue, "conclude", conclude_and_adopt)


def write_anew_after_a_failure(patch: pytest.MonkeyPatch) -> None:
    """An append that failed is taken not to have arrived, and what it carried is drafted again under another id."""
    conclude = AppendQueue.conclude

    def conclude_hastily(self: Any, event: Any, now: Any) -> Any:
        end, batch = conclude(self, event, now)
        if end == "retry":
            self._state = Idle()
            return "conflict", batch
        return end, batch

    patch.setattr(AppendQueue, "conclude", conclude_hastily)


def forget_the_window(patch: pytest.MonkeyPatch) -> None:
    """Calls are sent however late it is."""
    draft, send = Creates._draft, Machine._send

    def draft_for_ever(self: Any, change: Any, now: Any) -> Any:
        drafted = draft(self, change, now)
        for call in self._calls.values():
            call.send_by, call.send_by_wall = 1e6, float("inf")
        return drafted

    def send_for_ever(self: Any, run: TargetRun, effect: Send) -> None:
        send(self, run, replace(effect, send_by=float("inf")))

    patch.setattr(Creates, "_draft", draft_for_ever)
    patch.setattr(Machine, "_send", send_for_ever)


def retry_without_a_reread(patch: pytest.MonkeyPatch) -> None:
    """A call that waited is sent again on what was read of the record before."""
    send = Call.send

    def send_anyway(self: Any, now: Any, read_at: Any, freshness: float) -> Any:
        return send(self, now, now if read_at is None and self.tries else read_at, freshness)

    patch.setattr(Call, "send", send_anyway)


def send_after_a_stale_append(patch: pytest.MonkeyPatch) -> None:
    """A call follows its append without a re-read, however long ago that was."""
    send = Call.send
    patch.setattr(Call, "send", lambda self, now, read_at, freshness: send(self, now, read_at, 1e6))


def forget_the_wall_clock(patch: pytest.MonkeyPatch) -> None:
    """Only the steady clock says until when a call may be sent."""

    def is_late(self: Any, now: Any) -> bool:
        return bool(now.steady >= min(self.send_by, self.fresh_until.steady))

    patch.setattr(Send, "is_late", is_late)
    patch.setattr(Call, "is_overdue", lambda self, now: now.steady >= self.send_by)


def check_ones_own_attempt_only(patch: pytest.MonkeyPatch) -> None:
    """A re-read does not see that another attempt now delivers the same."""
    patch.setattr(objections, "_delivers", lambda attempt: False)


def keep_outcomes_without_intents(patch: pytest.MonkeyPatch) -> None:
    """What could not be appended is kept without the intents that it belongs to."""
    patch.setattr(AppendQueue, "to_save", property(lambda self: tuple(self._pending)))


def trust_any_record_in_flight(patch: pytest.MonkeyPatch) -> None:
    """A record that has lost entries is taken as it is in the middle of a run."""
    patch.setattr(Disk, "covers", lambda self, journal: True)
    patch.setattr(Disk, "has_read_more", lambda self, name, head: False)


def open_many_intents(patch: pytest.MonkeyPatch) -> None:
    """All that is planned is intended at once."""
    drafts = Creates.drafts

    def draft_all(self: Any, now: Any) -> list[Any]:
        drafted = []
        while self.authorised and self._work.sends:
            drafted.append(self._draft(self._work.sends.popleft(), now))
        return drafted + drafts(self, now)

    patch.setattr(Creates, "drafts", draft_all)


def ignore_other_targets(patch: pytest.MonkeyPatch) -> None:
    """Nobody looks after their own intent whether another target of the service has the route."""
    patch.setattr(objections, "objection_of_same_service", lambda request, records: None)


def give_up_what_is_pending(patch: pytest.MonkeyPatch) -> None:
    """What is pending when an append has failed is given up."""
    failed = AppendQueue._failed

    def fail_for_good(self: Any, batch: Any, now: Any) -> Any:
        self._pending.clear()
        return failed(self, batch, now)

    patch.setattr(AppendQueue, "_failed", fail_for_good)


def mistake_an_outcome(patch: pytest.MonkeyPatch) -> None:
    """A failure of the service is recorded as a call that was not sent."""

    def mistaken(attempt: str, answer: Answer, *rest: Any) -> Settled:
        outcome = Outcome.NOT_SENT if answer.status == 500 else answer.outcome
        return writing.outcome_entry(attempt, Answer(outcome, answer.status, answer.detail), *rest)

    patch.setattr(creates, "outcome_entry", mistaken)


def plan_on_the_record_alone(patch: pytest.MonkeyPatch) -> None:
    """What could not be appended, and is kept on the same machine, counts for nothing where that machine plans."""
    patch.setattr(Disk, "counted", lambda self, record: record)


def know_records_by_their_id_alone(patch: pytest.MonkeyPatch) -> None:
    """Of a record in whose place another was seen before, nothing is missed."""
    patch.setattr(heads, "replaced_heads", lambda record, seen, place: [])


def praise_every_run(patch: pytest.MonkeyPatch) -> None:
    """A run always says that all went well."""
    patch.setattr(run, "verdict_of", lambda *args: Verdict.DONE)


def carry_nothing_out(patch: pytest.MonkeyPatch) -> None:
    """No change is found to come out the same, whatever is planned again."""
    unchanged = WorkQueue.unchanged
    patch.setattr(WorkQueue, "unchanged", lambda self, fresh, old, reason: unchanged(self, (), old, reason))
