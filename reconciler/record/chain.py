"""Converts facts to lines of JSON and back. Each line holds a hash of its content and of the previous line.

A line is `{"seq":N,…the fact…,"prev":"…","hash":"…"}`. `seq` counts from 1. `prev` is the hash of the previous line, or
zeros in the first line. `hash` is the hex SHA-256 of the line's bytes before `,"hash":`. The check compares bytes, so a
change of any bit is detected. Bytes after the last newline are an interrupted write and are ignored.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, Encoder
from msgspec.structs import force_setattr, replace

from reconciler.errors import Message, RecordDamaged, Step
from reconciler.record.facts import Answered, AnyFact, Begun, Exists, Intended, Joined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


START = "0" * 64
"""The `prev` of the first line."""
_HASH_LENGTH = len(',"hash":""}') + 64
_TAIL_LENGTH = len(',"prev":""') + 64 + _HASH_LENGTH
_CONFLICT_MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")
_UNREADABLE = {
    code: f"\\u{code:04x}"
    for span in ((0x7F, 0xA0), (0x200B, 0x2010), (0x2028, 0x202F), (0x2060, 0x2070), (0xFEFF, 0xFF00))
    for code in range(*span)
}
"""Characters that JSON allows but that terminals and diffs do not show, each with its escape sequence."""
_encode = Encoder().encode
_decoder: Decoder[AnyFact] = Decoder(AnyFact)


class Line(Struct, frozen=True, gc=False):
    """A fact with the hash of its line."""

    fact: AnyFact
    hash: str

    @property
    def id(self) -> str:
        """Return the id of the fact: the hash of the line in which it was first appended."""
        return self.fact.origin or self.hash


def parse(data: bytes, where: str) -> tuple[Line, ...]:
    """Return the lines of a record. `where` is the place of the record, for messages.

    Raises RecordDamaged for the first line that breaks the chain, and for data without a complete line.
    """
    end = data.rfind(b"\n") + 1
    if not end:
        raise RecordDamaged(_damage("the file has no complete line: not a record", f"{where}:1"))
    return tuple(_checked(data, end, where))


def is_record(data: bytes) -> bool:
    """True if `data` begins like a record, damaged or not."""
    return data.startswith((b'{"seq":', *_CONFLICT_MARKERS))


def link(head: str | None, seq: int, facts: Sequence[AnyFact]) -> tuple[bytes, tuple[Line, ...]]:
    """Return `facts` as bytes to append and as lines. `head` is the hash of the last line, and `seq` is its number.

    For a new record, `head` is None and `seq` is 0.
    """
    previous, data, lines = head or START, [], []
    for number, fact in enumerate(facts, seq + 1):
        text = _encode(fact).decode().translate(_UNREADABLE)
        body = f'{{"seq":{number},{text[1:-1]},"prev":"{previous}"'.encode()
        previous = sha256(body).hexdigest()
        data.append(body + f',"hash":"{previous}"}}\n'.encode())
        lines.append(Line(fact, previous))
    return b"".join(data), tuple(lines)


def head_of(last_line: bytes) -> str | None:
    """Return the hash of a line without its newline, or None if the line was edited or does not belong to a record."""
    digest = sha256(last_line[:-_HASH_LENGTH]).hexdigest()
    return digest if last_line[-_HASH_LENGTH:] == f',"hash":"{digest}"}}'.encode() else None


def last_head(data: bytes) -> str | None:
    """Return the hash of the last complete line, or None if there is no such line or it was edited."""
    end = data.rfind(b"\n")
    return head_of(data[data.rfind(b"\n", 0, end) + 1 : end]) if end > 0 else None


def complete(data: bytes) -> bytes:
    """Return `data` without an incomplete last line."""
    return data[: data.rfind(b"\n") + 1]


def _checked(data: bytes, end: int, where: str) -> Iterator[Line]:
    """Yield the lines in `data[:end]`, and check each line against the previous line."""
    previous, start, number, at, base_url = START, 0, 0, "", ""
    by: Mapping[str, str] = {}
    while start < end:
        newline = data.index(b"\n", start)
        line, start, number = data[start:newline], newline + 1, number + 1
        opening = b'{"seq":%d,' % number
        digest = sha256(line[:-_HASH_LENGTH]).hexdigest()
        follows = line.endswith(f',"prev":"{previous}","hash":"{digest}"}}'.encode()) and line.startswith(opening)
        if not follows:
            raise RecordDamaged(_damage(f"line {number} {_trouble(line, number)}", f"{where}:{number}"))
        try:
            fact = _decoder.decode(b"{%b}" % line[len(opening) : -_TAIL_LENGTH])
        except (ValidationError, DecodeError, RecursionError) as problem:
            what = f"line {number} cannot be read: {problem} (written by a newer version?)"
            newer = Step("use the version of reconciler that wrote it")
            raise RecordDamaged(Message("record-unreadable", what, f"{where}:{number}", (newer,))) from None
        if (isinstance(fact, Begun) and not fact.origin) is not (number == 1):
            what = "begins another record" if number > 1 else "is not the beginning of a record"
            raise RecordDamaged(_damage(f"line {number} {what}", f"{where}:{number}"))
        if fact.by == by:  # one object for equal values: consecutive lines are often from one person or run
            force_setattr(fact, "by", by)
        if fact.at == at:
            force_setattr(fact, "at", at)
        if isinstance(fact, (Intended, Answered, Exists)):
            if fact.what.base_url == base_url:
                force_setattr(fact.what, "base_url", base_url)
            base_url = fact.what.base_url
        previous, by, at = digest, fact.by, fact.at
        yield Line(fact, digest)


def _damage(what: str, where: str) -> Message:
    restore = Step("restore the record from a backup, then run", ("reconciler", "state", "verify"))
    return Message("record-damaged", what, where, (restore,))


def _trouble(line: bytes, number: int) -> str:
    """Return the reason why a line breaks the chain, as a phrase that continues a message about the line."""
    if line.startswith(_CONFLICT_MARKERS):
        return "is a git conflict marker: git cannot merge two copies of a record"
    if line.endswith(b"\r"):
        return "has CRLF line endings; check git's core.autocrlf"
    if b"\0" in line:
        return "contains NUL bytes: part of the file was never written to disk"
    if head_of(line) is None:
        return "was edited" if line.startswith(b'{"seq":') else "is not an entry of a record"
    if number == 1:
        return "is not the first line of a record: earlier lines are missing"
    return f"does not follow line {number - 1}: a line is missing, repeated or out of order"


def missing(contained: Collection[str], lines: Iterable[Line], at: str, by: Mapping[str, str]) -> list[AnyFact]:
    """Return the facts in `lines` that a record lacks, ready to append.

    `contained` holds the hashes of the lines that the record contains. Each fact keeps its time and author, and its id
    becomes its `origin`. Merging in any order, or more than once, therefore gives the same state. The heads named in a
    loss must not be in `contained`, so that their facts are still added if `lines` has them. A final `Joined` fact
    lists the hashes in `lines` that are neither in `contained` nor an `origin`, so that the record then contains every
    head in `lines`. Returns an empty list if nothing is missing.
    """
    known = set(contained)
    facts: list[AnyFact] = []
    heads: list[str] = []
    for line in lines:
        if line.id not in known:
            facts.append(replace(line.fact, origin=line.id))
            known.add(line.id)
        if line.hash not in known:
            heads.append(line.hash)
            known.add(line.hash)
    if heads:
        facts.append(Joined(at=at, by=by, heads=tuple(heads)))
    return facts
