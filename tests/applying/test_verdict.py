"""Verdicts, and the results that others' work gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from support.applying_bench import WALL, journal_of, known
from support.journal_samples import AT, BY, TARGET

from reconciler.applying.objections import objection_of_same_service
from reconciler.applying.verdict import in_flight, verdict_of, with_others_work, worst
from reconciler.model.address import Address
from reconciler.model.entry import Intent, Removed, Settled
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Block, Change, Request
from reconciler.model.result import Done, Result, Verdict

if TYPE_CHECKING:
    from reconciler.model.entry import AnyEntry

A, B = (Address.of(TARGET, name) for name in "ab")
CREATE = Change(A, Action.CREATE, Request(("ONB10011",), "https://hooks.example/a"))
OPEN = Change(A, Action.BLOCKED, concerns=("p",), block=Block.UNRESOLVED)
WAITS = Change(A, Action.BLOCKED, concerns=("old",), block=Block.WAITS)
ELSEWHERE = Change(A, Action.BLOCKED, block=Block.ELSEWHERE)
RETIRE = Change(A, Action.RETIRE, concerns=("old",))


def pending(settled_by: float = WALL + 100) -> Intent:
    """A create of `a` that may be in flight."""
    return Intent(
        at=AT, by=BY, attempt="p", address=A, action="create", codes=("ONB10011",), url="https://hooks.example/a",
        send_by=settled_by - 45, settled_by=settled_by,
    )  # fmt: skip


def unknown() -> list[AnyEntry]:
    """A create of `a` of which nobody knows."""
    return [pending(), Settled(at=AT, by=BY, attempt="p", outcome=Outcome.UNKNOWN)]


def verdict(
    planned: list[Change], results: list[tuple[Change, Done]], left: list[Change], entries: list[AnyEntry] | None = None
) -> Verdict:
    """The verdict on a run."""
    told = [Result(change.address, change.action, done) for change, done in results]
    return verdict_of(planned, told, left, journal_of(*(entries or [])).record(), WALL)


@pytest.mark.parametrize("done", [Done.CREATED, Done.RESTORED, Done.RETIRED])
def test_what_is_done_is_done(done: Done) -> None:
    """All was carried out and nothing is left: DONE."""
    assert Verdict.DONE is verdict([CREATE], [(CREATE, done)], [])


@pytest.mark.parametrize("done", [Done.REJECTED, Done.NOT_SENT])
def test_what_was_rejected_or_not_sent_failed(done: Done) -> None:
    """Some of it was rejected or never sent: FAILED."""
    assert Verdict.FAILED is verdict([CREATE], [(CREATE, done)], [CREATE])


def test_an_unknown_outcome_of_ones_own_is_3() -> None:
    """A create whose outcome nobody knows waits for a person, and that goes over everything."""
    results = [(CREATE, Done.UNKNOWN), (replace(CREATE, address=B), Done.REJECTED)]
    assert Verdict.UNRESOLVED is verdict([CREATE], results, [OPEN], unknown())


def test_what_was_open_from_the_start_is_3() -> None:
    """A create that was open when the plan was made, and still is, waits: UNRESOLVED, however young it is."""
    assert Verdict.UNRESOLVED is verdict([OPEN], [(OPEN, Done.SKIPPED)], [OPEN], [pending()])


def test_what_was_open_and_has_settled_is_done() -> None:
    """A create that settled as desired in the meantime counts as done."""
    assert Verdict.DONE is verdict([OPEN], [(OPEN, Done.SKIPPED)], [])


def test_what_was_open_and_came_to_nothing_is_1() -> None:
    """A create of another run that was rejected in the meantime is still to be done."""
    assert Verdict.FAILED is verdict([OPEN], [(OPEN, Done.SKIPPED)], [CREATE])


def test_what_another_run_has_done_counts_as_done() -> None:
    """An address that another run took, and that is as desired by now: DONE."""
    assert Verdict.DONE is verdict([CREATE], [(CREATE, Done.SKIPPED)], [])


def test_what_another_run_has_in_flight_is_not_settled_yet() -> None:
    """An address that another run took and has not settled yet: FAILED."""
    assert Verdict.FAILED is verdict([CREATE], [(CREATE, Done.SKIPPED)], [OPEN], [pending()])


@pytest.mark.parametrize("entries", [[pending(WALL - 1)], unknown()])
def test_what_another_run_left_open_for_good_is_3(entries: list[AnyEntry]) -> None:
    """An address that another run took and died on, or knows nothing of: UNRESOLVED."""
    assert Verdict.UNRESOLVED is verdict([CREATE], [(CREATE, Done.SKIPPED)], [OPEN], entries)


def test_what_is_open_at_other_addresses_is_nobodys_business() -> None:
    """A create that is open at an address this run was not about does not count."""
    other = replace(OPEN, address=B)
    assert Verdict.DONE is verdict([CREATE], [(CREATE, Done.CREATED)], [other], unknown())


def test_what_is_open_on_another_target_of_the_service_is_not_settled_yet() -> None:
    """A create elsewhere that this one waits for is not in this record: FAILED."""
    elsewhere = replace(OPEN, concerns=("not-here",))
    assert Verdict.FAILED is verdict([CREATE], [(CREATE, Done.SKIPPED)], [elsewhere])


def test_a_wait_that_waits_is_no_failure() -> None:
    """With replace: wait, a create that waits for a removal is as it should be: DONE."""
    assert Verdict.DONE is verdict([RETIRE, WAITS], [(RETIRE, Done.RETIRED), (WAITS, Done.SKIPPED)], [WAITS])


def test_a_route_under_another_address_is_a_failure() -> None:
    """What is delivered under another address waits for a person: FAILED."""
    assert Verdict.FAILED is verdict([ELSEWHERE], [(ELSEWHERE, Done.SKIPPED)], [ELSEWHERE])


def test_what_was_skipped_and_is_still_to_do_is_a_failure() -> None:
    """A change that was not carried out and still is to be: FAILED."""
    assert Verdict.FAILED is verdict([RETIRE], [(RETIRE, Done.SKIPPED)], [RETIRE])


def test_what_others_saw_to_says_so() -> None:
    """A skipped change of an address that is as desired by now says that somebody saw to it; others keep their word."""
    results = [
        Result(A, Action.CREATE, Done.SKIPPED, detail="taken"),
        Result(B, Action.CREATE, Done.SKIPPED, detail="taken"),
        Result(B, Action.RETIRE, Done.RETIRED, detail="own"),
    ]
    told = with_others_work(results, [replace(CREATE, address=B)], ())
    assert ["already done by another run", "taken", "own"] == [one.detail for one in told]


def test_what_another_run_is_about_to_do_says_so() -> None:
    """A skipped change whose create another run has in flight names it; one that was blocked before keeps its word."""
    results = [
        Result(A, Action.CREATE, Done.SKIPPED, detail="taken"),
        Result(A, Action.BLOCKED, Done.SKIPPED, detail="blocked"),
        Result(B, Action.CREATE, Done.SKIPPED, detail="taken"),
        Result(A, Action.CREATE, Done.CREATED, detail="own"),
    ]
    told = with_others_work(results, [CREATE, replace(CREATE, address=B)], {A})
    theirs = "another run is still applying this address; apply again once that run has ended"
    assert [theirs, "blocked", "taken", "own"] == [one.detail for one in told]


@pytest.mark.parametrize(
    ("entries", "left", "expected"),
    [
        ([pending()], [OPEN], True),
        ([pending(WALL - 1)], [OPEN], False),
        (unknown(), [OPEN], False),
        ([pending()], [CREATE], False),
        ([], [replace(OPEN, concerns=("not-here",))], False),
    ],
)
def test_only_a_call_in_flight_may_settle_by_itself(
    entries: list[AnyEntry], left: list[Change], expected: bool
) -> None:
    """It is worth waiting for a pending create whose time is not over, and for nothing else."""
    assert expected is bool(in_flight(journal_of(*entries).record(), left, WALL))


def test_what_another_target_delivers_hinders() -> None:
    """A route that is, or may be, in force under another target of the service keeps it from being sent."""
    record = journal_of(known("a")).record()
    [attempt] = record.attempts.values()
    request = Request((*attempt.codes, "LOA10013"), attempt.url.replace("hooks.example", "HOOKS.example:443"))
    assert f"already delivered, or possibly delivered, by {A} (attempt old-a)" == objection_of_same_service(
        request, [record]
    )


def test_what_another_target_does_not_deliver_does_not_hinder() -> None:
    """Another URL, another code, and what is gone are in nobody's way."""
    gone = journal_of(known("a"), Removed(at=AT, by=BY, attempt="old-a")).record()
    [attempt] = gone.attempts.values()
    live = journal_of(known("a")).record()
    assert None is objection_of_same_service(Request(attempt.codes, attempt.url), [gone])
    assert None is objection_of_same_service(Request(("LOA10013",), attempt.url), [live])
    assert None is objection_of_same_service(Request(attempt.codes, "https://elsewhere.example/"), [live])


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((), Verdict.DONE),
        ((Verdict.FAILED, Verdict.DONE), Verdict.FAILED),
        ((Verdict.UNRESOLVED, Verdict.FAILED), Verdict.UNRESOLVED),
    ],
)
def test_the_worst_verdict_counts(verdicts: tuple[Verdict, ...], expected: Verdict) -> None:
    """An unresolved create outweighs a failure, and a failure outweighs what was done."""
    assert expected is worst(verdicts)
