"""The history of a record as text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from support.journal_strategies import histories
from support.value_scene import AT, BY, EUROPE, address_of, hooks

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
)
from reconciler.model.outcome import Outcome
from reconciler.model.selection import Selection
from reconciler.reports.history import history_text
from reconciler.reports.line import Line, Tone

OFFERS, DEALS = address_of("offers"), address_of("deals")

BEGUN = Begun(at=AT, by=BY, record="c0ffee", target=EUROPE, base_url="https://api.service.example")
INTENT = Intent(
    at=AT, by=BY, attempt="a1", address=OFFERS, action="create", codes=("LOA10013", "ONB10011"), url=hooks("offers"),
    send_by=0.0, settled_by=0.0,
)  # fmt: skip
IMPORTED = Imported(at=AT, by=BY, attempt="a2", address=DEALS, codes=("ONB10001", "ONB10002"), url=hooks("deals"))


REPLACEMENT = replace(INTENT, attempt="a3", action="replace", url=hooks("new"))
CREATED = Settled(at=AT, by=BY, attempt="a3", outcome=Outcome.CREATED, status=201)
RETIRED = Retired(at=AT, by=BY, attempt="a1", reason=f"replaced by {OFFERS}")


def told(entry: AnyEntry) -> str:
    """What the last line says of an entry, behind when and by whom."""
    before = [] if isinstance(entry, Begun) else [BEGUN] if entry == INTENT else [BEGUN, INTENT]
    entries: list[AnyEntry] = [*before, entry]
    line = history_text(EUROPE, entries, None)[-1].text
    return line.removeprefix(f"  {AT}  deployer on build-7  ")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (BEGUN, "record c0ffee initialized for the service at https://api.service.example"),
        (Bound(at=AT, by=BY, base_url="https://api.example"), "bound to the service at https://api.example"),
        (
            Bound(at=AT, by=BY, base_url="https://api.example", account="hash"),
            "bound to the service at https://api.example and an account",
        ),
        (INTENT, f"{OFFERS}  create started: LOA10013, ONB10011 to {hooks('offers')} (attempt a1)"),
        (
            Settled(at=AT, by=BY, attempt="a1", outcome=Outcome.CREATED, status=201),
            f"{OFFERS}  created (201) (attempt a1)",
        ),
        (
            Settled(at=AT, by=BY, attempt="a1", outcome=Outcome.UNKNOWN, detail="no answer in time"),
            f"{OFFERS}  unknown: no answer in time (attempt a1)",
        ),
        (
            Resolved(at=AT, by=BY, attempt="a1", created=True, note="seen"),
            f"{OFFERS}  resolved manually as created: seen (attempt a1)",
        ),
        (
            Resolved(at=AT, by=BY, attempt="a1", created=False, forced=True),
            f"{OFFERS}  resolved manually as not created, forced (attempt a1)",
        ),
        (IMPORTED, f"{DEALS}  imported: ONB10001, ONB10002 to {hooks('deals')} (attempt a2)"),
        (
            Retired(at=AT, by=BY, attempt="a1", reason="no longer wanted"),
            f"{OFFERS}  removal requested: no longer wanted (attempt a1)",
        ),
        (Retired(at=AT, by=BY, attempt="a1"), f"{OFFERS}  removal requested (attempt a1)"),
        (Restored(at=AT, by=BY, attempt="a1"), f"{OFFERS}  removal cancelled (attempt a1)"),
        (Removed(at=AT, by=BY, attempt="a1"), f"{OFFERS}  removed (attempt a1)"),
        (Removed(at=AT, by=BY, attempt="a1", forced=True), f"{OFFERS}  removed, forced (attempt a1)"),
        (Moved(at=AT, by=BY, source=OFFERS, address=DEALS), f"{OFFERS}  renamed to {DEALS}"),
        (SecretSet(at=AT, by=BY, attempt="a1", secret="age:c2VjcmV0"), f"{OFFERS}  secret set (attempt a1)"),
        (
            Resealed(at=AT, by=BY, attempt="a1", original="0a", sealed="age:c2VjcmV0", recipients=("age1a", "age1b")),
            f"{OFFERS}  response or secret encrypted again, to 2 recipients (attempt a1)",
        ),
        (
            RollbackAccepted(at=AT, by=BY, lost_head="beef", lost_entries=12),
            "accepted the loss of entries up to number 12 (head beef)",
        ),
        (
            RollbackAccepted(at=AT, by=BY, lost_head="beef", lost_entries=12, forced=True),
            "accepted the loss of entries up to number 12 (head beef), forced",
        ),
        (
            Bound(at=AT, by=BY, base_url="https://api.example", account="hash", forced=True),
            "bound to the service at https://api.example and an account, forced",
        ),
        (
            replace(BEGUN, forced=True),
            "record c0ffee initialized for the service at https://api.service.example, forced",
        ),
        (
            Observed(at=AT, by=BY, address=DEALS, url=hooks("deals"), received={"ONB10002": AT, "ONB10001": AT}),
            f"{DEALS}  notifications received at {hooks('deals')}: ONB10001, ONB10002",
        ),
        (
            Joined(at=AT, by=BY, source="their.jsonl", head="beef", entries=7, after="cafe", lines=((BEGUN, "beef"),)),
            "merged 1 entry (above, up to head beef) from their.jsonl",
        ),
        (
            Joined(at=AT, by=BY, source="x", head="b", entries=7, after="c", lines=((BEGUN, "a"), (INTENT, "b"))),
            "merged 2 entries (above, up to head b) from x",
        ),
        (Closed(at=AT, by=BY, source="state", to="git:record"), "closed, to be copied to git:record"),
        (Closed(at=AT, by=BY, source="a", to="git:b", forced=True), "closed, to be copied to git:b, forced"),
        (Closed(at=AT, by=BY, source="a", to="git:b", complete=True), "copied to git:b"),
        (Opened(at=AT, by=BY, place="git:record"), "opened at git:record"),
        (Opened(at=AT, by=BY, place="state", forced=True), "opened at state, forced"),
    ],
)
def test_kinds(entry: AnyEntry, words: str) -> None:
    """Each kind of entry says what happened, to which address."""
    assert words == told(entry)


def test_heading() -> None:
    """The target stands above."""
    assert [Line("europe/staging", Tone.HEADING)] == history_text(EUROPE, [], None)


def test_attempt_that_is_not_in_the_record() -> None:
    """An entry about an attempt that the record does not have is shown without an address, and is about none."""
    removed = Removed(at=AT, by=BY, attempt="a9")
    assert "removed (attempt a9)" == told(removed)
    assert 1 == len(history_text(EUROPE, [BEGUN, INTENT, removed], OFFERS)[1:])


def test_only() -> None:
    """The history of one address: what was about it, under whichever name it had then."""
    moved = Moved(at=AT, by=BY, source=OFFERS, address=address_of("renamed"))
    removed = Removed(at=AT, by=BY, attempt="a1")
    entries: list[AnyEntry] = [BEGUN, INTENT, IMPORTED, moved, removed]
    assert 2 == len(history_text(EUROPE, entries, OFFERS)[1:])
    assert 3 == len(history_text(EUROPE, entries, address_of("renamed"))[1:])
    again = [*entries, Intent(at=AT, by=BY, attempt="a7", address=OFFERS, action="create", codes=(), url="", send_by=0,
                              settled_by=0)]  # fmt: skip
    assert 3 == len(history_text(EUROPE, again, OFFERS)[1:])
    assert 3 == len(history_text(EUROPE, again, address_of("renamed"))[1:]), "what has the old name since is another"
    assert 3 == len(history_text(EUROPE, entries, Selection(("*/*/ren*",)))[1:])
    assert 1 == len(history_text(EUROPE, entries, DEALS)[1:])
    other = Removed(at=AT, by=BY, attempt="a2")
    assert 2 == len(history_text(EUROPE, [*entries, other], DEALS)[1:])


@settings(max_examples=30, deadline=None)
@given(histories(max_size=8))
def test_every_entry(entries: list[AnyEntry]) -> None:
    """Every entry has its line, whatever it holds; each is one line and begins with when it was."""
    lines = history_text(EUROPE, entries, None)[1:]
    assert len(entries) == len(lines)
    assert all(line.text.isprintable() and line.text.startswith("  20") for line in lines)


def test_what_replaced_an_attempt() -> None:
    """It is named by its attempt and its URL: the address is that of both."""
    lines = [line.text for line in history_text(EUROPE, [BEGUN, INTENT, REPLACEMENT, CREATED, RETIRED], OFFERS)]
    assert lines[-1].endswith(f"  removal requested: replaced by attempt a3 at {hooks('new')} (attempt a1)")
    assert "replaced by europe" not in str(lines)


def test_a_replacement_that_is_not_known() -> None:
    """A journal that tells of no such create keeps its own words; a later request is not taken for a replacement."""
    lines = [line.text for line in history_text(EUROPE, [BEGUN, INTENT, RETIRED], None)]
    assert lines[-1].endswith(f"removal requested: replaced by {OFFERS} (attempt a1)")
    asked = replace(RETIRED, reason="asked for")
    lines = [line.text for line in history_text(EUROPE, [BEGUN, INTENT, REPLACEMENT, CREATED, RETIRED, asked], None)]
    assert lines[-1].endswith("removal requested: asked for (attempt a1)")
