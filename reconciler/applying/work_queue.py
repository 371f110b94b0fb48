"""The changes that a run has not started yet, and the results of those that are over."""

from collections import deque
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import assert_never

from reconciler.model.address import Address
from reconciler.model.plan import SENDS, Action, Change
from reconciler.model.result import Done, Result


class WorkQueue:
    """The changes of one target. `sends` wait for a call each; `local` are local changes, which take none.

    `results` are by address and action. `retired` are the attempts whose removal this run has asked for.
    """

    def __init__(self) -> None:
        self.sends: deque[Change] = deque()
        self.local: deque[Change] = deque()
        self.results: dict[tuple[Address, Action], Result] = {}
        self.retired: list[str] = []

    def __len__(self) -> int:
        return len(self.sends) + len(self.local)

    def add(self, change: Change) -> None:
        """Queue the change; a blocked one is skipped."""
        match change.action:
            case Action.CREATE | Action.EXTEND | Action.REPLACE:
                self.sends.append(change)
            case Action.RESTORE | Action.RETIRE:
                self.local.append(change)
            case Action.BLOCKED:
                self.conclude(change, Done.SKIPPED, detail=change.reasons[0])
            case _:
                assert_never(change.action)

    def take_all(self) -> list[Change]:
        waiting = [*self.sends, *self.local]
        self.sends.clear()
        self.local.clear()
        return waiting

    def unchanged(self, fresh: Iterable[Change], old: Iterable[Change], reason: str) -> list[Change]:
        """Those of the `old` changes that are among the `fresh`, as they are there; the others are skipped."""
        planned = {change: change for change in fresh}
        unchanged = []
        for change in old:
            if change in planned:
                unchanged.append(planned[change])
            else:
                self.conclude(change, Done.SKIPPED, detail=reason)
        return unchanged

    def take_ready(self, unfinished: AbstractSet[Address]) -> list[Change]:
        """The local changes that can be made now: a RETIRE waits until its event codes are created elsewhere.

        It is skipped if they were not. `unfinished` are the addresses whose creates are not over.
        """
        ready = []
        for _ in range(len(self.local)):
            change = self.local.popleft()
            if not unfinished.isdisjoint(change.depends_on):
                self.local.append(change)
            elif all(self._has_created(address) for address in change.depends_on):
                ready.append(change)
            else:
                detail = f"{', '.join(change.depends_on)} did not take over its event codes"
                self.conclude(change, Done.SKIPPED, detail=detail)
        return ready

    def drop_sends(self, outcome: Done, detail: str) -> None:
        while self.sends:
            self.conclude(self.sends.popleft(), outcome, detail=detail)

    def drop_local(self, detail: str) -> None:
        while self.local:
            self.conclude(self.local.popleft(), Done.SKIPPED, detail=detail)

    def conclude(
        self,
        change: Change,
        outcome: Done,
        status: int | None = None,
        attempt: str | None = None,
        detail: str | None = None,
    ) -> None:
        """The change is over; the rest as in `Result`."""
        key = change.address, change.action
        self.results[key] = Result(*key, outcome, status, attempt, detail)

    def _has_created(self, address: Address) -> bool:
        results = (self.results.get((address, action)) for action in SENDS)
        return any(result is not None and result.outcome is Done.CREATED for result in results)
