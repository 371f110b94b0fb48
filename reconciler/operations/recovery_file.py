"""Writes and reads recovery files, which hold the facts that an apply could not append to the record.

A file holds one line of JSON for each fact, with the id of the record. The `origin` of a fact is derived from its
content, so a fact that is recovered several times always gets the same id.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from reconciler.disk import private_directory, replace_file
from reconciler.errors import Message, SettingsError, step
from reconciler.operations.project import UNRECORDED
from reconciler.record import chain
from reconciler.record.chain import Line
from reconciler.record.facts import AnyFact, OfAttempt
from reconciler.record.statements import Recover

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.operations.project import Project
    from reconciler.record.journal import Reading


class _Saved(Struct, frozen=True, forbid_unknown_fields=True):
    record: str
    fact: AnyFact


def save_facts(directory: Path, record: str, place: str, facts: Sequence[AnyFact], reason: str) -> Message:
    """Save the facts durably in a recovery file under `directory`, and return a message that names the file.

    Raises nothing: if the file cannot be written, the message contains its lines, which hold no secrets.
    """
    saved = [_Saved(record, fact if fact.origin else replace(fact, origin=_origin(record, fact))) for fact in facts]
    data = b"".join(encode(line) + b"\n" for line in saved)
    file = directory / UNRECORDED / f"{sha256(data).hexdigest()[:32]}.jsonl"
    problem = f"results could not be saved to the record: {reason}" if reason else "results could not be saved"
    recover = ("reconciler", "state", "recover")
    try:
        private_directory(private_directory(directory) / UNRECORDED)
        replace_file(file, data, 0o600)
    except Exception:  # noqa: BLE001 - no error may lose the facts, which exist nowhere else
        lines = step(f"save these lines to a file:\n{data.decode()}")
        again = step("then run", *recover, "FILE")
        what = f"{problem}; they could not be saved to a recovery file either"
        return Message("results-not-saved", what, place, (lines, again))
    again = step("fix the cause, then run", *recover, str(file))
    return Message("results-in-recovery-file", f"{problem}; they are in the recovery file {file}", place, (again,))


def recovery_messages(project: Project, reading: Reading) -> Mapping[str, Message]:
    """Return a message for each attempt whose facts are in a recovery file on this machine, but not in the record.

    The key is the id of the attempt, or "" for facts about no attempt.
    """
    messages: dict[str, Message] = {}
    files, record = project.recovery_files, reading.record
    known = _ids(reading.lines) if files else {}
    for file in files:
        try:
            saved = [decode(line, type=_Saved) for line in file.read_bytes().splitlines() if line.strip()]
        except (OSError, MsgspecError, UnicodeDecodeError):
            continue  # `state recover` reports what is wrong with the file
        again = step("to add them, run", "reconciler", "state", "recover", str(file))
        what = f"results of an apply are not in the record; they are in {file}"
        for line in saved:
            if line.record == record.id and _id(line, known) not in record.contained:
                about = line.fact.attempt if isinstance(line.fact, OfAttempt) else ""
                messages.setdefault(about, Message("not-recovered", what, project.place, (again,)))
    return messages


def recover_statement(project: Project, source: str) -> Recover:
    """Return the statement that merges the facts of `source` into the record.

    `source` is the place of a record, a file with a record or with saved facts, or `-` for standard input. Raises
    SettingsError, RecordDamaged and StoreUnavailable.
    """
    try:
        if source == "-":
            data: bytes | None = sys.stdin.buffer.read()
        elif Path(source).is_file():
            data = Path(source).read_bytes()
        else:
            data = project.journal_at(source).store.read().data
    except OSError as problem:
        raise SettingsError(Message("recovery-unreadable", f"cannot be read: {problem.strerror}", source)) from None
    if data is None:
        raise SettingsError(Message("nothing-to-recover", "there is neither a file nor a record", source))
    if chain.is_record(data):
        return Recover(source, chain.parse(data, source))
    return Recover(source, _recovery_lines(data, source, _ids(project.journal.read().lines)))


def _recovery_lines(data: bytes, where: str, known: Mapping[bytes, str]) -> tuple[Line, ...]:
    """Return the facts of a recovery file as lines of a record. Raises SettingsError.

    `known` maps the content of recorded facts to their ids (see `_ids`).
    """
    lines = []
    for number, text in enumerate(data.splitlines(), 1):
        if not text.strip():
            continue
        try:
            saved = decode(text, type=_Saved)
        except (MsgspecError, UnicodeDecodeError):
            what = "neither a record nor a recovery file"
            use = step("use the file that apply named, or a copy of a record")
            raise SettingsError(Message("not-recoverable", what, f"{where}:{number}", (use,))) from None
        origin = _id(saved, known)
        lines.append(Line(replace(saved.fact, origin=origin), origin))
    if not lines:
        raise SettingsError(Message("not-recoverable", "the file is empty", where))
    return tuple(lines)


def _ids(lines: Iterable[Line]) -> Mapping[bytes, str]:
    """Return the ids of recorded facts by content.

    A saved fact may already be recorded, because an append that seemed to fail may have reached the record.
    """
    return {encode(replace(line.fact, origin="")): line.id for line in lines}


def _id(saved: _Saved, known: Mapping[bytes, str]) -> str:
    """Return the id of a saved fact: its id in the record or, if it is not recorded, an id derived from its content."""
    return known.get(encode(replace(saved.fact, origin=""))) or saved.fact.origin or _origin(saved.record, saved.fact)


def _origin(record: str, fact: AnyFact) -> str:
    return sha256(f"{record} ".encode() + encode(fact)).hexdigest()
