"""A record with what could not be appended to it: it believes no less than either of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from support.journal_samples import AT, BY, TARGET, begun, imported
from support.journal_strategies import partings

from reconciler.model.address import Address
from reconciler.model.entry import Closed, Imported, Intent, Opened, Settled
from reconciler.model.outcome import Outcome
from reconciler.model.record import MeaninglessEntry, Status
from reconciler.model.unrecorded import counting, followable
from reconciler.state.journal.chain import Journal, extend, link, parse

if TYPE_CHECKING:
    from reconciler.model.entry import AnyEntry

Parting = tuple[list["AnyEntry"], list["AnyEntry"], list["AnyEntry"]]

thorough = settings(max_examples=40, deadline=None)
INTENT = Intent(
    at=AT, by=BY, attempt="a", address=Address.of(TARGET, "offers"), action="create", codes=("ONB10011",),
    url="https://hooks.example/offers", send_by=1.0, settled_by=2.0,
)  # fmt: skip


def journal_of(*entries: AnyEntry) -> Journal:
    """A journal, read."""
    return parse(link(None, 0, entries)[0], TARGET, "state")


def settled(outcome: Outcome) -> Settled:
    """The outcome of the attempt."""
    return Settled(at=AT, by=BY, attempt="a", outcome=outcome)


@thorough
@given(partings())
def test_nothing_is_believed_less(parting: Parting) -> None:
    """What the record believes in force stays so, and what was kept of creates is in doubt until it is recorded."""
    common, ours, kept = parting
    record = journal_of(*common, *ours).record()
    counted, news = counting(record, kept)
    begun_there = {entry.attempt for entry in kept if isinstance(entry, Intent | Imported)}
    told = {entry.attempt for entry in kept if isinstance(entry, Settled)}
    assert {*counted.attempts} >= {*record.attempts}
    assert news <= begun_there | told
    for attempt, earlier in record.attempts.items():
        if earlier.in_force:
            assert earlier == counted.attempts[attempt]
        if counted.attempts[attempt].status is Status.GONE:
            assert earlier.status is Status.GONE
    created = {one.attempt for one in kept if isinstance(one, Settled) and one.outcome is Outcome.CREATED}
    for attempt in created & news:
        assert counted.attempts[attempt].status is not Status.GONE
    assert (record.head, record.entries) == (counted.head, counted.entries)


@thorough
@given(partings())
def test_what_can_follow_does(parting: Parting) -> None:
    """What is told to follow can be appended, and nothing is left out but that a record was copied."""
    common, ours, kept = parting
    journal = journal_of(*common, *ours)
    can, cannot = followable(journal.record(), kept)
    copied = [entry for entry in kept if isinstance(entry, Closed | Opened)]
    assert (len(kept) - len(copied), copied) == (len(can), cannot)
    extend(journal, can)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.CREATED, Status.UNKNOWN),
        (Outcome.UNKNOWN, Status.UNKNOWN),
        (Outcome.REJECTED, None),
        (Outcome.NOT_SENT, None),
    ],
)
def test_a_create_that_only_they_tell_of(outcome: Outcome, status: Status | None) -> None:
    """It is unknown, unless it was certainly not created; and the address is touched."""
    counted, news = counting(journal_of(begun()).record(), [settled(outcome), INTENT])
    found = counted.attempts.get("a")
    assert (status, frozenset("a")) == (None if found is None else found.status, news)
    assert ({} if status is None else {INTENT.address: "unrecorded a"}) == counted.touched


def test_an_intent_alone() -> None:
    """Whether it was sent nobody knows."""
    counted, _ = counting(journal_of(begun()).record(), [INTENT])
    assert Status.UNKNOWN is counted.attempts["a"].status


def test_what_the_record_holds_is_no_news() -> None:
    """The record as it is."""
    record = journal_of(begun(), INTENT, settled(Outcome.CREATED)).record()
    assert (record, frozenset()) == counting(record, [INTENT, settled(Outcome.CREATED), settled(Outcome.UNKNOWN)])


def test_an_intent_that_the_record_holds_is_no_news() -> None:
    """Its call may be in flight, and whoever makes it can still record what becomes of it."""
    record = journal_of(begun(), INTENT).record()
    assert (record, frozenset()) == counting(record, [INTENT])


@pytest.mark.parametrize("outcome", [Outcome.CREATED, Outcome.UNKNOWN])
def test_an_outcome_of_nothing(outcome: Outcome) -> None:
    """What exists and nobody says what it is, stands in the way of everything."""
    with pytest.raises(MeaninglessEntry, match="attempt a was never started"):
        counting(journal_of(begun()).record(), [settled(outcome)])


def test_what_cannot_follow() -> None:
    """The outcome of what was never begun, a beginning of what was, and another record's first entry."""
    record = journal_of(begun(), imported("b")).record()
    wrong: list[AnyEntry] = [begun(), imported("b"), settled(Outcome.CREATED)]
    can, cannot = followable(record, [*wrong, imported("c")])
    assert ([imported("c")], [imported("b"), begun(), settled(Outcome.CREATED)]) == (can, cannot)
