"""What a page has, from an overview: all that is counted, compared or put into words before it is laid out."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, assert_never

from msgspec import Struct

from reconciler.model.address import Address
from reconciler.model.plan import Action
from reconciler.model.status import Proof
from reconciler.reports.commands import with_commands
from reconciler.reports.difference import delivery
from reconciler.reports.html.marks import MEANING, SIGN, WORD, Kind
from reconciler.reports.html.matrix import Matrix, by_region, matrices
from reconciler.reports.html.tasks import Task, Who, approval, tasks
from reconciler.reports.html.twice import Twice, twice
from reconciler.reports.times import ago, with_distances
from reconciler.reports.wording import SIGNS, counted, plan_summary

if TYPE_CHECKING:
    from reconciler.model.overview import Overview, TargetOverview
    from reconciler.model.plan import Change


class Legend(NamedTuple):
    """One kind of mark that the page has."""

    kind: Kind
    sign: str
    word: str
    meaning: str


class Explanation(NamedTuple):
    """What a change does to what is delivered, and why."""

    sign: str
    address: str
    action: Action
    rows: tuple[str, ...]


class Call(NamedTuple):
    """One create call of a plan."""

    sign: str
    action: Action
    address: str
    codes: tuple[str, ...]


class Proven(NamedTuple):
    """How many routes in force of a target were received lately, not lately, or never; and what is not known of it."""

    name: str
    proven: int
    silent: int
    never_seen: int
    unknown: int

    @property
    def total(self) -> int:
        """All routes in force."""
        return self.proven + self.silent + self.never_seen


class Contents(Struct, frozen=True, dict=True):
    """What a page of an overview has, each part made when it is asked for. `pieces` divides a message for copying."""

    overview: Overview

    @cached_property
    def targets(self) -> list[TargetOverview]:
        """In the order of the matrix."""
        return sorted(self.overview.targets, key=lambda target: by_region(target.standing.name))

    @cached_property
    def matrices(self) -> list[Matrix]:
        return list(matrices(self.targets))

    @cached_property
    def tasks(self) -> list[Task]:
        return tasks(self.overview)

    @cached_property
    def twice(self) -> list[Twice]:
        return twice(self.overview.targets)

    @property
    def approval(self) -> Task | None:
        return approval(self.overview.plan)

    @property
    def sent(self) -> Counter[str]:
        """How many calls each target gets."""
        return Counter(Address(call.address).target for call in self.calls)

    @cached_property
    def calls(self) -> list[Call]:
        """What is sent, in the order of the matrix."""
        changes = (change for target in self.targets for change in target.standing.plan.changes)
        return [
            Call(SIGNS[change.action], change.action, change.address, change.request.codes)
            for change in changes
            if change.request
        ]

    @property
    def briefs(self) -> dict[Who, Counter[str]]:
        """How many tasks of each sort each person has."""
        return {who: Counter(task.brief for task in found) for who, found in self.by_person.items()}

    @cached_property
    def by_person(self) -> dict[Who, list[Task]]:
        return {who: found for who in Who if (found := [task for task in self.tasks if task.who is who])}

    @cached_property
    def explanations(self) -> list[Explanation]:
        """Of the changes that do not say it all by what they send."""
        changes = self.overview.plan.changes
        found = [Explanation(SIGNS[change.action], change.address, change.action, _rows(change)) for change in changes]
        return [explanation for explanation in found if explanation.rows]

    @cached_property
    def proofs(self) -> list[Proven]:
        return [_proven(target) for target in self.targets]

    @property
    def legend(self) -> list[Legend]:
        """The kinds of marks that the page has."""
        kinds = {
            shown.kind
            for matrix in self.matrices
            for row in (*matrix.rows, *matrix.steady)
            for cell in row.cells
            if cell is not None
            for shown in cell.marks
        }
        return [Legend(kind, SIGN[kind], WORD[kind], MEANING[kind]) for kind in Kind if kind in kinds]

    def age(self, at: str) -> str:
        """How long ago that was, in parentheses."""
        return ago(at, self._now)

    def pieces(self, message: str) -> list[tuple[str, str]]:
        """A message as prose and the commands within, with how far the moments are that it names."""
        return [(with_distances(prose, self._now), command) for prose, command in with_commands(message)]

    @cached_property
    def _now(self) -> datetime:
        return datetime.fromisoformat(self.overview.now)


def plan_title(contents: Contents) -> str:
    """A plan in a sentence or two."""
    return plan_summary(contents.overview.plan)


def status_title(contents: Contents) -> str:
    """The status in a sentence or two."""
    plan, targets = contents.overview.plan, contents.overview.targets
    in_force = sum(known.attempt.in_force for target in targets for known in target.standing.attempts)
    unknown = sum(known.attempt.unresolved for target in targets for known in target.standing.attempts)
    words = [f"{counted(in_force, 'subscription')} in force on {counted(len(targets), 'target')}"]
    words += [f"{counted(unknown, 'outcome')} unknown"] if unknown else []
    words += [counted(len(plan.changes), "pending change")] if plan.changes else []
    words += [f"{plan.awaiting_removal} awaiting removal"] if plan.awaiting_removal else []
    words += [f"{counted(len(contents.overview.unusable), 'record')} not usable"] if contents.overview.unusable else []
    return f"{', '.join(words)}."


def _rows(change: Change) -> tuple[str, ...]:
    found = delivery(change)
    match change.action:
        case Action.CREATE:  # what is sent is all
            return ()
        case Action.BLOCKED:  # a task says why
            return found.sent
        case Action.EXTEND | Action.REPLACE | Action.RESTORE | Action.RETIRE:
            return (*found.sent, *found.left, *change.reasons)
        case _:
            assert_never(change.action)


def _proven(target: TargetOverview) -> Proven:
    counts = Counter(
        evidence.proof
        for known in target.standing.attempts
        if known.attempt.in_force
        for evidence in known.evidence.values()
    )
    unknown = sum(known.attempt.unresolved for known in target.standing.attempts)
    return Proven(target.standing.name, counts[Proof.PROVEN], counts[Proof.SILENT], counts[Proof.NEVER_SEEN], unknown)
