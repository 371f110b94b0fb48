"""What a sandbox remembers when it stops: an append-only file of JSON lines, each on the disk before it counts."""

import os
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from threading import Lock
from typing import Self

import msgspec

from reconciler.disk.directories import private_directory
from reconciler.disk.durable import sync_directory, write_at
from reconciler.errors import SettingsError
from reconciler.sandbox.events import Event, Started

FILE = "sandbox.jsonl"


class Memory:
    """The events of earlier runs, and the file in `directory` that new ones are appended to; both are created.

    One sandbox at a time may have it open. A last line that was not written completely is cut off. `port` is the last
    one, 0 at first; `credentials` are client id and secret by target. Raises SettingsError.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._writing = Lock()
        try:
            private_directory(directory)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            sync_directory(directory)
        except OSError as problem:
            raise SettingsError(f"cannot be used: {problem.strerror or problem}", where=self._path) from None
        try:
            flock(self._descriptor, LOCK_EX | LOCK_NB)
            self.events = self._read()
        except BaseException as problem:
            os.close(self._descriptor)
            if isinstance(problem, OSError):
                raise SettingsError(
                    "in use by another sandbox", where=directory, remedy="stop that one, or use another directory"
                ) from None
            raise

    @property
    def port(self) -> int:
        return next((event.port for event in reversed(self.events) if isinstance(event, Started)), 0)

    @property
    def credentials(self) -> dict[str, tuple[str, str]]:
        starts = (event for event in self.events if isinstance(event, Started))
        return {name: pair for start in starts for name, pair in start.credentials.items()}

    def append(self, event: Event) -> None:
        """Append an event, and return after it is on the disk. Raises OSError."""
        line = msgspec.json.encode(event) + b"\n"
        with self._writing:
            if self._descriptor < 0:
                return  # it has stopped: what ends now is attempted again by the next one
            write_at(self._descriptor, line, self._size)
            self._size += len(line)

    def close(self) -> None:
        with self._writing:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> list[Event]:
        data = self._path.read_bytes()
        whole, newline, _ = data.rpartition(b"\n")
        self._size = len(whole) + len(newline)
        os.ftruncate(self._descriptor, self._size)
        decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
        events = []
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                events.append(decoder.decode(line))
            except msgspec.MsgspecError:
                raise SettingsError(
                    "not written by this version of the sandbox", where=f"{self._path}:{number}",
                    remedy="use another directory",
                ) from None  # fmt: skip
        return events
