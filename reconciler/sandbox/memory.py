"""The memory of a sandbox: an append-only file of JSON lines, each on the disk before it counts."""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_NB, flock
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from reconciler.disk.directories import private_directory
from reconciler.disk.durable import sync_directory, write_at
from reconciler.errors import Message, SettingsError, Step
from reconciler.sandbox.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE = "sandbox.jsonl"


class Memory:
    """The events of earlier runs, and the file in `directory` that new ones are appended to; both are created.

    One sandbox at a time may have it open. A last line that was not written completely is cut off. Raises
    SettingsError.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._writing, self._descriptor = Lock(), -1
        try:
            private_directory(directory)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            sync_directory(directory)
            flock(self._descriptor, LOCK_EX | LOCK_NB)
            self.events = self._read()
        except OSError as problem:
            self.close()
            reason = "in use by another sandbox" if isinstance(problem, BlockingIOError) else problem.strerror
            raise self._unusable(reason or "cannot be opened", str(self._path)) from None

    def append(self, events: Iterable[Event]) -> None:
        """Append events, and return after they are on the disk. Raises OSError."""
        data = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
        with self._writing:
            if self._descriptor >= 0:  # what ends after it has closed is attempted again by the next run
                write_at(self._descriptor, data, self._size)
                self._size += len(data)

    def close(self) -> None:
        with self._writing:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> list[Event]:
        whole, newline, _ = self._path.read_bytes().rpartition(b"\n")
        self._size = len(whole) + len(newline)
        os.ftruncate(self._descriptor, self._size)
        decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
        events = list[Event]()
        try:
            events.extend(map(decoder.decode, whole.splitlines()))
        except msgspec.MsgspecError:
            self.close()
            where = f"{self._path}:{len(events) + 1}"
            raise self._unusable("not written by this version of the sandbox", where) from None
        return events

    def _unusable(self, what: str, where: str) -> SettingsError:
        return SettingsError(Message("sandbox-data-unusable", what, where, (Step("use another --data"),)))
