"""Protocols that are broken on purpose, each in one way: a simulation that finds nothing wrong with them is useless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from reconciler.applying import calls, creates, driver, execution
from reconciler.applying.append_queue import AppendQueue
from reconciler.applying.creates import Creates
from reconciler.applying.events import Send
from reconciler.applying.protocol import Run
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Done, Verdict
from reconciler.record.facts import Answered
from support.memory_record import MemoryStore

Break = Callable[[pytest.MonkeyPatch], None]


def forget_outcomes(patch: pytest.MonkeyPatch) -> None:
    """Outcomes are not recorded."""
    add = AppendQueue.add
    patch.setattr(
        AppendQueue,
        "add",
        lambda self, facts, now: add(self, [fact for fact in facts if not isinstance(fact, Answered)], now),
    )


def send_first(patch: pytest.MonkeyPatch) -> None:
    """A call is sent at once, and its intent is appended meanwhile."""
    pump, send = Run._pump, Creates.send_first

    def pump_and_send(self: Any, now: Any) -> Any:
        effects = pump(self, now)
        unsent = [attempt for attempt, call in self.creates._calls.items() if not call.tries]
        return effects + send(self.creates, unsent, now, now, None)

    patch.setattr(Run, "_pump", pump_and_send)
    patch.setattr(Creates, "send_first", lambda *_: [])


def append_without_comparing(patch: pytest.MonkeyPatch) -> None:
    """The store appends whatever the head is."""

    def append(self: Any, head: Any, lines: bytes, summary: str, *, second: Any = None) -> None:
        self.data += lines
        self.second = second if self.second is not None else None

    patch.setattr(MemoryStore, "append", append)


def take_unknown_for_rejected(patch: pytest.MonkeyPatch) -> None:
    """An unknown outcome is taken for a rejection."""
    settle = Creates._settle

    def settle_boldly(self: Any, call: Any, answer: Answer, now: Any, response: Any = None) -> None:
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
    """After a conflict the old plan is carried out all the same."""

    def queue_all(self: Any, changes: Any) -> int:
        for change in changes:
            if change.block is None:
                self.work.add(change)
            else:
                self.work.finish(change, Done.SKIPPED)
        return len(changes)

    patch.setattr(Run, "_queue_unchanged", queue_all)


def adopt_any_head(patch: pytest.MonkeyPatch) -> None:
    """After a lost answer the head is taken from what was read: others may have gone on from there, unplanned."""
    end_append = AppendQueue.end_append

    def end_and_adopt(self: Any, event: Any, now: Any) -> Any:
        end, batch = end_append(self, event, now)
        if end.value == "durable" and getattr(event, "reading", None) is not None:
            self._adopt(event.reading)
        return end, batch

    patch.setattr(AppendQueue, "end_append", end_and_adopt)


def forget_the_window(patch: pytest.MonkeyPatch) -> None:
    """Calls are sent however late it is."""
    patch.setattr(Send, "is_late", lambda self, now: False)
    patch.setattr(calls.Call, "is_overdue", lambda self, now: False)


def object_to_nothing(patch: pytest.MonkeyPatch) -> None:
    """A re-read stops no call."""
    patch.setattr(creates, "objection", lambda call, reading: None)


def leave_the_second_place_behind(patch: pytest.MonkeyPatch) -> None:
    """A lost answer is believed before the second place shows the intents."""
    perform = driver.Performer._append

    def append(self: Any, effect: Any) -> Any:
        self._ports = replace(self._ports, catch_up=lambda reading: None)
        return perform(self, effect)

    patch.setattr(driver.Performer, "_append", append)


def open_many_intents(patch: pytest.MonkeyPatch) -> None:
    """All that is planned is intended at once."""

    def take_drafts(self: Any, now: Any) -> Any:
        drafted: list[Any] = []
        for target in [*self._work.sends]:
            while target in self.authorised and target in self._work.sends:
                drafted += self._draft(target, now)
        return drafted

    patch.setattr(Creates, "take_drafts", take_drafts)


def save_nothing(patch: pytest.MonkeyPatch) -> None:
    """What could not be appended is given up."""
    patch.setattr(AppendQueue, "unrecorded", property(lambda self: []))


def save_outcomes_without_intents(patch: pytest.MonkeyPatch) -> None:
    """What could not be appended is saved without the intents that it belongs to."""
    patch.setattr(AppendQueue, "unrecorded", property(lambda self: self._pending))


def praise_every_run(patch: pytest.MonkeyPatch) -> None:
    """A run always says that all went well."""
    patch.setattr(execution, "verdict_of", lambda *args: Verdict.DONE)


def carry_nothing_out(patch: pytest.MonkeyPatch) -> None:
    """No change is found to come out the same, whatever is planned again."""

    def queue_none(self: Any, changes: Any) -> int:
        for change in changes:
            self.work.finish(change, Done.SKIPPED)
        return 0

    patch.setattr(Run, "_queue_unchanged", queue_none)
