"""The last head seen of each record, remembered on this machine: a chain cannot see its own end."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from reconciler.disk.directories import check_private, private_directory
from reconciler.disk.durable import written_beside
from reconciler.disk.locks import LockHeld, lock
from reconciler.errors import RecordDamaged, RecordRolledBack, SettingsError
from reconciler.model.address import TargetName
from reconciler.state.heads.known_head import KnownHead, load_known_head, names_of, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from reconciler.model.address import TargetName
    from reconciler.model.record import Record
    from reconciler.state.journal.chain import Journal

_PATIENCE = 30.0  # seconds to wait for whoever else remembers a head
_RECORD_ID = re.compile(r"[0-9a-f]{8,64}")
_PLACES = 128
"""How many names of other places are kept of one record; the ones seen last."""


class Heads:
    """Remembered heads, one file for each record id, in `heads/` of the cache directory.

    Reading them is essential, writing them is not: where that fails, `warning` says why.
    """

    def __init__(self, directory: Path) -> None:
        self.warning: str | None = None
        self._cache = directory
        self._directory = directory / "heads"
        self._patience = _PATIENCE
        self._loaded: dict[Path, KnownHead] = {}

    def seen(self, target: TargetName | None = None) -> dict[str, KnownHead]:
        """What is remembered, by record id; read afresh of `target`, where one is given, and of records not read yet.

        A record is of one target for ever, so to read a target does not cost more with every other one.

        Raises SettingsError where the directory, or a file in it, cannot be read or cannot be trusted.
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
        known = (self._load(path, target) for path in paths if path.suffix == ".json")
        return {one.record: one for one in known if one is not None}

    def _load(self, path: Path, target: TargetName | None) -> KnownHead | None:
        """What a file remembers, as it was read before where that was of another target than the one given."""
        loaded = self._loaded.get(path)
        if loaded is not None and target not in (None, loaded.target):
            return loaded
        read = load_known_head(path)
        if read is not None:
            self._loaded[path] = read
        return read

    def seen_at(self, location: str, target: TargetName) -> KnownHead | None:
        """The longest record remembered of this target in the store at `location`, whatever its id."""
        return next(iter(seen_at(self.seen(), target, location)), None)

    @staticmethod
    def check(journal: Journal, seen: Mapping[str, KnownHead], location: str = "") -> None:
        """Raises RecordRolledBack for a journal that lacks what was seen of it, or of its target in that store.

        Not where a person accepted that loss; nor for what was seen of another record, of another service.
        """
        record = journal.record()
        for known in missing_heads(journal, seen, location):
            if known.record == record.id:
                raise _rolled_back(journal, known)
            if known.concerns(record.base_url):
                raise record_replaced(record, known, location)

    def remember(self, journal: Journal, location: str, appended: Sequence[str] = ()) -> str | None:
        """Remember the journal's head, unless another run has remembered a later one.

        `appended` are the hashes of lines that were appended to it since; the last of them is the head then. Gives a
        warning where that fails, None otherwise. Raises SettingsError for a directory not to be trusted.
        """
        seen = _known_head_of(journal, location)
        if appended:
            seen = replace(seen, head=appended[-1], entries=seen.entries + len(appended))
        return self._write(seen, lambda known: known.head in reversed(appended) or _covers(journal, known))

    def accept(self, journal: Journal, location: str) -> str | None:
        """As `remember`, whatever was remembered before."""
        return self._write(_known_head_of(journal, location), lambda _: True)

    def _write(self, seen: KnownHead, covers: Callable[[KnownHead], bool]) -> str | None:
        """Write `seen`, unless it does not cover what is there already."""
        path = self._directory / f"{seen.record}.json"
        try:
            known = load_known_head(path)
            if known is not None and replace(seen, places=known.places) == known:
                return None
            with self._locked():
                known = load_known_head(path)
                if known is None or covers(known):
                    told = json.dumps(asdict(_with_places(seen, known))).encode()
                    with written_beside(path, told, 0o600) as beside:
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


def seen_at(seen: Mapping[str, KnownHead], target: TargetName, location: str) -> list[KnownHead]:
    """What was seen of a target in the store at `location`, the longest record first."""
    names = names_of(location)
    return _longest_first(one for one in seen.values() if one.target == target and one.was_at(names))


def seen_elsewhere(seen: Mapping[str, KnownHead], target: TargetName, location: str) -> list[KnownHead]:
    """What was seen of a target in other stores only, the longest record first."""
    names = names_of(location)
    return _longest_first(one for one in seen.values() if one.target == target and not one.was_at(names))


def targets_seen(seen: Mapping[str, KnownHead], location: str) -> set[TargetName]:
    """The targets of which a record was seen in the store at `location`."""
    names = names_of(location)
    return {one.target for one in seen.values() if one.was_at(names)}


def replaced_heads(record: Record, seen: Mapping[str, KnownHead], location: str) -> list[KnownHead]:
    """Other records that were seen in the place of `record`, and whose loss nobody accepted."""
    there = seen_at(seen, record.target, location)
    return [one for one in there if one.record != record.id and one.head not in record.accepted_losses]


def missing_heads(journal: Journal, seen: Mapping[str, KnownHead], location: str) -> list[KnownHead]:
    """What was seen of the journal, or in its place, and is neither in it nor given up."""
    record = journal.record()
    own = [one for one in (seen.get(record.id),) if one is not None and not _covers(journal, one)]
    return own + replaced_heads(record, seen, location)


def record_replaced(record: Record, known: KnownHead, location: str) -> RecordRolledBack:
    """The error for a record that stands where another one was seen."""
    return RecordRolledBack(
        f"another state record of {record.target} was here before: {known.record}, with {known.length}; the"
        f" one here now is {record.id}, with {record.entries}, and knows nothing of what that one created",
        where=location,
        remedy="was a branch deleted, a directory lost, `state init` run elsewhere? put the other journal back; only if"
        f" it is lost for good: reconciler state accept-rollback -t {record.target}",
    )


def _longest_first(seen: Iterable[KnownHead]) -> list[KnownHead]:
    return sorted(seen, key=lambda one: (-one.entries, one.record))


def _rolled_back(journal: Journal, known: KnownHead) -> RecordRolledBack:
    missing = known.entries - len(journal.lines)
    what = (
        f"the last {missing} of the {known.length} seen here before are missing"
        if missing > 0
        else f"entry {known.entries} is not the one that was seen here before"
    )
    return RecordRolledBack(
        f"the record of {journal.target} is not the one last read: {what}",
        where=known.location,
        remedy="was a backup restored, a branch force-pushed, a line cut off? put the newer journal back, or add what"
        " it holds: reconciler state recover NEWER.jsonl; only if it is lost for good:"
        f" reconciler state accept-rollback -t {journal.target}",
    )


def _with_places(seen: KnownHead, known: KnownHead | None) -> KnownHead:
    """`seen`, and the places that the record was known to be at before."""
    if known is None:
        return seen
    names = dict.fromkeys((*known.places, known.location, known.resolved))
    others = [name for name in names if name not in ("", seen.location, seen.resolved)]
    return replace(seen, places=tuple(others[-_PLACES:]))


def _known_head_of(journal: Journal, location: str) -> KnownHead:
    """Raises RecordDamaged for a record id that is no name for a file."""
    record = journal.record()
    if not _RECORD_ID.fullmatch(record.id):
        raise RecordDamaged("the record's id is not hexadecimal", where=f"{location}: {journal.target}")
    led = resolved(location)
    return KnownHead(record.id, journal.target, journal.head, len(journal.lines), location, led, record.base_url)


def _covers(journal: Journal, known: KnownHead) -> bool:
    """Whether the journal holds the head that is known, or says that a person accepted its loss."""
    return journal.contains(known.head, known.entries) or known.head in journal.record().accepted_losses
