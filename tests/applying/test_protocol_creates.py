"""The protocol: intents, calls and outcomes, as long as no other run writes to the record."""

from __future__ import annotations

from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.applying_bench import BUSY, CREATED, NOT_SENT, REJECTED, UNKNOWN, Bench, attempt, code, known, wanting
from support.memory_record import append

from reconciler.applying.calls import Breaker, intended, retry_delay
from reconciler.applying.creates import LOST_RESPONSE
from reconciler.applying.events import Authorised, CallEnded, Limits, Send, Unauthorised
from reconciler.errors import Message
from reconciler.model.address import TargetName
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import SENDS, Action, Request
from reconciler.record.facts import Answered, Intended, RemovalRequested, What
from reconciler.values import Instant

EUROPE, USA = TargetName("europe/staging"), TargetName("usa/staging")


def test_nothing_to_send_needs_no_token() -> None:
    """A run without creates asks for no token."""
    asked = RemovalRequested(at="2026-01-02T00:00:00Z", attempt="other", codes=(code("b"),))
    bench = Bench(wanting("a"), known("a"), known("b"), known("b", host="other", attempt="other"), asked)
    bench.begin()
    assert ["removal_requested"] == bench.append()
    assert ({"remove b": "requested"}, ["old-b"]) == (bench.outcomes, bench.run.work.requested)
    assert ([], True) == (bench.effects, bench.run.finished)


def test_nothing_to_do_is_finished_at_once() -> None:
    """A run without changes is over before it begins."""
    bench = Bench(wanting("a"), known("a"))
    bench.begin()
    assert (True, [], None) == (bench.run.finished, bench.effects, bench.run.wake_at)


def test_a_target_without_a_token_leaves_the_others_their_turn() -> None:
    """No intent is recorded for it, and its creates are not sent."""
    bench = Bench(wanting("a", "usa/staging/b"))
    bench.begin()
    bench.hear(Unauthorised(USA, Message("no-token", "no credentials")))
    bench.hear(Authorised(EUROPE))
    bench.effects = bench.effects[2:]
    bench.create_all()
    assert {"create a": "created", "create b": "not_sent"} == bench.outcomes
    assert "no credentials" == bench.result("b").detail
    assert {EUROPE} == {found.address.target for found in bench.record.attempts.values()}


@pytest.mark.parametrize(("path", "window"), [("/a", 60), ("/a/{attempt}", 5)])
def test_an_intent_says_what_may_be_in_flight_and_until_when(path: str, window: float) -> None:
    """It has the request, the account, the window, which no fresh reading extends, and when it is settled at last."""
    limits = Limits(send_window=window, call_timeout=30, margin=15)
    bench = Bench(wanting("a", template=path.removeprefix("/a")), limits=limits).sent()
    [intent], wall = bench.appended, bench.now.wall
    template = f"https://hooks.example{path}"
    url = template.replace("{attempt}", attempt(1))
    what = What(
        f"{EUROPE}/a", (code("a"),), url, known("a").what.base_url, template * (url != template), "create", "account",
        wall + window, wall + window + 45,
    )  # fmt: skip
    assert Intended(at="2027-01-15T08:00:00Z", by={"user": "bench"}, attempt=attempt(1), what=what, run="run") == intent
    fresh_until = Instant(wall + min(10, window), bench.steady + 10)
    expected = Send(attempt(1), bench.run.changes[0].address, what.codes, url, bench.steady + window, fresh_until)
    assert [expected] == bench.sends


@pytest.mark.parametrize("action", SENDS)
def test_an_intent_has_what_the_call_sends(action: Action) -> None:
    """Not all that is desired; and only a retry supersedes what the change concerns."""
    bench = Bench(wanting("a"))
    after = Request(("ONB1", "ONB2"), "https://hooks.example/a")
    change = replace(bench.run.changes[0], action=action, concerns=("old",), after=after)
    what = intended(change, bench.run.context, bench.now).what
    supersedes = ("old",) if action is Action.RETRY else ()
    assert (action.value, (code("a"),), supersedes) == (what.action, what.codes, what.supersedes)


def test_an_outcome_is_recorded_with_all_that_is_known() -> None:
    """What was intended, status, detail, date, harmless fields and the place of the response are in the outcome."""
    bench = Bench(wanting("a")).sent()
    bench.steady += 9.0
    bench.answer(Answer(Outcome.CREATED, 201, "odd", "today", fields={"id": 7}), response="file")
    bench.append()
    intent, end = bench.appended
    assert isinstance(intent, Intended)
    assert isinstance(end, Answered)
    assert (attempt(1), intent.what, Outcome.CREATED, 201) == (end.attempt, end.what, end.outcome, end.status)
    assert ("odd", "today", {"id": 7}, "file") == (end.detail, end.date, end.fields, end.response)
    assert "2027-01-15T08:00:09Z" == end.at
    assert (True, {"create a": "created"}) == (bench.run.finished, bench.outcomes)
    assert (attempt(1), 201, "odd") == (bench.result("a").attempt, bench.result("a").status, bench.result("a").detail)


def test_the_first_create_goes_alone_on_each_target() -> None:
    """Until its service has answered once, one intent is open; then as many as calls may be in flight over all."""
    bench = Bench(wanting("a", "b", "c", "d", "usa/staging/e", "usa/staging/f"), limits=Limits(parallelism=3)).sent()
    bench.append()
    assert ["a", "e"] == [send.address.name for send in bench.sends]
    assert ["answered", "intended", "intended"] == bench.settle(CREATED, "a")
    assert ["e", "b", "c"] == [send.address.name for send in bench.sends]


@pytest.mark.parametrize(("took", "wait"), [(1.0, 1.0), (5.0, 2.0)])
def test_outcomes_wait_for_one_another_as_long_as_an_append_takes(took: float, wait: float) -> None:
    """Where appends are slow, calls that end within a short time of the first share one; then nobody is waited for."""
    bench = Bench(wanting("a", "b", "c", "d", "e"), limits=Limits(parallelism=3)).sent()
    bench.answer(CREATED)
    bench.steady += took
    bench.append()
    bench.answer(CREATED, "b")
    bench.wait(0.5)
    bench.answer(CREATED, "c")
    assert ([], bench.steady - 0.5 + wait) == (bench.appends, bench.run.wake_at)
    bench.wait(wait - 0.5)
    bench.answer(NOT_SENT, "d")
    bench.steady += took
    assert ["answered", "answered", "intended"] == bench.append()
    assert ["answered"] == bench.settle(CREATED, "e")


def test_what_was_not_sent_is_retried_with_growing_waits() -> None:
    """A call that certainly did not leave is retried after each wait, and then left for the next apply."""
    bench = Bench(wanting("a")).sent()
    for wait in (0.5, 1.0, 2.0):
        assert [attempt(1)] == [*bench.run.in_flight]
        bench.answer(NOT_SENT)
        assert (bench.steady + wait, {}) == (bench.run.wake_at, bench.run.in_flight)
        bench.wait(wait - 0.1)
        assert [] == bench.rereads
        bench.wait(0.1)
        bench.reread()
    assert ["answered"] == bench.settle(NOT_SENT)
    assert ("not_sent", "no connection") == (str(bench.result("a").outcome), bench.result("a").detail)


def test_a_wait_longer_than_the_window_is_not_waited_for() -> None:
    """A Retry-After past the intent's window makes the 429 a rejection at once."""
    bench = Bench(wanting("a"), limits=Limits(send_window=60)).sent()
    bench.answer(Answer(Outcome.REJECTED, 429, retry_after=60.0))
    assert ["answered"] == bench.append()
    assert ("rejected", 429) == (str(bench.result("a").outcome), bench.result("a").status)


@pytest.mark.parametrize("asked", [None, 0.0, 3.0])
@pytest.mark.parametrize("status", [None, 400, 401, 403, 408, 409, 429, 500, 503])
@pytest.mark.parametrize("outcome", list(Outcome))
def test_which_answers_are_followed_by_another_try(outcome: Outcome, status: int | None, asked: float | None) -> None:
    """What was not sent, a 429, and a 401 that came with a new token: whatever else the answer holds."""
    invited = status == 429 or (status == 401 and asked is not None)
    again = outcome is Outcome.NOT_SENT or (outcome is Outcome.REJECTED and invited)
    wait = asked if invited and asked is not None else 0.5
    answer = Answer(outcome, status, retry_after=asked)
    assert [wait if again else None, None] == [retry_delay(tries, answer, (0.5,)) for tries in (1, 2)]


def test_a_service_that_stays_busy_ends_its_target() -> None:
    """After three creates that were refused with 429 to the end, the rest of the target is skipped at once."""
    bench = Bench(wanting(*"abcde", "usa/staging/f"), limits=Limits(backoff=(), parallelism=3)).sent()
    bench.append()
    for name in "abc":
        bench.settle(BUSY, name)
    assert (["f", "d"], "skipped") == ([send.address.name for send in bench.sends], str(bench.result("e").outcome))
    bench.create_all()
    ends = [str(bench.result(name).outcome) for name in "abcdf"]
    assert ["rejected"] * 3 + ["created"] * 2 == ends
    assert str(bench.result("e").detail).startswith("3 creates in a row were refused with 429")


@given(st.lists(st.sampled_from([CREATED, REJECTED, BUSY, UNKNOWN, NOT_SENT, replace(BUSY, outcome=Outcome.UNKNOWN)])))
def test_a_breaker_counts_those_in_a_row(answers: list[Answer]) -> None:
    """Unknown outcomes and refusals with 429 since the last other answer; what was not sent is no answer."""
    breaker = Breaker()
    for answer in answers:
        breaker = breaker.after(answer)
    heard = [answer for answer in reversed(answers) if answer.outcome is not Outcome.NOT_SENT]
    unknown = len([*takewhile(lambda answer: answer.outcome is Outcome.UNKNOWN, heard)])
    busy = len([*takewhile(lambda answer: answer.status == 429, heard)])
    assert (unknown, busy) == (breaker.unknowns, breaker.busy)
    assert breaker.alone == (unknown > 0 or not answers)
    for in_a_row in range(1, 5):
        assert (breaker.tripped(Limits(in_a_row=in_a_row)) is not None) == (max(unknown, busy) >= in_a_row)


def test_a_refused_token_is_replaced_once() -> None:
    """After a 401 with a new token the record is read again, the call retried, and no other token ever requested."""
    bench = Bench(wanting("a")).sent()
    renews = [send.renew for send in bench.sends]
    for answer in (Answer(Outcome.REJECTED, 401, retry_after=0.0), NOT_SENT):
        bench.answer(answer)
        bench.wait(1.0)
        bench.reread()
        renews += [send.renew for send in bench.sends]
    assert [True, False, False] == renews
    assert (["answered"], "rejected") == (bench.settle(Answer(Outcome.REJECTED, 401)), bench.outcomes["create a"])


def test_an_intent_whose_window_has_passed_is_not_sent() -> None:
    """Where the append took too long, the call is not sent, and the record says so."""
    bench = Bench(wanting("a"), limits=Limits(send_window=60)).start()
    bench.steady += 60.0
    bench.append()
    assert [] == bench.sends
    bench.append()
    assert ("gone", "send window expired") == (bench.statuses()[attempt(1)], bench.result("a").detail)


def test_a_retry_whose_window_has_passed_is_not_sent() -> None:
    """A machine that slept through the window does not retry the call when it wakes."""
    bench = Bench(wanting("a"), limits=Limits(send_window=60)).sent()
    bench.answer(NOT_SENT)
    bench.wait(100.0)
    detail = "no connection; not retried: send window expired"
    assert ([], detail) == (bench.sends, bench.result("a").detail)


@pytest.mark.parametrize(("answers", "in_flight"), [
    ((UNKNOWN, UNKNOWN), 1), ((UNKNOWN, UNKNOWN, REJECTED), 2), ((CREATED, NOT_SENT, NOT_SENT), 2), ((NOT_SENT,), 2),
    ((UNKNOWN, NOT_SENT), 1), ((UNKNOWN, NOT_SENT, UNKNOWN), 1), ((UNKNOWN, NOT_SENT, UNKNOWN, UNKNOWN), 0),
])  # fmt: skip
def test_an_answer_ends_the_row_of_unknown_outcomes(answers: tuple[Answer, ...], in_flight: int) -> None:
    """Then calls go side by side again; a call that was not sent neither continues nor ends the row."""
    bench = Bench(wanting("a", "b", "c", "d", "e", "f"), limits=Limits(backoff=(), parallelism=2)).sent(*answers)
    reasons = [result.detail for result in bench.run.results.values() if result.outcome == "skipped"]
    assert (in_flight, not in_flight) == (len(bench.sends), len(reasons) > 0)
    assert all(str(reason).startswith("3 unknown outcomes in a row") for reason in reasons)


def test_a_call_without_an_answer_is_given_up() -> None:
    """When it can no longer be in flight, its outcome is unknown."""
    bench = Bench(wanting("a")).sent()
    assert bench.steady + 105.0 == bench.run.wake_at
    bench.wait(105.0)
    bench.append()
    assert ({attempt(1): "unknown"}, {"create a": "unknown"}) == (bench.statuses(), bench.outcomes)
    assert "timed out" == bench.result("a").detail


def test_after_a_lost_response_nothing_more_is_created() -> None:
    """The next would be lost too, with the secrets in them; what is in flight is recorded as ever."""
    names = ("a", "b", "c", "usa/staging/d", "usa/staging/e")
    bench = Bench(wanting(*names), limits=Limits(parallelism=2)).sent(CREATED)
    bench.append()
    bench.answer(CREATED, "b", lost=True)
    bench.create_all()
    outcomes = [str(bench.result(name).outcome) for name in "abdce"]
    assert (["created"] * 3 + ["skipped"] * 2, True) == (outcomes, bench.run.creates.lost_response)
    assert [LOST_RESPONSE] * 2 == [bench.result(name).detail for name in "ce"]


def test_after_a_late_answer_without_its_response_nothing_more_is_created() -> None:
    """A call that was given up counts like every other."""
    bench = Bench(wanting("a", "b")).sent()
    [send] = bench.sends
    bench.effects.clear()
    bench.wait(105.0)
    bench.hear(CallEnded(send.attempt, CREATED, lost=True))
    bench.append()
    bench.create_all()
    assert {"create a": "created", "create b": "not_sent"} == bench.outcomes
    assert (True, LOST_RESPONSE) == (bench.run.creates.lost_response, bench.result("b").detail)


@pytest.mark.parametrize(("is_overtaken", "outcome"), [(False, "not_sent"), (True, "skipped")])
def test_an_intent_that_becomes_durable_after_a_lost_response_is_not_sent(is_overtaken: bool, outcome: str) -> None:
    """Its response would be lost too; nor is it made again after a conflict."""
    bench = Bench(wanting("a", "b", "c", "d"), limits=Limits(parallelism=2)).sent(CREATED)
    bench.answer(CREATED, "b")
    bench.answer(CREATED, "c", lost=True)
    if is_overtaken:
        append(bench.store, known("z"))
    assert ["answered", "intended"] == bench.append()
    assert ([], LOST_RESPONSE, outcome) == (bench.sends, bench.result("d").detail, bench.outcomes["create d"])


def test_a_late_answer_corrects_an_unknown_outcome() -> None:
    """An answer to a call that was given up is recorded with its response, and with the removal of the old attempt."""
    bench = Bench(wanting("a", "b"), known("a", host="old")).sent()
    [send] = bench.sends
    bench.wait(105.0)
    bench.hear(CallEnded(send.attempt, CREATED, "file"))
    bench.append()
    assert ["answered", "removal_requested"] == bench.append()
    assert ("file",) == bench.record.attempts[attempt(1)].responses
    assert {"old-a": "awaiting_removal", attempt(1): "live", attempt(2): "pending"} == bench.statuses()
    assert "created" == bench.outcomes["replace a"]


def test_a_late_answer_leaves_no_place_free() -> None:
    """Its call left it when it was given up: in an outage, calls still go one by one."""
    bench = Bench(wanting("a", "b", "c", "d"), limits=Limits(parallelism=2)).sent()
    bench.wait(105.0)
    bench.append()
    bench.hear(CallEnded(attempt(1), CREATED))
    bench.append()
    bench.settle(UNKNOWN, "b")
    assert ["a", "c"] == [send.address.name for send in bench.sends]


@pytest.mark.parametrize(("answer", "detail"), [(UNKNOWN, "timed out"), (REJECTED, "HTTP 400")])
def test_a_late_answer_that_says_more_counts(answer: Answer, detail: str) -> None:
    """A rejection does, but an unknown outcome adds nothing to what the record says."""
    bench = Bench(wanting("a", "b")).sent()
    [send] = bench.sends
    bench.wait(105.0)
    bench.hear(CallEnded(send.attempt, answer))
    assert ["answered", "intended"] == bench.append()
    assert (answer is REJECTED, detail) == (bench.appends != [], bench.result("a").detail)


@pytest.mark.parametrize("asked", [(), (code("b"),)])
def test_a_replacement_requests_the_removal_of_what_it_replaces(asked: tuple[str, ...]) -> None:
    """In the append of its outcome: all codes of the old attempt, even if a person requested the removal of some."""
    old = known("a")
    old = replace(old, what=replace(old.what, codes=(code("a"), *asked)))
    by_person = [RemovalRequested(at="2026-01-02T00:00:00Z", attempt="old-a", codes=asked)] if asked else []
    bench = Bench(wanting("a", host="new"), old, *by_person).sent()
    assert ["answered", "removal_requested"] == bench.settle(CREATED)
    request = bench.appended[-1]
    assert isinstance(request, RemovalRequested)
    assert ("old-a", (code("a"), *asked), True) == (request.attempt, request.codes, request.by_plan)
    assert ("replaced by europe/staging/a", ["old-a"]) == (request.reason, bench.run.work.requested)


@pytest.mark.parametrize("answer", [REJECTED, UNKNOWN, NOT_SENT])
def test_a_replacement_that_is_not_created_removes_nothing(answer: Answer) -> None:
    """The old attempt stays in force."""
    bench = Bench(wanting("a", host="new"), known("a"), limits=Limits(backoff=())).sent()
    assert (["answered"], []) == (bench.settle(answer), bench.run.work.requested)


def test_a_restored_attempt_names_the_requests_it_takes_back() -> None:
    """What awaits removal by a plan and is desired again stays; another attempt of its address still awaits it."""
    request = RemovalRequested(at="2026-01-02T00:00:00Z", attempt="old-a", codes=(code("a"),), by_plan=True)
    older = known("a", host="older", attempt="older")
    bench = Bench(wanting("a"), known("a"), request, older, replace(request, attempt="older"))
    bench.start()
    assert ["removal_cancelled"] == bench.append()
    assert {"old-a": "live", "older": "awaiting_removal"} == bench.statuses()
    assert ["old-a"] == bench.run.work.restored
    assert {"restore a": "restored"} == bench.outcomes


def test_a_note_says_what_an_append_is_about() -> None:
    """Stores that keep a history of their own get a line for it, with the first addresses and the run."""
    by = {"user": "operator", "url": "https://run.example/1"}
    bench = Bench(wanting("a", "b"), by=by, limits=Limits(backoff=())).start()
    assert "create europe/staging/a (https://run.example/1)" == bench.appends[0].summary
    bench.append()
    bench.answer(CREATED)
    assert "created europe/staging/a, create europe/staging/b (https://run.example/1)" == bench.appends[0].summary
    bench.append()
    bench.answer(NOT_SENT)
    assert "not sent europe/staging/b (https://run.example/1)" == bench.appends[0].summary
    request = RemovalRequested(at="2026-01-02T00:00:00Z", attempt="old-v", codes=(code("v"),), by_plan=True)
    many = Bench(wanting("v"), *(known(name) for name in "vwxyz"), request)
    many.start()
    words = ", ".join(f"removal requested europe/staging/{name}" for name in "wx")
    assert f"removal cancelled europe/staging/v, {words} and 2 more" == many.appends[0].summary
