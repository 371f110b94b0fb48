"""Entries that could not be appended, saved to recovery files on this machine until the record can be written."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.disk.directories import private_directory
from reconciler.disk.durable import sync_directory, written_beside
from reconciler.errors import StateError
from reconciler.model.address import TargetName
from reconciler.state.journal.entries import from_fields, to_fields

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reconciler.model.entry import AnyEntry

_FOLDER = "unrecorded"
_ONLY_COPY = "; the lines: "


class Unrecorded(Struct, frozen=True):
    """An entry that belongs to the record with the id `record`, and the file that contains it."""

    file: Path
    record: str
    target: TargetName
    entry: AnyEntry


def check_keepable(directory: Path) -> None:
    """Raises StateError if recovery files could not be saved, SettingsError if other users could write there."""
    try:
        _write(directory, "trial", b"")
    except OSError as problem:
        raise StateError(
            f"cannot save recovery files here: {problem.strerror}",
            where=directory / _FOLDER,
            remedy="check permissions and free space, or set XDG_DATA_HOME to another directory",
        ) from problem


def keep_entries(
    directory: Path, target: TargetName, record: str, entries: Sequence[AnyEntry], reason: str, state: str | None = None
) -> str:
    """Save entries to a recovery file below `directory`; returns a line that says so, with the reason. Raises nothing.

    If that fails too, the line contains them: like the record, they are free of secrets. `state` is the store to
    recover them into, if it is another than the one in use.
    """
    lines = [json.dumps({"record": record, "target": target, "entry": to_fields(entry)}) for entry in entries]
    stem = f"{target.replace('/', '-')}-{int(time.time())}-{os.getpid()}"
    problem = f"{target}: results could not be saved to the record"
    cause, once = (f". Cause: {reason}", "remove the cause, and ") if reason else ("", "")
    elsewhere = "" if state is None else f" --state {shlex.quote(state)}"
    try:
        path = _write(directory, stem, "".join(f"{line}\n" for line in lines).encode(), ".jsonl")
    except Exception:  # noqa: BLE001 - whatever it was, nothing else has them
        # A detail may name a command, which is none of the message: the terminal must not set it apart.
        printed = " ".join(lines).replace("reconciler ", r"reconciler\u0020")
        return (
            f"{problem} or to a recovery file{cause}. Save the following lines to a file, then {once}run:"
            f" reconciler state recover FILE{elsewhere}{_ONLY_COPY}{printed}"
        )
    return (
        f"{problem}; they are in {path}{cause}. Until recovered, these addresses have an unknown outcome; {once}run:"
        f" reconciler state recover {shlex.quote(str(path))}{elsewhere}"
    )


def is_only_copy(notice: str) -> bool:
    """Whether nothing but this line, which `keep_entries` gave, has the entries."""
    return _ONLY_COPY in notice


def _write(directory: Path, stem: str, data: bytes, suffix: str = "") -> Path:
    """Write a private file of a new name; without a suffix, only check that it can be written. Raises OSError."""
    folder = private_directory(private_directory(directory) / _FOLDER)
    # A process id is not unique: containers that share a volume each have a process 1.
    path = folder / f"{stem}-{os.urandom(6).hex()}{suffix}"
    with written_beside(path, data, 0o600) as beside:
        if suffix:
            os.link(beside, path)
    sync_directory(folder)
    return path


def all_kept(directory: Path) -> list[Unrecorded]:
    """All entries in recovery files below `directory`, oldest first. Raises StateError with the unreadable file."""
    try:
        found = [file for file in (directory / _FOLDER).iterdir() if file.suffix == ".jsonl"]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        raise _unreadable(directory / _FOLDER, problem) from problem
    files = sorted(found, key=lambda file: (_written_at(file), file.name))
    return [unrecorded for file in files for unrecorded in _kept_here(file)]


def _kept_here(file: Path) -> list[Unrecorded]:
    """The entries in a file that no argument names: the error says how to continue without it."""
    try:
        if not file.is_file():  # reading a pipe would block
            raise StateError("not a regular file", where=file)  # noqa: TRY301 - its remedy is that of the others
        return kept_in(read_whole(file), file)
    except StateError as problem:
        remedy = (
            "it may contain results of creates that are not in the record; repair it; or, when `reconciler state list`"
            " shows each of its creates, move it to another directory"
        )
        raise StateError(problem.what, where=problem.where, remedy=remedy) from problem


def _written_at(file: Path) -> float:
    """When a file was written, in seconds since the epoch. Raises StateError."""
    try:
        return file.lstat().st_mtime
    except OSError as problem:
        raise _unreadable(file, problem) from problem


def read_whole(file: Path) -> bytes:
    """The content of a file. Raises StateError."""
    try:
        return file.read_bytes()
    except OSError as problem:
        raise _unreadable(file, problem) from problem


def kept_in(data: bytes, file: Path) -> list[Unrecorded]:
    """The entries in `data`, the content of a file that `keep_entries` wrote or printed. Raises StateError."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\N{REPLACEMENT CHARACTER}"
    found: list[Unrecorded] = []
    at = 0
    while start := re.compile(r"\S").search(text, at):
        unrecorded, at = _decode(text, start.start(), file)
        found.append(unrecorded)
    return found


def _decode(text: str, at: int, file: Path) -> tuple[Unrecorded, int]:
    """The entry that starts there, and where it ends."""
    with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        fields, end = json.JSONDecoder().raw_decode(text, at)
        record, target = fields["record"], fields["target"]
        if isinstance(record, str) and isinstance(target, str):
            return Unrecorded(file, record, TargetName(target), from_fields(fields["entry"])), end
    raise StateError(
        "not an entry of a recovery file",
        where=f"{file}:{1 + text.count(chr(10), 0, at)}",
        remedy="use the file that apply named, unedited",
    )


def _unreadable(place: Path, problem: OSError) -> StateError:
    return StateError(
        f"cannot read the recovery file: {problem.strerror}",
        where=place,
        remedy="check its permissions, or use the file that apply named",
    )
