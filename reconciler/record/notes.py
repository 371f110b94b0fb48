"""Remembers the last head of each record on this machine, in one small file per record and place.

The files are in the data directory rather than in a cache, which people delete. A machine that does not keep the
directory, such as a CI runner, relies on the store's second place.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import MsgspecError
from msgspec.json import Decoder, encode

from reconciler.disk import locked_file, private_directory, replace_file
from reconciler.errors import Message, SettingsError, Step, StoreUnavailable
from reconciler.record.gates import Note

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_read_note = Decoder(Note).decode
_TRIES = 10
"""The number of tries to list and read the notes. A listed note may be deleted before it is read."""
_PATIENCE = 10.0  # seconds to wait for another process that writes a note


class Notes:
    """The notes in a directory, which is created when the first note is written."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read_all(self) -> list[Note]:
        """Return every note of this machine. Raises SettingsError for a note that cannot be read."""
        for tries_left in reversed(range(_TRIES)):
            try:
                files = sorted(self._directory.iterdir())
            except FileNotFoundError:
                break
            except OSError as problem:
                raise SettingsError(_unreadable(str(self._directory), problem)) from None
            try:
                return [self._read(file) for file in files if file.suffix == ".json"]
            except OSError as problem:
                # Another process deletes a note only after it has written a newer one, which the next list contains.
                if not (tries_left and isinstance(problem, FileNotFoundError)):
                    raise SettingsError(_unreadable(str(problem.filename), problem)) from None
        return []

    def write(self, note: Note, replaces: Callable[[Note], bool] = lambda _: True) -> None:
        """Remember a head durably, unless `replaces` returns false for the existing note of the same record and place.

        Another process may have noted a later head in the meantime. Raises StoreUnavailable if the note cannot be
        written; in this case, the caller must not rely on the head.
        """
        file = self._file(note)
        try:
            private_directory(self._directory)
            with locked_file(self._directory / "lock", _PATIENCE):
                former = self._read(file) if file.exists() else None
                if former is None or (former != note and replaces(former)):
                    replace_file(file, encode(note) + b"\n", 0o600)
        except (OSError, SettingsError) as problem:
            raise self._unwritable(problem) from None

    def drop(self, note: Note) -> None:
        """Delete a note that a newer note about the same place replaces. Raises StoreUnavailable if this fails."""
        try:
            self._file(note).unlink(missing_ok=True)
        except OSError as problem:
            raise self._unwritable(problem) from None

    def _file(self, note: Note) -> Path:
        identity = f"{note.record} {note.place}{' second' if note.second else ''}"
        return self._directory / f"{sha256(identity.encode()).hexdigest()[:32]}.json"

    def _unwritable(self, problem: OSError | SettingsError) -> StoreUnavailable:
        text = problem.strerror if isinstance(problem, OSError) else problem.messages[0].what
        what = f"cannot save the record's head on this machine: {text}"
        return StoreUnavailable(Message("note-unwritable", what, str(self._directory)))

    def _read(self, file: Path) -> Note:
        try:
            return _read_note(file.read_bytes())
        except MsgspecError as problem:
            raise SettingsError(_unreadable(str(file), problem)) from None


def _unreadable(where: str, problem: OSError | MsgspecError) -> Message:
    text, steps = str(problem), tuple[Step, ...]()
    if isinstance(problem, OSError):
        text, steps = problem.strerror or "unreadable", (Step("set XDG_DATA_HOME to a writable directory"),)
    return Message("note-unreadable", f"cannot read the remembered head of a record: {text}", where, steps)
