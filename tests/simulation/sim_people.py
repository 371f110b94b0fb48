"""The people: whoever edits the configuration and mends the record, and the operator who deletes what is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_promises import SKEW
from sim_service import Violation, routes_of

from reconciler.model.address import Address
from reconciler.model.clock import stamp
from reconciler.model.entry import Intent, Moved, Removed, Resolved, Retired
from reconciler.model.plan import Block
from reconciler.model.record import Status
from reconciler.state.journal import link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sim_world import World

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Change
    from reconciler.model.record import Attempt

_BY = {"user": "operator"}


class People:
    """Acts of people. Each reads the record and appends at once, as one `state` command does."""

    def __init__(self, world: World) -> None:
        self.asleep_until = 0.0
        self.incarnation = 0
        self._world = world

    def act(self) -> None:
        """Something that people do now and then."""
        deeds = (self.edit, self.edit, self.settle, self.settle, self.settle, self.delete, self.delete, self.rename)
        self._world.rng.choice((*deeds, self.retire, self.recover))()

    def edit(self) -> None:
        """Another configuration is merged."""
        self._world.config.edit(self._world.rng)
        self._world.tell("the configuration is edited")

    def settle(self) -> None:
        """`state resolve` for what is overdue, or heard of to be unknown and no longer on its way."""
        for target, attempt in self._attempts():
            if attempt.unsettled and self._is_over(attempt):
                created = self._world.service.exists(attempt.id)
                if created and self._world.chances.happens("lie"):
                    self._world.promises.lied_about.add(attempt.id)
                    created = False
                self._append(target, Resolved(at=self._at(), by=_BY, attempt=attempt.id, created=created))

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
        for target, entries in self._world.kept:
            journal = self._world.store.journal(target)
            there = [entry for entry, _ in journal.lines]
            for entry in entries:
                if isinstance(entry, Intent) and entry not in there:
                    raise Violation("an intent was lost")
                if entry not in there:
                    self._append(target, entry)
        self._world.kept.clear()

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
        """Whether the call is no longer in flight: by its time, as this machine's clock tells it, or for certain."""
        overdue = self._world.now(self._world.rng.uniform(-SKEW, SKEW)).wall >= attempt.settled_by
        known = attempt.status is Status.UNKNOWN and not self._world.in_network.get(attempt.id)
        return overdue or known

    def _attempts(self) -> Iterator[tuple[TargetName, Attempt]]:
        for target in self._world.store.targets():
            for attempt in list(self._world.store.journal(target).record().attempts.values()):
                yield target, attempt

    def _append(self, target: TargetName, entry: AnyEntry) -> None:
        self._world.tell("a person records:", entry)
        journal = self._world.store.journal(target)
        lines, _ = link(journal.head, len(journal.lines), [entry])
        self._world.store.append(target, journal.head, lines, entry.kind)

    def _at(self) -> str:
        return stamp(self._world.now().wall)
