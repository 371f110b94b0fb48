"""The people: whoever edits the configuration and mends the record, and the operator who deletes what is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reconciler.model.address import Address
from reconciler.model.clock import stamp
from reconciler.model.entry import Moved, Observed, Removed, Resolved, Retired
from reconciler.model.plan import Block
from reconciler.model.record import Status
from reconciler.model.unrecorded import followable
from reconciler.planning.evidence import evidence_for
from reconciler.state.journal.chain import extend
from support.simulation.sim_service import routes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Change
    from reconciler.model.record import Attempt
    from support.simulation.sim_disk import Kept
    from support.simulation.sim_world import World

_BY = {"user": "operator"}
_HEARD = 0.5


class People:
    """Acts of people. Each reads the record and appends at once, as one `state` command does.

    They know what the record says, the time on a machine of their own, and what the operator answers when asked: what
    exists at that moment, and nothing of what may still be on its way.
    """

    def __init__(self, world: World) -> None:
        self.asleep_until = 0.0
        self.incarnation = 0
        self._world = world
        self._clocks = world.draw_clocks()
        self._first_seen: dict[str, float] = {}
        self._are_patient = world.rng.random() < 0.5

    def act(self) -> None:
        """Something that people do now and then."""
        deeds = (self.edit, self.edit, self.settle, self.settle, self.settle, self.delete, self.delete, self.rename)
        self._world.rng.choice((*deeds, self.retire, self.recover, self.observe))()

    def edit(self) -> None:
        """Another configuration is merged."""
        self._world.config.edit(self._world.rng)
        self._world.tell("the configuration is edited")

    def settle(self) -> None:
        """`state resolve`: created, where the operator finds it; not created, where not, and its time is over."""
        for target, attempt in self._attempts():
            if not attempt.unresolved:
                continue
            over = self._is_over(attempt)
            created = self._world.service.exists(attempt.id)
            heard = evidence_for(self._world.store.journal(target).record(), attempt)
            if heard and not created and self._world.chances.happens("doubt"):
                continue  # it takes `--force` to say that nothing sends them
            if created and over and not heard and not self._is_kept(attempt) and self._world.chances.happens("lie"):
                self._world.promises.excused.add(attempt.id)
                created = False
            if over and not created and not self._has_waited(attempt):
                self._world.promises.excused.add(attempt.id)  # by the clocks alone, which differ by minutes
            if over or (created and attempt.status is Status.UNKNOWN):
                self._append(target, Resolved(at=self._at(), by=_BY, attempt=attempt.id, created=created))

    def _is_kept(self, attempt: Attempt) -> bool:
        """Whether the machine they sit at has a file that tells the outcome: what contradicts it is refused."""
        return any(attempt.id in kept.told() for kept in self._world.rng.choice(self._world.disks).kept)

    def observe(self) -> None:
        """`state observe`: some of the notifications of what exists have arrived, some come late, some are lost."""
        for target, attempt in self._attempts():
            if self._world.service.exists(attempt.id) and self._world.rng.random() < _HEARD:
                code = self._world.rng.choice(attempt.codes)
                seen = Observed(
                    at=self._at(), by=_BY, address=attempt.address, url=attempt.url, received={code: self._at()}
                )
                self._append(target, seen)

    def delete(self) -> None:
        """The operator deletes what awaits removal, and `state removed` says so."""
        for target, attempt in self._attempts():
            if attempt.status is Status.AWAITING_REMOVAL:
                self._world.service.delete(attempt.id)
                self._append(target, Removed(at=self._at(), by=_BY, attempt=attempt.id))

    def rename(self) -> None:
        """A subscription is renamed in the configuration, and `state mv` says so, or is forgotten."""
        sources = sorted(self._world.config.urls)
        if not sources:
            return
        source = self._world.rng.choice(sources)
        if source.target not in self._world.store.targets():
            return
        address = Address.of(source.target, f"{source.name}-again")
        if address in self._world.config.urls:
            return
        self._world.tell("is renamed:", source)
        self._world.config.rename(source, address)
        record = self._world.store.journal(source.target).record()
        if record.at_address(source) and not record.at_address(address) and self._world.rng.random() < 0.8:
            self._append(source.target, Moved(at=self._at(), by=_BY, source=source, address=address))

    def retire(self) -> None:
        """`state retire` of something that is live."""
        live = [found for found in self._attempts() if found[1].status is Status.LIVE]
        if live:
            target, attempt = self._world.rng.choice(live)
            self._append(target, Retired(at=self._at(), by=_BY, attempt=attempt.id, reason="asked for"))

    def recover(self) -> None:
        """`state recover`: what could not be appended is appended after all, as far as it is not there."""
        for disk in self._world.disks:
            disk.kept = [left for kept in disk.kept if (left := self._recover(kept)).entries]

    def _recover(self, kept: Kept) -> Kept:
        """Append what can follow; gives what is left."""
        if kept.target not in self._world.store.targets():
            return kept
        journal = self._world.store.journal(kept.target)
        if journal.record().id != kept.record:
            return kept
        there = [entry for entry, _ in journal.lines]
        can, cannot = followable(journal.record(), [entry for entry in kept.entries if entry not in there])
        if can:
            self._append(kept.target, *can)
        return replace(kept, entries=cannot)

    def make_way(self, changes: Sequence[Change]) -> None:
        """`state retire` for what is in the way of what is wanted, as the plan says of those changes."""
        for target, one in self._attempts():
            if one.status is Status.LIVE and any(self._hinders(target, one, change) for change in changes):
                self._append(target, Retired(at=self._at(), by=_BY, attempt=one.id, reason="asked for"))

    def _hinders(self, target: TargetName, one: Attempt, change: Change) -> bool:
        if change.block is Block.WAITS:
            return one.id in change.concerns
        if change.block is not Block.ELSEWHERE or change.after is None or one.address == change.address:
            return False
        there = self._world.service_of(target) == self._world.service_of(change.address.target)
        return there and not one.routes.isdisjoint(routes_of(change.after.codes, change.after.url))

    def _is_over(self, attempt: Attempt) -> bool:
        """Whether the call can no longer be on its way, as a person can tell.

        Where clocks may differ by minutes, what the record says of its time is not enough: whoever settles it must have
        seen it in the record for as long as a call takes at most. Impatient people go by the clocks alone.
        """
        waited = self._has_waited(attempt) or not self._are_patient
        return waited and self._clocks.read(self._world.time).wall >= attempt.settled_by

    def _has_waited(self, attempt: Attempt) -> bool:
        now = self._clocks.read(self._world.time).steady
        first_seen = self._first_seen.setdefault(attempt.id, now)
        return self._world.clocks_are_kept or now >= first_seen + self._world.limits.settled_in

    def _attempts(self) -> Iterator[tuple[TargetName, Attempt]]:
        for target in self._world.store.targets():
            for attempt in list(self._world.store.journal(target).record().attempts.values()):
                yield target, attempt

    def _append(self, target: TargetName, *entries: AnyEntry) -> None:
        journal = self._world.store.journal(target)
        self._world.tell("a person records:", *entries)
        self._world.store.append(
            target, journal.head, len(journal.lines) + 1, extend(journal, entries)[1], entries[0].kind
        )

    def _at(self) -> str:
        return stamp(self._clocks.read(self._world.time).wall)
