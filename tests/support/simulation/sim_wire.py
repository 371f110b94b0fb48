"""What is between a machine and the others: appends and calls, which may be lost, late, or answered late."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from reconciler.applying.events import Answered, Appended, AppendFailed, Conflict
from reconciler.errors import HeadMoved, RecordMissing, StateError
from reconciler.model.outcome import Answer, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.applying.events import Append, Event, Send, ServiceRecords
    from reconciler.model.address import TargetName
    from reconciler.state.journal.chain import Journal
    from support.simulation.sim_machine import Machine
    from support.simulation.sim_world import World

_NO_ANSWER = Answer(Outcome.UNKNOWN, detail="timed out")
_ANSWERS = {
    "": Answer(Outcome.CREATED, status=201),
    "reject": Answer(Outcome.REJECTED, status=400),
    "fail": Answer(Outcome.UNKNOWN, status=503),
    "fail_after": Answer(Outcome.UNKNOWN, status=500),
}
_COMMITS = ("", "fail_after", "drop_after")


class AppendOnItsWay:
    """An append that has left. It arrives or not, soon or late; and then the sender hears of it, truly or not."""

    def __init__(
        self,
        world: World,
        sender: Machine,
        target: TargetName,
        effect: Append,
        hear: Callable[[Event], None],
        same_service: Callable[[], ServiceRecords],
    ) -> None:
        self._world = world
        self._same_service_records = same_service
        self._sender = sender
        self._target = target
        self._effect = effect
        self._hear = hear
        self._journal: Journal | None = None

    def leave(self) -> None:
        if self._sender.disk.has_read_more(self._target, self._effect.head):
            self._tell_later(self._report_move)
            return
        fault = self._world.chances.one_of(("append_lost", "append_never", "append_late"))
        self._world.tell("an append leaves:", self._effect.note, fault)
        if fault == "append_late":
            self._world.later(self._world.rng.random() * 30, self._arrive)
        try:
            arrived = fault in ("", "append_lost") and self._arrive()
        except StateError as problem:
            self._tell_later(partial(self._report_failure, str(problem)))
            return
        if fault:
            self._tell_later(self._misreport)
        else:
            self._tell_later(self._report_arrival if arrived else self._report_move)

    def _arrive(self) -> bool:
        try:
            effect = self._effect
            way = self._sender.disk.way
            way.append(self._target, effect.head, effect.seq, effect.lines, effect.note)
            self._journal = way.known(self._target)
        except (HeadMoved, RecordMissing):
            return False
        self._world.tell("an append arrives:", self._effect.note)
        return True

    def _tell_later(self, event: Callable[[], Event]) -> None:
        """The event is made when it is told: a journal is read then, not before."""
        self._world.later(self._world.soon(), lambda: self._hear(event()), self._sender)

    def _report_arrival(self) -> Event:
        assert self._journal is not None
        self._sender.disk.remember(self._journal)
        return Appended()

    def _report_move(self) -> Event:
        try:
            return Conflict(self._sender.disk.look_at(self._target), self._same_service_records())
        except StateError as problem:
            return AppendFailed(str(problem))

    def _report_failure(self, detail: str) -> Event:
        try:
            return AppendFailed(detail, self._sender.disk.look_at(self._target), self._same_service_records())
        except StateError:
            return AppendFailed(detail)

    def _misreport(self) -> Event:
        """What is said of an append whose answer was lost: a conflict or a failure, and what can be read by then."""
        try:
            journal, same_service = self._sender.disk.look_at(self._target), self._same_service_records()
        except StateError as problem:
            return AppendFailed(str(problem))
        reports = (
            Conflict(journal, same_service),
            AppendFailed("timeout", journal, same_service),
            AppendFailed("timeout"),
        )
        return self._world.rng.choice(reports)


class CallOnItsWay:
    """A create call whose first byte has left."""

    def __init__(self, world: World, sender: Machine, send: Send, hear: Callable[[Event], None]) -> None:
        self._world = world
        self._sender = sender
        self._send = send
        self._hear = hear
        self._answered = False
        limits = world.limits
        self._patience = limits.settled_in + 20.0 if world.chances.happens("hang") else limits.call_timeout

    def leave(self) -> None:
        """Arrives before the service would no longer take it; the sender waits so long for the answer."""
        world, attempt = self._world, self._send.attempt
        world.tell("a call leaves:", attempt, *self._send.request.codes, self._send.request.url)
        world.promises.may_send(attempt, world.time, self._sender.clocks)
        world.later(min(world.soon() * 2, world.limits.call_timeout), self._arrive)
        world.later(self._patience, partial(self._answer, _NO_ANSWER), self._sender)

    def _arrive(self) -> None:
        world, attempt = self._world, self._send.attempt
        fault = world.chances.one_of(("reject", "busy", "fail", "fail_after", "drop", "drop_after"))
        world.tell("a call arrives:", attempt, fault)
        if fault in _COMMITS:
            service = world.service_of(self._send.address.target)
            world.promises.commit(world.service.create(attempt, service, self._send.request))
        if fault == "busy":
            asked = world.rng.choice((None, 0.0, 3.0, 100.0))
            self._answer_later(Answer(Outcome.REJECTED, status=429, retry_after=asked))
        elif fault in _ANSWERS:
            self._answer_later(_ANSWERS[fault])

    def _answer_later(self, answer: Answer) -> None:
        delay = self._world.soon()
        if self._patience > self._world.limits.call_timeout:
            delay += self._world.limits.settled_in
        self._world.later(delay, partial(self._answer, answer), self._sender)

    def _answer(self, answer: Answer) -> None:
        if not self._answered:
            self._answered = True
            self._hear(Answered(self._send.attempt, answer))
