"""The last known head of each record, remembered on this machine: a chain cannot see its own end."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from reconciler.disk.directories import private_directory
from reconciler.disk.durable import replace_file
from reconciler.disk.locks import LockHeld, locked_file
from reconciler.errors import RecordDamaged, RecordRolledBack
from reconciler.state.heads.known_head import KnownHead, load_known_head
from reconciler.state.heads.listing import Listing
from reconciler.state.journal.chain import count_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from reconciler.model.address import TargetName
    from reconciler.model.record import Record
    from reconciler.state.heads.seen import Seen
    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.store import StoreLocation

_PATIENCE = 30.0  # seconds to wait for another process that remembers a head
_RECORD_ID = re.compile(r"[0-9a-f]{8,64}")
_PLACES = 128
"""How many names of other locations are remembered of one record: the ones last seen."""


class Heads:
    """Remembered heads, one file for each record id, in `heads/` of the cache directory.

    A head that cannot be read is an error; one that cannot be written sets `warning`.
    """

    def __init__(self, directory: Path) -> None:
        self.warning: str | None = None
        self.witnessed: Sequence[KnownHead] = ()
        """Heads that a witness has seen: they count like those remembered."""
        self.is_blind = False
        """Whether a witness may have seen others, which could not be read."""
        self.noted: dict[TargetName, tuple[KnownHead, StoreLocation]] = {}
        """What a witness is to be told: the head of each journal that this run appended to, and its store."""
        self._cache = directory
        self._directory = directory / "heads"
        self._patience = _PATIENCE
        self._listing = Listing(self._cache, self._directory)

    def seen(self, target: TargetName | None = None) -> Seen:
        """The last known heads; those of `target` (None: of every target) are read again, and those not read yet.

        Raises SettingsError if the directory, or a file in it, cannot be read or is not safe.
        """
        seen = self._listing.read(target)
        return replace(seen, witnessed=self.witnessed) if self.witnessed else seen

    @staticmethod
    def check(journal: Journal, seen: Seen, place: StoreLocation) -> None:
        """Raises RecordRolledBack for a journal without a head last known of it, or of its target at that location.

        Not if the operator accepted that loss, and not for another record of another service. A closed record has no
        later heads here: those last known may be of the store where it continues.
        """
        if journal.record().closed is None:
            refuse_missing(journal, seen, place)

    def remember(
        self, journal: Journal, place: StoreLocation, appended: Sequence[str] = (), seen: Seen | None = None
    ) -> str | None:
        """Remember the journal's head, unless another run has remembered a later one.

        `appended` are the hashes of lines that were appended to it since; the last of them is its head then. `seen` is
        what was remembered before the journal was read: if that is all there is to remember, the file is not read
        again. Returns a warning if that fails, None otherwise. Raises SettingsError for a directory that is not safe.
        """
        head = _known_head_of(journal, place)
        if seen is not None and _says(seen.records.get(head.record), head):
            return None
        if appended:
            head = replace(head, head=appended[-1], entries=head.entries + len(appended))
        return self._write(head, lambda known: covers(journal, known, appended), is_new=bool(appended))

    def note(self, journal: Journal, place: StoreLocation, appended: Sequence[str] = ()) -> None:
        """Note the head of a journal for a witness; the arguments are those of `remember`."""
        record, head = journal.record(), [journal.head, *appended][-1]
        entries = len(journal.lines) + len(appended)
        known = KnownHead(record.id, journal.target, head, entries, place.location, place.resolved, record.base_url)
        self.noted[journal.target] = known, place

    def accept(self, journal: Journal, place: StoreLocation) -> str | None:
        """As `remember`, whatever was remembered before."""
        return self._write(_known_head_of(journal, place), lambda _: True)

    def _write(self, head: KnownHead, covers: Callable[[KnownHead], bool], *, is_new: bool = False) -> str | None:
        """Write `head`, unless it does not cover the head that is remembered already, or, if not `is_new`, is that."""
        path = self._listing.file(head.record)
        try:
            if not is_new and _says(load_known_head(path), head):
                return None
            with self._locked() as lock:
                known = load_known_head(path)
                if known is None or covers(known):
                    head = _with_places(head, known)
                    with self._listing.adding(head, lock, is_new=known is None):
                        replace_file(path, json.dumps(asdict(head)).encode(), 0o600)
        except OSError as problem:
            self.warning = (
                f"{self._directory}: cannot save the last known head of the state record: {problem.strerror};"
                " a later rollback would not be detected"
            )
            return self.warning
        return None

    @contextmanager
    def _locked(self) -> Iterator[int]:
        private_directory(self._cache)
        private_directory(self._directory)
        try:
            with locked_file(self._listing.lock, self._patience) as lock:
                yield lock
        except LockHeld:
            self._patience = 0.0  # the holder hangs: an apply must not wait at each append
            raise


def refuse_missing(journal: Journal, seen: Seen, place: StoreLocation) -> None:
    """As `Heads.check`, of a closed record too."""
    record = journal.record()
    for known in missing_heads(journal, seen, place):
        if known.record == record.id:
            raise _rolled_back(journal, known, place)
        if known.concerns(record.base_url):
            raise record_replaced(record, known, place)


def replaced_heads(record: Record, seen: Seen, place: StoreLocation) -> list[KnownHead]:
    """The heads of other records of the target last seen at `place`, unless their loss was accepted."""
    others = (known for known in seen.at(record.target, place) if known.record != record.id)
    return [known for known in others if known.head not in record.accepted_losses]


def missing_heads(journal: Journal, seen: Seen, place: StoreLocation) -> list[KnownHead]:
    """The heads last seen of the journal, or at `place`, that it neither contains nor accepts as lost."""
    record = journal.record()
    own = [known for known in seen.of_record(record.id) if not covers(journal, known)]
    own.sort(key=lambda known: -known.entries)
    return own + replaced_heads(record, seen, place)


def record_replaced(record: Record, known: KnownHead, place: StoreLocation) -> RecordRolledBack:
    """The error for a record at a location where another one was last seen."""
    return RecordRolledBack(
        f"the state record of {record.target} was replaced: expected record {known.record}"
        f" ({known.length}{_witness(known)}), found"
        f" record {record.id} ({count_entries(record.entries)}), which does not list what {known.record} created",
        where=place.location,
        remedy="a branch or directory may have been deleted, or `state init` run on another machine; restore the other"
        f" journal; if it is lost for good, run: reconciler state accept-rollback -t {record.target}",
    )


def _rolled_back(journal: Journal, known: KnownHead, place: StoreLocation) -> RecordRolledBack:
    missing = known.entries - len(journal.lines)
    what = (
        f"the last {missing} of {known.length} are missing"
        if missing > 0
        else f"entry {known.entries} differs from the one last seen {known.source}"
    )
    last_seen = _witness(known) if missing > 0 else ""
    return RecordRolledBack(
        f"the record of {journal.target} was rolled back: {what}{last_seen}",
        where=known.location or place.location,
        remedy=f"{known.elsewhere_than(place)}a backup may have been restored, a branch force-pushed or lines deleted;"
        " restore the newer journal, or"
        " run: reconciler state recover NEWER.jsonl; if it is lost for good, run:"
        f" reconciler state accept-rollback -t {journal.target}",
    )


def _witness(known: KnownHead) -> str:
    """Who has seen a head that this machine has not; a person may want to look whether it is forged."""
    return "" if known.read_here else f", last seen {known.source}"


def _says(known: KnownHead | None, head: KnownHead) -> bool:
    """Whether what is remembered of a record says all that `head` says."""
    return known is not None and replace(head, places=known.places) == known


def _with_places(head: KnownHead, known: KnownHead | None) -> KnownHead:
    """`head`, and the other locations that the record was last known at."""
    if known is None:
        return head
    names = dict.fromkeys((*known.places, known.location, known.resolved))
    others = [name for name in names if name not in ("", head.location, head.resolved)]
    return replace(head, places=tuple(others[-_PLACES:]))


def _known_head_of(journal: Journal, place: StoreLocation) -> KnownHead:
    """Raises RecordDamaged for a record id that is not a valid file name."""
    record = journal.record()
    if not _RECORD_ID.fullmatch(record.id):
        raise RecordDamaged("the record's id is not hexadecimal", where=f"{place.location}: {journal.target}")
    entries, location = len(journal.lines), place.location
    return KnownHead(record.id, journal.target, journal.head, entries, location, place.resolved, record.base_url)


def covers(journal: Journal, known: KnownHead, appended: Sequence[str] = ()) -> bool:
    """Whether the journal, with the lines `appended` to it, contains a head or says that its loss was accepted."""
    return (
        known.head in reversed(appended)
        or journal.contains(known.head, known.entries)
        or known.head in journal.record().accepted_losses
    )
