"""Entries that could not be appended, kept in files of this machine until the record can be written again."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import ReconcilerError, StateError
from reconciler.model.address import TargetName
from reconciler.state.disk import sync_directory, written_beside
from reconciler.state.entries import from_fields, to_fields
from reconciler.state.private import private_directory

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


def keep_entries(directory: Path, target: TargetName, record: str, entries: Sequence[AnyEntry]) -> str:
    """Keep entries in a private file below `directory`, and say so in a line; where that fails too, say them."""
    lines = [json.dumps({"record": record, "target": target, "entry": to_fields(entry)}) for entry in entries]
    name = f"{target.replace('/', '-')}-{int(time.time())}-{os.getpid()}.jsonl"
    try:
        folder = private_directory(private_directory(directory) / _FOLDER)
        with written_beside(folder / name, "".join(f"{line}\n" for line in lines).encode(), 0o600) as beside:
            beside.rename(folder / name)
        sync_directory(folder)
    except (OSError, ReconcilerError):
        return (
            f"{target}: what became of calls could be recorded nowhere; keep this in a file for"
            f" `reconciler state recover FILE`: {' '.join(lines)}"
        )
    return (
        f"{target}: what became of calls could not be recorded; it is kept in {folder / name}. Until it is recorded,"
        f" those addresses count as unknown: reconciler state recover {folder / name}"
    )


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
