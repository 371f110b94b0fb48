"""Two histories of one record that part, and are joined: nothing that either knows to deliver is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from support.journal_samples import AT, BY, RECORD, TARGET, begun, imported
from support.journal_strategies import partings

from reconciler.errors import RecordClosed, RecordForeign
from reconciler.model.address import Address
from reconciler.model.attempt import place_hash
from reconciler.model.entry import (
    ASKED_FOR,
    AnyEntry,
    Bound,
    Closed,
    Intent,
    Joined,
    Moved,
    Opened,
    Removed,
    Resealed,
    Resolved,
    Restored,
    Retired,
    SecretSet,
    Settled,
)
from reconciler.model.joining import all_entries
from reconciler.model.outcome import Outcome
from reconciler.model.record import IN_FORCE, Status, _Fold, fold
from reconciler.state.heads.remembered import Heads
from reconciler.state.journal.chain import Journal, extend, link, parse
from reconciler.state.journal.histories import missing_of
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reconciler.model.record import Attempt

LATER = "2026-11-21T13:30:00Z"
OFFERS, DEALS, LOANS = (Address.of(TARGET, name) for name in ("offers", "deals", "loans"))

thorough = settings(max_examples=40, deadline=None)

Parting = tuple[list[AnyEntry], list[AnyEntry], list[AnyEntry]]


def journal_of(*entries: AnyEntry) -> Journal:
    """A journal, read."""
    return parse(link(None, 0, entries)[0], None, "state")


def join(ours: Journal, theirs: Journal) -> Journal:
    """`ours` with what `theirs` knows, read anew."""
    new = missing_of(ours, theirs, "theirs.jsonl", LATER, BY)
    if not new:
        return ours
    lines = link(None, 0, [entry for entry, _ in ours.lines])[0]
    return parse(lines + extend(ours, new)[1], TARGET, "state")


def standings(journal: Journal) -> dict[str, tuple[Status, Outcome | None, bool]]:
    """Where each attempt stands."""
    attempts = journal.record().attempts.values()
    return {one.id: (one.status, one.outcome, one.removed) for one in attempts}


def covers(journal: Journal, other: Journal) -> bool:
    """Whether a machine that saw `other` last, whichever of its entries, accepts `journal`."""
    accepted = journal.record().accepted_losses
    return all(journal.contains(head, n) or head in accepted for n, (_, head) in enumerate(other.lines, 1))


def changed_since(common: Journal, attempt: Attempt) -> bool:
    """Whether more is known of an attempt than a common beginning knew."""
    known = common.record().attempts.get(attempt.id)
    return known is None or (known.status, known.at, known.outcome) != (attempt.status, attempt.at, attempt.outcome)


@thorough
@given(partings())
def test_nothing_is_believed_too_little(parting: Parting) -> None:
    """What either believes to deliver, or perhaps to, counts as that, unless the other knows that it is gone."""
    common, ours, theirs = parting
    one, other = journal_of(*common, *ours), journal_of(*common, *theirs)
    both = join(one, other).record().attempts
    sides = one.record().attempts, other.record().attempts
    assert {*sides[0], *sides[1]} == {*both}
    for attempt, joined in both.items():
        known = [side[attempt].status for side in sides if attempt in side]
        if Status.GONE not in known:
            assert joined.status is not Status.GONE
        if joined.status is Status.GONE:
            assert Status.GONE in known
        if joined.outcome is Outcome.CREATED and not joined.removed:
            assert joined.status in IN_FORCE
        assert joined.address in {side[attempt].address for side in sides if attempt in side}


@thorough
@given(partings())
def test_people_who_contradict_each_other_settle_nothing(parting: Parting) -> None:
    """What is live on one side, by something said since they parted, is not gone by what was said on the other."""
    common, ours, theirs = parting
    start, one, other = journal_of(*common), journal_of(*common, *ours), journal_of(*common, *theirs)
    both = join(one, other).record().attempts
    for side in (one, other):
        for attempt in side.record().attempts.values():
            joined = both[attempt.id]
            denied = joined.outcome in (Outcome.REJECTED, Outcome.NOT_SENT)
            if attempt.status is Status.LIVE and _said_since(start, attempt, one, other) and not denied:
                assert joined.status is not Status.GONE


def _said_since(start: Journal, attempt: Attempt, one: Journal, other: Journal) -> bool:
    """Whether both sides say something of an attempt that their common beginning does not."""
    sides = (one.record().attempts.get(attempt.id), other.record().attempts.get(attempt.id))
    return all(side is not None and changed_since(start, side) for side in sides)


@thorough
@given(partings())
def test_joining_is_safe_in_both_directions(parting: Parting) -> None:
    """Both ways come to the same; again it does nothing; each head that was seen of either is in the joined record."""
    common, ours, theirs = parting
    one, other = journal_of(*common, *ours), journal_of(*common, *theirs)
    here, there = join(one, other), join(other, one)
    assert standings(here) == standings(there)
    for joined in (here, there):
        assert joined.head == join(joined, one).head == join(joined, other).head
        assert (covers(joined, one), covers(joined, other)) == (True, True)
    again = join(here, there)
    assert standings(here) == standings(again)
    assert covers(again, there)
    assert again.head == join(again, there).head


@thorough
@given(partings())
def test_every_entry_is_there(parting: Parting) -> None:
    """What was said on either side is still to be read."""
    common, ours, theirs = parting
    joined = list(all_entries(join(journal_of(*common, *ours), journal_of(*common, *theirs)).lines))
    assert all(entry in joined for entry in (*common, *ours, *theirs))


def intent(attempt: str, address: Address = OFFERS) -> Intent:
    """An entry that begins an attempt at a URL of its address's name."""
    return Intent(
        at=AT, by=BY, attempt=attempt, address=address, action="create", codes=("ONB10011",),
        url=f"https://hooks.example/{address.name}", send_by=1.0, settled_by=2.0,
    )  # fmt: skip


def settled(outcome: Outcome, attempt: str = "a") -> Settled:
    """An outcome."""
    return Settled(at=LATER, by=BY, attempt=attempt, outcome=outcome)


YES, NO = (Resolved(at=LATER, by=BY, attempt="a", created=created) for created in (True, False))
RETIRED = Retired(at=LATER, by=BY, attempt="a")
RESTORED = Restored(at=LATER, by=BY, attempt="a")
REMOVED = Removed(at=LATER, by=BY, attempt="a")
SECRET = SecretSet(at=LATER, by=BY, attempt="a", secret="age:c2VjcmV0")
CREATED, REJECTED, NOT_SENT, UNKNOWN = (settled(outcome) for outcome in Outcome)


@pytest.mark.parametrize(
    ("status", "common", "ours", "theirs"),
    [
        # only one of them says something
        (Status.LIVE, [], [], [CREATED]),
        (Status.GONE, [UNKNOWN], [], [NO]),
        (Status.LIVE, [UNKNOWN], [YES], []),
        (Status.GONE, [CREATED], [], [RETIRED, REMOVED]),
        (Status.GONE, [CREATED], [RETIRED, REMOVED], []),
        # a person against the service
        (Status.LIVE, [], [NO], [CREATED]),
        (Status.GONE, [], [YES], [REJECTED]),
        (Status.GONE, [], [NO], [UNKNOWN]),
        # a person against another
        (Status.UNKNOWN, [UNKNOWN], [YES], [NO]),
        (Status.UNKNOWN, [UNKNOWN], [YES, RETIRED], [NO]),
        (Status.UNKNOWN, [UNKNOWN, YES, RETIRED], [REMOVED], [RESTORED]),
        # a removal that one asked for, and the other knows of
        (Status.GONE, [CREATED], [RETIRED], [RETIRED, REMOVED]),
        (Status.AWAITING_REMOVAL, [CREATED, RETIRED], [RESTORED], [REMOVED]),
        (Status.AWAITING_REMOVAL, [], [CREATED], [YES, RETIRED, REMOVED]),
        # neither knows it to be gone: the one that believes more
        (Status.AWAITING_REMOVAL, [CREATED], [RETIRED], [SECRET]),
        (Status.UNKNOWN, [], [UNKNOWN], [SECRET]),
    ],
)
def test_status(status: Status, common: list[AnyEntry], ours: list[AnyEntry], theirs: list[AnyEntry]) -> None:
    """Where an attempt stands that both have something to say of, whichever of them is joined to the other."""
    one, other = (journal_of(begun(), intent("a"), *common, *side) for side in (ours, theirs))
    assert [status, status] == [joined.record().attempts["a"].status for joined in (join(one, other), join(other, one))]


def test_what_is_disputed_is_for_a_person_to_settle() -> None:
    """It is settled as any unknown outcome is, and then it is no longer disputed."""
    one, other = (journal_of(begun(), intent("a"), UNKNOWN, side) for side in (YES, NO))
    joined = join(one, other)
    assert joined.record().attempts["a"].disputed
    for word, status in ((YES, Status.LIVE), (NO, Status.GONE)):
        attempt = extend(joined, [word])[0].record().attempts["a"]
        assert (status, False) == (attempt.status, attempt.disputed)


def test_a_removal_that_is_disputed_is_not_forgotten() -> None:
    """Once the service says that it was created, the removal on either side is in doubt: it awaits removal."""
    sides = [journal_of(begun(), intent("a"), UNKNOWN, YES, *said) for said in ([REMOVED], [SECRET])]
    for joined in (join(*sides), join(*sides[::-1])):
        assert joined.record().attempts["a"].disputed
        assert Status.AWAITING_REMOVAL is extend(joined, [CREATED])[0].record().attempts["a"].status


def test_a_create_on_each_side() -> None:
    """Both are in force, and both addresses are touched where they were."""
    one = journal_of(begun(), intent("a"), CREATED)
    other = journal_of(begun(), intent("b"), settled(Outcome.CREATED, "b"))
    record = join(one, other).record()
    assert {"a": Status.LIVE, "b": Status.LIVE} == {one.id: one.status for one in record.attempts.values()}
    assert record.head == record.touched[OFFERS]


def test_moves() -> None:
    """A move on one side takes along what was there when they parted, and nothing that the other side began since."""
    moved = Moved(at=LATER, by=BY, source=OFFERS, address=DEALS)
    one = journal_of(begun(), intent("a"), CREATED, moved, intent("b"))
    other = journal_of(begun(), intent("a"), CREATED, RETIRED, intent("c"))
    for joined in (join(one, other), join(other, one)):
        attempts = joined.record().attempts
        assert {"a": DEALS, "b": OFFERS, "c": OFFERS} == {name: attempts[name].address for name in sorted(attempts)}
        assert Status.AWAITING_REMOVAL is attempts["a"].status


def test_moves_that_contradict_each_other() -> None:
    """Each side keeps the name that it gave."""
    sides = [
        journal_of(begun(), intent("a"), CREATED, Moved(at=LATER, by=BY, source=OFFERS, address=address))
        for address in (DEALS, LOANS)
    ]
    assert DEALS == join(*sides).record().attempts["a"].address
    assert LOANS == join(*sides[::-1]).record().attempts["a"].address


def test_secrets_of_both() -> None:
    """Secrets that were set on either side are kept."""
    secrets = [SecretSet(at=LATER, by=BY, attempt="a", secret=f"age:{name}") for name in ("one", "two")]
    one, other = (journal_of(begun(), intent("a"), CREATED, secret) for secret in secrets)
    assert ("age:one", "age:two") == join(one, other).record().attempts["a"].secrets


@pytest.mark.parametrize("theirs", [[RETIRED], [RESTORED], [NO], []])
def test_what_either_sealed_once_more(theirs: list[AnyEntry]) -> None:
    """All of it is kept, and it contradicts nothing that the other history says of the attempt."""
    one, two = (
        Resealed(at=LATER, by=BY, attempt="a", original=place_hash("age:0"), sealed=sealed, recipients=(sealed,))
        for sealed in ("age:1", "age:2")
    )
    common: list[AnyEntry] = [begun(), intent("a"), UNKNOWN, YES, RETIRED]
    sides = [journal_of(*common, one), journal_of(*common, two, *theirs)]
    expected = journal_of(*common, *theirs).record().attempts
    for joined in (join(*sides).record(), join(*sides[::-1]).record()):
        assert {"age:1", "age:2"} == {sealing.text for sealing in joined.sealings_of("a", "age:0")}
        assert expected == joined.attempts


def test_an_older_journal_goes_on_as_the_newer_one_did() -> None:
    """What only goes on gets the very lines, so that the heads that were seen of it are in it again."""
    newer = journal_of(begun(), intent("a"), CREATED)
    assert newer.head == join(journal_of(begun()), newer).head
    assert newer.head == join(newer, journal_of(begun())).head


def test_a_history_that_went_on_is_joined_from_where_it_was_left() -> None:
    """What was joined before is not joined a second time, and what was agreed on then stays so."""
    one = journal_of(begun(), intent("a"), CREATED, imported("b"))
    other = journal_of(begun(), intent("a"), CREATED, RETIRED)
    joined = join(join(one, other), journal_of(begun(), intent("a"), CREATED, RETIRED, REMOVED))
    assert Status.GONE is joined.record().attempts["a"].status
    last, _ = joined.lines[-1]
    assert isinstance(last, Joined)
    assert ([REMOVED], other.head) == ([entry for entry, _ in last.lines], last.after)


ON_PURPOSE = replace(RETIRED, reason=ASKED_FOR)


def go_on(journal: Journal, *entries: AnyEntry) -> Journal:
    """A journal with more entries."""
    return extend(journal, entries)[0]


@pytest.mark.parametrize(
    ("ours", "later", "status"),
    [
        # withdrawn by who knew of the request: not to be asked for again, nor to be created a second time
        ([intent("a"), CREATED, ON_PURPOSE], [RESTORED], Status.LIVE),
        # deleted, and recorded as that by who knew that it was created
        ([intent("a"), CREATED], [ON_PURPOSE, REMOVED], Status.GONE),
        ([intent("a"), UNKNOWN, YES], [ON_PURPOSE, REMOVED], Status.GONE),
    ],
)
def test_what_was_said_in_full_knowledge_holds(ours: list[AnyEntry], later: list[AnyEntry], status: Status) -> None:
    """One who joined our history and then said more of it is believed, by us and by who joined ours as well."""
    one, other, third = (journal_of(begun(), *said) for said in (ours, [imported("b")], [imported("c")]))
    informed = go_on(join(other, one), *later)
    sides = [one, go_on(one, imported("d")), join(third, one), join(one, other), join(third, join(one, other))]
    for side in sides:
        for joined in (join(side, informed), join(informed, side)):
            attempt = joined.record().attempts["a"]
            assert (status, False) == (attempt.status, attempt.status is Status.LIVE and attempt.on_purpose)


def test_a_name_given_in_full_knowledge_holds() -> None:
    """Moves by who joined our history are newer than what is said there."""
    moves = [Moved(at=LATER, by=BY, source=source, address=to) for source, to in ((OFFERS, DEALS), (DEALS, LOANS))]
    one = journal_of(begun(), intent("a"), CREATED, moves[0])
    informed = go_on(join(journal_of(begun(), imported("b")), one), moves[1])
    assert LOANS == join(one, informed).record().attempts["a"].address
    assert LOANS == join(informed, one).record().attempts["a"].address


def folds(joins: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many entries are folded to read a record with so many joins."""
    record = journal_of(begun())
    for number in range(joins):
        one, other = (go_on(record, imported(f"{name}{number}")) for name in ("a", "b"))
        record = join(one, other)
    count, add = 0, _Fold.add

    def counted(state: _Fold, entry: AnyEntry, digest: str) -> None:
        nonlocal count
        count += 1
        add(state, entry, digest)

    with monkeypatch.context() as patch:
        patch.setattr(_Fold, "add", counted)
        assert record.record() == fold(record.lines)
    return count


def test_reading_does_not_multiply_with_every_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many joins take at most four times as many steps; if each doubled them, it would be 32 times."""
    assert folds(10, monkeypatch) <= 4 * folds(5, monkeypatch)


def test_the_entry_says_where_it_is_from() -> None:
    """Which file, the other head, and how many entries it had."""
    one, other = (journal_of(begun(), imported(name)) for name in ("a", "b"))
    (entry,) = missing_of(one, other, "theirs.jsonl", LATER, BY)
    assert isinstance(entry, Joined)
    assert ("theirs.jsonl", other.head, 2, one.lines[0][1]) == (entry.source, entry.head, entry.entries, entry.after)


def test_a_machine_that_saw_the_other_side_accepts_it(tmp_path: Path) -> None:
    """And remembers the joined record from then on."""
    one, other = (journal_of(begun(), imported(name)) for name in ("a", "b"))
    heads = Heads(tmp_path)
    heads.remember(other, StoreLocation("there"))
    joined = join(one, other)
    heads.check(joined, heads.seen(), StoreLocation("there"))
    heads.remember(joined, StoreLocation("there"))
    assert joined.head == heads.seen().records[RECORD].head


def bound(base_url: str, account: str) -> Bound:
    """A binding to a service and an account."""
    return Bound(at=AT, by=BY, base_url=base_url, account=account)


@pytest.mark.parametrize(
    ("ours", "theirs", "problem"),
    [
        ([begun()], [begun(record="f" * 32)], "belongs to another record"),
        ([begun()], [begun(), bound("https://other.example", "x")], "belongs to the service at https://other.example"),
        (
            [begun(), bound("https://api.example", "x")],
            [begun(), bound("https://api.example", "y")],
            "belongs to another account",
        ),
    ],
)
def test_what_is_not_one_record_is_not_joined(
    ours: Sequence[AnyEntry], theirs: Sequence[AnyEntry], problem: str
) -> None:
    """Another record, service or account is refused."""
    with pytest.raises(RecordForeign, match=problem):
        missing_of(journal_of(*ours), journal_of(*theirs), "theirs.jsonl", LATER, BY)


def test_a_copy_of_a_record_that_was_closed() -> None:
    """It is not merged: the record continues elsewhere, where what is here belongs. Without news it does no harm."""
    closed = Closed(at=AT, by=BY, source="state", to="git:record", complete=True)
    theirs = journal_of(begun(), imported("a"), closed)
    for ours in (journal_of(begun()), journal_of(begun(), imported("b"))):
        with pytest.raises(RecordClosed, match="it was copied to git:record; use it there, with --state git:record"):
            missing_of(ours, theirs, "theirs.jsonl", LATER, BY)
    opened = journal_of(begun(), imported("a"), closed, Opened(at=AT, by=BY, place="git:record"))
    assert not missing_of(opened, theirs, "theirs.jsonl", LATER, BY)
    assert opened.head == join(journal_of(begun()), opened).head


def test_an_account_that_only_one_side_knows() -> None:
    """It is that of the joined record."""
    one = journal_of(begun(), imported("a"))
    other = journal_of(begun(), bound("https://api.example", "x"))
    assert ["x", "x"] == [joined.record().account for joined in (join(one, other), join(other, one))]
