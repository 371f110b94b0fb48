"""What a machine has on its own disk: the heads of records as it has seen them, and what it could not append."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import RecordMissing, RecordRolledBack, StateError
from reconciler.model.entry import Intent, Settled
from reconciler.model.outcome import Outcome
from reconciler.model.record import MeaninglessEntry
from reconciler.model.unrecorded import counting
from reconciler.state.heads import remembered as heads
from reconciler.state.heads.known_head import KnownHead
from reconciler.state.heads.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.model.record import Record
    from reconciler.state.journal.chain import Journal
    from support.simulation.sim_store import Way
    from support.simulation.sim_world import World


@dataclass
class Kept:
    """A file with entries that could not be appended to the record with the id `record`."""

    target: TargetName
    record: str
    entries: Sequence[AnyEntry]

    def told(self) -> dict[str, Outcome]:
        """The outcomes it tells, UNKNOWN ones left out."""
        outcomes = {one.attempt: one.outcome for one in self.entries if isinstance(one, Settled)}
        return {attempt: outcome for attempt, outcome in outcomes.items() if outcome is not Outcome.UNKNOWN}


class Disk:
    """Outlives every crash of its machine. `kept` are its files of entries that could not be appended, `way` leads
    to the records.
    """

    def __init__(self, world: World, name: str, way: Way) -> None:
        self.name = name
        self.way = way
        self.kept: list[Kept] = []
        self._world = world
        self._seen: dict[str, KnownHead] = {}
        self._latest: dict[TargetName, str] = {}
        world.disks.append(self)

    def look_at(self, name: TargetName) -> Journal:
        """A journal as it is now, if it holds what was seen of it. Raises RecordMissing and RecordRolledBack."""
        try:
            journal = self.way.journal(name)
        except RecordMissing as problem:
            if self.seen_of(name):
                raise RecordRolledBack("what was seen here before is gone", where=name) from problem
            raise
        if not self.covers(journal):
            raise RecordRolledBack("what was seen here before is missing", where=name)
        self.remember(journal)
        return journal

    def covers(self, journal: Journal) -> bool:
        """Whether nothing is missing that was seen in the place of the journal."""
        return not self.missed(journal)

    def missed(self, journal: Journal) -> list[KnownHead]:
        """What was seen in the place of the journal, and is neither in it nor given up."""
        return heads.missing_heads(journal, Seen.of(self._seen.values()), self._world.store.place)

    def seen_of(self, name: TargetName) -> list[KnownHead]:
        """What was seen of a target."""
        return Seen.of(self._seen.values()).at(name, self._world.store.place)

    def has_read_more(self, name: TargetName, head: str) -> bool:
        """Whether a record was seen to go on from that head."""
        return self._latest.get(name, head) != head

    def remember(self, journal: Journal) -> None:
        """Remember a head, unless a later one of the same record is known."""
        self._world.promises.see(self.name, journal)
        record = journal.record()
        known = self._seen.get(record.id)
        if known is None or journal.contains(known.head, known.entries) or known.head in record.accepted_losses:
            here = self._world.store.location
            self._seen[record.id] = KnownHead(record.id, journal.target, journal.head, len(journal.lines), here)
            self._latest[journal.target] = journal.head

    def counted(self, record: Record) -> Record:
        """The record, together with what is kept for it here. Raises StateError."""
        try:
            return counting(record, [entry for one in self.kept if one.record == record.id for entry in one.entries])[0]
        except MeaninglessEntry as problem:
            raise StateError(f"a kept result says not of what: {problem}", where=record.target) from None

    def known_to_exist(self) -> frozenset[str]:
        """The creates of which a file here says that they were made, or may have been, and the record not even that."""
        return frozenset(attempt for one in self.kept for attempt in self._told_by(one))

    def _told_by(self, kept: Kept) -> set[str]:
        record = self._world.store.latest(kept.target).record()
        if record.id != kept.record:
            return set()
        begun = {one.attempt for one in kept.entries if isinstance(one, Intent)} - record.attempts.keys()
        told = kept.told()
        return {attempt for attempt, outcome in told.items() if outcome is Outcome.CREATED} | (begun - told.keys())
