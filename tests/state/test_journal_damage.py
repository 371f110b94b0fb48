"""A damaged journal is an error that names the line, and never a smaller state."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.journal_samples import TARGET, begun, entries, imported, journal_bytes

from reconciler.errors import RecordDamaged
from reconciler.model.entry import Retired
from reconciler.state.journal.chain import Journal, head_of, link, parse
from reconciler.state.journal.entries import to_fields

LINES = journal_bytes(entries(4)).splitlines(keepends=True)
WHOLE = b"".join(LINES)


def damage(data: bytes) -> tuple[int, str]:
    """The line and the text of the error that `data` gives."""
    with pytest.raises(RecordDamaged) as caught:
        parse(data, TARGET, "state/europe/staging.jsonl")
    path, _, line = str(caught.value.where).rpartition(":")
    assert ("state/europe/staging.jsonl", True) == (path, caught.value.remedy is not None)
    return int(line), caught.value.what


def hashed(number: int, middle: bytes, previous: str) -> bytes:
    """A line that holds together whatever it says."""
    body = b'{"seq":%d,%b,"prev":"%b"' % (number, middle, previous.encode())
    return body + f',"hash":"{sha256(body).hexdigest()}"}}\n'.encode()


@pytest.mark.parametrize("data", [b"", b'{"seq":1', WHOLE[:20], b"\0" * 64])
def test_no_whole_line(data: bytes) -> None:
    """A file without a whole line is damaged: it is neither missing nor empty."""
    assert damage(data) == (1, "the file has no complete line: not a journal")


def test_cut_at_every_byte() -> None:
    """A journal cut anywhere gives its whole lines, or an error where there is none: never anything else."""
    full = parse(WHOLE, TARGET, "state")
    for length in range(len(WHOLE)):
        cut = WHOLE[:length]
        whole_lines = cut.count(b"\n")
        if whole_lines == 0:
            damage(cut)
        else:
            assert full.lines[:whole_lines] == parse(cut, TARGET, "state").lines


def test_every_bit_counts() -> None:
    """Any bit flipped is an error; but for the last newline, without which the last line is a torn one."""
    data = b"".join(LINES[:2])
    flips = (
        data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
        for place in range(len(data) - 1)
        for bit in range(8)
    )
    for flipped in flips:
        with pytest.raises(RecordDamaged):
            parse(flipped, TARGET, "state")
    assert parse(LINES[0], TARGET, "state").lines == parse(data[:-1] + b"\x0b", TARGET, "state").lines


def test_bits_of_a_torn_tail() -> None:
    """A bit flipped in a torn tail changes nothing, unless it makes a newline of something: then it is an error."""
    tail = LINES[2][:-1]
    expected = parse(b"".join(LINES[:2]), TARGET, "state").lines
    for place in range(len(tail)):
        for bit in range(8):
            flipped = tail[:place] + bytes([tail[place] ^ 1 << bit]) + tail[place + 1 :]
            data = b"".join(LINES[:2]) + flipped
            if b"\n" in flipped:
                assert damage(data)[0] == 3
            else:
                assert expected == parse(data, TARGET, "state").lines


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=7))
def test_any_arrangement_of_lines(arranged: list[bytes]) -> None:
    """Of all ways to arrange the lines only a beginning of the journal is a journal."""
    data = b"".join(arranged)
    try:
        read: Journal | None = parse(data, TARGET, "state")
    except RecordDamaged:
        read = None
    assert (arranged == LINES[: len(arranged)] and arranged != []) == (read is not None)


@pytest.mark.parametrize("number", [2, 3])
def test_line_removed(number: int) -> None:
    """The line after a missing one is named."""
    line, what = damage(b"".join(LINES[: number - 1] + LINES[number:]))
    assert (number, True) == (line, f"line {number} does not follow line {number - 1}: a line is missing" in what)


def test_first_line_removed() -> None:
    """Without its first line it does not begin."""
    assert damage(b"".join(LINES[1:])) == (1, "line 1 is not the first entry of a journal: earlier lines are missing")


@pytest.mark.parametrize("number", [2, 3, 4])
def test_line_repeated(number: int) -> None:
    """The repetition is named."""
    line, what = damage(b"".join(LINES[:number] + LINES[number - 1 :]))
    assert (number + 1, True) == (line, "does not follow" in what)


@pytest.mark.parametrize("number", [2, 3])
def test_lines_swapped(number: int) -> None:
    """The first of two swapped lines is named."""
    swapped = [*LINES[: number - 1], LINES[number], LINES[number - 1], *LINES[number + 1 :]]
    line, what = damage(b"".join(swapped))
    assert (number, True) == (line, "reordered" in what)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_line_edited(number: int) -> None:
    """An edited line is named, and said to be edited."""
    edited = [*LINES]
    edited[number - 1] = edited[number - 1].replace(b"operator", b"Operator")
    assert (number, f"line {number} was edited") == damage(b"".join(edited))


def test_line_edited_with_a_new_hash() -> None:
    """A line that was replaced by one with a hash of its own breaks the next."""
    replaced = link(head_of(LINES[0].rstrip()), 1, [imported("elsewhere")])[0]
    line, what = damage(b"".join([LINES[0], replaced, *LINES[2:]]))
    assert (line, "replaced" in what) == (3, True)


def test_two_journals_joined() -> None:
    """A record that begins anew is named where it does."""
    other = journal_bytes(entries(2, record="f" * 32))
    assert damage(WHOLE + other) == (5, "line 5 starts a new record after line 4: two journals were concatenated")


def test_two_histories_merged() -> None:
    """Two histories with a common beginning are never taken for one, whichever way they are merged."""
    other = journal_bytes([*entries(2), imported("b3"), imported("b4")]).splitlines(keepends=True)
    line, what = damage(WHOLE + b"".join(other[2:]))
    assert (line, "two copies were merged" in what) == (5, True)
    assert damage(b"".join([*LINES[:3], other[2], LINES[3], other[3]]))[0] == 4


@pytest.mark.parametrize("marker", [b"<<<<<<< HEAD", b"=======", b">>>>>>> theirs", b"||||||| base"])
def test_conflict_markers(marker: bytes) -> None:
    """A conflict marker is called one."""
    line, what = damage(b"".join([*LINES[:2], marker, b"\n", *LINES[2:]]))
    assert (line, "conflict marker" in what) == (3, True)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (WHOLE.replace(b"\n", b"\r\n"), (1, "CRLF")),
        (LINES[0] + b"\0" * 40 + b"\n" + LINES[1], (2, "NUL bytes")),
        (LINES[0] + b"\n" + LINES[1], (2, "is empty")),
        (b"\n", (1, "is empty")),
        (b"<html>nothing here</html>\n", (1, "is not a journal entry")),
        (b"\xef\xbb\xbf" + WHOLE, (1, "is not a journal entry")),
        (LINES[0] + b'{"seq":2,"at":"\xff"}\n', (2, "was edited")),
    ],
)
def test_symptoms(data: bytes, expected: tuple[int, str]) -> None:
    """What usually happens to files is called by its name."""
    line, what = damage(data)
    assert (expected[0], True) == (line, expected[1] in what)


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        (b'"kind":"teleported"', "line 2 cannot be read: unknown entry kind"),
        (b'"at":"\xff"', "line 2 cannot be read: 'utf-8' codec"),
        (b'"at":', "line 2 cannot be read: Expecting value"),
        (b'"at":' + b"[" * 100_000, "line 2 cannot be read:"),
        (b'"a":1}{"b":2', "line 2 cannot be read: Extra data"),
    ],
)
def test_whole_but_unreadable(middle: bytes, expected: str) -> None:
    """A line that holds together and says nothing this version knows is named with the reason."""
    previous = head_of(LINES[0].rstrip(b"\n"))
    assert previous is not None
    line, what = damage(LINES[0] + hashed(2, middle, previous))
    assert (line, what.startswith(expected)) == (2, True)


def test_entry_that_cannot_follow() -> None:
    """The chain may be whole and the history still be none."""
    retired = Retired(at="2026-11-20T13:30:00Z", by={}, attempt="never")
    data = journal_bytes([begun(), imported("a2"), retired, imported("a4")])
    assert damage(data) == (3, "line 3 is invalid after the lines before it: attempt never was never started")


def test_journal_that_does_not_begin() -> None:
    """The first entry must begin the record."""
    line, what = damage(journal_bytes([imported("a1")]))
    assert (line, "expected `begun` as the first entry" in what) == (1, True)


def test_seq_as_something_else() -> None:
    """A number is its digits, nothing that compares equal."""
    middle = json.dumps(to_fields(begun()), separators=(",", ":")).encode()[1:-1]
    body = b'{"seq":true,%b,"prev":"%b"' % (middle, b"0" * 64)
    line = body + f',"hash":"{sha256(body).hexdigest()}"}}\n'.encode()
    assert damage(line)[0] == 1
