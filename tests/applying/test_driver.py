"""The driver, with real threads: what effects come to, whatever is raised, and how a run is ended."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace
from support.applying_bench import SERVICE, Bench, known, wanting
from support.applying_doubles import MemoryStore, ScriptedCaller, now
from support.journal_samples import TARGET, begun, journal_bytes

from reconciler.applying.context import Limits
from reconciler.applying.driver import Driver, Inbox
from reconciler.applying.events import Append, Appended, AppendFailed, Conflict, InterruptAsked, Ticked
from reconciler.applying.protocol import TargetRun
from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.state.journal.chain import link
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.applying.context import RunContext
    from reconciler.applying.events import Effect, Event
    from reconciler.model.clock import Instant
    from reconciler.state.stores.store import Journals

LIMITS = Limits(backoff=(0.01, 0.01))


class Drive:
    """A driver on the bench: a run over real threads."""

    def __init__(self, *names: str, limits: Limits = LIMITS) -> None:
        self.bench = Bench(wanting(*names), limits=limits)
        self.store = MemoryStore()
        self.store.declare_journal(journal_bytes([replace(begun(), base_url=SERVICE)]), TARGET)
        self.caller = ScriptedCaller()
        self.inbox = Inbox()
        self.steps: list[str] = []
        self.seen: list[int] = []

    def run(self, store: Journals | None = None, *, credentials: bool = True) -> TargetRun:
        """Drive the run to its end."""
        caller = self.caller if credentials else None
        driver = Driver(TARGET, store or self.store, caller, now, self.inbox, self.steps.append)
        run = TargetRun(self.bench.changes(), self.bench.journal, self.bench.run.context)
        driver.drive(run, lambda run: self.seen.append(len(run.results)))
        return run

    def outcomes(self, run: TargetRun) -> dict[str, str]:
        return {address.name: str(result.outcome) for (address, _), result in run.results.items()}


def test_creates_are_sent_and_recorded() -> None:
    """Every subscription is created once, and is live in the record; as many calls at once as are allowed."""
    drive = Drive("a", "b", "c", "d", "e", "f", limits=Limits(parallelism=3))
    run = drive.run()
    assert dict.fromkeys("abcdef", "created") == drive.outcomes(run)
    assert list("abcdef") == sorted(drive.caller.sent)
    assert ["live"] * 6 == [str(one.status) for one in drive.store.record(TARGET).attempts.values()]
    assert 1 < drive.caller.at_once <= 3


def test_a_real_store_is_driven_as_well(tmp_path: Path) -> None:
    """The same with journals as files."""
    drive = Drive("a", "b", "c")
    store = FileStore(tmp_path / "state")
    store.append(TARGET, None, 1, drive.store.data[TARGET], "")
    drive.run(store)
    data = store.read(TARGET)
    assert data is not None
    assert 3 == data.count(b'"outcome":"created"')


def test_every_durable_step_is_told_of() -> None:
    """Tests can stop the program before and after each append and each call."""
    drive = Drive("a")
    drive.run()
    assert [
        "before-append", "after-append", "before-send", "after-send", "before-append", "after-append",
    ] == drive.steps  # fmt: skip


def test_progress_is_told_after_every_event() -> None:
    """Whoever watches sees the results grow, and the last of them before the end."""
    drive = Drive("a")
    drive.run()
    assert (sorted(drive.seen), 1) == (drive.seen, drive.seen[-1])


@dataclass
class OneAppend:
    """Stands for a run that wants one append, and is finished once it hears of it."""

    effect: Append
    context: RunContext
    heard: list[Event] = field(default_factory=list)
    wake_at: float | None = None
    calls_left: int = 0
    results: tuple[()] = ()

    def start(self, _now: Instant) -> list[Effect]:
        return [self.effect]

    def handle(self, event: Event, _now: Instant) -> list[Effect]:
        if not isinstance(event, Ticked):
            self.heard.append(event)
        return []

    @property
    def finished(self) -> bool:
        return bool(self.heard)


FULL = StoreUnavailable("disk full", where=TARGET)


@pytest.mark.parametrize(
    ("problem", "readable", "heard"),
    [
        (None, True, Appended),
        (HeadMoved("first", where=TARGET), True, Conflict),
        (HeadMoved("first", where=TARGET), False, AppendFailed),
        (FULL, True, AppendFailed),
        (FULL, False, AppendFailed),
    ],
)
def test_a_run_hears_what_became_of_an_append(problem: Exception | None, readable: bool, heard: type[Event]) -> None:
    """With the record as it is by then, wherever that can be read: an append that failed may have arrived."""
    drive = Drive()
    before = drive.store.journal(TARGET)
    lines, _ = link(before.head, len(before.lines), [known("a")])
    drive.store.declare_failures(*([problem] if problem else []))
    drive.store.declare_unreadable(None if readable else StoreUnavailable("no disk", where=TARGET))
    run = OneAppend(Append(before.head, len(before.lines) + 1, lines, "a note"), drive.bench.run.context)
    Driver(TARGET, drive.store, None, now, drive.inbox, drive.steps.append).drive(
        cast("TargetRun", run), lambda _: None
    )
    (event,) = run.heard
    assert heard is type(event)
    if isinstance(event, Conflict | AppendFailed):
        assert (before if readable else None) == event.journal
    if isinstance(event, AppendFailed):
        assert str(problem) == event.detail
    assert ["a note"] == drive.store.notes


def test_a_record_that_cannot_be_written_or_read_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Why an append failed is logged at once; then the record is read, and why that fails too is logged, once each."""
    drive = Drive("a")
    drive.store.declare_failures(*[StoreUnavailable("disk full")] * 9)
    drive.store.declare_unreadable(StoreUnavailable("no disk", where=TARGET))
    drive.run()
    *told, count = [one.getMessage() for one in caplog.records]
    assert ["disk full", f"{TARGET}: no disk"] == told
    assert f"{TARGET}: the state record could not be written {len(drive.store.notes)} times" == count


def test_what_nobody_expected_is_told_to_whoever_debugs(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the exception itself, for its place."""
    caplog.set_level("DEBUG")
    drive, problem = Drive("a"), RuntimeError("secret")
    drive.caller.declare_answer("a", problem)
    drive.run()
    assert [("unexpected", problem)] == [(one.getMessage(), one.exc_info and one.exc_info[1]) for one in caplog.records]


def test_the_caller_hears_how_many_calls_are_left() -> None:
    """It prepares for no more calls than are left, and for none once the run is over."""
    drive = Drive("a", "b", "c", "d", "e", limits=Limits(parallelism=2))
    left_at_calls: list[int] = []
    drive.caller.before = lambda _name: left_at_calls.append(drive.caller.expected[-1])
    drive.run()
    heard = drive.caller.expected
    assert (5, 0, sorted(heard, reverse=True)) == (heard[0], heard[-1], heard)
    assert all(left <= 5 - sent for sent, left in enumerate(left_at_calls))


def test_nothing_is_prepared_before_a_token_is_there() -> None:
    """What is not authorised opens no connection to the service."""
    drive = Drive("a", "b")
    drive.caller.declare_no_token()
    drive.run()
    assert {0} == set(drive.caller.expected)


def test_nothing_is_prepared_after_an_interrupt() -> None:
    """Whatever was left is not called."""
    drive = Drive("a", "b", "c", limits=Limits(parallelism=1, grace=0.1))
    drive.caller.before = lambda _name: drive.inbox.interrupt()
    drive.run()
    assert (3, 0) == (drive.caller.expected[0], drive.caller.expected[-1])
    assert 0 < len(drive.caller.expected) <= 4


def test_without_credentials_nothing_is_sent() -> None:
    """A target without a caller gives results, not an error."""
    drive = Drive("a")
    run = drive.run(credentials=False)
    [result] = run.results.values()
    assert ("not_sent", "no credentials for this target") == (str(result.outcome), result.detail)


@pytest.mark.parametrize(
    ("problem", "detail"),
    [(None, "europe/staging: HTTP 401"), (RuntimeError("secret"), "internal error (RuntimeError)")],
)
def test_without_a_token_nothing_is_sent(problem: Exception | None, detail: str) -> None:
    """Why there is no token is told; of an error that nobody expected only the name, for its text may hold anything."""
    drive = Drive("a")
    drive.caller.declare_no_token(problem)
    [result] = drive.run().results.values()
    assert ("not_sent", detail) == (str(result.outcome), result.detail)


def test_a_bug_in_a_call_is_an_unknown_outcome() -> None:
    """Whatever went wrong, the call may have been sent."""
    drive = Drive("a")
    drive.caller.declare_answer("a", RuntimeError("secret"))
    [result] = drive.run().results.values()
    assert ("unknown", "internal error (RuntimeError)") == (str(result.outcome), result.detail)
    assert ["unknown"] == [str(one.status) for one in drive.store.record(TARGET).attempts.values()]


def test_lost_answers_of_the_store_are_found_out() -> None:
    """Appends that are done and reported as conflicts create nothing twice."""
    drive = Drive("a", "b")
    drive.store.declare_lost_answers(9)
    assert {"a": "created", "b": "created"} == drive.outcomes(drive.run())
    assert ["a", "b"] == drive.caller.sent


def test_somebody_else_may_be_first() -> None:
    """A conflict is met by planning anew, and what comes out the same goes on."""
    drive = Drive("a", "b")
    others = Drive("b")

    def be_first() -> None:
        drive.store.appended = lambda: None
        others.run(drive.store)

    drive.store.appended = be_first
    assert {"a": "created", "b": "skipped"} == drive.outcomes(drive.run())
    assert (["a"], ["b"]) == (drive.caller.sent, others.caller.sent)


@pytest.mark.parametrize("problem", [StoreUnavailable("disk full"), OSError(28, "disk full")])
def test_an_append_that_fails_is_tried_again(problem: Exception) -> None:
    """A store that fails for a moment delays the run, whatever it raises."""
    drive = Drive("a")
    drive.store.declare_failures(problem)
    assert {"a": "created"} == drive.outcomes(drive.run())


@pytest.mark.parametrize("problem", [StoreUnavailable("gone"), OSError(5, "gone")])
def test_a_store_that_cannot_be_read_either_ends_the_run(problem: Exception) -> None:
    """A store that fails for good is told of, and nothing is sent."""
    drive = Drive("a")
    drive.store.declare_failures(*[StoreUnavailable("disk full")] * 9)
    drive.store.declare_unreadable(problem)
    [result] = drive.run().results.values()
    assert ("not_sent", "cannot write the state record: disk full") == (str(result.outcome), result.detail)
    assert [] == drive.caller.sent


def test_a_record_that_is_gone_is_no_conflict_to_plan_on() -> None:
    """Where there is nothing to read after a conflict, the append has failed."""
    drive = Drive("a")

    def lose_it() -> None:
        drive.store.data[TARGET] = b"gone\n"

    drive.store.appended = lose_it
    assert {"a": "not_sent"} == drive.outcomes(drive.run())


def test_a_missing_journal_is_not_planned_on() -> None:
    """A journal that disappears is not an empty one."""
    drive = Drive("a")
    drive.store.declare_failures(*[StoreUnavailable("no such file")] * 9)
    drive.store.data.clear()
    assert {"a": "not_sent"} == drive.outcomes(drive.run())


def test_no_call_leaves_after_its_time() -> None:
    """The leave to send is asked for as late as possible, and refused once the window has passed."""
    drive = Drive("a", limits=Limits(send_window=0.2, backoff=()))
    drive.caller.before = lambda _name: time.sleep(0.3)
    [result] = drive.run().results.values()
    assert ("not_sent", []) == (str(result.outcome), drive.caller.sent)


def test_no_call_leaves_after_an_interrupt() -> None:
    """A call that was about to leave when the signal came does not."""
    drive = Drive("a", "b")
    drive.caller.before = lambda _name: drive.inbox.interrupt()
    assert {"a": "not_sent", "b": "skipped"} == drive.outcomes(drive.run())
    assert [] == drive.caller.sent


def test_an_interrupted_run_does_not_wait_for_a_call_that_hangs() -> None:
    """After its grace the call in flight is recorded as unknown, and the run is over."""
    drive = Drive("a", limits=Limits(grace=0.1))
    release = drive.caller.hold("a")
    drive.caller.while_held = drive.inbox.interrupt
    started = time.monotonic()
    assert {"a": "unknown"} == drive.outcomes(drive.run())
    assert time.monotonic() - started < 5
    release.set()


def test_an_interrupt_before_the_run_is_heard_by_it() -> None:
    """A signal between two targets is not lost."""
    drive = Drive("a")
    drive.inbox.interrupt()
    assert {"a": "skipped"} == drive.outcomes(drive.run())


def test_an_interrupt_that_comes_with_the_run_is_heard_once() -> None:
    """A signal that arrives while the run is being set up does not count as two."""
    inbox = Inbox()
    inbox.interrupt()
    events = inbox.open()
    assert (InterruptAsked(), True) == (events.get(), events.empty())


def test_what_belongs_to_the_run_before_does_not_reach_the_next() -> None:
    """An answer that comes after its run was over would be recorded in the journal of another target."""
    drive = Drive("a", "b", limits=Limits(send_window=0.8, call_timeout=0.1, margin=0.0, unknowns=1, backoff=()))
    release = drive.caller.hold("a")
    assert {"a": "unknown", "b": "skipped"} == drive.outcomes(drive.run())
    release.set()
    time.sleep(0.1)
    after = Drive("c")
    after.inbox = drive.inbox
    assert {"c": "created"} == after.outcomes(after.run())
    assert 1 == len(after.store.record(TARGET).attempts)


def test_calls_that_hang_do_not_keep_outcomes_from_being_recorded() -> None:
    """Appends have a thread of their own; a call that finds none is given up like any other."""
    limits = Limits(parallelism=1, send_window=0.8, call_timeout=0.1, margin=0.0, backoff=())
    drive = Drive("a", "b", limits=limits)
    release = drive.caller.hold("a")
    assert {"a": "unknown", "b": "unknown"} == drive.outcomes(drive.run())
    assert (["a"], 2) == (drive.caller.sent, drive.store.data[TARGET].count(b'"outcome":"unknown"'))
    release.set()
