"""Edits of attempts: which ones an address or a pattern and `--attempt` select, and what is recorded of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

from msgspec import Struct

from reconciler.errors import Refused
from reconciler.model.address import Address, TargetName
from reconciler.model.entry import AnyEntry
from reconciler.model.record import Attempt, Record, Status
from reconciler.model.selection import Selection, is_pattern
from reconciler.operations.edit import parse_address, pick, record_entries
from reconciler.operations.workspace import Workspace

Choose = Callable[[Record], list[Attempt]]
Draft = Callable[[Attempt], Sequence[AnyEntry]]


class AttemptSelector(Struct, frozen=True):
    """What ADDRESS|PATTERN, or `-t`, and --attempt select of a record; no attempts are all of them."""

    text: str
    attempts: tuple[str, ...]
    is_pattern: bool
    selection: Selection

    @classmethod
    def of(cls, text: str, attempts: tuple[str, ...]) -> Self:
        """Raises Refused for what is neither an address nor a glob over addresses or targets."""
        is_glob = text.count("/") == 1 or any(sign in text for sign in "*?[")
        if is_glob and not is_pattern(text):
            raise Refused(
                "expected a pattern region/environment or region/environment/name",
                where=text,
                remedy="for example: 'europe/*' or '*/production/offers'",
            )
        return cls(text, attempts, is_glob, Selection((text if is_glob else parse_address(text),)))

    @classmethod
    def of_targets(cls, patterns: tuple[str, ...], attempts: tuple[str, ...]) -> Self:
        """What `-t` selects. Raises SelectionError for what is no pattern."""
        return cls(" ".join(patterns), attempts, True, Selection.of(patterns))

    def pick(self, record: Record, narrow: Callable[[list[Attempt]], list[Attempt]], what: str) -> list[Attempt]:
        """The attempts that are meant: `narrow` says which of an address can be, and it is one, or those named by id.

        Raises Refused for an address where several are; `what` says of what kind they are.
        """
        by_address: dict[Address, list[Attempt]] = {}
        for attempt in record.attempts.values():
            if self.selection.has(attempt.address) and (not self.attempts or attempt.id in self.attempts):
                by_address.setdefault(attempt.address, []).append(attempt)
        narrowed = {address: narrow(attempts) for address, attempts in by_address.items()}
        if self.attempts:
            return [attempt for attempts in narrowed.values() for attempt in attempts]
        return [pick(attempts, None, address, what) for address, attempts in narrowed.items() if attempts]

    def choose(
        self, workspace: Workspace, choose: Choose, what: str, noun: str = "attempt"
    ) -> dict[TargetName, list[Attempt]]:
        """What `choose` gives of each record that is selected; nothing is recorded if it refuses one of them.

        Raises Refused if that is nothing (no `noun` of what kind), and StateError.
        """
        targets = [name for name in workspace.store.targets() if self.selection.touches(name)]
        workspace.within.refuse_others(targets if self.is_pattern else [Address(self.text).target])
        if not (targets or self.is_pattern):
            workspace.read(Address(self.text).target)
        records = workspace.records(targets)
        chosen = {name: choose(record) for name, record in records.items()}
        if not any(chosen.values()):
            named = f" with the id {' or '.join(self.attempts)}" if self.attempts else ""
            recorded = {attempt.address for record in records.values() for attempt in record.attempts.values()}
            from reconciler.model.spelling import suggestion  # noqa: PLC0415 - needed only to explain an error

            see = f"show {self.text}" if self.text in recorded else "list"
            meant = "" if self.text in recorded else suggestion([self.text], recorded)
            raise Refused(f"no {noun}{named} {what}{meant}", where=self.text, remedy=f"run: reconciler state {see}")
        return {name: attempts for name, attempts in chosen.items() if attempts}


class AttemptEdit(Struct, frozen=True):
    """What a command is about to record of the attempts that were `chosen`.

    `choose` is asked again of the record as it is when it is appended to: only what it still gives is recorded.
    """

    workspace: Workspace
    chosen: dict[TargetName, list[Attempt]]
    choose: Choose
    draft: Draft
    note: str

    @property
    def attempts(self) -> list[Attempt]:
        """All that were chosen, in the order of their targets."""
        return [attempt for attempts in self.chosen.values() for attempt in attempts]

    def record(self) -> Iterator[list[Attempt]]:
        """Record it, target by target; gives the attempts as they are then.

        Raises what `choose` and `draft` raise, and StateError.
        """
        for target, attempts in self.chosen.items():
            yield self._record(target, {attempt.id for attempt in attempts})

    def _record(self, target: TargetName, ids: set[str]) -> list[Attempt]:
        still: list[Attempt] = []

        def entries(record: Record) -> list[AnyEntry]:
            still[:] = [attempt for attempt in self.choose(record) if attempt.id in ids]
            return [entry for attempt in still for entry in self.draft(attempt)]

        record = record_entries(self.workspace, target, entries, self.note)
        return [record.attempts[attempt.id] for attempt in still]


def live(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Those that are live."""
    return [attempt for attempt in attempts if attempt.status is Status.LIVE]


def awaiting_removal(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Those whose removal was requested."""
    return [attempt for attempt in attempts if attempt.status is Status.AWAITING_REMOVAL]
