"""What happens to records behind everybody's back: one is rolled back, or gone for a while; then somebody mends it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.entry import Removed, Retired, RollbackAccepted
from reconciler.model.record import MeaninglessEntry
from reconciler.state.heads.tracking import rollback_entries
from reconciler.state.journal.chain import extend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.state.journal.chain import Journal
    from support.simulation.sim_clocks import Clocks
    from support.simulation.sim_world import World

_BY = {"user": "mender"}
_MOST_LOST = 5
_MENDED_WITHIN = 120.0  # seconds


class Mishaps:
    """One at a time for each record. Whoever mends a record has found what was lost of it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._clocks: Clocks = world.draw_clocks()
        self._struck: set[TargetName] = set()

    def strike(self) -> None:
        """Something may happen to a record."""
        target = self._world.rng.choice(sorted(self._world.store.data))
        if target in self._struck:
            return
        if self._world.chances.happens("roll_back"):
            self._roll_back(target)
        elif self._world.chances.happens("vanish"):
            self._hide(target)
        elif self._world.chances.happens("take_over"):
            self._take_over(target)

    def _roll_back(self, target: TargetName) -> None:
        """A backup is restored, or a branch forced back."""
        journal = self._world.store.journal(target)
        lost = self._world.rng.randint(1, _MOST_LOST)
        if lost >= len(journal.lines):
            return
        older = self._world.store.cut(journal, len(journal.lines) - lost)
        self._world.tell("a record loses", lost, "entries:", target)
        self._world.promises.lose(older)
        self._mend_later(target, partial(self._join, journal, len(older.lines)))

    def _hide(self, target: TargetName) -> None:
        """A disk is not mounted, a branch deleted."""
        self._world.tell("a record is gone:", target)
        self._world.promises.lossy = True
        self._world.store.hidden.add(target)
        self._mend_later(target, lambda: self._world.store.hidden.discard(target))

    def _take_over(self, target: TargetName) -> None:
        """Somebody who has never seen the record begins another in its place."""
        journal = self._world.store.journal(target)
        self._world.tell("another record is begun:", target)
        self._world.promises.lose(self._world.store.begin(self._world.begun(target)))
        self._mend_later(target, partial(self._put_back, journal))

    def _mend_later(self, target: TargetName, mend: Callable[[], None]) -> None:
        self._struck.add(target)
        self._world.later(self._world.rng.random() * _MENDED_WITHIN, partial(self._mend, target, mend))

    def _mend(self, target: TargetName, mend: Callable[[], None]) -> None:
        """What was lost is found, or is lost for good."""
        if not self._world.chances.happens("give_up"):
            mend()
        elif target in self._world.store.hidden:
            self._world.store.hidden.discard(target)
            self._world.promises.lose(self._world.store.begin(self._world.begun(target)))
        self._accept(target)
        self._struck.discard(target)

    def _put_back(self, first: Journal) -> None:
        """The record that was there first is put back; what the other came to hold meanwhile is lost for good."""
        self._world.store.put(first)
        self._world.promises.lose(first)

    def _accept(self, target: TargetName) -> None:
        """`state accept-rollback`, on each machine that misses something."""
        for disk in self._world.disks:
            journal = self._world.store.journal(target)
            entries = rollback_entries(disk.missed(journal), self._at(), _BY, forced=False)
            if entries:
                self._world.tell("a loss is accepted:", target, disk.name)
                self._append(journal, entries)
        self._world.promises.give_up(target)  # of what nobody has seen, nobody misses anything
        self._take_stock(target)

    def _take_stock(self, target: TargetName) -> None:
        """Removals may have been lost too: what the operator does not find is removed once more."""
        for one in self._world.store.journal(target).record().attempts.values():
            if one.in_force and not self._world.service.exists(one.id):
                self._add(target, Retired(at=self._at(), by=_BY, attempt=one.id))
                self._add(target, Removed(at=self._at(), by=_BY, attempt=one.id))

    def _join(self, lost: Journal, common: int) -> None:
        """The newer journal is put back; where others have gone on from the older one, what was lost is added to it."""
        store, target = self._world.store, lost.target
        journal = store.journal(target)
        if journal.contains(lost.head, len(lost.lines)):
            return
        self._world.tell("a record is mended:", target)
        if lost.contains(journal.head, len(journal.lines)):
            store.put(lost)
            self._world.promises.lose(lost)
            return
        accepted = RollbackAccepted(at=self._at(), by=_BY, lost_head=lost.head, lost_entries=len(lost.lines))
        for entry in (*(entry for entry, _ in lost.lines[common:]), accepted):  # what is accepted must be there by then
            self._add(target, entry)

    def _add(self, target: TargetName, entry: AnyEntry) -> None:
        journal = self._world.store.journal(target)
        if any(entry == there for there, _ in journal.lines):
            return
        with suppress(MeaninglessEntry):
            self._append(journal, [entry])

    def _append(self, journal: Journal, entries: Sequence[AnyEntry]) -> None:
        _, lines = extend(journal, entries)
        self._world.store.append(journal.target, journal.head, len(journal.lines) + 1, lines, entries[0].kind)

    def _at(self) -> str:
        return stamp(self._clocks.read(self._world.time).wall)
