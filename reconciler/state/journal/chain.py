"""The journal as bytes: one line of JSON for each entry, each line holding a hash over itself and the one before it.

A line reads `{"seq":N,…the entry…,"prev":"…","hash":"…"}`. `seq` counts from 1; `prev` is the hash of the line before,
zeros in the first; `hash` is the SHA-256, in hex, of the bytes of the line before `,"hash":`. All of it is checked as
bytes, so every bit of a line counts. What follows the last newline is an interrupted write, and is ignored.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import force_setattr

from reconciler.errors import RecordDamaged, RecordForeign
from reconciler.model.record import MeaninglessEntry, fold
from reconciler.state.journal.entries import from_json, to_fields
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.model.record import Record

_START = "0" * 64
_HASH_LENGTH = len(',"hash":""}') + 64
_TAIL_LENGTH = len(',"prev":""') + 64 + _HASH_LENGTH
DELETE_THEIRS = "then delete theirs.jsonl, which is not to be committed"
_RESTORE = "restore the journal from version control or a backup, then run: reconciler state verify"
_CONFLICT_MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_UNREADABLE = "[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]"
"""Characters that JSON allows and a terminal or a diff does not show; and surrogates, which UTF-8 cannot encode."""


class Journal(Discreet, frozen=True):
    """A valid journal. `lines` are its entries, each with its hash; `torn` counts the bytes of an incomplete line."""

    unprinted = ("folded",)

    target: TargetName
    lines: tuple[tuple[AnyEntry, str], ...]
    torn: int
    folded: Record

    @property
    def head(self) -> str:
        """The hash of the last line: the version of the state."""
        return self.folded.head

    def record(self) -> Record:
        """The record that the entries add up to."""
        return self.folded

    def contains(self, head: str, number: int) -> bool:
        """Whether `head` is the hash of the `number`-th line, from 1.

        That alone decides whether an append arrived: if its answer was lost, a later attempt reports a conflict.
        """
        return 0 < number <= len(self.lines) and self.lines[number - 1][1] == head


def parse(data: bytes, target: TargetName | None, where: str) -> Journal:
    """The journal in `data`, expected to be that of `target` (None: of any); `where` is its location, for messages.

    Raises RecordDamaged, with the first line that breaks it, and RecordForeign.
    """
    end = data.rfind(b"\n") + 1
    if not end:
        raise RecordDamaged("the file has no complete line: not a journal", where=f"{where}:1", remedy=_RESTORE)
    lines = tuple(_checked(data, end, where))
    try:
        record = fold(lines)
    except MeaninglessEntry as problem:
        number: int = problem.args[1]
        what = f"line {number} is invalid after the lines before it: {problem.args[0]}"
        raise RecordDamaged(what, where=f"{where}:{number}", remedy=_RESTORE) from None
    if target not in (None, record.target):
        raise RecordForeign(
            f"this journal belongs to target {record.target}, not {target}",
            where=where,
            remedy="two journals were swapped or copied; restore each in its own location",
        )
    return Journal(record.target, lines, len(data) - end, record)


def is_journal(data: bytes) -> bool:
    """Whether `data` starts like a journal, damaged or not."""
    return data.startswith((b'{"seq":', *_CONFLICT_MARKERS))


def count_entries(count: int) -> str:
    """A number of entries, in words."""
    return f"{count} entr{'y' if count == 1 else 'ies'}"


def link(head: str | None, seq: int, entries: Sequence[AnyEntry]) -> tuple[bytes, str]:
    """`entries` as complete lines after the `seq`-th line, whose hash is `head`; and the hash of the last of them.

    For a new journal, `head` is None and `seq` is 0.
    """
    linked = list(_linked(head, seq, entries))
    return b"".join(line for line, _ in linked), linked[-1][1]


def extend(journal: Journal, entries: Sequence[AnyEntry]) -> tuple[Journal, bytes]:
    """The journal with `entries` at its end, and the lines to append for that.

    Raises MeaninglessEntry for entries that are not valid there.
    """
    linked = list(_linked(journal.head, len(journal.lines), entries))
    lines = (*journal.lines, *zip(entries, (digest for _, digest in linked), strict=True))
    return Journal(journal.target, lines, 0, fold(lines)), b"".join(line for line, _ in linked)


def head_of(last_line: bytes) -> str | None:
    """The hash of a line (given without its newline), None if it was edited or is not a journal line.

    Does not check that the line follows the one before it.
    """
    digest = sha256(last_line[:-_HASH_LENGTH]).hexdigest()
    return digest if last_line[-_HASH_LENGTH:] == f',"hash":"{digest}"}}'.encode() else None


def intact_head(data: bytes) -> str | None:
    """The hash of the last complete line of a journal whose lines follow each other; nothing in them is decoded."""
    digest = None
    for _, _, digest in _chained(data, data.rfind(b"\n") + 1):
        if digest is None:
            return None
    return digest


def claimed_head(data: bytes) -> str:
    """The hash that the last complete line of a journal claims to have; nothing is checked."""
    end = data.rfind(b"\n") - len('"}')
    return data[max(0, end - 64) : max(0, end)].decode(errors="replace")


def _linked(head: str | None, seq: int, entries: Sequence[AnyEntry]) -> Iterator[tuple[bytes, str]]:
    """Each entry as a line with its newline, and the line's hash."""
    previous = head or _START
    for number, entry in enumerate(entries, seq + 1):
        fields = re.sub(_UNREADABLE, lambda found: f"\\u{ord(found[0]):04x}", _encode(to_fields(entry)))
        body = f'{{"seq":{number},{fields[1:-1]},"prev":"{previous}"'.encode()
        previous = sha256(body).hexdigest()
        yield body + f',"hash":"{previous}"}}\n'.encode(), previous


def _checked(data: bytes, end: int, where: str) -> Iterator[tuple[AnyEntry, str]]:
    """The entries and hashes of the lines before `end`, each checked against the one before it."""
    shared = None
    for number, (line, start, digest) in enumerate(_chained(data, end), 1):
        if digest is None:
            what = f"line {number} {_trouble(line, number)}"
            raise RecordDamaged(what, where=f"{where}:{number}", remedy=_way_out(line, where))
        try:
            entry = from_json(b"{%b}" % line[start:-_TAIL_LENGTH])
        except (ValueError, RecursionError) as problem:
            what = f"line {number} cannot be read: {problem}"
            remedy = "use the reconciler version that wrote it, or restore the journal from a backup"
            raise RecordDamaged(what, where=f"{where}:{number}", remedy=remedy) from None
        shared = _sharing(entry, shared)
        yield entry, digest


def _chained(data: bytes, end: int) -> Iterator[tuple[bytes, int, str | None]]:
    """The lines before `end`, with where the entry starts in each, and its hash; None if it does not follow."""
    previous = _START
    for number, line in enumerate(_lines(data, end), 1):
        opening = b'{"seq":%d,' % number
        digest = sha256(line[:-_HASH_LENGTH]).hexdigest()
        follows = line.endswith(f',"prev":"{previous}","hash":"{digest}"}}'.encode()) and line.startswith(opening)
        yield line, len(opening), digest if follows else None
        previous = digest


def _sharing(entry: AnyEntry, before: AnyEntry | None) -> AnyEntry:
    """`entry` with the who and when of the one `before`, where they are equal: in memory a journal is mostly these."""
    if before is not None and entry.by == before.by:
        force_setattr(entry, "by", before.by)
    if before is not None and entry.at == before.at:
        force_setattr(entry, "at", before.at)
    return entry


def _lines(data: bytes, end: int) -> Iterator[bytes]:
    """The lines before `end`, without their newlines; never all of them at once, since a journal may be long."""
    start = 0
    while start < end:
        newline = data.index(b"\n", start)
        yield data[start:newline]
        start = newline + 1


def _follows(line: bytes, opening: bytes, previous: str) -> bool:
    """Whether an unedited line has this number and this hash before it."""
    return line.startswith(opening) and line[-_TAIL_LENGTH:-_HASH_LENGTH] == f',"prev":"{previous}"'.encode()


def _trouble(line: bytes, number: int) -> str:
    """What is wrong with a line that breaks the chain, as the end of a sentence."""
    if head_of(line) is not None:
        return _displacement(line, number)
    if line.startswith(_CONFLICT_MARKERS):
        return "is a git conflict marker: git cannot merge two copies of a journal"
    if line.endswith(b"\r"):
        return "has CRLF line endings; check git's core.autocrlf"
    if b"\0" in line:
        return "contains NUL bytes: part of the file was never written to disk"
    if not line:
        return "is empty"
    return "was edited" if line.startswith(b'{"seq":') else "is not a journal entry"


def _way_out(line: bytes, where: str) -> str:
    """What to do about a line that breaks the chain; of two diverged copies neither may be deleted."""
    if line.startswith(_CONFLICT_MARKERS):
        return f"to keep one side and recover the other, run: {_recover_command(where, '--ours', ':3:')}"
    if head_of(line) is None or line.startswith(b'{"seq":1,') or not where.endswith(".jsonl"):
        return _RESTORE
    commands = _recover_command(where, "COMMIT --", "OTHER-COMMIT:")
    return f"{_RESTORE}; if two copies were merged, to restore one and recover the other, run: {commands}"


def _recover_command(where: str, ours: str, theirs: str) -> str:
    """The command that restores one side of a journal and recovers the other; `ours` and `theirs` as git names them.

    With what is left to do then.
    """
    if not where.endswith(".jsonl"):
        return "reconciler state recover OTHER.jsonl"
    folder, _, name = where.rpartition("/")
    git, name = f"git -C {quote(folder or '.')}", quote(name)
    add = "reconciler state recover theirs.jsonl"
    return f"{git} checkout {ours} {name} && {git} show {theirs}./{name} > theirs.jsonl && {add}; {DELETE_THEIRS}"


def _displacement(line: bytes, number: int) -> str:
    """What is wrong with an intact line in the wrong place."""
    if number == 1:
        return "is not the first entry of a journal: earlier lines are missing"
    if _follows(line, b'{"seq":1,', _START):
        return f"starts a new record after line {number - 1}: two journals were concatenated"
    return (
        f"does not follow line {number - 1}: "
        "a line is missing, repeated, replaced or reordered, or two copies were merged"
    )
