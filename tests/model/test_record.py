"""What a journal's entries come to: where each attempt stands, whatever is told of it and in whatever order."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.journal_strategies import about_an_attempt, histories
from support.value_scene import AT, BY, EUROPE, SEND_BY, SETTLED_BY, Scene, address_of, hooks

from reconciler.model.address import Address
from reconciler.model.attempt import place_hash
from reconciler.model.entry import (
    AnyEntry,
    Begun,
    Bound,
    Closed,
    Imported,
    Intent,
    Joined,
    Moved,
    Observed,
    Opened,
    Removed,
    Resealed,
    Resolved,
    Restored,
    Retired,
    RollbackAccepted,
    SecretSet,
    Settled,
    who,
)
from reconciler.model.outcome import Outcome
from reconciler.model.record import Attempt, MeaninglessEntry, Record, Status, fold
from reconciler.model.result import Done

if TYPE_CHECKING:
    from collections.abc import Sequence

LATER = "2026-11-21T13:30:00Z"
OTHER = {"user": "grace"}
OFFERS = address_of("offers")

quick = settings(max_examples=30, deadline=None)

BEGUN = Begun(at=AT, by=BY, record="c0ffee", target=EUROPE, base_url="https://api.service.example")
INTENT = Intent(
    at=AT, by=BY, attempt="a1", address=OFFERS, action="create", codes=("ONB10011",), url=hooks("offers"),
    send_by=SEND_BY, settled_by=SETTLED_BY,
)  # fmt: skip
IMPORTED = Imported(at=AT, by=BY, attempt="a1", address=OFFERS, codes=("ONB10011",), url=hooks("offers"))


CLOSED = Closed(at=AT, by=BY, source="state", to="git:record")
OPENED = Opened(at=AT, by=BY, place="git:record")


def numbered(entries: Sequence[AnyEntry]) -> list[tuple[AnyEntry, str]]:
    """Entries with hashes that follow from them."""
    digest, lines = "", []
    for entry in entries:
        digest = hashlib.sha256(f"{digest}{entry!r}".encode()).hexdigest()
        lines.append((entry, digest))
    return lines


def record_of(*entries: AnyEntry) -> Record:
    """The record of a journal that begins as they all do."""
    return fold(numbered([BEGUN, *entries]))


def attempt_of(*entries: AnyEntry) -> Attempt:
    """The one attempt that entries come to."""
    (attempt,) = record_of(*entries).attempts.values()
    return attempt


def settled(outcome: Outcome, detail: str | None = None) -> Settled:
    """A later entry that an outcome is known."""
    return Settled(at=LATER, by=OTHER, attempt="a1", outcome=outcome, detail=detail)


CREATED, REJECTED, NOT_SENT, UNKNOWN = (settled(outcome) for outcome in Outcome)
YES, NO = (Resolved(at=LATER, by=OTHER, attempt="a1", created=created) for created in (True, False))
RETIRED = Retired(at=LATER, by=OTHER, attempt="a1")
RESTORED = Restored(at=LATER, by=OTHER, attempt="a1")
REMOVED = Removed(at=LATER, by=OTHER, attempt="a1")


@pytest.mark.parametrize(
    ("status", "entries"),
    [
        (Status.PENDING, [INTENT]),
        (Status.LIVE, [INTENT, CREATED]),
        (Status.GONE, [INTENT, REJECTED]),
        (Status.GONE, [INTENT, NOT_SENT]),
        (Status.UNKNOWN, [INTENT, UNKNOWN]),
        (Status.LIVE, [IMPORTED]),
        # a person's word settles what is open, and may be taken back
        (Status.LIVE, [INTENT, UNKNOWN, YES]),
        (Status.GONE, [INTENT, UNKNOWN, NO]),
        (Status.GONE, [INTENT, NO]),
        (Status.LIVE, [INTENT, UNKNOWN, NO, YES]),
        # the service's own word is better than a person's, whichever came first
        (Status.LIVE, [INTENT, CREATED, NO]),
        (Status.GONE, [INTENT, REJECTED, YES]),
        (Status.LIVE, [INTENT, NO, CREATED]),
        (Status.GONE, [INTENT, UNKNOWN, YES, REJECTED]),
        # "created" is never unheard, and "unknown" tells nothing new
        (Status.LIVE, [INTENT, REJECTED, CREATED]),
        (Status.LIVE, [INTENT, CREATED, REJECTED]),
        (Status.LIVE, [INTENT, CREATED, UNKNOWN]),
        (Status.GONE, [INTENT, REJECTED, UNKNOWN]),
        (Status.LIVE, [INTENT, YES, UNKNOWN]),
        # removal
        (Status.AWAITING_REMOVAL, [INTENT, CREATED, RETIRED]),
        (Status.LIVE, [INTENT, CREATED, RETIRED, RESTORED]),
        (Status.GONE, [INTENT, CREATED, RETIRED, REMOVED]),
        (Status.GONE, [INTENT, CREATED, REMOVED, RESTORED]),
        (Status.GONE, [INTENT, CREATED, REMOVED, RETIRED]),
        (Status.UNKNOWN, [INTENT, UNKNOWN, RETIRED]),
        (Status.UNKNOWN, [INTENT, UNKNOWN, RESTORED]),
        (Status.AWAITING_REMOVAL, [INTENT, UNKNOWN, YES, RETIRED, CREATED]),
        # a late "created" after a removal: the removal cannot be trusted
        (Status.AWAITING_REMOVAL, [INTENT, UNKNOWN, YES, REMOVED, CREATED]),
        (Status.GONE, [INTENT, UNKNOWN, YES, REMOVED, UNKNOWN]),
    ],
)
def test_status(status: Status, entries: list[AnyEntry]) -> None:
    """Where an attempt stands follows from what was told of it."""
    assert status is attempt_of(*entries).status


def test_intent() -> None:
    """An attempt begins as its intent says."""
    assert Attempt(
        "a1", OFFERS, ("ONB10011",), hooks("offers"), Status.PENDING, AT, BY, AT, BY, SEND_BY, SETTLED_BY
    ) == attempt_of(INTENT)


def test_settled() -> None:
    """An outcome brings its fields, where the response is, and who told it when; the beginning stays."""
    told = Settled(
        at=LATER, by=OTHER, attempt="a1", outcome=Outcome.CREATED, detail="as sent", fields={"id": "7"}, response="file"
    )
    attempt = attempt_of(INTENT, told)
    assert (Outcome.CREATED, "as sent", {"id": "7"}, "file", LATER, OTHER, AT, BY) == (
        attempt.outcome, attempt.detail, attempt.fields, attempt.response,
        attempt.at, attempt.by, attempt.since, attempt.started_by,
    )  # fmt: skip


def test_settled_again() -> None:
    """What is told after `created` takes nothing of it away: neither its fields nor its detail."""
    told = Settled(
        at=AT, by=BY, attempt="a1", outcome=Outcome.CREATED, detail="as sent", fields={"id": "7"}, response="file"
    )
    attempt = attempt_of(INTENT, told, settled(Outcome.UNKNOWN, "no answer in time"))
    assert (Outcome.CREATED, "as sent", {"id": "7"}, "file", LATER) == (
        attempt.outcome, attempt.detail, attempt.fields, attempt.response, attempt.at,
    )  # fmt: skip


def test_resolved() -> None:
    """A person's word is kept, with its note."""
    told = Resolved(at=LATER, by=OTHER, attempt="a1", created=True, note="seen in the portal")
    attempt = attempt_of(INTENT, UNKNOWN, told)
    assert (True, "seen in the portal", Outcome.UNKNOWN) == (attempt.resolved_created, attempt.detail, attempt.outcome)


def test_secrets() -> None:
    """Secrets gather, the latest last."""
    secrets = [SecretSet(at=LATER, by=OTHER, attempt="a1", secret=secret) for secret in ("age:one", "age:two")]
    attempt = attempt_of(INTENT, CREATED, *secrets)
    assert (("age:one", "age:two"), Status.LIVE) == (attempt.secrets, attempt.status)


def test_resealed() -> None:
    """What was sealed once more gathers, and changes nothing else: no plan that was approved goes stale."""
    again = [
        Resealed(at=LATER, by=OTHER, attempt="a1", original=place_hash("age:one"), sealed=sealed, recipients=(sealed,))
        for sealed in ("age:two", "age:three")
    ]
    before, record = record_of(INTENT, CREATED), record_of(INTENT, CREATED, *again)
    texts = [sealing.text for sealing in record.sealings_of("a1", "age:one")]
    assert (["age:two", "age:three"], ()) == (texts, record.sealings_of("a1", "age:two"))
    assert (before.attempts, before.touched) == (record.attempts, record.touched)


def test_moved() -> None:
    """A move takes every attempt of an address along, gone ones too, and touches both addresses."""
    moved = Moved(at=LATER, by=OTHER, source=OFFERS, address=address_of("deals"))
    record = record_of(INTENT, REJECTED, moved)
    assert ["europe/staging/deals"] == [one.address for one in record.attempts.values()]
    assert record.head == record.touched[OFFERS] == record.touched[address_of("deals")]


def test_moved_leaves_others() -> None:
    """A move leaves other addresses where they are, and what was heard of them."""
    moved = Moved(at=LATER, by=OTHER, source=address_of("loans"), address=address_of("deals"))
    observed = Observed(at=AT, by=BY, address=OFFERS, url=hooks("offers"), received={"ONB10011": AT})
    record = record_of(INTENT, observed, moved)
    assert OFFERS == record.attempts["a1"].address
    assert {(OFFERS, "ONB10011", hooks("offers")): AT} == record.received


def test_beginning() -> None:
    """The first entry says whose record it is."""
    record = record_of()
    assert ("c0ffee", EUROPE, "https://api.service.example", None, 1) == (
        record.id, record.target, record.base_url, record.account, record.entries,
    )  # fmt: skip


def test_bound() -> None:
    """Binding sets service and account; without an account, the one before stays."""
    first = Bound(at=AT, by=BY, base_url="https://api.service.example", account="hash")
    second = Bound(at=AT, by=BY, base_url="https://api.moved.example")
    record = record_of(first, second)
    assert ("https://api.moved.example", "hash") == (record.base_url, record.account)


def test_accepted_losses() -> None:
    """Heads whose loss was accepted are known."""
    lost = RollbackAccepted(at=AT, by=BY, lost_head="beef", lost_entries=3)
    assert frozenset({"beef"}) == record_of(lost).accepted_losses


def test_at_address() -> None:
    """What is gone is at no address; the rest is in the order in which it began."""
    scene = Scene()
    first, gone, second = (scene.hold("offers", "ONB10011", hooks(path)) for path in "abc")
    scene.remove(gone)
    other = scene.hold("loans", "LOA10013", hooks("d"))
    record = scene.records[EUROPE]
    assert [first, second] == [one.id for one in record.at_address(OFFERS)]
    assert {OFFERS: [first, second], address_of("loans"): [other]} == {
        address: [one.id for one in attempts] for address, attempts in record.by_address().items()
    }


def test_routes() -> None:
    """Routes hold URLs in the form they compare in."""
    scene = Scene()
    attempt = scene.attempt(scene.begin("offers", "ONB10011 LOA10013", "https://HOOKS.example:443/a"))
    url = "https://hooks.example/a"
    assert {("ONB10011", url), ("LOA10013", url)} == attempt.routes


JOINED_CLOSED = Joined(
    at=AT, by=BY, source="theirs.jsonl", head="c", entries=2, after=numbered([BEGUN])[0][1], lines=((CLOSED, "c"),)
)


def test_closed_until_it_is_opened() -> None:
    """A record that was closed, for whichever copy, is closed until it is opened; nothing else about it changes."""
    before = fold(numbered([BEGUN, INTENT]))
    again = Closed(at=LATER, by=OTHER, source="state", to="git:other", complete=True)
    assert (None, CLOSED) == (before.closed, fold(numbered([BEGUN, INTENT, CLOSED])).closed)
    closed = fold(numbered([BEGUN, INTENT, CLOSED, again]))
    opened = fold(numbered([BEGUN, INTENT, CLOSED, again, OPENED]))
    assert (again, None) == (closed.closed, opened.closed)
    assert (before.attempts, before.touched) == (opened.attempts, opened.touched)


@pytest.mark.parametrize(
    ("entries", "number", "what"),
    [
        ([INTENT], 1, "expected `begun` as the first entry and only there"),
        ([BEGUN, BEGUN], 2, "expected `begun` as the first entry and only there"),
        ([BEGUN, INTENT, IMPORTED], 3, "attempt a1 is started twice"),
        ([BEGUN, CREATED], 2, "attempt a1 was never started"),
        ([BEGUN, CLOSED, INTENT], 3, "the record was closed before it"),
        ([BEGUN, INTENT, CLOSED, CREATED], 4, "the record was closed before it"),
        ([BEGUN, OPENED], 2, "the record is opened without having been closed"),
        ([BEGUN, CLOSED, OPENED, OPENED], 4, "the record is opened without having been closed"),
        ([BEGUN, JOINED_CLOSED], 2, "the merged copy was closed: the record continues elsewhere"),
    ],
)
def test_meaningless(entries: list[AnyEntry], number: int, what: str) -> None:
    """An entry that cannot follow the ones before it is an error that says which it is."""
    with pytest.raises(MeaninglessEntry, match=what) as caught:
        fold(numbered(entries))
    assert number == caught.value.args[1]


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ({"user": "deployer", "host": "build-7"}, "deployer on build-7"),
        ({"actor": "deployer", "user": "runner", "url": "https://ci.example/1"}, "deployer (https://ci.example/1)"),
        (
            {"actor": "deployer", "triggering_actor": "lead", "url": "https://ci.example/1"},
            "lead, rerunning a run of deployer (https://ci.example/1)",
        ),
        ({}, "?"),
    ],
)
def test_who(by: dict[str, str], words: str) -> None:
    """Who did it is told in a few words: the person before the machine's user."""
    assert words == who(by)


@quick
@given(histories(max_size=10))
def test_prefixes(entries: list[AnyEntry]) -> None:
    """Told piece by piece or in one go: no attempt ever disappears, and each keeps what it began with."""
    lines = numbered(entries)
    records = [fold(lines[:length]) for length in range(1, len(lines) + 1)]
    for number, (before, after) in enumerate(pairwise(records), 1):
        assert [*before.attempts] == [*after.attempts][: len(before.attempts)]
        assert (before.id, before.target, number) == (after.id, after.target, before.entries)
        assert before.touched.keys() <= after.touched.keys()
        for attempt in before.attempts.values():
            assert _origin(attempt) == _origin(after.attempts[attempt.id])
    assert records[-1].head == lines[-1][1]


def _origin(attempt: Attempt) -> object:
    return attempt.codes, attempt.url, attempt.since, attempt.started_by, attempt.send_by, attempt.settled_by


@quick
@given(histories(max_size=10))
def test_one_step_at_a_time(entries: list[AnyEntry]) -> None:
    """An entry changes the attempts it is about, and the hashes of their addresses, and nothing else."""
    lines = numbered(entries)
    records = [fold(lines[:length]) for length in range(1, len(lines) + 1)]
    for (before, after), (entry, digest) in zip(pairwise(records), lines[1:], strict=True):
        changed = {one for one in after.attempts if after.attempts[one] != before.attempts.get(one)}
        assert changed <= _concerned(entry, before)
        touched = {address for address in after.touched if after.touched[address] != before.touched.get(address)}
        assert {after.attempts[one].address for one in changed} <= touched
        assert {digest} >= {after.touched[address] for address in touched}


def _concerned(entry: AnyEntry, before: Record) -> set[str]:
    if isinstance(entry, Moved):
        return {one.id for one in before.attempts.values() if one.address == entry.source}
    attempt = getattr(entry, "attempt", None)
    return set() if attempt is None else {attempt}


@quick
@given(st.lists(about_an_attempt(("a1",)), max_size=12))
def test_created_is_never_unheard(entries: list[AnyEntry]) -> None:
    """Once `created` was heard, only a removal makes an attempt gone, and its outcome stays."""
    attempt = attempt_of(INTENT, CREATED, *entries)
    assert Outcome.CREATED is attempt.outcome
    assert attempt.in_force or any(isinstance(entry, Removed) for entry in entries)


@quick
@given(st.lists(about_an_attempt(("a1",)), max_size=12))
def test_late_created(entries: list[AnyEntry]) -> None:
    """However late `created` is heard: it is in force, and awaits removal if it was removed."""
    attempt = attempt_of(INTENT, *entries, CREATED)
    assert attempt.in_force
    if any(isinstance(entry, Removed) for entry in entries):
        assert Status.AWAITING_REMOVAL is attempt.status


@quick
@given(st.lists(about_an_attempt(("a1",)), max_size=12))
def test_never_pending_again(entries: list[AnyEntry]) -> None:
    """Once an outcome or a person's word was heard, an attempt is never in flight again."""
    attempt = attempt_of(INTENT, *entries)
    heard = any(isinstance(entry, Settled | Resolved | Removed) for entry in entries)
    assert heard == (attempt.status is not Status.PENDING)


def test_done() -> None:
    """Each outcome of an attempt is an outcome of a change."""
    assert [outcome.value for outcome in Outcome] == [Done.of(outcome).value for outcome in Outcome]


def test_address() -> None:
    """An address has a target, which has a region and an environment; variables are named after it."""
    address = Address("europe-west/pre-production/offers")
    assert ("offers", "europe-west", "pre-production", "RECONCILER_EUROPE_WEST_PRE_PRODUCTION_") == (
        address.name, address.target.region, address.target.environment, address.target.variable_prefix,
    )  # fmt: skip
