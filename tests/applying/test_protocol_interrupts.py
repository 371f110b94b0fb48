"""The protocol: a person or the runner wants the run to end."""

from __future__ import annotations

from support.applying_bench import CREATED, NOT_SENT, Bench, journal_of, kinds, known, moving, wanting
from support.journal_samples import AT, BY

from reconciler.applying.context import Limits
from reconciler.applying.events import Append, Appended, AppendFailed, Authorised, InterruptAsked, Unauthorised
from reconciler.model.entry import SecretSet


def interrupt(bench: Bench, times: int = 1) -> None:
    """The signal arrives."""
    for _ in range(times):
        bench.hear(InterruptAsked())


def test_before_the_token_everything_is_skipped() -> None:
    """A run that has not begun ends at once."""
    bench = Bench(wanting("a"))
    bench.begin()
    interrupt(bench)
    assert ({"create a": "skipped"}, "interrupted", True) == (
        bench.outcomes,
        bench.result("a").detail,
        bench.run.finished,
    )


def test_a_token_that_comes_after_the_interrupt_changes_nothing() -> None:
    """What was on its way comes to nothing."""
    bench = Bench(wanting("a"), journal_of(known("z")))
    bench.begin()
    interrupt(bench)
    bench.hear(Authorised())
    bench.hear(Unauthorised("too late"))
    assert ["retired"] == kinds(bench.append())
    assert {"create a": "skipped", "retire z": "retired"} == bench.outcomes


def test_an_intent_on_its_way_is_not_sent() -> None:
    """An intent that becomes durable after the interrupt is settled as not sent."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    interrupt(bench)
    bench.append()
    assert ([], ["outcome"]) == (bench.sends, kinds(bench.append()))
    assert {"create a": "not_sent", "create b": "skipped"} == bench.outcomes
    assert ("interrupted before it was sent", []) == (bench.result("a").detail, bench.looks)


def test_an_intent_that_met_a_conflict_is_given_up() -> None:
    """After the interrupt nothing is planned anew."""
    bench = Bench(wanting("a", "z"), journal_of(known("z")))
    bench.start()
    interrupt(bench)
    bench.overtake(SecretSet(at=AT, by=BY, attempt="old-z", secret="age:c2VjcmV0"))
    assert ({"create a": "skipped"}, "interrupted", True) == (
        bench.outcomes,
        bench.result("a").detail,
        bench.run.finished,
    )


def test_calls_in_flight_are_waited_for() -> None:
    """An answer that comes in time is recorded as what it is."""
    bench = Bench(wanting("a"), limits=Limits(grace=5))
    bench.start()
    bench.append()
    interrupt(bench)
    assert bench.steady + 5.0 == bench.run.wake_at
    bench.wait(4.9)
    bench.answer(CREATED)
    bench.append()
    assert {"a1": "live"} == bench.statuses()


def test_calls_that_take_longer_are_unknown() -> None:
    """What has no answer by then is recorded as unknown."""
    bench = Bench(wanting("a"), limits=Limits(grace=5))
    bench.start()
    bench.append()
    interrupt(bench)
    bench.wait(5.0)
    bench.append()
    assert ({"a1": "unknown"}, True) == (bench.statuses(), bench.run.finished)
    assert "interrupted while the call was in flight" == bench.result("a").detail


def test_a_call_that_waits_to_be_repeated_is_over() -> None:
    """What was certainly not created is recorded at once as that."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    bench.answer(NOT_SENT)
    interrupt(bench)
    bench.append()
    assert ({"create a": "not_sent"}, True) == (bench.outcomes, bench.run.finished)


def test_nothing_is_repeated_after_an_interrupt() -> None:
    """A call that was not sent is not tried again."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    interrupt(bench)
    bench.answer(NOT_SENT)
    assert ["outcome"] == kinds(bench.append())
    assert bench.run.finished


def test_a_retire_that_waits_is_skipped() -> None:
    """What was to come after a create is not begun."""
    bench = moving()
    bench.start()
    bench.append()
    interrupt(bench)
    bench.answer(CREATED)
    assert ["outcome"] == kinds(bench.append())
    assert {"create b": "created", "retire a": "skipped"} == bench.outcomes
    assert "interrupted" == bench.result("a").detail


def test_a_second_interrupt_waits_for_no_answer() -> None:
    """Calls in flight are unknown at once, and the store is given a moment to take that."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    interrupt(bench, 2)
    bench.append()
    assert ({"a1": "unknown"}, True) == (bench.statuses(), bench.run.finished)


def test_a_second_interrupt_does_not_wait_for_a_store_that_hangs() -> None:
    """What cannot be recorded in that moment is handed over."""
    bench = Bench(wanting("a"), limits=Limits(parting=1))
    bench.start()
    bench.append()
    interrupt(bench, 2)
    assert bench.steady + 1.0 == bench.run.wake_at
    bench.wait(1.0)
    assert (["intent", "outcome"], True) == (kinds(bench.run.appends.to_save), bench.run.finished)
    assert {"create a": "unknown"} == bench.outcomes


def test_a_second_interrupt_gives_an_intent_on_its_way_up() -> None:
    """An intent that hangs in the store is not sent, whatever becomes of it."""
    bench = Bench(wanting("a"), limits=Limits(parting=1))
    bench.start()
    interrupt(bench, 2)
    bench.wait(1.0)
    assert ({"create a": "not_sent"}, True) == (bench.outcomes, bench.run.finished)
    assert "the store timed out" in str(bench.result("a").detail)


def test_a_second_interrupt_ends_the_waits_of_the_store() -> None:
    """An append that is to be tried again is tried no longer than that, and the reason it failed for is told."""
    bench = Bench(wanting("a"), limits=Limits(parting=1, backoff=(30.0,)))
    bench.start()
    bench.take(Append)
    bench.hear(AppendFailed("no network"))
    interrupt(bench, 2)
    bench.wait(1.0)
    assert ("cannot write the state record: no network", True) == (bench.result("a").detail, bench.run.finished)


def test_a_store_that_answers_in_time_is_not_given_up() -> None:
    """The limit is for a store that hangs; one that answers ends the run as usual."""
    bench = Bench(wanting("a"), limits=Limits(parting=1))
    bench.start()
    bench.append()
    interrupt(bench, 2)
    bench.take(Append)
    bench.steady += 0.9
    bench.hear(Appended())
    assert (True, (), None) == (bench.run.finished, bench.run.appends.to_save, bench.run.wake_at)
