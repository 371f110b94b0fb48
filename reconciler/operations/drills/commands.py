"""The commands that a person runs in a drill: which of them only look, and which did change something."""

import json
import os
import signal
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct

LOOKING = frozenset({
    "completion", "demo", "doctor", "drill", "github comment", "github issues", "lead create", "parity", "plan",
    "removals", "replay", "sandbox delete", "sandbox serve", "sandbox trigger", "schema", "secret show",
    "state history", "state list", "state show", "state verify", "status", "token", "validate", "verification infer",
})  # fmt: skip
"""Commands that change nothing in the project, in the record or on this machine but what is cached."""

CHANGING = frozenset({
    "apply", "init", "listen", "secret reseal", "secret set", "state accept-rollback", "state copy", "state import",
    "state init", "state mv", "state observe", "state rebind", "state recover", "state removed", "state resolve",
    "state retire",
})  # fmt: skip
"""All others."""


_PAUSE, _PAUSES = 0.05, 100  # seconds between looks at a command that is to end, and how many


class Counted(Struct, frozen=True):
    """How many commands were run, and how many of them changed something."""

    run: int
    changed: int


def may_change(arguments: Sequence[str]) -> bool:
    """Whether a command with these arguments is one that can change something; false if it names none."""
    for first, second in pairwise([*arguments, ""]):
        for name in (f"{first} {second}", first):
            if name in LOOKING or name in CHANGING:
                return name in CHANGING
    return False


def note_command(place: Path, arguments: Sequence[str]) -> None:
    """Note that a command begins, and what there is to change."""
    streams = [os.fstat(stream) for stream in (1, 2)]
    note = {
        "process": os.getpid(),
        "arguments": list(arguments),
        "streams": [found.st_ino for found in streams if stat.S_ISREG(found.st_mode)],
        "files": _files(place),
    }
    with _notes(place).open("a", encoding="utf-8") as notes:
        notes.write(f"{json.dumps(note)}\n")


def end_all(place: Path) -> None:
    """End the commands that still run, such as a `listen` in the background, and wait until they have."""
    for process in (note["process"] for note in _read(place)):
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(process) == os.getsid(0):  # otherwise it is a new process with an old number
                os.kill(process, signal.SIGTERM)
                for _ in range(_PAUSES):
                    time.sleep(_PAUSE)
                    os.kill(process, 0)


def counted(place: Path) -> Counted:
    """Count the commands, now that all have ended.

    One has changed something if it could, and what is there differs from what is there when the next one begins.
    """
    noted = _read(place)
    printed = {str(inode) for note in noted for inode in note["streams"]}
    states = [
        {inode: file for inode, file in files.items() if inode not in printed}
        for files in (*(note["files"] for note in noted), _files(place))
    ]
    changes = [before != after for before, after in pairwise(states)]
    return Counted(
        len(noted), sum(may_change(note["arguments"]) and change for note, change in zip(noted, changes, strict=True))
    )


def _read(place: Path) -> list[dict[str, Any]]:
    notes = _notes(place)
    return [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()] if notes.exists() else []


def _notes(place: Path) -> Path:
    return place / "commands.jsonl"


def _files(place: Path) -> dict[str, list[int]]:
    """Size and time by inode of the files that commands write; what a person edits is none of them."""
    files = {}
    for folder in ("project", "data", "elsewhere"):
        for path in (place / folder).rglob("*"):
            inside = path.relative_to(place).parts
            edited = inside[:2] == ("project", "config") or (folder == "project" and inside[1].startswith("."))
            with suppress(FileNotFoundError):  # a command in the background works on
                found = path.stat()
                if not edited and stat.S_ISREG(found.st_mode):
                    files[str(found.st_ino)] = [found.st_size, found.st_mtime_ns]
    return files
