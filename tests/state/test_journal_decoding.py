"""Entries decoded at once are those that JSON's fields would give, and what is refused is refused in the same words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple
from support.journal_strategies import any_entries
from support.mutations import mutated

from reconciler.state.journal import entries
from reconciler.state.journal.entries import from_fields, from_json, to_fields

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

INTENT = (
    b'{"at":"2026-11-20T13:30:00Z","kind":"intent","attempt":"a1","address":"europe/staging/offers","action":"create",'
    b'"eventCodes":["ONB10011"],"webhookUrl":"https://hooks.example/\xc3\xa4","send_by":1.5,"settled_by":2,"run":"r",'
    b'"by":{"user":"someone","host":"there"}}'
)
OUTCOME = (
    b'{"at":"2026-11-20T13:30:00Z","kind":"outcome","attempt":"a1","outcome":"created","status":201,"detail":"\\u00e4",'
    b'"fields":{"id":"x","count":1,"share":0.5,"active":true},"response":"file","by":{}}'
)
LINES = [
    INTENT,
    OUTCOME,
    b'{"at":"","kind":"imported","attempt":"a1","address":"a/b/c","eventCodes":[],"webhookUrl":"","by":{"user":"x"}}',
    b'{"at":"","kind":"retired","attempt":"a1","reason":"asked for","by":{}}',
    b'{"at":"","kind":"removed","attempt":"a1","forced":true,"by":{}}',
    b'{"at":"","kind":"observed","address":"a/b/c","url":"","received":{"ONB10011":"t"},"by":{}}',
    b'{"at":"","kind":"observed","address":"a/b/c","webhookUrl":"","received":{"ONB10011":"t"},"by":{}}',
    b'{"at":"","kind":"resolved","attempt":"a1","created":false,"note":"","by":{}}',
]  # fmt: skip

VALUES = [
    b"null", b"true", b"false", b"0", b"-0", b"-0.0", b"1", b"1.0", b"1e2", b"1E400", b"-1e-400", b"0.1", b"1e-7",
    b"253402300799", b"253402300799.99999", b"253402300800", b"-253402300800", b"9007199254740993", b"NaN", b"Infinity",
    b"-Infinity", b"18446744073709551616", b"-9223372036854775809", b"9" * 40, b"9" * 400, b"9" * 4300, b"9" * 4301,
    b"01", b".5", b"1.", b"+1", b'""', b'"x"', b'"create"', b'"created"', b'"unknown"', b'"intent"', b'"outcome"',
    b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\udc00\\ud800"', b'"\xed\xa0\x80"', b'"\xff"', b'"\xf0\x9f\x98\x80"',
    b'"\x01"', b'"\x7f"', b'"\t"', b'"\\u0000"', b'"\\x"', b'"\\/"', b'"\xe2\x80\xa8"', b"[]", b"{}", b'["x"]',
    b'["x",1]', b"[null]", b'{"x":1}', b'{"x":"y"}', b'{"x":null}', b'{"x":[]}', b'{"x":1,"x":"y"}', b'{"x":"y","x":1}',
    b"[" * 100_000, b'{"":' * 100_000,
]  # fmt: skip

KEYS = [
    b"at", b"kind", b"attempt", b"address", b"eventCodes", b"codes", b"webhookUrl", b"url", b"send_by", b"settled_by",
    b"status", b"outcome", b"fields", b"detail", b"forced", b"received", b"reason", b"by", b"kin\\u0064", b"seq", b"",
]  # fmt: skip


def outcome(data: bytes, *, at_once: bool) -> str:
    """What becomes of a JSON object: the entry, with the types of all that is in it, or the error."""
    try:
        entry = from_json(data) if at_once else from_fields(json.loads(data.decode()))
    except (ValueError, RecursionError) as problem:
        return f"{type(problem).__name__}: {problem}"
    return f"{entry!r} {[type(value).__name__ for value in astuple(entry)]}"


@st.composite
def objects(draw: DrawFn) -> bytes:
    """A JSON object like those in a journal, with a member put in, in any place, that may be there already."""
    members = draw(st.sampled_from(LINES))[1:-1]
    for _ in range(draw(st.integers(1, 2))):
        member = b'"%b":%b' % (draw(st.sampled_from(KEYS)), draw(st.sampled_from(VALUES)))
        members = draw(st.sampled_from([b"%b,%b" % (member, members), b"%b,%b" % (members, member)]))
    return b"{%b}" % members


@settings(max_examples=150, deadline=None)
@given(objects())
@example(b'{"kind":"outcome",%b' % INTENT[1:])
@example(b'%b,"kind":"outcome"}' % INTENT[:-1])
@example(INTENT.replace(b'"intent"', b'"joined"'))
def test_a_member_more(data: bytes) -> None:
    """Whatever a member is worth, wherever it stands and however often, both ways agree."""
    assert outcome(data, at_once=False) == outcome(data, at_once=True)


@settings(max_examples=150, deadline=None)
@given(mutated(LINES, [*VALUES[:-2], b",", b":", b'"', b"}", b" ", b"\x0b", b"\xef\xbb\xbf", b'"x":1,']))
def test_an_accident(data: bytes) -> None:
    """Whatever happens to the bytes, both ways agree."""
    data = data if data.startswith(b"{") else b"{%b}" % data
    assert outcome(data, at_once=False) == outcome(data, at_once=True)


@settings(max_examples=100, deadline=None)
@given(any_entries().map(lambda entry: json.dumps(to_fields(entry)).encode()))
def test_every_entry(data: bytes) -> None:
    """Any entry that this program writes is read the same both ways."""
    assert outcome(data, at_once=False) == outcome(data, at_once=True)


@pytest.mark.parametrize("value", VALUES[:-2])
@pytest.mark.parametrize("line", LINES[:3])
def test_each_member_with_each_value(line: bytes, value: bytes) -> None:
    """A value of the wrong type, or hardly of the right one, is refused or taken alike in each member."""
    for key in json.loads(line):
        members = [
            b'"%b":%b' % (name.encode(), value) if name == key else pair(line, name) for name in json.loads(line)
        ]
        data = b"{%b}" % b",".join(members)
        assert outcome(data, at_once=False) == outcome(data, at_once=True)


def pair(line: bytes, name: str) -> bytes:
    """One member of a JSON object, as bytes."""
    return json.dumps({name: json.loads(line)[name]}, ensure_ascii=False).encode()[1:-1]


def test_the_usual_line_is_decoded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a journal has many of does not go the long way."""
    monkeypatch.setattr(entries, "_decode", None)
    for line in LINES[:5]:
        assert from_json(line).attempt == "a1"  # type: ignore[union-attr]
