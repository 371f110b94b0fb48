"""The record as bytes: a damaged one is an error that names the line, and never a smaller record."""

from __future__ import annotations

import json
from hashlib import sha256
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.records import AT, begun, sample
from support.refusals import raised

from reconciler.errors import RecordDamaged
from reconciler.record.chain import START, complete, head_of, is_record, last_head, link, parse
from reconciler.record.facts import AnyFact, Begun, Exists, LossOpened, Received, RemovalRequested, What

WHOLE, HEADS = sample(4)
LINES = WHOLE.splitlines(keepends=True)
NO_DIGITS = str.maketrans("", "", "0123456789")


def damage(data: bytes) -> tuple[str, int]:
    """Return the name of the message that `data` gives, and the line it names."""
    message = raised(RecordDamaged, parse, data, "state.jsonl")
    place, _, line = message.where.rpartition(":")
    assert ("state.jsonl", True) == (place, bool(message.steps))
    return message.name, int(line)


def hashed(number: int, middle: bytes, previous: str) -> bytes:
    """Return a line that holds together whatever it says."""
    body = b'{"seq":%d,%b,"prev":"%b"' % (number, middle, previous.encode())
    return body + f',"hash":"{sha256(body).hexdigest()}"}}\n'.encode()


def test_line() -> None:
    """A line is JSON: a number, a fact, the hash before it and its own."""
    first, second = (json.loads(line) for line in LINES[:2])
    assert (1, START, HEADS[0], "begun") == (first["seq"], first["prev"], first["hash"], first["kind"])
    assert (2, HEADS[0], HEADS[1]) == (second["seq"], second["prev"], second["hash"])
    assert sha256(LINES[0].partition(b',"hash":')[0]).hexdigest() == first["hash"]


@pytest.mark.parametrize("data", [b"", b'{"seq":1', WHOLE[:20], b"\0" * 64])
def test_no_complete_line(data: bytes) -> None:
    """A file without a complete line is damaged: it is neither missing nor empty."""
    assert ("record-damaged", 1) == damage(data)


def test_cut_at_every_byte() -> None:
    """A record cut anywhere gives its complete lines, or an error where there is none."""
    full = parse(WHOLE, "state.jsonl")
    for length in range(len(WHOLE)):
        count = WHOLE[:length].count(b"\n")
        if count:
            assert full[:count] == parse(WHOLE[:length], "state.jsonl")
        else:
            damage(WHOLE[:length])


def test_every_bit_counts() -> None:
    """Any bit flipped is an error; but for the last newline, without which the last line is a torn one."""
    data = b"".join(LINES[:2])
    for place in range(len(data) - 1):
        for bit in range(8):
            flipped = data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
            with pytest.raises(RecordDamaged):
                parse(flipped, "state.jsonl")
    assert parse(LINES[0], "state.jsonl") == parse(data[:-1] + b"\x0b", "state.jsonl")


@pytest.mark.parametrize(
    ("order", "line"), [((1, 2, 3), 1), ((0, 2, 3), 2), ((0, 1, 1), 3), ((0, 2, 1), 2), ((0, 1, 3, 2), 3)]
)
def test_order(order: tuple[int, ...], line: int) -> None:
    """A line that is missing, repeated or out of order is named."""
    assert ("record-damaged", line) == damage(b"".join(LINES[number] for number in order))


def test_strange_line() -> None:
    """Conflict markers, NUL bytes, CRLF, an edit, a gap and whatever else is no line are named, each in its own way."""
    marks = (b"<<<<<<< HEAD\n", b"||||||| base\n", b"=======\n", b">>>>>>> b\n")
    edits = (LINES[1].replace(b"line 2", b"line 3"), b'{"seq":2}\n')
    crlf, none = LINES[1][:-1] + b"\r\n", (b"{}\n", b"\n", b"\xff\n")
    kinds: tuple[tuple[bytes, ...], ...] = (marks, (b"a\0\0\n", b"\0\n"), (crlf,), edits, (LINES[2],), none)
    told = [{raised(RecordDamaged, parse, LINES[0] + line, "").what for line in lines} for lines in kinds]
    assert {("record-damaged", 2)} == {damage(LINES[0] + line + LINES[2]) for lines in kinds for line in lines}
    assert ([1] * len(kinds), len(kinds)) == ([*map(len, told)], len(set().union(*told)))
    firsts = [{raised(RecordDamaged, parse, line, "").what.replace("1", "2", 1) for line in lines} for lines in kinds]
    assert [same == first for same, first in zip(told, firsts, strict=True)] == [True] * 4 + [False, True]
    assert ([True], [False]) == tuple([" line 1:" in what for what in each[4]] for each in (told, firsts))


@pytest.mark.parametrize("middle", [
    b'"kind":"newer","at":"x"', b'"kind":"begun","at":"x","record":"a","more":1', b'"a":', b'"a":%b' % (b"[" * 9999),
])  # fmt: skip
def test_newer_fact(middle: bytes) -> None:
    """A fact of a kind or with a field that this version does not know is an error, and says so."""
    data = LINES[0] + hashed(2, middle, HEADS[0])
    assert ("record-unreadable", 2) == damage(data)
    assert [()] == [step.command for step in raised(RecordDamaged, parse, data, "").steps]


def test_beginnings() -> None:
    """A record begins with its beginning, and with no other one; a merged one may stand anywhere."""
    absent = link(None, 0, [LossOpened(at=AT, loss="1", cause="begun")])[0]
    again = link(None, 0, [begun(), begun()])[0]
    wrong = [(absent, 1), (again, 2), (LINES[1], 1), (b"", 1), (LINES[0][:-1], 1), (LINES[0] + LINES[2], 2)]
    assert [("record-damaged", line) for _, line in wrong] == [damage(data) for data, _ in wrong]
    assert 5 == len({raised(RecordDamaged, parse, data, "").what.translate(NO_DIGITS) for data, _ in wrong})
    assert 2 == len(parse(link(None, 0, [begun(), Begun(at=AT, record="b", origin="e" * 64)])[0], "state.jsonl"))


def test_link_goes_on() -> None:
    """Facts linked to a head are the same bytes as if all had been linked at once, and give the same lines."""
    lines = parse(WHOLE, "state.jsonl")
    data, new = link(HEADS[1], 2, [line.fact for line in lines[2:]])
    assert (b"".join(LINES[2:]), lines[2:]) == (data, new)
    assert [line.fact.origin or line.hash for line in lines] == [line.id for line in lines]


def test_heads() -> None:
    """The last head is that of the last complete line; a torn write is left out, an edited line has none."""
    assert (HEADS[-1], HEADS[-1]) == (last_head(WHOLE), last_head(WHOLE + LINES[0][:50]))
    assert WHOLE == complete(WHOLE + LINES[0][:50]) == complete(WHOLE + LINES[0][:-1])
    assert [None] * 3 == [last_head(b""), last_head(LINES[0][:-1]), head_of(LINES[0][:-1].replace(b"a", b"b", 1))]
    assert HEADS[0] == head_of(LINES[0][:-1])
    assert [True, True, False] == [is_record(WHOLE), is_record(b"<<<<<<< HEAD"), is_record(b"{}")]


text = st.text(max_size=20)
FACTS: st.SearchStrategy[AnyFact] = st.one_of(
    st.builds(Received, at=text, by=st.dictionaries(text, text), base_url=text, url=text, code=text, first=text,
              last=text),
    st.builds(RemovalRequested, at=text, attempt=text, codes=st.lists(text).map(tuple), by_plan=st.booleans()),
    st.builds(
        Exists, at=text, attempt=text, note=text, origin=text,
        what=st.builds(What, text, st.lists(text).map(tuple), text, text, send_by=st.floats(0, 1e12)),
    ),
)  # fmt: skip


def test_what_a_terminal_does_not_show() -> None:
    """Each control character and each mark without a width is written as an escape, and read back."""
    hidden = "".join(letter for letter in map(chr, range(0xFFF0)) if category(letter) in {"Cc", "Zl", "Zp"})
    hidden += "\u200b\u200d\u200e\u200f\u202a\u202e\u2060\u2066\u2069\ufeff"
    for letter in hidden:
        data, _ = link(None, 0, [begun(f"a{letter}b")])
        assert letter == "\n" or letter not in data.decode()
        assert begun(f"a{letter}b") == parse(data, "state.jsonl")[0].fact
    assert "a\u00e9\u2020\uff21b".encode() in link(None, 0, [begun("a\u00e9\u2020\uff21b")])[0]


@settings(max_examples=60)
@given(st.lists(FACTS, max_size=4))
def test_round_trip(facts: list[AnyFact]) -> None:
    """Whatever facts say, they are read back as they are, one line each, with every character visible."""
    data, lines = link(None, 0, [begun(), *facts])
    assert lines == parse(data, "state.jsonl")
    assert [begun(), *facts] == [line.fact for line in lines]
    assert len(facts) + 1 == len(data.decode().split("\n")) - 1 == len(data.decode().splitlines())
