"""Entries that could not be appended, kept in files of this machine until the record can be written again."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
_NO_BLANK = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """An entry that belongs into the record with the id `record`, and the file that holds it."""

    file: Path
    record: str
    target: TargetName
    entry: AnyEntry


def check_keepable(directory: Path) -> None:
    """Raises StateError where entries could not be kept below `directory`, SettingsError where others could write."""
    try:
        _write(directory, "trial", b"")
    except OSError as problem:
        raise StateError(
            f"results that cannot be saved to the record could not be kept here: {problem.strerror}",
            where=directory / _FOLDER,
            remedy="check its permissions and the space left, or set XDG_DATA_HOME to another directory",
        ) from problem


def keep_entries(directory: Path, target: TargetName, record: str, entries: Sequence[AnyEntry], reason: str) -> str:
    """Keep entries in a private file below `directory`, and say so in a line, with the reason; raises nothing.

    Where they cannot be kept either, the line holds them: they are as free of secrets as the record is.
    """
    lines = [json.dumps({"record": record, "target": target, "entry": to_fields(entry)}) for entry in entries]
    stem = f"{target.replace('/', '-')}-{int(time.time())}-{os.getpid()}"
    trouble = f"{target}: results could not be saved to the record{f' ({reason})' if reason else ''}"
    try:
        path = _write(directory, stem, "".join(f"{line}\n" for line in lines).encode(), ".jsonl")
    except Exception:  # noqa: BLE001 - whatever it was, this is the last place where they are known
        return (
            f"{trouble}, nor to a file. Save what follows as a file, then run: reconciler state recover FILE:"
            f" {' '.join(lines)}"
        )
    return (
        f"{trouble}; they are kept in {path}. Until they are recorded, those addresses count as unknown; run:"
        f" reconciler state recover {path}"
    )


def _write(directory: Path, stem: str, data: bytes, suffix: str = "") -> Path:
    """Write a private file of a new name; without a suffix only to see whether it can be. Raises OSError."""
    folder = private_directory(private_directory(directory) / _FOLDER)
    # A process id is no name: containers that share a volume each have a process 1.
    path = folder / f"{stem}-{os.urandom(6).hex()}{suffix}"
    with written_beside(path, data, 0o600) as beside:
        if suffix:
            os.link(beside, path)
    sync_directory(folder)
    return path


def all_kept(directory: Path) -> list[Unrecorded]:
    """All that is kept below `directory`, oldest first. Raises StateError, with the file that cannot be read."""
    try:
        found = [file for file in (directory / _FOLDER).iterdir() if file.suffix == ".jsonl"]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        raise _unreadable(directory / _FOLDER, problem) from problem
    files = sorted(found, key=lambda file: (_written_at(file), file.name))
    return [kept for file in files for kept in _kept_here(file)]


def _kept_here(file: Path) -> list[Unrecorded]:
    """As `read_kept`, for a file that nobody named: the error says how to go on without it."""
    try:
        return read_kept(_regular(file))
    except StateError as problem:
        remedy = (
            "it may hold results of creates that are not in the record: repair it, or move it to another directory"
            " once `reconciler state list` shows every create that it names"
        )
        raise StateError(problem.what, where=problem.where, remedy=remedy) from problem


def _written_at(file: Path) -> float:
    """When a file was written, in epoch seconds. Raises StateError."""
    try:
        return file.lstat().st_mtime
    except OSError as problem:
        raise _unreadable(file, problem) from problem


def _regular(file: Path) -> Path:
    """The file, which must be one: to read from a pipe would wait for ever. Raises StateError."""
    if not file.is_file():
        raise StateError("this is not a regular file", where=file)
    return file


def read_kept(file: Path) -> list[Unrecorded]:
    """The entries in a file that `keep_entries` wrote or told. Raises StateError."""
    return kept_in(read_whole(file), file)


def read_whole(file: Path) -> bytes:
    """What a file holds. Raises StateError."""
    try:
        return file.read_bytes()
    except OSError as problem:
        raise _unreadable(file, problem) from problem


def kept_in(data: bytes, file: Path) -> list[Unrecorded]:
    """As `read_kept`, of what a file holds."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\N{REPLACEMENT CHARACTER}"
    found: list[Unrecorded] = []
    at = 0
    while begins := _NO_BLANK.search(text, at):
        kept, at = _decode(text, begins.start(), file)
        found.append(kept)
    return found


def _decode(text: str, at: int, file: Path) -> tuple[Unrecorded, int]:
    """The entry that begins there, and where it ends."""
    with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        told, end = json.JSONDecoder().raw_decode(text, at)
        record, target = told["record"], told["target"]
        if isinstance(record, str) and isinstance(target, str):
            return Unrecorded(file, record, TargetName(target), from_fields(told["entry"])), end
    raise StateError(
        "this is no entry that could not be recorded",
        where=f"{file}:{1 + text.count(chr(10), 0, at)}",
        remedy="name the file that apply named, as it was written",
    )


def _unreadable(place: Path, problem: OSError) -> StateError:
    return StateError(
        f"what could not be recorded cannot be read: {problem.strerror}",
        where=place,
        remedy="correct its permissions, or name the file that apply named",
    )
