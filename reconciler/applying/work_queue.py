"""Holds the waiting changes of a run, and the results of its finished changes."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from reconciler.model.plan import SENDS, Done, Result

if TYPE_CHECKING:
    from reconciler.model.address import Address, TargetName
    from reconciler.model.plan import Action, Change


class WorkQueue:
    """The waiting changes and the results.

    `sends` are the changes that need a call, by target; `local` are the changes that only append facts, by address.
    `results` holds the results by address and action. `requested` are the attempts whose removal this run has
    requested, and `restored` are the attempts that it has restored.
    """

    def __init__(self) -> None:
        self.sends: dict[TargetName, deque[Change]] = {}
        self.local: dict[Address, list[Change]] = {}
        self.results: dict[tuple[Address, Action], Result] = {}
        self.requested: list[str] = []
        self.restored: list[str] = []
        self._unfinished: set[Address] = set()
        self._created: set[Address] = set()

    def __bool__(self) -> bool:
        return bool(self.sends or self.local)

    def add(self, change: Change) -> None:
        """Queue a change that is to be carried out."""
        if change.action in SENDS:
            self.sends.setdefault(change.address.target, deque()).append(change)
            self._unfinished.add(change.address)
        else:
            self.local.setdefault(change.address, []).append(change)

    def take_all(self) -> list[Change]:
        """Remove and return all waiting changes."""
        waiting = [change for changes in (*self.sends.values(), *self.local.values()) for change in changes]
        self.sends.clear()
        self.local.clear()
        return waiting

    def take_send(self, target: TargetName) -> tuple[Change, list[Change]]:
        """Remove and return a target's next change that needs a call, and the local changes to record with its intent.

        The local changes have the same address. If they were recorded earlier, they would alter the change that needs
        a call.
        """
        change = self.sends[target].popleft()
        if not self.sends[target]:
            del self.sends[target]
        return change, self._take_ready(change.address) if change.address in self.local else []

    def take_local(self) -> list[Change]:
        """Remove and return the local changes that can be made now, at addresses without a pending create."""
        return [
            change
            for address in [*self.local]
            if address not in self._unfinished
            for change in self._take_ready(address)
        ]

    def drop_sends(self, target: TargetName, outcome: Done, detail: str) -> None:
        """Finish a target's changes that wait to be sent."""
        for change in self.sends.pop(target, ()):
            self.finish(change, outcome, detail=detail)

    def drop_all(self, outcome: Done, detail: str) -> None:
        """Finish all waiting changes: changes that need a call get `outcome`, and the others are skipped."""
        for change in self.take_all():
            self.finish(change, outcome if change.action in SENDS else Done.SKIPPED, detail=detail)

    def finish(
        self,
        change: Change,
        outcome: Done,
        status: int | None = None,
        attempt: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Store the result of a change; the other arguments are fields of `Result`."""
        key = change.address, change.action
        self.results[key] = Result(*key, outcome, status, attempt, detail)
        if change.action in SENDS:
            self._unfinished.discard(change.address)
            if outcome is Done.CREATED:
                self._created.add(change.address)

    def _take_ready(self, address: Address) -> list[Change]:
        """Remove and return the local changes that can be made now at an address.

        A REMOVE waits for the creates that take over its codes, and is skipped if one of them fails.
        """
        ready, waiting = [], []
        for change in self.local.pop(address):
            missing = [other for other in change.depends_on if other not in self._created]
            if not missing:
                ready.append(change)
            elif self._unfinished.isdisjoint(missing):
                self.finish(change, Done.SKIPPED, detail=f"its event codes were not taken over by {', '.join(missing)}")
            else:
                waiting.append(change)
        if waiting:
            self.local[address] = waiting
        return ready
