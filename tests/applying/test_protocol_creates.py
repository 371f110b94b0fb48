"""The protocol: intents, calls and outcomes, as long as nobody else writes to the record."""

from __future__ import annotations

import pytest
from support.applying_bench import (
    CREATED,
    NOT_SENT,
    REJECTED,
    UNKNOWN,
    WALL,
    Bench,
    code,
    journal_of,
    kinds,
    known,
    wanting,
)
from support.journal_samples import AT, BY

from reconciler.applying.context import Limits
from reconciler.applying.creates import LOST_RESPONSE
from reconciler.applying.events import Answered, Authorise, Send, ServiceRecords, Unauthorised
from reconciler.model.clock import Instant
from reconciler.model.entry import Bound, Intent, Settled
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Request


def test_a_token_comes_before_the_first_intent() -> None:
    """Where creates are planned, a token is asked for, and nothing is appended before it is at hand."""
    bench = Bench(wanting("a"))
    bench.begin()
    assert [Authorise()] == bench.effects


def test_nothing_to_send_needs_no_token() -> None:
    """A run without creates asks for no token."""
    bench = Bench(wanting("a"), journal_of(known("a"), known("b")))
    bench.begin()
    assert ["retired"] == kinds(bench.append())


def test_nothing_to_do_is_finished_at_once() -> None:
    """A run without changes is over before it begins."""
    bench = Bench(wanting("a"), journal_of(known("a")))
    bench.begin()
    assert (True, [], None) == (bench.run.finished, bench.effects, bench.run.wake_at)


def test_no_token_means_that_nothing_is_sent() -> None:
    """Without a token no intent is recorded, and all creates are not sent."""
    bench = Bench(wanting("a", "b"))
    bench.begin()
    bench.hear(Unauthorised("no credentials"))
    assert ({"create a": "not_sent", "create b": "not_sent"}, True) == (bench.outcomes, bench.run.finished)
    assert "no credentials" == bench.result("a").detail
    assert [] == bench.appends


def test_a_call_leaves_once_its_intent_is_durable() -> None:
    """An intent is appended first; only its being durable sends the call."""
    bench = Bench(wanting("a"))
    bench.start()
    assert [] == bench.sends
    bench.append()
    assert ["a1"] == [send.attempt for send in bench.sends]


def test_an_intent_says_what_may_be_in_flight_and_until_when() -> None:
    """The intent names the request, the window for sending it, and when it is settled at the latest."""
    bench = Bench(wanting("a"), limits=Limits(send_window=60, call_timeout=30, margin=15))
    bench.start()
    [bound, intent] = bench.append()
    assert isinstance(bound, Bound)
    assert isinstance(intent, Intent)
    assert ("create", (code(ord("a")),), "https://hooks.example/a") == (intent.action, intent.codes, intent.url)
    assert (WALL + 60, WALL + 105, "run1", {"user": "bench"}) == (
        intent.send_by,
        intent.settled_by,
        intent.run,
        intent.by,
    )
    request, fresh_until = Request(intent.codes, intent.url), Instant(WALL + 10, bench.steady + 10)
    assert [Send("a1", intent.address, request, bench.steady + 60.0, fresh_until)] == bench.sends


def test_the_first_create_binds_the_record_to_the_account() -> None:
    """The account is recorded with the first intent, and only with that."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    assert ["bound", "intent"] == kinds(bench.append())
    bench.create_all()
    assert 1 == kinds([entry for entry, _ in bench.journal.lines]).count("bound")
    assert "account1" == bench.record.account


def test_a_record_that_is_bound_stays_as_it_is() -> None:
    """A record that names its account is not bound again, whoever comes in between."""
    bench = Bench(wanting("a"), journal_of(Bound(at=AT, by=BY, base_url="https://api.example", account="account1")))
    bench.start()
    bench.overtake(known("z"))
    assert ["intent"] == kinds(bench.append())


def test_a_record_that_somebody_else_wrote_to_is_bound_all_the_same() -> None:
    """Who comes in between need not have bound it."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.overtake(known("z"))
    assert ["bound", "intent"] == kinds(bench.append())


def test_an_outcome_is_recorded_with_all_that_is_known() -> None:
    """Status, detail, date, harmless fields and the place of the response go into the outcome."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    bench.answer(Answer(Outcome.CREATED, 201, "odd", "today", fields={"id": 7}), response="file")
    [settled] = bench.append()
    assert isinstance(settled, Settled)
    assert ("a1", Outcome.CREATED, 201, "odd", "today", {"id": 7}, "file") == (
        settled.attempt,
        settled.outcome,
        settled.status,
        settled.detail,
        settled.date,
        settled.fields,
        settled.response,
    )
    assert (True, {"create a": "created"}) == (bench.run.finished, bench.outcomes)
    assert ("a1", 201, "odd") == (bench.result("a").attempt, bench.result("a").status, bench.result("a").detail)


def test_the_first_create_goes_alone() -> None:
    """Until the service has answered once, one intent is open at most; then as many as calls may be in flight."""
    bench = Bench(wanting("a", "b", "c", "d", "e"), limits=Limits(parallelism=3))
    bench.start()
    bench.append()
    assert 1 == len(bench.sends)
    bench.answer(CREATED)
    assert ["outcome", "intent", "intent", "intent"] == kinds(bench.append())
    assert 3 == len(bench.sends)


def test_an_outcome_and_the_next_intent_are_one_append() -> None:
    """What gathers while an append is under way goes out together in the next, outcomes first."""
    bench = Bench(wanting("a", "b", "c", "d"), limits=Limits(parallelism=2))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.append()
    bench.answer(CREATED, "b")
    bench.answer(CREATED, "c")
    assert 1 == len(bench.appends)
    assert ["outcome", "intent"] == kinds(bench.append())
    assert ["outcome"] == kinds(bench.append())


@pytest.mark.parametrize("answer", [REJECTED, UNKNOWN, Answer(Outcome.UNKNOWN)])
def test_what_the_service_may_have_seen_is_not_repeated(answer: Answer) -> None:
    """A refusal is a refusal; and what nobody knows is never sent again by itself."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    bench.answer(answer)
    bench.append()
    assert ([], True, str(answer.outcome)) == (bench.sends, bench.run.finished, bench.outcomes["create a"])


def test_what_was_not_sent_is_repeated_with_growing_waits() -> None:
    """A call that certainly did not leave is repeated after each wait, and then left for the next apply."""
    bench = Bench(wanting("a"), limits=Limits(backoff=(0.5, 1.0)))
    bench.start()
    bench.append()
    for wait in (0.5, 1.0):
        bench.answer(NOT_SENT)
        assert bench.steady + wait == bench.run.wake_at
        bench.wait(wait - 0.1)
        assert [] == bench.looks
        bench.wait(0.1)
        bench.look()
    bench.answer(NOT_SENT)
    assert ["outcome"] == kinds(bench.append())
    assert ("not_sent", "no connection") == (str(bench.result("a").outcome), bench.result("a").detail)


@pytest.mark.parametrize(("asked", "wait"), [(7.0, 7.0), (0.0, 0.0), (None, 0.5)])
def test_a_busy_service_says_how_long_to_wait(asked: float | None, wait: float) -> None:
    """After a 429 the call is repeated when Retry-After says, or after the usual wait."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    bench.answer(Answer(Outcome.REJECTED, 429, retry_after=asked))
    bench.wait(wait)
    bench.look()
    assert 1 == len(bench.sends)


def test_a_service_that_stays_busy_has_rejected_the_call() -> None:
    """After the last repeat, a 429 is a rejection."""
    bench = Bench(wanting("a"), limits=Limits(backoff=(1.0,)))
    bench.start()
    bench.append()
    bench.answer(Answer(Outcome.REJECTED, 429))
    bench.wait(1.0)
    bench.look()
    bench.answer(Answer(Outcome.REJECTED, 429))
    bench.append()
    assert ("rejected", 429) == (str(bench.result("a").outcome), bench.result("a").status)


def test_a_wait_that_is_longer_than_the_window_is_not_waited_for() -> None:
    """A Retry-After past the intent's window makes the 429 a rejection at once."""
    bench = Bench(wanting("a"), limits=Limits(send_window=60))
    bench.start()
    bench.append()
    bench.answer(Answer(Outcome.REJECTED, 429, retry_after=60.0))
    assert ["outcome"] == kinds(bench.append())


def test_an_intent_whose_window_has_passed_is_not_sent() -> None:
    """Where the append took too long, the call is not sent, and the record says so."""
    bench = Bench(wanting("a"), limits=Limits(send_window=60))
    bench.start()
    bench.steady += 60.0
    bench.append()
    assert [] == bench.sends
    bench.append()
    assert ("gone", "send window expired") == (bench.statuses()["a1"], bench.result("a").detail)


def test_a_repeat_whose_window_has_passed_is_not_sent() -> None:
    """A machine that slept through the window does not repeat the call when it wakes."""
    bench = Bench(wanting("a"), limits=Limits(send_window=60))
    bench.start()
    bench.append()
    bench.answer(NOT_SENT)
    bench.wait(100.0)
    detail = "no connection; not retried: send window expired"
    assert ([], detail) == (bench.sends, bench.result("a").detail)


def test_an_outage_costs_three_creates() -> None:
    """After three unknown outcomes in a row the rest is skipped, and until then creates go one at a time."""
    bench = Bench(wanting("a", "b", "c", "d", "e"))
    bench.start()
    bench.append()
    for _ in range(3):
        assert 1 == len(bench.sends)
        bench.answer(UNKNOWN)
        bench.append()
    assert ["unknown", "unknown", "unknown", "skipped", "skipped"] == sorted(bench.outcomes.values(), reverse=True)
    assert "3 unknown outcomes in a row" in str(bench.result("e").detail)
    assert bench.run.finished


def test_an_answer_ends_the_row_of_unknown_outcomes() -> None:
    """Two unknown outcomes and an answer are no outage: the count begins anew, and calls go side by side again."""
    bench = Bench(wanting("a", "b", "c", "d", "e", "f"), limits=Limits(parallelism=2))
    bench.start()
    bench.append()
    for answer in (UNKNOWN, UNKNOWN, REJECTED):
        bench.answer(answer)
        bench.append()
    assert 2 == len(bench.sends)


def test_what_is_not_sent_is_no_word_of_the_service() -> None:
    """A call that did not leave neither continues nor ends the row of unknown outcomes."""
    bench = Bench(wanting("a", "b", "c", "d", "e"), limits=Limits(backoff=(), unknowns=2))
    bench.start()
    bench.append()
    for answer in (UNKNOWN, NOT_SENT, UNKNOWN):
        assert 1 == len(bench.sends)
        bench.answer(answer)
        bench.append()
    assert "skipped" == bench.outcomes["create e"]


def test_a_call_without_an_answer_is_given_up() -> None:
    """When nothing can be in flight any more, nobody knows."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    assert bench.steady + 105.0 == bench.run.wake_at
    bench.wait(105.0)
    bench.append()
    assert ("unknown", "unknown", "timed out") == (
        bench.statuses()["a1"],
        bench.outcomes["create a"],
        bench.result("a").detail,
    )


def test_after_a_response_that_was_lost_nothing_more_is_created() -> None:
    """The next would be lost too, with the secrets in them; what is in flight is recorded as ever."""
    bench = Bench(wanting("a", "b", "c", "d"), limits=Limits(parallelism=2))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.append()
    [first, second] = bench.sends
    bench.hear(Answered(first.attempt, CREATED, lost=True))
    bench.effects.remove(first)
    bench.answer(CREATED, second.address.name)
    bench.create_all()
    outcomes = dict.fromkeys(("create a", "create b", "create c"), "created") | {"create d": "skipped"}
    assert (outcomes, True, True) == (bench.outcomes, bench.run.finished, bench.run.creates.lost_response)
    assert LOST_RESPONSE == bench.result("d").detail


def test_a_late_answer_is_better_than_none() -> None:
    """An answer to a call that was given up is recorded with its response, and corrects the result."""
    bench = Bench(wanting("a", "b"), journal_of(known("a", host="old")))
    bench.start()
    bench.append()
    [send] = bench.sends
    bench.wait(105.0)
    bench.hear(Answered(send.attempt, CREATED, "file"))
    bench.append()
    entries = bench.append()
    assert ["outcome", "retired"] == kinds(entries)
    assert "file" == bench.record.attempts["a1"].response
    assert {"old-a": "awaiting_removal", "a1": "live", "a2": "pending"} == bench.statuses()
    assert "created" == bench.outcomes["replace a"]


def test_a_late_shrug_changes_nothing() -> None:
    """That nobody knows is known already."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    bench.append()
    [send] = bench.sends
    bench.wait(105.0)
    bench.hear(Answered(send.attempt, UNKNOWN))
    assert ["outcome", "intent"] == kinds(bench.append())
    assert ([], "timed out") == (bench.appends, bench.result("a").detail)


def test_a_route_that_another_target_has_is_not_sent() -> None:
    """What another target of the service has taken meanwhile is not created here, although its intent is durable."""
    bench = Bench(wanting("a"), same_service=ServiceRecords((journal_of(known("a", attempt="theirs")).record(),)))
    bench.start()
    bench.append()
    assert [] == bench.sends
    bench.look()
    assert [] == bench.sends
    bench.append()
    assert ("gone", "not_sent") == (bench.statuses()["a1"], bench.outcomes["create a"])
    assert "delivered, by europe/staging/a (attempt theirs)" in str(bench.result("a").detail)


def test_where_other_targets_cannot_be_read_nothing_is_sent() -> None:
    """Who cannot say what the other targets of the service have sends nothing."""
    bench = Bench(wanting("a"), same_service=ServiceRecords(problem="no network"))
    bench.start()
    bench.append()
    bench.look()
    assert ([], "no network") == (bench.sends, bench.result("a").detail)


def test_other_targets_are_read_once_for_all_that_became_durable_together() -> None:
    """Reading may be slow: the intents of one append share it, and appends without intents need none."""
    bench = Bench(wanting("a", "b", "c", "d"), same_service=ServiceRecords())
    bench.start()
    bench.append()
    bench.look()
    bench.answer(CREATED)
    bench.append()
    bench.look()
    assert ([], 3) == (bench.looks, len(bench.sends))
    for _ in range(3):
        bench.answer(CREATED)
        bench.append()
    assert ([], True) == (bench.looks, bench.run.finished)


def test_a_target_that_is_a_service_of_its_own_is_not_read_again() -> None:
    """Where no other record counts, a call leaves as soon as its intent is durable."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    assert ([], 1) == (bench.looks, len(bench.sends))
