"""The journal's format, and what is read from it."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.journal_samples import OTHER, RECORD, TARGET, begun, entries, imported, journal, journal_bytes
from support.journal_strategies import histories

from reconciler.errors import RecordForeign
from reconciler.model.entry import AnyEntry, Removed
from reconciler.model.record import MeaninglessEntry, fold
from reconciler.state.journal.chain import extend, head_of, link, parse


@settings(max_examples=50, deadline=None)
@given(histories())
def test_round_trip(told: list[AnyEntry]) -> None:
    """Any history comes back as it was, with the head that `link` gave."""
    data, head = link(None, 0, told)
    read = parse(data, TARGET, "state")
    assert (told, head, 0) == ([entry for entry, _ in read.lines], read.head, read.torn)
    assert fold(read.lines) == read.record()


@settings(max_examples=50, deadline=None)
@given(histories(), st.data())
def test_grouping_makes_no_difference(told: list[AnyEntry], data: st.DataObject) -> None:
    """Entries appended one by one, in groups or all at once give the same bytes."""
    cuts = sorted(data.draw(st.sets(st.integers(1, len(told)))) | {len(told)})
    lines, head, done = b"", None, 0
    for cut in cuts:
        more, head = link(head, done, told[done:cut])
        lines, done = lines + more, cut
    assert link(None, 0, told) == (lines, head)


def test_a_line() -> None:
    """A line is one JSON object: seq and when first, prev and hash last, the hash over all before it."""
    lines = journal_bytes(entries(2)).splitlines()
    told = json.loads(lines[1])
    assert list(told) == ["seq", "at", "kind", "attempt", "address", "eventCodes", "webhookUrl", "by", "prev", "hash"]
    assert (2, sha256(lines[1][:-75]).hexdigest(), head_of(lines[0])) == (told["seq"], told["hash"], told["prev"])
    assert json.loads(lines[0])["prev"] == "0" * 64


def test_text_reads_well_and_hides_nothing() -> None:
    """Letters of any language stand as they are; controls, invisible characters and lone surrogates are escaped."""
    entry = Removed(at="Zürich 東京", by={"user": "\n\0\x9b\u2028\u202e\udcff"}, attempt="a1")
    data, _ = link("0" * 64, 1, [entry])
    assert "Zürich 東京".encode() in data
    assert rb"\n\u0000\u009b\u2028\u202e\udcff" in data
    whole = journal_bytes([begun(), imported("a1")])
    head = head_of(whole.splitlines()[-1])
    read = parse(whole + link(head, 2, [entry])[0], TARGET, "state")
    assert entry == read.lines[-1][0]


def test_numbers_that_json_lacks() -> None:
    """No line is ever written that is no JSON."""
    with pytest.raises(ValueError, match="JSON"):
        link(None, 0, [replace(begun(), by={"user": float("nan")})])


def test_torn_tail() -> None:
    """What follows the last newline is left out, and counted."""
    read = parse(journal_bytes(entries(2)) + b'{"seq":3,"at', TARGET, "state")
    assert (len(read.lines), read.torn) == (2, 12)


def test_record_of_another_target() -> None:
    """A journal in another's place is refused, and says whose it is."""
    with pytest.raises(RecordForeign, match=r"state/x.jsonl: .*europe/staging, not usa/production"):
        parse(journal_bytes(entries(2)), OTHER, "state/x.jsonl")


def test_contains() -> None:
    """A head is contained at its own number only."""
    read = journal(3)
    heads = [digest for _, digest in read.lines]
    assert [read.contains(head, number) for number, head in enumerate(heads, 1)] == [True, True, True]
    assert not any(read.contains(heads[2], number) for number in (-1, 0, 1, 2, 4))
    assert (heads[2], RECORD) == (read.head, read.record().id)


def test_what_entries_have_in_common_is_in_memory_once() -> None:
    """Who and when are the same in many entries in a row, and would be most of what a long journal takes."""
    (first, _), (second, _), (third, _) = parse(journal_bytes(entries(3)), TARGET, "state").lines
    assert first.by is second.by is third.by
    assert first.at is second.at is third.at


def test_extend() -> None:
    """A journal grown in memory is the one read back from its bytes."""
    extended, lines = extend(journal(2), [imported("a3"), imported("a4")])
    assert parse(journal_bytes(entries(2)) + lines, TARGET, "state") == extended == journal(4)


def test_extend_with_what_cannot_follow() -> None:
    """Entries that no reader would accept are refused before they are written."""
    with pytest.raises(MeaninglessEntry, match="is started twice"):
        extend(journal(2), [imported("a2")])


def test_head_of_edited_line() -> None:
    """A line that does not hold its own hash has none; nor has a short or an empty one."""
    line = journal_bytes(entries(1)).rstrip(b"\n")
    expected = [line[-66:-2].decode(), None, None, None, None]
    assert expected == [head_of(one) for one in (line, line.replace(b"europe", b"eurOpe"), line[:-1], line[:9], b"")]
