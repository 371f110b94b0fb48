"""What a run has still to begin, and what became of what it has begun."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from reconciler.model.plan import SENDS, Action
from reconciler.model.result import Done, Result

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from reconciler.model.address import Address
    from reconciler.model.plan import Change


class Agenda:
    """The changes of one target: `sends` and `quiet` wait, those that take a call and those that take none.

    `results` are of changes that are over, by address and action.
    """

    def __init__(self) -> None:
        self.sends: deque[Change] = deque()
        self.quiet: deque[Change] = deque()
        self.results: dict[tuple[Address, Action], Result] = {}

    def __len__(self) -> int:
        return len(self.sends) + len(self.quiet)

    def add(self, change: Change) -> None:
        """Let the change wait for its turn; one that is blocked has none."""
        if change.action in SENDS:
            self.sends.append(change)
        elif change.action is Action.BLOCKED:
            self.conclude(change, Done.SKIPPED, detail=change.reasons[0])
        else:
            self.quiet.append(change)

    def take_all(self) -> list[Change]:
        """The changes that wait; from now on none does."""
        waiting = [*self.sends, *self.quiet]
        self.sends.clear()
        self.quiet.clear()
        return waiting

    def same(self, fresh: Iterable[Change], old: Iterable[Change], reason: str) -> list[Change]:
        """Those of the `old` changes that are among the `fresh`, as they are there; the others are skipped."""
        known = {change: change for change in fresh}
        found = []
        for change in old:
            if change in known:
                found.append(known[change])
            else:
                self.conclude(change, Done.SKIPPED, detail=reason)
        return found

    def take_ready(self, under_way: AbstractSet[Address]) -> list[Change]:
        """The quiet changes whose turn it is: a retire only once its codes are created elsewhere.

        One whose codes nobody takes over any more is skipped. `under_way` are addresses with creates still to end.
        """
        ready = []
        for _ in range(len(self.quiet)):
            change = self.quiet.popleft()
            if not under_way.isdisjoint(change.depends_on):
                self.quiet.append(change)
            elif all(self._has_created(address) for address in change.depends_on):
                ready.append(change)
            else:
                detail = f"{', '.join(change.depends_on)} did not take its codes over"
                self.conclude(change, Done.SKIPPED, detail=detail)
        return ready

    def drop_sends(self, outcome: Done, detail: str) -> None:
        while self.sends:
            self.conclude(self.sends.popleft(), outcome, detail=detail)

    def drop_quiet(self, detail: str) -> None:
        while self.quiet:
            self.conclude(self.quiet.popleft(), Done.SKIPPED, detail=detail)

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
