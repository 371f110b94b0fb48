"""The protocol: signals, and unexpected errors."""

from __future__ import annotations

import pytest
from support.applying_bench import CREATED, NOT_SENT, Bench, attempt, known, wanting
from support.memory_record import DOWN

from reconciler.applying.events import Append, Appended, CallEnded, InterruptAsked, Limits
from reconciler.model.outcome import Answer, Outcome
from reconciler.record.facts import Answered


def test_an_interrupt_starts_nothing_more() -> None:
    """What waits is skipped; the call in flight is waited for, and its outcome recorded."""
    bench = Bench(wanting("a", "b")).sent()
    bench.hear(InterruptAsked())
    assert not bench.run.finished
    assert (["answered"], True) == (bench.settle(CREATED), bench.run.finished)
    assert {"create a": "created", "create b": "skipped"} == bench.outcomes


@pytest.mark.parametrize(("before", "wait"), [(0.0, 5.0), (102.0, 3.0)])
def test_a_call_is_waited_for_5_s_after_an_interrupt(before: float, wait: float) -> None:
    """At most; then it is recorded as unknown, and an answer that comes while that is appended still counts."""
    bench = Bench(wanting("a")).sent()
    bench.wait(before)
    bench.hear(InterruptAsked())
    assert (bench.steady + wait, []) == (bench.run.wake_at, bench.appends)
    bench.wait(wait)
    bench.hear(CallEnded(attempt(1), CREATED))
    (unknown,) = [line.fact for line in bench.appends[0].new[1]]
    assert "interrupted while the call was in flight" == unknown.detail  # type: ignore[union-attr]
    bench.append()
    bench.append()
    assert ({attempt(1): "live"}, True) == (bench.statuses(), bench.run.finished)


def test_a_second_interrupt_ends_the_wait() -> None:
    """The call is unknown at once, and the store has a second to record that."""
    bench = Bench(wanting("a")).sent()
    bench.hear(InterruptAsked())
    bench.hear(InterruptAsked())
    assert bench.steady + 1.0 == bench.run.wake_at
    bench.append()
    assert ({attempt(1): "unknown"}, True) == (bench.statuses(), bench.run.finished)


def test_a_store_that_hangs_is_given_up_after_an_interrupt() -> None:
    """Outcomes that it has not taken by then are handed over."""
    bench = Bench(wanting("a")).sent()
    bench.hear(InterruptAsked())
    bench.answer(CREATED)
    bench.take(Append)
    assert bench.steady + 7.0 == bench.run.wake_at
    bench.wait(7.0)
    assert (True, 2) == (bench.run.finished, len(bench.queue.unrecorded))
    assert "store-timeout" == (bench.queue.problem and bench.queue.problem.name)


def test_an_intent_that_the_store_does_not_take_after_an_interrupt_is_not_sent() -> None:
    """An append that arrives later changes nothing."""
    bench = Bench(wanting("a")).start()
    bench.hear(InterruptAsked())
    bench.wait(7.0)
    bench.hear(Appended())
    assert ({"create a": "not_sent"}, True, []) == (bench.outcomes, bench.run.finished, bench.sends)


def test_an_intent_that_becomes_durable_after_an_interrupt_is_not_sent() -> None:
    """Its outcome says so."""
    bench = Bench(wanting("a")).start()
    bench.hear(InterruptAsked())
    bench.append()
    assert ([], ["answered"]) == (bench.sends, bench.append())
    assert ({attempt(1): "gone"}, "interrupted before it was sent") == (bench.statuses(), bench.result("a").detail)


@pytest.mark.parametrize(("answer", "words"), [(NOT_SENT, "no connection"), (Answer(Outcome.NOT_SENT), "not_sent")])
@pytest.mark.parametrize("waited", [0.0, 0.5])
def test_a_retry_is_not_waited_for_after_an_interrupt(answer: Answer, words: str, waited: float) -> None:
    """Nor a read before it. The last answer is its outcome, and names itself where it has no words."""
    bench = Bench(wanting("a")).sent()
    bench.answer(answer)
    bench.wait(waited)
    bench.hear(InterruptAsked())
    bench.append()
    assert f"{words}; not retried: interrupted before it was sent" == bench.result("a").detail
    assert bench.run.finished


def test_an_intent_that_met_another_head_is_not_made_again_after_an_interrupt() -> None:
    """Its change is skipped."""
    bench = Bench(wanting("a")).start()
    bench.hear(InterruptAsked())
    bench.overtake(known("z"))
    assert ({"create a": "skipped"}, True, []) == (bench.outcomes, bench.run.finished, bench.appends)


def test_outcomes_are_not_gathered_after_an_interrupt() -> None:
    """Time is short."""
    bench = Bench(wanting("a", "b", "c"), limits=Limits(parallelism=2)).sent()
    bench.answer(CREATED)
    bench.steady += 1.0
    bench.append()
    bench.answer(CREATED, "b")
    bench.hear(InterruptAsked())
    assert 1 == len(bench.appends)


def test_an_unexpected_error_keeps_what_is_known() -> None:
    """Calls that were answered have their outcomes, the others are unknown, and the rest is skipped."""
    bench = Bench(wanting("a", "b", "c", "d", "e"), limits=Limits(parallelism=3)).sent(CREATED)
    first, second, _ = bench.sends
    answers = [CallEnded(first.attempt, CREATED, lost=True), CallEnded(second.attempt, CREATED, "file")]
    bench.run.salvage(answers, "internal error (KeyError)", bench.now)
    ends = {"a": "created", "b": "created", "c": "created", "d": "unknown", "e": "skipped"}
    assert {f"create {name}": end for name, end in ends.items()} == bench.outcomes
    assert ["internal error (KeyError)"] * 2 == [bench.result(name).detail for name in "de"]
    saved = [fact.response for fact in bench.queue.unrecorded if isinstance(fact, Answered)]
    assert ([None, "file", None], 6) == (saved, len(bench.queue.unrecorded))
    assert (True, True) == (bench.run.finished, bench.run.creates.lost_response)


def test_an_answer_to_a_call_that_was_given_up_counts_after_an_unexpected_error() -> None:
    """It is saved, as it would be recorded."""
    bench = Bench(wanting("a")).sent()
    bench.wait(105.0)
    bench.run.salvage([CallEnded(attempt(1), CREATED)], "internal error (KeyError)", bench.now)
    assert {"create a": "created"} == bench.outcomes


@pytest.mark.parametrize("is_retried", [False, True])
def test_what_an_unexpected_error_leaves_unsent_is_not_sent(is_retried: bool) -> None:
    """A call whose intent is being appended, or that waits for its retry."""
    bench = Bench(wanting("a")).start()
    if is_retried:
        bench.append()
        bench.answer(NOT_SENT)
    bench.run.salvage([], "internal error (KeyError)", bench.now)
    assert {"create a": "not_sent"} == bench.outcomes


def test_a_store_that_failed_before_it_was_given_up_says_why() -> None:
    """The failure tells more than that time has run out."""
    bench = Bench(wanting("a"), limits=Limits(backoff=(9.0,))).sent()
    bench.answer(CREATED)
    bench.store.declare_failures(DOWN)
    bench.append()
    bench.hear(InterruptAsked())
    assert 7.0 == bench.wait_its_turn()
    assert (True, DOWN.messages[0]) == (bench.run.finished, bench.queue.problem)
