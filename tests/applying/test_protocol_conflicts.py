"""The protocol: somebody else writes to the record, answers of the store are lost, the store fails."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.applying_bench import CREATED, NOT_SENT, REJECTED, UNKNOWN, Bench, journal_of, kinds, known, wanting
from support.journal_samples import AT, BY, RECORD, TARGET, begun

from reconciler.applying.context import Limits
from reconciler.applying.events import (
    Append,
    AppendFailed,
    Conflict,
    InterruptAsked,
    Reread,
    RereadFailed,
    ServiceRecords,
)
from reconciler.errors import RecordForeign
from reconciler.model.address import Address
from reconciler.model.entry import Bound, Closed, Removed, Resolved, Retired, SecretSet
from reconciler.model.entry import Moved as Renamed
from reconciler.model.outcome import Answer, Outcome
from reconciler.state.journal.chain import link, parse

SECRET = SecretSet(at=AT, by=BY, attempt="old-z", secret="age:c2VjcmV0")


def test_what_comes_out_the_same_goes_on() -> None:
    """Somebody else was first, but with something else: the change is intended anew, with a window of its own."""
    bench = Bench(wanting("a", "z"), journal_of(known("z")))
    bench.start()
    bench.steady += 10.0
    bench.overtake(SECRET)
    bench.append()
    assert [("a2", bench.steady + 60.0)] == [(send.attempt, send.send_by) for send in bench.sends]
    bench.create_all()
    assert {"create a": "created"} == bench.outcomes


def test_what_another_run_took_is_skipped() -> None:
    """A change that does not come out the same is not carried out; the others are."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    bench.overtake(known("a"))
    bench.create_all()
    assert {"create a": "skipped", "create b": "created"} == bench.outcomes
    assert "another run changed the record" in str(bench.result("a").detail)
    assert {"old-a": "live", "a2": "live"} == bench.statuses()


SHORTEST, LONGEST = Limits().yielding


def test_a_run_that_loses_changes_waits_before_its_next_intents() -> None:
    """Longer each time that another run is first again, up to a limit."""
    bench = Bench(wanting("a", "b", "c", "d", "e"))
    bench.start()
    waits = []
    for name in "abcd":
        bench.overtake(known(name))
        waits.append(bench.wait_its_turn())
    assert pytest.approx([SHORTEST, 2 * SHORTEST, 4 * SHORTEST, LONGEST]) == waits
    bench.create_all()
    assert "created" == bench.outcomes["create e"]


def test_runs_that_collided_wait_for_different_times() -> None:
    """Between half of the time and all of it."""
    waits = []
    for jitter in (0.0, 0.5, 1.0):
        bench = Bench(wanting("a", "b"), jitter=jitter)
        bench.start()
        bench.overtake(known("a"))
        waits.append(bench.wait_its_turn())
    assert pytest.approx([0.5 * SHORTEST, 0.75 * SHORTEST, SHORTEST]) == waits


def test_a_slow_store_is_given_more_time() -> None:
    """Twice what an append takes there: in less, the other run could not have appended again."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    bench.steady += 1.5
    bench.overtake(known("a"))
    assert 3.0 == bench.wait_its_turn()


def test_a_run_that_has_something_to_record_does_not_wait() -> None:
    """An outcome is appended at once, and the next intents with it."""
    bench = Bench(wanting("a", "b", "c"))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.overtake(known("b"))
    assert ["outcome", "intent"] == kinds(bench.append())


def test_a_run_that_waits_for_its_turn_ends_when_it_is_interrupted() -> None:
    """Nothing of it is on its way."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    bench.overtake(known("a"))
    bench.hear(InterruptAsked())
    assert ({"create a": "skipped", "create b": "skipped"}, True) == (bench.outcomes, bench.run.finished)


def test_a_quiet_change_that_another_run_made_is_skipped() -> None:
    """What is retired already is not retired again."""
    bench = Bench(wanting("a"), journal_of(known("a"), known("b")))
    bench.begin()
    bench.overtake(Removed(at=AT, by=BY, attempt="old-b"))
    assert ({"retire b": "skipped"}, True) == (bench.outcomes, bench.run.finished)


def test_a_record_that_is_no_longer_ours_is_written_to_no_more() -> None:
    """A record bound to somebody else meanwhile stops what has not begun, and says why."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    bench.replan_problem = RecordForeign("the record belongs to another account")
    bench.overtake(Bound(at=AT, by=BY, base_url="https://api.example", account="theirs"))
    assert {"create a": "skipped", "create b": "skipped"} == bench.outcomes
    assert ("the record belongs to another account", True) == (bench.result("a").detail, bench.run.finished)


def test_an_outcome_is_appended_over_anything() -> None:
    """Whatever was recorded meanwhile, a rename of the very address included: the outcome follows."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    address = Address.of(TARGET, "a")
    bench.overtake(Renamed(at=AT, by=BY, source=address, address=Address.of(TARGET, "renamed")))
    assert ["outcome"] == kinds(bench.append())
    assert ({"a1": "live"}, True, "created") == (bench.statuses(), bench.run.finished, bench.outcomes["create a"])


CLOSED = Closed(at=AT, by=BY, source="state", to="git:record")


def test_nothing_is_appended_to_a_closed_record() -> None:
    """An outcome that comes after the record was closed is handed over with its intent, and nothing more is sent."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.overtake(CLOSED)
    assert ([], True) == (bench.appends, bench.run.finished)
    assert ["intent", "outcome"] == kinds(bench.run.appends.to_save)
    assert {"create a": "created", "create b": "not_sent"} == bench.outcomes
    assert "it was closed, since it is copied to git:record" in str(bench.result("b").detail)


def test_a_closed_record_keeps_a_call_from_being_sent() -> None:
    """A call that waits for the record to be read again is not sent if it was closed: the copy may send it too."""
    bench = busy_bench()
    bench.somebody_appends(CLOSED)
    bench.look()
    assert ([], "rejected") == (bench.sends, bench.outcomes["create a"])
    assert "not retried: its record was closed, since it is copied to git:record" in str(bench.result("a").detail)


def test_no_plan_is_made_where_nothing_waits() -> None:
    """A move while only outcomes are owed needs no plan, and none can fail."""
    bench = Bench(wanting("a", "z"), journal_of(known("z")))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.replan_problem = RecordForeign("never asked for")
    bench.overtake(SECRET)
    bench.append()
    assert {"create a": "created"} == bench.outcomes


def test_a_conflict_with_oneself_is_none() -> None:
    """A store that calls its own lost answer a conflict has the entries all the same: the call is sent."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.arrive()
    bench.hear(Conflict(bench.journal))
    assert ["a1"] == [send.attempt for send in bench.sends]


def test_what_others_append_after_a_lost_answer_is_planned_on() -> None:
    """The entries were durable, and others went on from there: what is not begun yet is planned anew."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    bench.arrive()
    bench.somebody_appends(known("b"))
    bench.hear(AppendFailed("timeout", bench.journal))
    bench.answer(CREATED)
    bench.take(Append)
    bench.hear(Conflict(bench.journal))
    bench.append()
    assert {"create a": "created", "create b": "skipped"} == bench.outcomes


def test_an_append_that_failed_is_tried_again_to_the_letter() -> None:
    """The very same lines, after a wait: should the first try arrive after all, it is one append."""
    bench = Bench(wanting("a"), limits=Limits(backoff=(0.5, 1.0)))
    bench.start()
    first = bench.fail_append()
    assert (bench.steady + 0.5, []) == (bench.run.wake_at, bench.appends)
    bench.wait(0.4)
    assert [] == bench.appends
    bench.wait(0.1)
    assert [first] == bench.appends
    bench.append()
    assert 1 == len(bench.sends)


def test_an_append_of_which_nothing_can_be_read_is_tried_again() -> None:
    """Where the record cannot be read either, nobody knows whether it arrived: again, and it turns out that it did."""
    bench = Bench(wanting("a"), limits=Limits(backoff=(0.5,)))
    bench.start()
    bench.arrive()
    bench.hear(AppendFailed("unreachable"))
    bench.wait(0.5)
    bench.take(Append)
    bench.hear(Conflict(bench.journal))
    assert ["a1"] == [send.attempt for send in bench.sends]


def test_outcomes_wait_for_the_append_that_is_tried_again() -> None:
    """While lines are tried again to the letter, nothing is added to them, and nothing new is begun."""
    bench = Bench(wanting("a", "b", "c"), limits=Limits(parallelism=2, backoff=(5.0,)))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.append()
    bench.answer(CREATED, "b")
    bench.fail_append()
    bench.answer(CREATED, "c")
    assert [] == bench.appends
    bench.wait(5.0)
    assert ["outcome"] == kinds(bench.append())
    assert ["outcome"] == kinds(bench.append())
    assert bench.run.finished


def test_a_store_that_fails_for_good_ends_the_run() -> None:
    """After the last try nothing more is begun: creates are not sent, the rest is skipped."""
    bench = Bench(wanting("a", "b"), journal_of(known("z")), limits=Limits(backoff=()))
    bench.start()
    bench.fail_append("disk full")
    assert {"create a": "not_sent", "create b": "not_sent", "retire z": "skipped"} == bench.outcomes
    details = {bench.result(name).detail for name in "abz"}
    assert {"cannot write the state record: disk full"} == details
    assert (True, ()) == (bench.run.finished, bench.run.appends.to_save)


def test_what_could_not_be_recorded_is_handed_over() -> None:
    """An outcome that cannot be appended is left with whoever can keep it."""
    bench = Bench(wanting("a", "b"), limits=Limits(backoff=()))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.fail_append()
    assert (["intent", "outcome"], True) == (kinds(bench.run.appends.to_save), bench.run.finished)
    assert {"create a": "created", "create b": "not_sent"} == bench.outcomes


def test_each_new_outcome_is_one_more_try() -> None:
    """A store that failed may be back by the time there is something new to tell it."""
    bench = Bench(wanting("a", "b", "c"), limits=Limits(parallelism=2, backoff=()))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.append()
    bench.answer(REJECTED, "b")
    bench.fail_append()
    assert not bench.run.finished
    bench.answer(CREATED, "c")
    assert ["outcome", "outcome"] == kinds(bench.append())
    assert (True, ()) == (bench.run.finished, bench.run.appends.to_save)


def test_what_arrived_late_is_not_recorded_twice() -> None:
    """An append that was given up and arrived after all is found in the record, and its outcomes are not owed again."""
    bench = Bench(wanting("a", "b", "c"), limits=Limits(parallelism=2, backoff=()))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.append()
    bench.answer(UNKNOWN, "b")
    bench.arrive()
    bench.hear(AppendFailed("unreachable"))
    bench.answer(CREATED, "c")
    bench.take(Append)
    bench.hear(Conflict(bench.journal))
    assert ["outcome"] == kinds(bench.append())
    assert {"a1": "live", "a2": "unknown", "a3": "live"} == bench.statuses()


def test_a_record_that_was_rolled_back_is_not_written_to() -> None:
    """A record without what was read of it before is not the record, though it be whole: nothing is appended to it."""
    bench = Bench(wanting("a", "z"), journal_of(known("z")), limits=Limits(backoff=(1.0,)))
    older = bench.journal
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.take(Append)
    bench.hear(Conflict(older))
    bench.wait(1.0)
    bench.take(Append)
    bench.hear(Conflict(older))
    assert (["intent", "outcome"], True) == (kinds(bench.run.appends.to_save), bench.run.finished)


def test_another_record_in_its_place_is_not_written_to() -> None:
    """A record that was begun anew meanwhile knows nothing of the attempts: their outcomes would break it."""
    bench = Bench(wanting("a"), limits=Limits(backoff=()))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    bench.take(Append)
    lines, _ = link(None, 0, [begun(record=RECORD[::-1]), known("a"), known("b"), known("c")])
    bench.hear(Conflict(parse(lines, TARGET, "bench")))
    assert (["intent", "outcome"], True) == (kinds(bench.run.appends.to_save), bench.run.finished)


def test_a_conflict_without_a_move_is_a_failure() -> None:
    """Where a store speaks of a conflict and the head is still the same, the same lines are tried again."""
    bench = Bench(wanting("a"), limits=Limits(backoff=(1.0,)))
    bench.start()
    first = bench.take(Append)
    bench.hear(Conflict(bench.journal))
    bench.wait(1.0)
    assert [first] == bench.appends


def test_only_what_still_comes_out_the_same_is_begun() -> None:
    """Before the start, changes that the record as it is now does not ask for are skipped."""
    bench = Bench(wanting("a", "b"))
    bench.somebody_appends(known("a"))
    bench.run.keep_only(bench.changes())
    bench.begin()
    assert {"create a": "skipped"} == bench.outcomes
    assert "another run changed the record of this address" == bench.result("a").detail
    assert ["b"] == [change.address.name for change in bench.run.changes]


def test_a_note_says_what_an_append_is_about() -> None:
    """Stores that keep a history of their own get a line for it."""
    bench = Bench(wanting("a", "b"))
    bench.start()
    assert "europe/staging: bound, create a" == bench.appends[0].note
    bench.append()
    bench.answer(CREATED)
    assert "europe/staging: created a, create b" == bench.appends[0].note
    bench.append()
    bench.wait(60.0)
    bench.answer(NOT_SENT)
    assert "europe/staging: not sent b" == bench.appends[0].note


def test_a_note_of_many_entries_names_the_first_and_the_run() -> None:
    """Whoever reads the history finds the run that wrote it."""
    bench = Bench(
        wanting(),
        journal_of(*(known(name) for name in "vwxyz")),
        by={"user": "operator", "url": "https://run.example/1"},
    )
    bench.start()
    assert "europe/staging: retired v, retired w, retired x and 2 more (https://run.example/1)" == bench.appends[0].note
    few = Bench(wanting(), journal_of(*(known(name) for name in "vwx")))
    few.start()
    assert "europe/staging: retired v, retired w, retired x" == few.appends[0].note


def test_a_replacement_retires_what_it_replaces() -> None:
    """With its outcome it is recorded since when, and why, the old one is to go."""
    bench = Bench(wanting("a", host="new"), journal_of(known("a")))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    outcome, retired = bench.append()
    assert isinstance(retired, Retired)
    assert (outcome.at, bench.run.context.by, "old-a", "replaced by europe/staging/a") == (
        retired.at,
        retired.by,
        retired.attempt,
        retired.reason,
    )


def busy_bench() -> Bench:
    """A call that the service was too busy for, and that is to be repeated."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    bench.answer(Answer(Outcome.REJECTED, 429, "HTTP 429"))
    bench.wait(0.5)
    return bench


def test_what_somebody_settled_is_not_repeated() -> None:
    """Before a repeat the record is read again: an attempt that a person settled meanwhile is not sent, ever."""
    bench = busy_bench()
    bench.somebody_appends(Resolved(at=AT, by=BY, attempt="a1", created=False))
    bench.look()
    assert ([], "rejected", 429) == (bench.sends, bench.outcomes["create a"], bench.result("a").status)
    assert "HTTP 429; not retried: already resolved by another run" == bench.result("a").detail


def test_what_a_rolled_back_record_lost_is_not_repeated() -> None:
    """A record that no longer holds the intent, or what was appended to it, lets nothing be sent."""
    bench = busy_bench()
    bench.journal = journal_of()
    bench.look()
    assert ([], "rejected") == (bench.sends, bench.outcomes["create a"])
    assert "does not continue the one read before" in str(bench.result("a").detail)


@pytest.mark.parametrize("under", ["a", "renamed"])
def test_what_another_attempt_delivers_by_now_is_not_repeated(under: str) -> None:
    """Where the record had lost an attempt, and somebody has brought it back meanwhile, nothing is created twice."""
    bench = busy_bench()
    bench.somebody_appends(replace(known("a", attempt="found"), address=Address.of(TARGET, under)))
    bench.look()
    assert ([], "rejected") == (bench.sends, bench.outcomes["create a"])
    assert "not retried: another attempt delivers it or may deliver it (attempt found)" in str(bench.result("a").detail)


def test_what_cannot_be_looked_at_is_not_repeated() -> None:
    """Where the record cannot be read again, the last answer counts."""
    bench = busy_bench()
    bench.take(Reread)
    bench.hear(RereadFailed("no network"))
    detail = "HTTP 429; not retried: could not re-read the record before sending: no network"
    assert ([], detail) == (bench.sends, bench.result("a").detail)
    assert ["outcome"] == kinds(bench.append())


def test_a_refused_token_is_replaced_once() -> None:
    """After a 401 with a new token the record is read again, the call repeated, and no other token asked for."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.append()
    assert [True] == [send.renew for send in bench.sends]
    bench.answer(Answer(Outcome.REJECTED, 401, retry_after=0.0))
    bench.wait(0.0)
    bench.look()
    assert [False] == [send.renew for send in bench.sends]
    bench.answer(Answer(Outcome.REJECTED, 401))
    assert (["outcome"], "rejected") == (kinds(bench.append()), bench.outcomes["create a"])


@pytest.mark.parametrize(("steady", "wall"), [(10.0, 0.0), (0.0, 10.0)], ids=["steady clock", "wall clock"])
def test_a_send_long_after_its_append_has_the_record_read_first(steady: float, wall: float) -> None:
    """Where either clock says that time has passed since the append began, somebody may have settled it."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.steady += steady
    bench.off += wall
    bench.append()
    assert [] == bench.sends
    bench.look()
    assert 1 == len(bench.sends)


def test_a_send_long_after_the_first_try_of_its_append_has_the_record_read_first() -> None:
    """A first try that arrives unheard may have been settled by the time the next one is answered."""
    bench = Bench(wanting("a"))
    bench.start()
    bench.arrive()
    bench.hear(AppendFailed("no network"))
    bench.wait(12.0)
    bench.take(Append)
    bench.hear(Conflict(bench.journal))
    assert [] == bench.sends
    bench.look()
    assert 1 == len(bench.sends)


def test_a_wall_clock_past_the_window_ends_it() -> None:
    """A machine that was paused without noticing sees it on the wall clock: people settle by that."""
    bench = busy_bench()
    bench.off += 60.0
    bench.look()
    assert ([], "rejected") == (bench.sends, bench.outcomes["create a"])


def test_a_look_that_never_ends_is_waited_for_until_the_window_has_passed() -> None:
    """A store that hangs lets nothing be sent."""
    bench = busy_bench()
    assert bench.booted + 60.0 == bench.run.wake_at
    bench.wait(60.0)
    bench.look()
    assert ([], ["outcome"]) == (bench.sends, kinds(bench.append()))


def test_a_look_is_not_for_what_became_durable_after_it_began() -> None:
    """An intent that another run could not see yet when the other records were read needs a re-read of its own."""
    bench = Bench(wanting("a", "b", "c"), same_service=ServiceRecords(), limits=Limits(parallelism=2))
    bench.start()
    bench.append()
    bench.look()
    bench.answer(CREATED)
    bench.append()
    bench.look()
    bench.answer(CREATED, "b")
    bench.answer(Answer(Outcome.REJECTED, 429), "c")
    bench.wait(0.5)
    assert (1, 1) == (len(bench.looks), len(bench.appends))
    bench.append()
    assert 1 == len(bench.looks)


def test_other_records_that_cannot_be_read_leave_nothing_to_plan_on() -> None:
    """After a conflict nothing goes on that was not checked against the other records of the service."""
    bench = Bench(wanting("a"), same_service=ServiceRecords(problem="no network"))
    bench.start()
    bench.overtake(known("z"))
    assert ("skipped", "no network") == (bench.outcomes["create a"], bench.result("a").detail)
