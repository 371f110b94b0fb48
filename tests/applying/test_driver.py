"""The driver: how effects are performed, and how events are waited for."""

from __future__ import annotations

import queue
import sys
import threading
from typing import Any
from unittest.mock import Mock, PropertyMock

import pytest
from msgspec.structs import replace
from support.applying_bench import CREATED, NOT_SENT, TARGET, Bench, known, wanting
from support.memory_record import DOWN, MOVED
from support.notified import wait_until

from reconciler.applying import driver, events
from reconciler.applying.driver import Flag, Performer, _last_answers, _next_event, message_of, unless_interrupted
from reconciler.applying.events import Append, CallEnded, Limits, NotAppended, Reread, RereadDone, Ticked
from reconciler.errors import Message, Refused, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.model.outcome import Answer
from reconciler.record.journal import Reading
from reconciler.values import Instant

SILENT = StoreUnavailable(Message("store-silent", "no answer"))


@pytest.mark.parametrize(("happens", "seconds", "off"), [
    ("nothing", 4.0, 0.0), ("an interrupt", 0.0, 0.0), ("a failure", 0.0, 0.0), ("time", 0.0, 5.0), ("time", 5.0, -5.0),
    ("time", 10.0, -10.0),
])  # fmt: skip
def test_whether_a_call_leaves_is_decided_at_its_first_byte(happens: str, seconds: float, off: float) -> None:
    """The run may end while the connection is made, and so may the window, on either clock."""
    bench = Bench(wanting("a"), limits=Limits(send_window=5)).sent()
    caller = Mock()
    performer = Performer(replace(bench.ports, callers={TargetName("another/one"): Mock(), TARGET: caller}))
    send, asked = replace(bench.sends[0], renew=False), Mock()

    def create(*given: Any, **options: bool) -> tuple[Answer, None, bool]:
        asked(*given[:3], **options)
        bench.steady, bench.off = bench.steady + seconds, off
        {"an interrupt": bench.inbox.interrupt, "a failure": performer.ended.set}.get(happens, int)()
        return CREATED if given[3]() else NOT_SENT, None, False

    caller.create = create
    event = performer.perform(send)
    asked.assert_called_once_with(send.attempt, send.codes, send.url, renew=False)
    assert isinstance(event, CallEnded)
    assert (CREATED if happens == "nothing" else NOT_SENT) == event.answer


def test_what_was_read_is_as_old_as_the_beginning_of_its_read() -> None:
    """What others append while it is read may be missing from it, so its time is not that of its end."""
    bench = Bench(wanting("a")).start()
    bench.store.declare_failures(DOWN)
    begun = bench.now

    def read() -> Reading:
        bench.steady += 9.0
        return bench.first

    performer = Performer(replace(bench.ports, read=read))
    failed = performer.perform(bench.take(Append))
    assert NotAppended(DOWN.messages[0], begun, bench.first) == failed
    assert RereadDone(bench.first, Instant(begun.wall + 9, begun.steady + 9)) == performer.perform(Reread())


def test_a_target_has_no_token_whatever_the_error() -> None:
    """Nor is anything read or appended. An unexpected one too ends in an event, so that no run waits for ever."""
    bench, caller, fail = Bench(wanting("a")).start(), Mock(), Mock()
    performer = Performer(replace(bench.ports, callers={TARGET: caller}, read=fail, extend=fail))
    for error in (SILENT, KeyError()):
        caller.authorise.side_effect = fail.side_effect = error
        assert events.Unauthorised(TARGET, message_of(error)) == performer.perform(events.Authorise(TARGET))
        assert events.RereadFailed(message_of(error)) == performer.perform(Reread())
        assert NotAppended(message_of(error), bench.now) == performer.perform(bench.appends[0])


@pytest.mark.parametrize("has_arrived", [False, True])
@pytest.mark.parametrize("problem", [DOWN, MOVED])
def test_the_second_place_follows_an_append_that_arrived(problem: Exception, has_arrived: bool) -> None:
    """If only its answer was lost; the append has failed as long as the second place lags. Others care for theirs."""
    for unmoved in (None, SILENT):
        bench, catch_up = Bench(wanting("a")).start(), Mock(side_effect=unmoved)
        (bench.store.declare_lost_answers if has_arrived else bench.store.declare_failures)(problem)
        event = Performer(replace(bench.ports, catch_up=catch_up)).perform(bench.take(Append))
        assert isinstance(event, NotAppended)
        assert (has_arrived, bool(has_arrived and unmoved)) == (catch_up.called, event.reading is None)


def test_each_problem_of_the_store_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """The first time it explains the wait; then it is for those who look closer. A conflict is no problem."""
    caplog.set_level("INFO", logger="reconciler")
    bench = Bench(wanting("a")).start()
    effect = bench.take(Append)
    for failed, unread in ((DOWN, None), (DOWN, None), (MOVED, None), (MOVED, SILENT)):
        bench.store.declare_failures(failed)
        bench.store.declare_unreadable(unread)
        bench.performer.perform(effect)
    lines = [(line.levelname, line.message) for line in caplog.records]
    assert [("WARNING", str(DOWN)), ("INFO", str(DOWN)), ("WARNING", str(SILENT))] == lines


def test_the_first_message_of_an_error_stands_for_it(caplog: pytest.LogCaptureFixture) -> None:
    """An unexpected one has none but its class: its text may hold secrets, and only those who debug see it."""
    caplog.set_level("INFO", logger="reconciler")
    messages = [Message(name, name) for name in ("first", "second")]
    assert messages[0] == message_of(Refused(*messages))
    for unexpected in (KeyError, PermissionError):
        assert Message("internal-error", f"internal error ({unexpected.__name__})") == message_of(unexpected("s3cret"))
    assert [] == caplog.records


def test_what_an_event_or_effect_prints_is_short() -> None:
    """Neither a whole record nor the lines to append, which name URLs."""
    bench = Bench(wanting("a"), known("a", host="old")).start()
    (effect,), at = bench.appends, bench.now
    printed = repr([effect, RereadDone(bench.first, at), NotAppended(DOWN.messages[0], at, bench.first)])
    assert "hooks.example" not in printed


@pytest.mark.parametrize(("wake_in", "wait"), [(None, 0.25), (9.0, 0.25), (0.125, 0.125), (-1.0, 0.0)])
def test_no_wait_for_an_event_is_long(wake_in: float | None, wait: float) -> None:
    """Python handles a signal only between two waits."""
    bench, inbox = Bench(wanting("a")), Mock()
    inbox.events.get.side_effect = queue.Empty
    event = _next_event(replace(bench.ports, inbox=inbox), None if wake_in is None else bench.steady + wake_in)
    assert (Ticked(), {"timeout": wait}) == (event, inbox.events.get.call_args.kwargs)


@pytest.mark.parametrize(("is_interrupted", "comes", "waits"), [(False, [], 2), (True, [], 0), (False, ["second"], 1)])
def test_answers_are_waited_for_after_an_error(is_interrupted: bool, comes: list[str], waits: int) -> None:
    """As long as an interrupted run waits for them, unless a person asks for the end; what was just heard counts."""
    run, ports, heard = Mock(in_flight={"first": None, "second": None}), Mock(), CallEnded("first", CREATED)
    run.context.limits = Limits(call_grace=5.0, store_grace=900.0)
    ports.clock.side_effect = [Instant(0.0, float(second)) for second in range(99)]
    ports.inbox.interrupted.is_set = is_interrupted
    answers = [CallEnded(attempt, CREATED) for attempt in comes]
    ports.inbox.events.get.side_effect = [*answers, queue.Empty, queue.Empty]
    assert ([heard, *answers], waits) == (_last_answers(run, heard, ports), ports.inbox.events.get.call_count)


def test_after_an_interrupt_a_read_is_waited_for_with_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ends within it counts, however long it took before, also by raising whatever; one that hangs not."""
    monkeypatch.setattr(driver, "_TICK", 0.001)
    interrupted, held = Flag(), threading.Event()
    assert not unless_interrupted(lambda: held.wait(0.01), interrupted, 0.0)
    interrupted.set()
    assert unless_interrupted(lambda: held.wait(0.01) or threading.current_thread().daemon, interrupted, 0.9)
    with pytest.raises(SystemExit):
        unless_interrupted(lambda: held.wait(0.01) or sys.exit(1), interrupted, 0.9)
    with pytest.raises(StoreUnavailable):
        unless_interrupted(lambda: held.wait(5), interrupted, 0.01)
    held.set()
    asked = PropertyMock(side_effect=[False] * 100 + [True] * 90)
    late = type("Late", (Flag,), {"is_set": asked, "__init__": object.__init__})()
    assert unless_interrupted(lambda: wait_until(lambda: asked.call_count > 100), late, 0.09)
