"""The last head seen of each record, remembered on this machine: a chain cannot see its own end."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import RecordDamaged, RecordRolledBack, SettingsError
from reconciler.model.address import TargetName
from reconciler.state.disk import LockHeld, lock, written_beside
from reconciler.state.places import branch_place
from reconciler.state.private import check_private, private_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from reconciler.state.journal import Journal

_PATIENCE = 30.0  # seconds to wait for whoever else remembers a head
_RECORD_ID = re.compile(r"[0-9a-f]{8,64}")


@dataclass(frozen=True, slots=True)
class Seen:
    """The last head seen of one record: the hash of its `entries`-th line, and the store it was read from.

    `resolved` is a `location` that is a path without the links in it, as it led then: either may be gone by now.
    """

    record: str
    target: TargetName
    head: str
    entries: int
    location: str
    resolved: str = ""


class Heads:
    """Remembered heads, one file for each record id, in `heads/` of the cache directory.

    Reading them is essential, writing them is not: where that fails, `warning` says why.
    """

    def __init__(self, directory: Path) -> None:
        self.warning: str | None = None
        self._cache = directory
        self._directory = directory / "heads"
        self._patience = _PATIENCE

    def seen(self) -> dict[str, Seen]:
        """What is remembered, by record id; a damaged file counts as none.

        Raises SettingsError where the directory cannot be read, or cannot be trusted.
        """
        try:
            check_private(self._cache)
            check_private(self._directory)
            paths = sorted(self._directory.iterdir())
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise SettingsError(
                f"the remembered heads cannot be read: {problem.strerror}",
                where=self._directory,
                remedy="see to its permissions, or name another directory with --cache-dir",
            ) from problem
        known = (_load(path) for path in paths if path.suffix == ".json")
        return {one.record: one for one in known if one is not None}

    def seen_at(self, location: str, target: TargetName) -> Seen | None:
        """The longest record remembered of this target in the store at `location`, whatever its id.

        A place is the same by whichever of its names it was, or is, called.
        """
        names = {location, _resolved(location), branch_place(location)} - {""}
        known = (one for one in self.seen().values() if one.target == target)
        here = (one for one in known if not names.isdisjoint((one.location, one.resolved, branch_place(one.location))))
        return max(here, key=lambda one: one.entries, default=None)

    @staticmethod
    def check(journal: Journal, seen: Mapping[str, Seen]) -> None:
        """Raises RecordRolledBack for a journal without the head that was seen of it, unless that loss is accepted."""
        known = seen.get(journal.record().id)
        if known is None or _covers(journal, known):
            return
        missing = known.entries - len(journal.lines)
        what = (
            f"the last {missing} of the {known.entries} entries seen here before are missing"
            if missing > 0
            else f"entry {known.entries} is not the one that was seen here before"
        )
        raise RecordRolledBack(
            f"the record of {journal.target} is not the one last read: {what}",
            where=known.location,
            remedy="was a backup restored, a branch force-pushed, a line cut off? put the newer journal back; only if "
            f"it is lost for good: reconciler state accept-rollback -t {journal.target}",
        )

    def remember(self, journal: Journal, location: str, appended: Sequence[str] = ()) -> str | None:
        """Remember the journal's head, unless another run has remembered a later one.

        `appended` are the hashes of lines that were appended to it since; the last of them is the head then. Gives a
        warning where that fails, None otherwise. Raises SettingsError for a directory not to be trusted.
        """
        seen = _seen_of(journal, location)
        if appended:
            seen = replace(seen, head=appended[-1], entries=seen.entries + len(appended))
        return self._write(seen, lambda known: known.head in reversed(appended) or _covers(journal, known))

    def accept(self, journal: Journal, location: str) -> str | None:
        """As `remember`, whatever was remembered before."""
        return self._write(_seen_of(journal, location), lambda _: True)

    def _write(self, seen: Seen, covers: Callable[[Seen], bool]) -> str | None:
        """Write `seen`, unless it does not cover what is there already."""
        path = self._directory / f"{seen.record}.json"
        try:
            if _load(path) == seen:
                return None
            with self._locked():
                known = _load(path)
                if known is None or covers(known):
                    with written_beside(path, json.dumps(asdict(seen)).encode(), 0o600) as beside:
                        beside.replace(path)
        except OSError as problem:
            self.warning = (
                f"{self._directory}: the last head of the state record cannot be remembered: {problem.strerror}; "
                "a record that is rolled back would not be noticed"
            )
            return self.warning
        return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        private_directory(self._cache)
        private_directory(self._directory)
        descriptor = os.open(self._directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            lock(descriptor, self._directory, self._patience)
            yield
        except LockHeld:
            self._patience = 0.0  # whoever has not let go by now is stopped: an apply must not wait for each append
            raise
        finally:
            os.close(descriptor)


def _seen_of(journal: Journal, location: str) -> Seen:
    """Raises RecordDamaged for a record id that is no name for a file."""
    record = journal.record().id
    if not _RECORD_ID.fullmatch(record):
        raise RecordDamaged("the record's id is not hexadecimal", where=f"{location}: {journal.target}")
    return Seen(record, journal.target, journal.head, len(journal.lines), location, _resolved(location))


def _resolved(location: str) -> str:
    """Where an absolute path really leads; nothing for any other location."""
    return os.path.realpath(location) if Path(location).is_absolute() else ""


def _covers(journal: Journal, known: Seen) -> bool:
    """Whether the journal holds the head that is known, or says that a person accepted its loss."""
    return journal.contains(known.head, known.entries) or known.head in journal.record().accepted_losses


def _load(path: Path) -> Seen | None:
    """What a file remembers, None for one that is missing, unreadable or damaged."""
    try:
        match json.loads(path.read_bytes()):
            case {
                "record": str(record),
                "target": str(target),
                "head": str(head),
                "entries": int(entries),
                "location": str(location),
                **others,
            } if f"{record}.json" == path.name:
                resolved = others.get("resolved")  # which earlier versions did not write
                resolved = resolved if isinstance(resolved, str) else ""
                return Seen(record, TargetName(target), head, entries, location, resolved)
    except (OSError, ValueError, RecursionError):
        pass
    return None
