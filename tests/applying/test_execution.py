"""A whole apply with its threads, on a record in memory."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from support.applying_bench import SERVICE, TARGET, Bench, code, known, wanting
from support.applying_doubles import Apply, now
from support.desired_values import desired_of, target_of
from support.memory_record import AT, DOWN, MOVED, append, record_of

from reconciler import applying
from reconciler.applying import driver
from reconciler.applying.driver import Performer, _last_answers, message_of
from reconciler.applying.events import CallEnded, Limits
from reconciler.applying.execution import carry_out
from reconciler.errors import Message, StoreUnavailable
from reconciler.model.desired import Desired
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Applied, Verdict
from reconciler.model.record import Status
from reconciler.record.facts import Answered, Intended, LossOpened, RemovalRequested, What
from reconciler.values import Instant

LIMITS = Limits(backoff=(0.01,))


def apply(case: Apply, limits: Limits = LIMITS) -> Applied:
    """Carry out the plan."""
    return carry_out(case.plan, case.reading, case.ports, limits)


def outcomes(applied: Applied) -> dict[str, str]:
    """Return the outcomes by name."""
    return {result.address.name: result.outcome.value for result in applied.results}


def theirs(name: str, settled_by: float) -> Intended:
    """Return the intent of another run for what `wanting` of that name desires."""
    what = What(f"{TARGET}/{name}", (code(name),), f"https://hooks.example/{name}", SERVICE, settled_by=settled_by)
    return Intended(at=AT, attempt="theirs", what=what)


def reads_of(case: Apply, *failing: int) -> Mock:
    """Return what reads the record, and fails the times of these numbers."""

    def read() -> Any:
        if reads.call_count in failing:
            raise DOWN
        return case.journal.read()

    reads = Mock(side_effect=read)
    return reads


def test_everything_planned_is_carried_out() -> None:
    """Creates on two targets, a replacement and a removal: done, and in the record. No thread is left."""
    case = Apply(wanting("a", "usa/staging/b"), known("a", host="old"), known("z"))
    finished, before = list[bool](), {*threading.enumerate()}
    ports = case.with_ports(observe=lambda run: finished.append(run.finished))
    applied = carry_out(case.plan, case.reading, ports, LIMITS)
    assert (Verdict.DONE, True) == (applied.verdict, finished[-1])
    assert [("a", "created"), ("z", "requested"), ("b", "created")] == [*outcomes(applied).items()]
    for thread in {*threading.enumerate()} - before:
        thread.join(5)
    assert before >= {*threading.enumerate()}
    assert ["old-a", "old-z"] == sorted(attempt.id for attempt in applied.removal)
    assert {Status.AWAITING_REMOVAL} == {attempt.status for attempt in applied.removal}
    assert applied.left is not None
    assert ((), [], []) == (applied.messages, applied.left.changes, case.saved)
    points = Counter(case.reached)
    assert (2, 2, 0) == (points["before-send"], points["after-send"], points["before-append"] - points["after-append"])


def test_no_more_calls_are_in_flight_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many creates there are; and the store is asked for one thing at a time, by one more thread."""
    case, before, seen = Apply(wanting(*"abcdefgh"), takes=0.01), {*threading.enumerate()}, set[int]()
    me, calling, appending, append = threading.get_ident, set[int](), set[int](), case.store.append

    def send(_: str) -> None:
        seen.add(len({*threading.enumerate()} - before))
        calling.add(me())

    def keep(*words: Any, **more: Any) -> None:
        appending.add(me())
        append(*words, **more)

    case.caller.on_send = send
    monkeypatch.setattr(case.store, "append", keep)
    applied = apply(case, Limits(parallelism=3))
    assert (Verdict.DONE, 3, {3 + 1}) == (applied.verdict, case.caller.at_once, seen)
    assert (1, 3, 0) == (len(appending), len(calling), len(appending & calling))


def test_what_another_run_did_counts_as_done() -> None:
    """A change that was taken while this run waited to begin."""
    case = Apply(wanting("a"))
    append(case.store, known("a"))
    applied = apply(case)
    [result] = applied.results
    assert (Verdict.DONE, "already done by another run") == (applied.verdict, result.detail)
    assert [] == case.reached


def test_what_another_run_has_in_flight_is_given_a_moment() -> None:
    """An outcome that comes within the patience counts; then it is a failure, not an unknown."""
    case = Apply(wanting("a"))
    append(case.store, theirs("a", time.time() + 100))
    applied = apply(case)
    assert (Verdict.FAILED, ()) == (applied.verdict, applied.unresolved)
    assert "another run is still applying this address" in str(applied.results[0].detail)
    again = Apply(wanting("a"), theirs("a", time.time() + 100))
    ports = again.with_ports(patience=5.0, pause=lambda seconds: append(again.store, known("a", attempt="theirs")))
    assert Verdict.DONE is carry_out(again.plan, again.reading, ports, LIMITS).verdict


def test_an_overdue_create_of_the_addresses_selected_is_unresolved() -> None:
    """3, and which it is."""
    case = Apply(wanting("a", "b"), theirs("a", 5.0))
    applied = apply(case)
    assert (Verdict.UNRESOLVED, {"a": "skipped", "b": "created"}) == (applied.verdict, outcomes(applied))
    assert ["theirs"] == [attempt.id for attempt in applied.unresolved]


def test_a_failure_leaves_the_others_their_turn() -> None:
    """Rejected, unknown, raised, created: each is recorded as what it is."""
    case = Apply(wanting("a", "b", "c", "d"))
    case.caller.declare_answer("a", Answer(Outcome.REJECTED, 400, "HTTP 400"))
    case.caller.declare_answer("b", Answer(Outcome.UNKNOWN, 503))
    case.caller.declare_answer("c", ValueError("secret"))
    applied = apply(case)
    assert {"a": "rejected", "b": "unknown", "c": "unknown", "d": "created"} == outcomes(applied)
    assert (Verdict.UNRESOLVED, 2) == (applied.verdict, len(applied.unresolved))
    assert "internal error (ValueError)" == {result.address.name: result.detail for result in applied.results}["c"]
    assert all(result.settled_by > time.time() for result in applied.results if result.outcome.value == "unknown")


def test_a_closed_gate_is_a_failure() -> None:
    """A loss that opens before the first intent: nothing is sent, 1, and the gate is named with its way on."""
    case = Apply(wanting("a"))
    append(case.store, LossOpened(at=AT, loss="lost", cause="accepted"))
    applied = apply(case)
    assert (Verdict.FAILED, {"a": "skipped"}, []) == (applied.verdict, outcomes(applied), case.caller.sent)
    assert ["loss-open"] == [message.name for message in applied.messages]


def test_an_outcome_that_cannot_be_appended_is_saved() -> None:
    """With its intent; only its result says that the record does not have it, 3, and nobody waits for it."""
    case, pause = Apply(wanting("a", "b")), Mock()
    case.caller.on_send = lambda url: case.store.declare_failures(*[DOWN] * 9 * url.endswith("b"))
    applied = carry_out(case.plan, case.reading, case.with_ports(pause=pause), LIMITS)
    assert ["Intended", "Answered"] == [type(fact).__name__ for fact in case.saved]
    assert (Verdict.UNRESOLVED, [True, False]) == (applied.verdict, [result.recorded for result in applied.results])
    assert (["store-down", "outcomes-saved"], False) == ([message.name for message in applied.messages], pause.called)


def test_own_append_whose_answer_was_lost_is_not_called_that_of_another_run() -> None:
    """The repeated append conflicts with the first one; while the record cannot be read, that is what is told."""
    case = Apply(wanting("a"))
    case.store.declare_lost_answers(DOWN)
    reads = reads_of(case, 2, 3)
    applied = carry_out(case.plan, case.reading, case.with_ports(read=reads), Limits(backoff=(0.0,)))
    assert reads.call_count > 3
    assert {message.name for message in applied.messages} == {"store-down"}
    assert {result.detail for result in applied.results} == {DOWN.messages[0].what}


@pytest.mark.parametrize("works", ["store", "reading", "reading, moved", "nothing"])
def test_what_an_intent_that_was_given_up_came_to_is_recorded_or_saved(works: str) -> None:
    """It was not sent, which nobody else knows; the intent may be in the record."""
    case = Apply(wanting("a"))
    case.store.declare_lost_answers(DOWN)

    def read() -> Any:
        if reads.call_count == 2 or (reads.call_count > 2 and works == "nothing"):
            case.store.declare_failures(*[MOVED if "moved" in works else DOWN] * 9 * (works != "store"))
            raise StoreUnavailable(Message("store-silent", "no answer"))
        return case.journal.read()

    reads, extend = Mock(side_effect=read), Mock(side_effect=case.journal.extend)
    applied = carry_out(case.plan, case.reading, case.with_ports(read=reads, extend=extend), Limits(backoff=()))
    record = case.journal.read().record
    [attempt] = record.attempts.values()
    assert (Verdict.FAILED, {"a": "not_sent"}, []) == (applied.verdict, outcomes(applied), case.caller.sent)
    saved = [(fact.attempt, fact.outcome) for fact in case.saved if isinstance(fact, Answered)]
    if works == "store":
        assert (Status.GONE, [], record.entries) == (attempt.status, case.saved, extend.call_args.args[2])
        return
    assert ([(attempt.id, Outcome.NOT_SENT)], 1) == (saved, len(case.saved))
    [what] = (message.what for message in applied.messages if message.name == "outcomes-saved")
    assert ("saved: no answer" if works == "nothing" else "saved: the append failed") == what


@pytest.mark.parametrize("overdue", [False, True])
@pytest.mark.parametrize("problem", [
    StoreUnavailable(*(Message(name, name) for name in ("first", "second"))), RuntimeError("a bug"),
])  # fmt: skip
def test_a_record_that_cannot_be_read_is_not_applied_to(overdue: bool, problem: Exception) -> None:
    """Everything is skipped, with the first reason, and all are told; what the plan called unresolved is so still."""
    case = Apply(wanting("a", "b"), *[theirs("b", 5.0)] * overdue)
    applied = carry_out(case.plan, case.reading, case.with_ports(read=Mock(side_effect=problem)), LIMITS)
    assert (Verdict.UNRESOLVED if overdue else Verdict.FAILED) is applied.verdict
    told = getattr(problem, "messages", None) or (message_of(problem),)
    assert ({"a": "skipped", "b": "skipped"}, told) == (outcomes(applied), applied.messages)
    assert {told[0].what} == {result.detail for result in applied.results}


def test_a_record_without_what_was_planned_on_is_not_applied_to() -> None:
    """It was set back, or replaced, since the plan was approved."""
    case = Apply(wanting("a"), known("z"))
    case.store.data = record_of()
    applied = apply(case)
    assert (["record-replaced"], []) == ([message.name for message in applied.messages], case.caller.sent)


@pytest.mark.parametrize(("failures", "overdue"), [(0, False), (9, False), (0, True)])
def test_a_record_that_cannot_be_read_afterwards_leaves_the_results(failures: int, overdue: bool) -> None:
    """They count, but nobody knows the rest: 1, or 3 if one is not recorded or was unknown. No message is repeated."""
    case = Apply(wanting("a", "b", *["c"] * overdue), *[theirs("c", 5.0)] * overdue)

    def fail(url: str) -> None:
        if url.endswith("b"):
            case.store.declare_unreadable(DOWN)
            case.store.declare_failures(*[DOWN] * failures)

    case.caller.on_send = fail
    applied = apply(case)
    assert (Verdict.UNRESOLVED if failures or overdue else Verdict.FAILED, None) == (applied.verdict, applied.left)
    names = ["store-down", *["outcomes-saved"] * (failures > 0)]
    assert names == [found.name for found in applied.messages]
    assert {"a": "created", "b": "created"} | dict.fromkeys("c" * overdue, "skipped") == outcomes(applied)
    assert [True, not failures] == [result.recorded for result in applied.results][:2]


@pytest.mark.parametrize(("outcome", "others", "verdict"), [
    (Outcome.CREATED, "", Verdict.FAILED), (Outcome.CREATED, "b", Verdict.FAILED),
    (Outcome.UNKNOWN, "", Verdict.UNRESOLVED),
])  # fmt: skip
def test_a_lost_response_is_a_failure(outcome: Outcome, others: str, verdict: Verdict) -> None:
    """Though the subscription was created, and nothing else is left to do; an unknown outcome is over it."""
    case = Apply(wanting("a", *others))
    case.caller.loses = True
    case.caller.declare_answer("a", Answer(outcome, 201))
    applied = apply(case)
    assert (verdict, {"a": outcome} | dict.fromkeys(others, "skipped")) == (applied.verdict, outcomes(applied))
    assert ["response-lost"] == [message.name for message in applied.messages]


def test_an_interrupted_run_records_what_is_in_flight() -> None:
    """Nothing more is sent, and neither the call that hangs, which is unknown, nor a store that does is waited for."""
    case = Apply(wanting("a", "b"))
    held = threading.Event()

    def hold(_url: str) -> None:
        case.inbox.interrupt()
        held.wait(5)

    case.caller.on_send = hold
    reads: Mock = Mock(side_effect=lambda: held.wait(5) if reads.call_count > 1 else case.journal.read())
    limits = Limits(call_grace=0.05, last_grace=0.05)
    applied = carry_out(case.plan, case.reading, case.with_ports(read=reads), limits)
    held.set()
    assert ({"a": "unknown", "b": "skipped"}, Verdict.UNRESOLVED) == (outcomes(applied), applied.verdict)
    assert ["interrupted"] == [message.name for message in applied.messages]


def test_an_interrupt_before_the_first_read_sends_nothing() -> None:
    """A store that hangs is not waited for."""
    case = Apply(wanting("a"))
    held = threading.Event()
    case.inbox.interrupt()
    applied = carry_out(case.plan, case.reading, case.with_ports(read=lambda: held.wait(5)), LIMITS)
    held.set()
    assert ({"a": "skipped"}, ["interrupted"]) == (outcomes(applied), [message.name for message in applied.messages])


@pytest.mark.parametrize("loses", [False, True])
def test_an_unexpected_error_ends_the_run_with_what_is_known(monkeypatch: pytest.MonkeyPatch, loses: bool) -> None:
    """A bug in what watches it: outcomes are saved, though they may be recorded yet, it is reported, no call leaves."""
    case = Apply(wanting("a"))
    case.caller.loses = loses
    case.store.declare_failures(DOWN)
    performer, has_ended = Performer(case.ports), list[bool]()
    monkeypatch.setattr(driver, "Performer", lambda _: performer)

    def wait(*of: Any) -> list[CallEnded]:
        has_ended.append(performer.ended.is_set)
        return _last_answers(*of)

    monkeypatch.setattr(driver, "_last_answers", wait)

    def watch(run: Any) -> None:
        if run.results:
            raise KeyError("watcher")

    applied = carry_out(case.plan, case.reading, case.with_ports(observe=watch), LIMITS)
    assert (2, {"a": "created"}) == (len(case.saved), outcomes(applied))
    names = ["outcomes-saved", "apply-failed", *["response-lost"] * loses]
    assert (names, [True]) == ([message.name for message in applied.messages], has_ended)
    assert "saved: internal error (KeyError)" == applied.messages[0].what
    assert ("watcher" in repr(applied), applied.verdict is Verdict.DONE) == (False, False)


def test_an_answer_that_an_unexpected_error_keeps_from_the_run_counts() -> None:
    """It was about to be handled."""
    case, problems = Apply(wanting("a")), [KeyError("clock")]
    main, answered = threading.get_ident(), threading.Event()

    def clock() -> Instant:
        if threading.get_ident() == main and answered.is_set() and problems:
            raise problems.pop()
        return now()

    ports = case.with_ports(clock=clock, reach=lambda point: answered.set() if point == "after-send" else None)
    applied = carry_out(case.plan, case.reading, ports, LIMITS)
    assert ({"a": "created"}, []) == (outcomes(applied), problems)


@pytest.mark.parametrize(("when", "patience", "count"), [
    ("since", 6.0, 9), ("since", 0.0, 0), ("overdue", 6.0, 9), ("before", 6.0, 8), ("before", 0.0, 0),
    ("beside", 6.0, 9), ("interrupted", 6.0, 1),
])  # fmt: skip
def test_what_is_under_way_elsewhere_is_looked_at_less_and_less_often(when: str, patience: float, count: int) -> None:
    """Each pause is longer, up to a second. What was under way before the plan has 5 s; an interrupt ends all waits."""
    flying = theirs("a", time.time() + 100)
    earlier = {"before": [flying], "overdue": [replace(theirs("a", 5.0), attempt="overdue")]}
    earlier["beside"] = [replace(theirs("b", time.time() + 100), attempt="beside")]
    case, pauses = Apply(wanting("a", "b"), *earlier.get(when, [])), list[float]()
    if when != "before":
        append(case.store, flying)

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if when == "interrupted":
            case.inbox.interrupt()

    ports = case.with_ports(patience=patience, pause=pause, clock=lambda: Instant(time.time(), sum(pauses)))
    carry_out(case.plan, case.reading, ports, LIMITS)
    assert pytest.approx([0.2, 0.3, 0.45, 0.675, 1.0, 1.0, 1.0, 1.0, 1.0][:count]) == pauses


def test_what_becomes_overdue_during_the_wait_is_unresolved() -> None:
    """It counts what time it is at the end."""
    case, waited = Apply(wanting("a")), [0.0]
    append(case.store, theirs("a", time.time() + 3))
    clock = lambda: Instant(time.time() + waited[0], waited[0])  # noqa: E731
    ports = case.with_ports(patience=9.0, pause=lambda _: waited.append(waited.pop() + 4.0), clock=clock)
    applied = carry_out(case.plan, case.reading, ports, LIMITS)
    assert (Verdict.UNRESOLVED, ["theirs"]) == (applied.verdict, [attempt.id for attempt in applied.unresolved])


def test_what_was_restored_is_told() -> None:
    """Beside what is to be removed: both change what the operator has to do."""
    requests = [RemovalRequested(at=AT, attempt=f"old-{name}", codes=(code(name),), by_plan=True) for name in "ab"]
    applied = apply(Apply(wanting("a", "b"), *map(known, "abyz"), *requests))
    told = [[attempt.id for attempt in attempts] for attempts in (applied.restored, applied.removal)]
    assert (Verdict.DONE, [["old-a", "old-b"], ["old-y", "old-z"]]) == (applied.verdict, told)


def test_what_a_record_that_is_replaced_since_lacks_is_not_told() -> None:
    """The run ends with a result all the same."""
    case = Apply(wanting(), known("a"))
    reads = Mock(side_effect=[case.reading, Apply(wanting()).reading])
    applied = carry_out(case.plan, case.reading, case.with_ports(read=reads), LIMITS)
    assert ({"a": "requested"}, ()) == (outcomes(applied), applied.removal)


def test_a_system_that_starts_no_thread_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an unexpected error: nothing is sent, and the result is told."""
    monkeypatch.setattr(driver._Workers, "start", Mock(side_effect=RuntimeError("can't start new thread")))
    applied = apply(case := Apply(wanting("a")))
    assert ({"a": "skipped"}, Verdict.FAILED, []) == (outcomes(applied), applied.verdict, case.caller.sent)


def many(count: int) -> Desired:
    """Return so many desired subscriptions."""
    wanted = {f"{TARGET}/s{number}": (("ONB10001",), f"https://hooks.example/{number}") for number in range(count)}
    return desired_of([target_of(TARGET)], wanted)


def calls_of(count: int) -> int:
    """Count how often a run of so many creates enters a function of the room."""
    bench, entered, room = Bench(many(count), limits=Limits(parallelism=1)), [0], str(Path(applying.__file__).parent)

    def profile(frame: FrameType, event: str, _arg: object) -> None:
        entered[0] += event == "call" and frame.f_code.co_filename.startswith(room)

    sys.setprofile(profile)
    try:
        bench.start().create_all()
    finally:
        sys.setprofile(None)
    return entered[0]


def test_a_create_costs_the_same_however_many_there_are() -> None:
    """What is entered for each does not grow with the creates to come, or with the record."""
    few, more = (calls_of(count) / count for count in (50, 400))
    assert more <= 1.2 * few


def test_the_record_is_read_twice_however_many_creates_there_are() -> None:
    """Before and after: it is not folded for each append."""
    case = Apply(many(300))
    reads = reads_of(case)
    applied = carry_out(case.plan, case.reading, case.with_ports(read=reads), Limits(parallelism=8))
    assert (Verdict.DONE, 2) == (applied.verdict, reads.call_count)
