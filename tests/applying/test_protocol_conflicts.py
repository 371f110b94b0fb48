"""The protocol: other runs write to the record, answers of the store are lost, the store fails."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.applying_bench import BUSY, CREATED, NOT_SENT, SERVICE, TARGET, UNKNOWN, Bench, attempt, known, wanting
from support.desired_values import desired_of, target_of
from support.memory_record import AT, DOWN, MOVED, MemoryStore, append, record_of
from support.records import linked

from reconciler.applying.events import Append, Authorised, InterruptAsked, Limits, Reread, RereadFailed
from reconciler.errors import Message, Refused, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.model.desired import Desired
from reconciler.model.plan import Block
from reconciler.record import facts as kinds
from reconciler.record.facts import AnyFact
from reconciler.record.gates import Note

SECRET = kinds.SecretSet(at=AT, attempt="old-z", secret="age:c2VjcmV0")
LOSS = kinds.LossOpened(at=AT, loss="lost", cause="accepted")
CLOSED = kinds.Closed(at=AT, to="git:record")
NO_RETRY = Limits(backoff=())


def test_what_comes_out_the_same_goes_on() -> None:
    """After a conflict the change is intended anew, as another attempt with a window of its own."""
    bench = Bench(wanting("a", "z"), known("z")).start()
    assert bench.run.wake_at is None
    bench.steady += 10.0
    bench.overtake(SECRET)
    bench.append()
    assert [(attempt(2), bench.steady + 60.0)] == [(send.attempt, send.send_by) for send in bench.sends]
    bench.create_all()
    assert {"create a": "created"} == bench.outcomes


def test_what_another_run_took_is_skipped() -> None:
    """A change that does not come out the same is not carried out; the others are."""
    bench = Bench(wanting("a", "b")).start()
    bench.overtake(known("a"))
    bench.create_all()
    assert {"create a": "skipped", "create b": "created"} == bench.outcomes
    assert "another run changed the record" in str(bench.result("a").detail)
    assert {"old-a": "live", attempt(2): "live"} == bench.statuses()


@pytest.mark.parametrize("is_current", [True, False])
def test_what_sends_nothing_needs_only_the_current_record(is_current: bool) -> None:
    """A removal is requested over an open loss; on a record that lacks a head nothing is appended."""
    bench = Bench(wanting("a", host="new"), known("a"), known("z"), *[LOSS] * is_current)
    if not is_current:
        bench.notes.write(Note("f" * 32, (), MemoryStore.place, 9, "e" * 64))
        bench.run.appends.reading = bench.journal.read()
    bench.begin()
    if is_current:
        assert ["removal_requested"] == bench.append()
    assert ("requested" if is_current else "skipped") == bench.outcomes["remove z"]
    gate = bench.run.context.replan(bench.queue.reading).gates[0].what
    assert [True, not is_current] == [gate == bench.result(name).detail for name in "az"]


@pytest.mark.parametrize("block", list(Block))
def test_a_blocked_change_says_why(block: Block) -> None:
    """A closed gate is named after what there is to do, and is what keeps it from being done; else the first counts."""
    bench = Bench(wanting("a", host="new"), known("a"), LOSS)
    (change,) = bench.run.changes
    bench.run.changes = [replace(change, block=block)]
    bench.begin()
    assert ["url-changed", "loss-open"] == [reason.name for reason in change.reasons]
    assert change.reasons[block in (Block.GATE, Block.FOREIGN)].what == bench.result("a").detail


def test_an_outcome_is_appended_over_a_record_that_lost_its_tail() -> None:
    """It repeats what was intended, since the record no longer says so; nothing more is sent."""
    bench = Bench(wanting("a", "b"), second=True)
    older = bench.store.data
    bench.sent()
    bench.store.data = older
    append(bench.store, known("z"), moves_second=False)
    bench.settle(CREATED)
    assert ["answered"] == bench.append()
    assert {attempt(1): "live", "old-z": "live"} == bench.statuses()
    assert {"create a": "created", "create b": "not_sent"} == bench.outcomes


def test_a_record_set_back_to_the_head_of_a_run_is_seen_at_the_second_place() -> None:
    """The head is still that of the run, but another run's intent is gone: nothing more is sent, outcomes follow."""
    bench = Bench(wanting("a", "b"), second=True).sent()
    ours = bench.store.data
    append(bench.store, known("z"))
    bench.store.data = ours
    bench.settle(CREATED)
    assert ["answered"] == bench.append()
    assert ({attempt(1): "live"}, True) == (bench.statuses(), bench.run.finished)
    assert {"create a": "created", "create b": "skipped"} == bench.outcomes


def test_what_sends_nothing_is_not_tried_again_on_a_record_that_was_set_back() -> None:
    """Its head is the same, and a loss was open before; but now it lacks what another run did."""
    bench = Bench(wanting(), known("z"), LOSS, second=True).start()
    ours = bench.store.data
    append(bench.store, known("y"))
    bench.store.data = ours
    bench.append()
    assert ({"remove z": "skipped"}, True) == (bench.outcomes, bench.run.finished)


@pytest.mark.parametrize("fact", [
    LOSS, kinds.Renamed(at=AT, attempts=(attempt(1),), to="europe/staging/z"), kinds.Absent(at=AT, attempt=attempt(1)),
], ids=["loss", "rename", "absent"])  # fmt: skip
def test_an_outcome_is_appended_over_whatever_was_first(fact: AnyFact) -> None:
    """Whatever gate has closed meanwhile, the outcome follows; a renamed attempt keeps it under its new address."""
    bench = Bench(wanting("a")).sent()
    bench.answer(CREATED)
    bench.overtake(fact)
    assert ["answered"] == bench.append()
    assert ({attempt(1): "live"}, True, "created") == (bench.statuses(), bench.run.finished, bench.outcomes["create a"])


SHORTEST, LONGEST = Limits().first_yield, Limits().longest_yield


def test_a_run_that_loses_changes_waits_before_its_next_intents() -> None:
    """Longer each time that another run takes one again, up to a limit."""
    bench = Bench(wanting("a", "b", "c", "d", "e")).start()
    bench.overtake(known("z"))
    waits = []
    for name in "abcd":
        bench.overtake(known(name))
        waits.append(bench.wait_its_turn())
    assert pytest.approx([SHORTEST, 2 * SHORTEST, 4 * SHORTEST, LONGEST]) == waits
    bench.create_all()
    assert "created" == bench.outcomes["create e"]


@pytest.mark.parametrize(("append_takes", "jitter", "wait"), [
    (0.0, 0.0, SHORTEST / 2), (0.0, 0.5, 0.75 * SHORTEST), (0.0, 1.0, SHORTEST), (1.5, 1.0, 3.0),
])  # fmt: skip
def test_runs_that_collided_wait_for_different_times(append_takes: float, jitter: float, wait: float) -> None:
    """Between half of the time and all of it; twice what an append takes, so that the other run can append again."""
    bench = Bench(wanting("a", "b"), jitter=jitter).start()
    bench.steady += append_takes
    bench.overtake(known("a"))
    assert pytest.approx(wait) == bench.wait_its_turn()


def test_a_run_that_has_something_to_record_does_not_wait() -> None:
    """An outcome is appended at once, and the next intents with it."""
    bench = Bench(wanting("a", "b", "c")).sent()
    bench.answer(CREATED)
    bench.overtake(known("b"))
    assert ["answered", "intended"] == bench.append()


def test_a_run_with_a_call_in_flight_does_not_wait() -> None:
    """The other run cannot tell that it has the turn: what is left is intended at once."""
    bench = Bench(wanting("a", "b", "c", "usa/staging/d"))
    bench.begin()
    bench.hear(Authorised(TARGET))
    bench.append()
    bench.hear(Authorised(TargetName("usa/staging")))
    assert 1 == len(bench.sends)
    bench.overtake(known("b"))
    assert ["intended"] == bench.append()


def test_a_run_that_waits_for_its_turn_ends_when_it_is_interrupted() -> None:
    """None of it is under way."""
    bench = Bench(wanting("a", "b")).start()
    bench.overtake(known("a"))
    bench.hear(InterruptAsked())
    assert ({"create a": "skipped", "create b": "skipped"}, True) == (bench.outcomes, bench.run.finished)


def test_ten_conflicts_in_a_row_end_the_run() -> None:
    """However many changes still come out the same."""
    bench = Bench(wanting("a", "b")).start()
    for number in range(10):
        bench.overtake(known("z", attempt=f"other-{number}", address="europe/staging/z", host=f"h{number}"))
    assert ({"create a": "not_sent", "create b": "not_sent"}, True) == (bench.outcomes, bench.run.finished)
    assert "10 times in a row" in str(bench.result("a").detail)


def test_after_a_durable_append_everything_is_counted_anew() -> None:
    """On a busy record that fails at times, neither conflicts nor failures before either end a run."""
    names = "abcdefghijklmnop"
    bench = Bench(wanting(*names), limits=Limits(parallelism=1, conflicts=2, backoff=(0.5, 5.0))).start()
    for number, name in enumerate(names):
        for is_overtaken in [True, False][1 - number % 2 :]:
            bench.store.declare_failures(DOWN)
            bench.append()
            bench.wait(0.5)
            if is_overtaken:
                bench.overtake(known("z", attempt=f"other-{name}", address="europe/staging/z", host=name))
        bench.append()
        bench.answer(CREATED, name)
    bench.append()
    assert {f"create {name}": "created" for name in names} == bench.outcomes


@pytest.mark.parametrize("conflicts", [29, 30])
def test_an_outcome_is_appended_after_ten_conflicts(conflicts: int) -> None:
    """What was sent is recorded; only new work ends. After thirty, the outcome is handed over with the reason."""
    bench = Bench(wanting("a", "b")).sent()
    bench.answer(CREATED)
    for number in range(conflicts):
        bench.overtake(known("z", attempt=f"other-{number}", host=f"h{number}"))
    assert {"create a": "created", "create b": "not_sent"} == bench.outcomes
    assert conflicts == 30 or ["answered"] == bench.append()
    saved = (2, MOVED.messages[0]) if conflicts == 30 else (0, bench.queue.problem)
    assert (saved, True) == ((len(bench.queue.unrecorded), bench.queue.problem), bench.run.finished)


def test_a_plan_that_cannot_be_made_again_stops_what_has_not_begun() -> None:
    """The reason is the first of the plan, and all are told."""
    bench = Bench(wanting("a", "b")).start()
    problems = [Message("other-account", "the record belongs to another account"), Message("more", "and more")]
    bench.problem = Refused(*problems)
    bench.overtake(known("z"))
    assert problems == bench.run.messages
    assert {"create a": "skipped", "create b": "skipped"} == bench.outcomes
    assert ("the record belongs to another account", True) == (bench.result("a").detail, bench.run.finished)


def test_nothing_is_appended_to_a_closed_record() -> None:
    """An outcome that comes after the record was closed is handed over with its intent, and nothing more is sent."""
    bench = Bench(wanting("a", "b")).sent()
    bench.answer(CREATED)
    bench.overtake(CLOSED)
    assert ([], True) == (bench.appends, bench.run.finished)
    assert ["Intended", "Answered"] == [type(fact).__name__ for fact in bench.queue.unrecorded]
    assert {"create a": "created", "create b": "not_sent"} == bench.outcomes
    assert "it continues at git:record" in str(bench.result("b").detail)
    assert ["record-closed"] == [message.name for message in bench.run.messages]


def test_nothing_is_appended_to_another_record_in_its_place() -> None:
    """A record that was begun anew knows nothing of the attempts."""
    bench = Bench(wanting("a")).sent()
    bench.answer(CREATED)
    bench.store.data, _ = linked(None, 0, [kinds.Begun(at=AT, record="0" * 32), known("b")])
    bench.append()
    assert (2, True) == (len(bench.queue.unrecorded), bench.run.finished)


def test_a_call_leaves_when_the_second_place_shows_its_intent_too() -> None:
    """An answer that was lost before the second place moved: it is brought up to date first."""
    bench = Bench(wanting("a"), second=True)
    bench.store.declare_lost_second()
    bench.sent()
    assert (bench.record.head, [attempt(1)]) == (bench.store.second, [send.attempt for send in bench.sends])


def test_no_call_leaves_whose_head_cannot_be_noted() -> None:
    """The intent is in the record, but this machine could not tell that the record was set back."""
    bench = Bench(wanting("a"), limits=NO_RETRY).start()
    bench.notes.problem = DOWN
    bench.append()
    assert ([], {"create a": "not_sent"}) == (bench.sends, bench.outcomes)
    bench.notes.problem = None
    [outcome] = bench.run.stray_outcomes(bench.record, bench.now)
    assert (attempt(1), "not_sent") == (outcome.attempt, outcome.outcome.value)
    append(bench.store, outcome)
    assert [] == bench.run.stray_outcomes(bench.record, bench.now)


def test_only_intents_of_the_last_append_are_in_doubt() -> None:
    """All of them, if the record cannot be read; those that met another head are certainly not in it."""
    bench = Bench(wanting("a", "usa/staging/b"), limits=NO_RETRY).start()
    bench.overtake(known("z"))
    bench.store.declare_failures(DOWN)
    bench.append()
    assert [attempt(2), attempt(3)] == [end.attempt for end in bench.run.stray_outcomes(None, bench.now)]


def test_an_intent_that_another_run_merged_after_conflicts_is_settled() -> None:
    """Nobody else knows that its call was not sent."""
    bench = Bench(wanting("a")).start()
    (intent,) = (line.fact for line in bench.appends[0].new[1])
    bench.overtake(known("z"))
    bench.overtake(known("y"))
    bench.overtake(intent)
    assert (["answered"], "skipped") == (bench.append(), bench.outcomes["create a"])
    assert {"old-z": "live", "old-y": "live", attempt(1): "gone"} == bench.statuses()


def test_a_lost_answer_and_an_open_loss_send_nothing() -> None:
    """The intent was durable, but a gate has closed before that was known."""
    bench = Bench(wanting("a")).start()
    effect = bench.take(Append)
    bench.store.append(effect.head, effect.new[0], "")
    append(bench.store, LOSS)
    bench.effects.append(effect)
    bench.append()
    assert ([], "not_sent") == (bench.sends, bench.outcomes["create a"])


def test_what_others_append_after_a_lost_answer_is_planned_on() -> None:
    """The batch was durable, and others went on from there: what is not begun yet is planned again."""
    bench = Bench(wanting("a", "b"))
    bench.store.declare_lost_answers(DOWN)
    bench.sent()
    append(bench.store, known("b"))
    bench.settle(CREATED)
    bench.append()
    assert {"create a": "created", "create b": "skipped"} == bench.outcomes


@pytest.mark.parametrize(("took", "is_fresh"), [(0.1, True), (9.5, False)])
@pytest.mark.parametrize("problem", [DOWN, MOVED], ids=["failure", "conflict without a move"])
def test_an_append_that_failed_is_made_again_to_the_letter(problem: Exception, took: float, is_fresh: bool) -> None:
    """The very same lines, after a wait: should the first one arrive after all, it is one append, and as old."""
    bench = Bench(wanting("a"))
    bench.store.declare_failures(problem)
    bench.start()
    [first] = bench.appends
    bench.append()
    assert (bench.steady + 0.5, []) == (bench.run.wake_at, bench.appends)
    bench.wait(0.4)
    assert [] == bench.appends
    bench.wait(0.1)
    bench.wait(took)
    assert [first] == bench.appends
    bench.append()
    assert (is_fresh, not is_fresh, took) == (len(bench.sends), len(bench.rereads), round(bench.queue.took, 6))


def test_outcomes_wait_for_the_append_that_is_made_again() -> None:
    """Nothing is added to lines that are appended again when it is time, and nothing new is begun meanwhile."""
    bench = Bench(wanting("a", "b", "c", "d"), limits=Limits(parallelism=3, backoff=(0.5,))).sent(CREATED)
    bench.answer(CREATED, "b")
    bench.store.declare_failures(DOWN)
    bench.steady += 1.0
    bench.append()
    bench.answer(CREATED, "c")
    assert [] == bench.appends
    bench.wait(0.5)
    assert (["answered"], ["answered"], False) == (bench.append(), bench.append(), bench.run.finished)


def test_a_store_that_fails_for_good_ends_the_run() -> None:
    """After the last retry, whose failure is told, nothing more is begun: creates are not sent, the rest is skipped."""
    bench = Bench(wanting("a", "b"), known("z"), limits=Limits(backoff=(0.5,)))
    bench.store.declare_failures(StoreUnavailable(Message("store-busy", "busy")), DOWN)
    bench.sent()
    bench.wait(0.5)
    bench.append()
    assert {"create a": "not_sent", "create b": "not_sent", "remove z": "skipped"} == bench.outcomes
    assert {"no network"} == {bench.result(name).detail for name in "abz"}
    assert (True, []) == (bench.run.finished, bench.queue.unrecorded)
    assert ["store-down"] == [message.name for message in bench.run.messages]


def test_what_could_not_be_recorded_is_handed_over() -> None:
    """An outcome that cannot be appended is left with whoever can keep it, and its intent; no other."""
    bench = Bench(wanting("a", "b"), limits=NO_RETRY).sent(CREATED)
    bench.answer(CREATED)
    bench.store.declare_failures(DOWN)
    bench.append()
    saved = [(type(fact).__name__, fact.attempt) for fact in bench.queue.unrecorded]
    assert ([("Intended", attempt(2)), ("Answered", attempt(2))], True) == (saved, bench.run.finished)


@pytest.mark.parametrize("comes_first", [False, True])
def test_each_new_outcome_is_one_more_try(comes_first: bool) -> None:
    """A store that failed may be back by the time there is something new to record, even what came before it failed."""
    bench = Bench(wanting("a", "b", "c", "d"), limits=Limits(parallelism=3, backoff=())).sent(CREATED)
    bench.answer(UNKNOWN, "b")
    if comes_first:
        bench.answer(CREATED, "c")
    bench.store.declare_failures(DOWN)
    bench.steady += 1.0
    bench.append()
    assert not bench.run.finished
    if not comes_first:
        bench.wait(5.0)
        bench.answer(CREATED, "c")
        assert ([], bench.steady + 1.0) == (bench.appends, bench.run.wake_at)
        bench.wait(1.0)
    assert ["answered", "answered"] == bench.append()
    assert ["answered"] == bench.settle(CREATED, "d")
    assert (True, []) == (bench.run.finished, bench.queue.unrecorded)


def test_what_arrived_late_is_not_recorded_twice() -> None:
    """An append that was given up and arrived after all is found in the record."""
    bench = Bench(wanting("a", "b", "c"), limits=Limits(parallelism=2, backoff=())).sent(CREATED)
    bench.answer(UNKNOWN, "b")
    bench.store.declare_lost_answers(DOWN)
    bench.store.declare_unreadable(DOWN)
    bench.append()
    bench.store.declare_unreadable(None)
    bench.settle(CREATED, "c")
    assert ["answered"] == bench.append()
    assert {attempt(1): "live", attempt(2): "unknown", attempt(3): "live"} == bench.statuses()


def busy_bench(desired: Desired | None = None, *facts: AnyFact) -> Bench:
    """Return a run with a call that the service was too busy for, and that is to be retried: of `a`, and more codes."""
    more = desired_of([target_of(TARGET)], {f"{TARGET}/a": (("LOA10001", *known("a").what.codes, "ONB99999"), URL)})
    bench = Bench(desired or more, *facts).sent()
    bench.answer(BUSY)
    bench.wait(0.5)
    return bench


URL = "https://hooks.example/a"
RETRY = kinds.What(f"{TARGET}/a", ("ONB10001",), URL, SERVICE, send_by=1.0, settled_by=9.0, supersedes=(attempt(1),))


@pytest.mark.parametrize(("fact", "detail"), [
    (kinds.Absent(at=AT, attempt=attempt(1)), "already resolved by another run"),
    (LOSS, "the record has changed: loss-open"),
    (kinds.Intended(at=AT, attempt="theirs", what=RETRY), "already resolved by another run"),
    *((known("a", attempt="found", address=address),
       f"another attempt delivers, or may deliver, ONB10097 ({address}, attempt found)")
      for address in ("europe/staging/a", "europe/staging/renamed", "usa/staging/a")),
])  # fmt: skip
def test_what_the_record_says_before_a_retry_counts(fact: AnyFact, detail: str) -> None:
    """It is read again: what somebody resolved, what another attempt delivers, and under a loss nothing is sent."""
    bench = busy_bench()
    append(bench.store, fact)
    bench.reread()
    assert ([], "rejected", 429) == (bench.sends, bench.outcomes["create a"], bench.result("a").status)
    assert f"HTTP 429; not retried: {detail}" == bench.result("a").detail


def test_what_a_record_lost_is_not_retried() -> None:
    """A record that no longer holds the intent lets nothing be sent; each closed gate is named."""
    bench = busy_bench()
    bench.store.data = record_of(LOSS)
    bench.reread()
    assert ([], "rejected") == (bench.sends, bench.outcomes["create a"])
    assert str(bench.result("a").detail).endswith("the record has changed: heads-missing, loss-open")


@pytest.mark.parametrize("other", ["https://a.example", "https://z.example"])
def test_what_is_delivered_at_another_url_of_the_service_is_not_retried(other: str) -> None:
    """A target that was bound to another base URL of the same service, whichever stands for both."""
    there, found = (replace(exists, what=replace(exists.what, base_url=other)) for exists in (known("z"), known("a")))
    bench = busy_bench(wanting("a", "z"), there, kinds.Rebound(at=AT, target=str(TARGET), base_url=SERVICE))
    append(bench.store, found)
    bench.reread()
    assert ([], "rejected") == (bench.sends, bench.outcomes["create a"])
    assert "attempt old-a" in str(bench.result("a").detail)


def test_what_cannot_be_read_again_is_not_retried() -> None:
    """The last answer counts."""
    bench = busy_bench()
    bench.store.declare_unreadable(DOWN)
    bench.reread()
    detail = "HTTP 429; not retried: could not re-read the record before sending: no network"
    assert ([], detail, ["answered"]) == (bench.sends, bench.result("a").detail, bench.append())


@pytest.mark.parametrize("is_lost", [False, True])
@pytest.mark.parametrize(("steady", "wall"), [(10.0, 0.0), (0.0, 10.0)], ids=["steady clock", "wall clock"])
def test_a_call_long_after_its_append_has_the_record_read_first(steady: float, wall: float, is_lost: bool) -> None:
    """Where either clock says that time has passed since the append or read began, somebody may have resolved it."""
    bench = Bench(wanting("a")).start()
    bench.store.declare_lost_answers(*[DOWN] * is_lost)
    both: tuple[type[Append | Reread], ...] = (Append, Reread)
    for kind in both:
        event = bench.performer.perform(bench.take(kind))
        bench.steady += steady
        bench.off += wall
        bench.hear(event)
        assert [] == bench.sends
    bench.reread()
    assert 1 == len(bench.sends)


def test_a_wall_clock_past_the_window_ends_it() -> None:
    """A machine that was paused without noticing sees it on the wall clock: people settle by that."""
    bench = busy_bench()
    bench.off += 60.0
    bench.reread()
    assert ([], "rejected") == (bench.sends, bench.outcomes["create a"])


def test_a_read_that_never_ends_is_waited_for_until_the_window_has_passed() -> None:
    """A store that hangs lets nothing be sent."""
    bench = busy_bench()
    assert bench.steady + 59.5 == bench.run.wake_at
    bench.wait(59.5)
    assert ["answered"] == bench.append()
    bench.hear(RereadFailed(Message("late", "late")))
    assert ([], True) == (bench.sends, bench.run.finished)


@pytest.mark.parametrize("fails", [False, True])
def test_a_read_is_not_for_what_waits_only_since(fails: bool) -> None:
    """A call that waits once a read has begun has one of its own, whatever becomes of that read."""
    bench = Bench(wanting("a", "b", "c"), limits=Limits(parallelism=2)).sent(CREATED)
    bench.answer(BUSY, "b")
    bench.wait(0.3)
    bench.answer(NOT_SENT, "c")
    bench.wait(0.2)
    bench.wait(0.3)
    assert 1 == len(bench.rereads)
    bench.store.declare_unreadable(DOWN if fails else None)
    bench.reread()
    assert (["b"] * (not fails), 1) == ([send.address.name for send in bench.sends], len(bench.rereads))
