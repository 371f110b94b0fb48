"""A whole apply with its threads, on a record in memory."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from support.applying_bench import SERVICE, TARGET, code, known, wanting
from support.applying_doubles import Apply, now
from support.desired_values import desired_of, target_of
from support.memory_record import AT, DOWN, MOVED, append, record_of
from support.records import linked

from reconciler import applying
from reconciler.applying import driver
from reconciler.applying.driver import Flag, Performer, unless_interrupted
from reconciler.applying.events import Append, Limits, NotAppended, Reread, RereadDone
from reconciler.applying.execution import carry_out
from reconciler.errors import Message, StoreUnavailable
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Verdict
from reconciler.model.record import Status
from reconciler.record.facts import Answered, Intended, LossOpened, RemovalRequested, What
from reconciler.values import Instant

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from reconciler.applying.protocol import Run
    from reconciler.model.desired import Desired
    from reconciler.model.plan import Applied
    from reconciler.record.journal import Reading

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
    """Creates on two targets, a replacement and a removal: done, and in the record."""
    case = Apply(wanting("a", "usa/staging/b"), known("a", host="old"), known("z"))
    applied = apply(case)
    assert (Verdict.DONE, {"a": "created", "b": "created", "z": "requested"}) == (applied.verdict, outcomes(applied))
    assert ["old-a", "old-z"] == sorted(attempt.id for attempt in applied.removal)
    assert {Status.AWAITING_REMOVAL} == {attempt.status for attempt in applied.removal}
    assert applied.left is not None
    assert ((), [], []) == (applied.messages, applied.left.changes, case.saved)
    points = Counter(case.reached)
    assert (2, 2) == (points["before-send"], points["after-send"])


def test_no_more_calls_are_in_flight_than_allowed() -> None:
    """However many creates there are."""
    case = Apply(wanting(*"abcdefgh"), takes=0.01)
    applied = apply(case, Limits(parallelism=3))
    assert (Verdict.DONE, 3) == (applied.verdict, case.caller.at_once)


def test_nothing_is_sent_twice_by_two_runs_at_once() -> None:
    """They share the work, and both say that all is done."""
    desired = wanting(*"abcdefghij")
    first = Apply(desired, takes=0.01)
    second = Apply(desired, store=first.store, takes=0.01)
    lock = threading.Lock()
    inner = first.store.append

    def append_alone(*args: Any, **kwargs: Any) -> None:
        with lock:
            inner(*args, **kwargs)

    first.store.append = append_alone  # type: ignore[method-assign]
    patient = [
        (case, case.with_ports(patience=10.0, pause=lambda seconds: time.sleep(0.02))) for case in (first, second)
    ]
    with ThreadPoolExecutor(2) as pool:
        ends = [*pool.map(lambda each: carry_out(each[0].plan, each[0].reading, each[1], LIMITS), patient)]
    assert 10 == len(set(first.caller.sent + second.caller.sent)) == len(first.caller.sent + second.caller.sent)
    assert [Verdict.DONE, Verdict.DONE] == [applied.verdict for applied in ends]


def test_what_another_run_did_counts_as_done() -> None:
    """A change that was taken while this run waited to begin."""
    case = Apply(wanting("a"))
    append(case.store, known("a"))
    applied = apply(case)
    [result] = applied.results
    assert (Verdict.DONE, "already done by another run") == (applied.verdict, result.detail)


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
    assert ["internal error (ValueError)"] == [
        result.detail for result in applied.results if result.address.name == "c"
    ]
    assert all(result.settled_by > time.time() for result in applied.results if result.outcome.value == "unknown")


def test_a_target_without_a_token_is_not_sent() -> None:
    """The message says why, and nothing is recorded."""
    case = Apply(wanting("a"))
    case.caller.declare_no_token()
    applied = apply(case)
    assert (Verdict.FAILED, {"a": "not_sent"}, ["no-token"]) == (
        applied.verdict, outcomes(applied), [message.name for message in applied.messages],
    )  # fmt: skip
    assert record_of() == case.store.data


def test_a_wait_that_waits_is_no_failure() -> None:
    """The old one's removal is requested, the create is blocked until that is confirmed: 0."""
    case = Apply(wanting("a", replace_by="wait"), known("a", host="old"))
    applied = apply(case)
    assert (Verdict.DONE, ["skipped", "requested"]) == (
        applied.verdict,
        sorted((result.outcome.value for result in applied.results), reverse=True),
    )


def test_a_closed_gate_is_a_failure() -> None:
    """A loss that opens before the first intent: nothing is sent, 1, and the gate is named with its way on."""
    case = Apply(wanting("a"))
    append(case.store, LossOpened(at=AT, loss="lost", cause="accepted"))
    applied = apply(case)
    assert (Verdict.FAILED, {"a": "skipped"}, []) == (applied.verdict, outcomes(applied), case.caller.sent)
    assert ["loss-open"] == [message.name for message in applied.messages]


def test_an_outcome_that_cannot_be_appended_is_saved() -> None:
    """With its intent; the result says that the record does not have it, 3."""
    case = Apply(wanting("a"))
    case.caller.on_send = lambda url: case.store.declare_failures(*[DOWN] * 9)
    applied = apply(case)
    assert ["Intended", "Answered"] == [type(fact).__name__ for fact in case.saved]
    [result] = applied.results
    assert (Verdict.UNRESOLVED, False) == (applied.verdict, result.recorded)
    assert {"store-down", "outcomes-saved"} == {message.name for message in applied.messages}


def test_an_intent_that_arrives_after_it_was_given_up_is_settled() -> None:
    """The record says that it was not sent, so that nobody has to."""
    case = Apply(wanting("a"))
    case.store.declare_lost_answers(DOWN)
    reads = reads_of(case, 2)
    applied = carry_out(case.plan, case.reading, case.with_ports(read=reads), Limits(backoff=()))
    [attempt] = case.journal.read().record.attempts.values()
    assert (Verdict.FAILED, Status.GONE, []) == (applied.verdict, attempt.status, case.caller.sent)


def test_own_append_whose_answer_was_lost_is_not_called_that_of_another_run() -> None:
    """The repeated append conflicts with the first one; while the record cannot be read, that is what is told."""
    case = Apply(wanting("a"))
    case.store.declare_lost_answers(DOWN)
    reads = reads_of(case, 2, 3)
    applied = carry_out(case.plan, case.reading, case.with_ports(read=reads), Limits(backoff=(0.0,)))
    assert reads.call_count > 3
    assert {message.name for message in applied.messages} == {"store-down"}
    assert {result.detail for result in applied.results} == {DOWN.messages[0].what}


@pytest.mark.parametrize("readable", [False, True])
def test_what_an_intent_that_was_given_up_came_to_is_saved_where_it_cannot_be_recorded(readable: bool) -> None:
    """It was not sent, which nobody else knows; the intent may be in the record."""
    case = Apply(wanting("a"))
    case.store.declare_lost_answers(DOWN)
    reads = []

    def read_once() -> Any:
        reads.append(1)
        if len(reads) == 2 or (len(reads) > 2 and not readable):
            case.store.declare_failures(*[DOWN] * 9)
            raise StoreUnavailable(Message("store-silent", "no answer"))
        return case.journal.read()

    applied = carry_out(case.plan, case.reading, case.with_ports(read=read_once), Limits(backoff=()))
    [outcome] = case.saved
    assert isinstance(outcome, Answered)
    [attempt] = case.journal.read().record.attempts
    assert (attempt, Outcome.NOT_SENT, []) == (outcome.attempt, outcome.outcome, case.caller.sent)
    assert (Verdict.FAILED, {"a": "not_sent"}) == (applied.verdict, outcomes(applied))
    [saved] = (message for message in applied.messages if message.name == "outcomes-saved")
    assert ("saved: the append failed" if readable else "saved: no answer") == saved.what


def test_a_record_that_cannot_be_read_is_not_applied_to() -> None:
    """Everything is skipped, with the reason."""
    case = Apply(wanting("a"))
    plan = case.plan
    case.store.declare_unreadable(DOWN)
    applied = carry_out(plan, case.reading, case.ports, LIMITS)
    assert (Verdict.FAILED, {"a": "skipped"}, ("store-down",)) == (
        applied.verdict, outcomes(applied), tuple(message.name for message in applied.messages),
    )  # fmt: skip


def test_a_record_without_what_was_planned_on_is_not_applied_to() -> None:
    """It was set back, or replaced, since the plan was approved."""
    case = Apply(wanting("a"), known("z"))
    case.store.data = record_of()
    applied = apply(case)
    assert (["record-replaced"], []) == ([message.name for message in applied.messages], case.caller.sent)


def test_a_record_that_cannot_be_read_afterwards_leaves_the_results() -> None:
    """They count, but nobody knows the rest: 1."""
    case = Apply(wanting("a"))
    case.caller.on_send = lambda url: case.store.declare_unreadable(DOWN)
    applied = apply(case)
    assert (Verdict.FAILED, {"a": "created"}, None) == (applied.verdict, outcomes(applied), applied.left)


@pytest.mark.parametrize(
    ("outcome", "others", "verdict"),
    [
        (Outcome.CREATED, "", Verdict.FAILED),
        (Outcome.CREATED, "b", Verdict.FAILED),
        (Outcome.UNKNOWN, "", Verdict.UNRESOLVED),
    ],
)
def test_a_lost_response_is_a_failure(outcome: Outcome, others: str, verdict: Verdict) -> None:
    """Though the subscription was created, and nothing else is left to do; an unknown outcome is over it."""
    case = Apply(wanting("a", *others))
    case.caller.loses = True
    case.caller.declare_answer("a", Answer(outcome, 201))
    applied = apply(case)
    assert (verdict, {"a": outcome} | dict.fromkeys(others, "skipped")) == (applied.verdict, outcomes(applied))
    assert ["response-lost"] == [message.name for message in applied.messages]


def test_an_interrupted_run_records_what_is_in_flight() -> None:
    """Nothing more is sent, and the call that hangs is unknown."""
    case = Apply(wanting("a", "b"))
    held = threading.Event()

    def hold(_url: str) -> None:
        case.inbox.interrupt()
        held.wait(5)

    case.caller.on_send = hold
    applied = apply(case, Limits(call_grace=0.05))
    held.set()
    assert ({"a": "unknown", "b": "skipped"}, Verdict.UNRESOLVED) == (outcomes(applied), applied.verdict)


def test_an_interrupt_before_the_first_read_sends_nothing() -> None:
    """A store that hangs is not waited for."""
    case = Apply(wanting("a"))
    held = threading.Event()
    case.inbox.interrupt()
    applied = carry_out(case.plan, case.reading, case.with_ports(read=lambda: held.wait(5)), LIMITS)
    held.set()
    assert ({"a": "skipped"}, ["interrupted"]) == (outcomes(applied), [message.name for message in applied.messages])


def test_a_read_may_end_within_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt does not end it sooner; and a read that never ends does not keep the program from ending."""
    monkeypatch.setattr(driver, "_TICK", 0.001)
    interrupted = Flag()
    interrupted.set()

    def read() -> bool:
        time.sleep(0.01)
        return threading.current_thread().daemon

    assert unless_interrupted(read, interrupted, 0.9)


def test_an_unexpected_error_ends_the_run_with_what_is_known() -> None:
    """A bug in what watches the run: the outcomes are saved, though they may be recorded yet, and it is reported."""
    case = Apply(wanting("a"))

    def watch(run: Any) -> None:
        if run.results:
            raise KeyError("watcher")

    applied = carry_out(case.plan, case.reading, case.with_ports(observe=watch), LIMITS)
    assert (2, {"a": "created"}) == (len(case.saved), outcomes(applied))
    assert "apply-failed" in {message.name for message in applied.messages}
    assert applied.verdict is not Verdict.DONE


def test_a_call_that_has_not_left_when_the_run_fails_is_not_sent() -> None:
    """What becomes of it could be recorded by nobody any more."""
    case, begun, over = Apply(wanting("a")), threading.Event(), threading.Event()
    done = threading.Event()

    def reach(point: str) -> None:
        if point == "before-send":
            begun.set()
            over.wait(5)
        elif point == "after-send":
            done.set()

    def watch(run: Run) -> None:
        if run.in_flight and begun.wait(5):
            raise KeyError("watcher")

    limits = Limits(call_grace=0.02)
    applied = carry_out(case.plan, case.reading, case.with_ports(observe=watch, reach=reach), limits)
    over.set()
    assert done.wait(5)
    assert ({"a": "unknown"}, []) == (outcomes(applied), case.caller.sent)


def test_an_interrupt_ends_the_wait_for_answers_after_an_error() -> None:
    """Answers are waited for as long as an interrupted run waits for them, unless a person asks for the end."""
    case, held, looks = Apply(wanting("a")), threading.Event(), list[float]()

    def clock() -> Instant:
        looks.append(1.0)
        return Instant(now().wall, sum(looks))

    def hold(_url: str) -> None:
        case.inbox.interrupt()
        held.wait(5)

    def watch(run: Run) -> None:
        if case.inbox.interrupted.is_set:
            raise KeyError("watcher")

    case.caller.on_send = hold
    limits = Limits(call_grace=900.0, freshness=900.0, send_window=900.0)
    applied = carry_out(case.plan, case.reading, case.with_ports(observe=watch, clock=clock), limits)
    held.set()
    assert ({"a": "unknown"}, True) == (outcomes(applied), len(looks) < 100)


def test_what_is_under_way_elsewhere_is_looked_at_less_and_less_often() -> None:
    """A read may be a call of a remote store: each pause is longer than the one before, up to a second."""
    case, pauses = Apply(wanting("a")), list[float]()
    append(case.store, theirs("a", time.time() + 100))
    ports = case.with_ports(patience=6.0, pause=pauses.append, clock=lambda: Instant(time.time(), sum(pauses)))
    carry_out(case.plan, case.reading, ports, LIMITS)
    assert pytest.approx([0.2, 0.3, 0.45, 0.675, 1.0, 1.0, 1.0, 1.0, 1.0]) == pauses


def test_what_was_restored_is_told() -> None:
    """Beside what is to be removed: both change what the operator has to do."""
    case = Apply(wanting("a"), known("a"), RemovalRequested(at=AT, attempt="old-a", codes=(code("a"),), by_plan=True))
    applied = apply(case)
    assert (Verdict.DONE, ["old-a"], ()) == (
        applied.verdict, [attempt.id for attempt in applied.restored], applied.removal,
    )  # fmt: skip


def test_a_problem_that_repeats_itself_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """The first time it explains the wait; then it is for those who look closer."""
    caplog.set_level("INFO", logger="reconciler")
    case = Apply(wanting("a"))
    case.store.declare_failures(DOWN, DOWN)
    assert Verdict.DONE is apply(case, Limits(backoff=(0.0, 0.0))).verdict
    assert ["WARNING", "INFO"] == [line.levelname for line in caplog.records if "no network" in line.message]


def many(count: int) -> Desired:
    """Return so many desired subscriptions."""
    wanted = {f"{TARGET}/s{number}": (("ONB10001",), f"https://hooks.example/{number}") for number in range(count)}
    return desired_of([target_of(TARGET)], wanted)


def calls_of(count: int) -> Counter[str]:
    """Count the functions of the room that an apply of so many creates enters, in all threads."""
    case, entered = Apply(many(count)), Counter[str]()
    room = str(Path(applying.__file__).parent)

    def profile(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(room):
            entered[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1

    plan = case.plan
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        applied = carry_out(plan, case.reading, case.ports, Limits(parallelism=1))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert applied.verdict is Verdict.DONE
    return entered


def test_one_create_enters_few_functions() -> None:
    """The whole of the room is at work, and it can be read in one sitting."""
    assert len([name for name in calls_of(1) if "<" not in name]) <= 110


def test_a_create_costs_the_same_however_many_there_are() -> None:
    """What is entered for each does not grow with the creates to come, or with the record."""
    few, more = (sum(calls_of(count).values()) / count for count in (50, 400))
    assert more <= 1.2 * few


def test_the_record_is_read_twice_however_many_creates_there_are() -> None:
    """Before and after: it is not folded for each append."""
    case = Apply(many(300))
    reads: list[int] = []

    def read() -> Any:
        reads.append(1)
        return case.journal.read()

    applied = carry_out(case.plan, case.reading, case.with_ports(read=read), Limits(parallelism=8))
    assert (Verdict.DONE, 2) == (applied.verdict, len(reads))


@pytest.mark.parametrize("after", ["a read", "an append that failed"])
def test_what_was_read_is_as_old_as_the_beginning_of_its_read(after: str) -> None:
    """What others append while it is read may be missing from it, so its time is not that of its end."""
    case, moment = Apply(wanting("a")), [Instant(0.0, 0.0)]

    def read() -> Reading:
        moment[0] = Instant(100.0, 100.0)
        return case.reading

    case.store.declare_failures(MOVED)
    performer = Performer(case.with_ports(read=read, clock=lambda: moment[0]))
    new = linked(case.reading.record.head, case.reading.record.entries, [LossOpened(at=AT, loss="x", cause="accepted")])
    append = Append(case.reading, case.reading.record.head, case.reading.record.entries + 1, new, "x")
    done = performer.perform(Reread() if after == "a read" else append)
    assert isinstance(done, RereadDone | NotAppended)
    assert (Instant(0.0, 0.0), case.reading) == (done.at, done.reading)
