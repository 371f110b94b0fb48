"""What a page has, from an overview: all that is counted, compared or put into words before it is laid out."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from reconciler.model.plan import Action
from reconciler.model.status import Proof
from reconciler.reports.commands import with_commands
from reconciler.reports.html.effects import NotSent, Stop, effect, not_sent, stops
from reconciler.reports.html.marks import MEANING, SIGN, WORD, Kind
from reconciler.reports.html.matrix import Matrix, by_region, matrices
from reconciler.reports.html.tasks import Task, When, Who, approval, tasks
from reconciler.reports.html.twice import Delivery, Twice, deliveries_of, twice
from reconciler.reports.times import ago, with_distances
from reconciler.reports.wording import SIGNS, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.address import Address
    from reconciler.model.overview import Overview, TargetOverview
    from reconciler.model.plan import Change
    from reconciler.model.record import Attempt


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
    word: str
    rows: tuple[str, ...]


class Call(NamedTuple):
    """One create call of a plan; `left` are the URLs of what it replaces, without the host if that is the same."""

    sign: str
    action: Action
    address: Address
    codes: tuple[str, ...]
    url: str
    left: tuple[str, ...]


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
    def _services(self) -> list[dict[str, list[Delivery]]]:
        return deliveries_of(self.overview.targets)

    @cached_property
    def twice(self) -> list[Twice]:
        return twice(self._services)

    @cached_property
    def stops(self) -> list[Stop]:
        """Codes with no replacement."""
        return list(stops(self._services))

    @cached_property
    def not_sent(self) -> list[NotSent]:
        return list(not_sent(self.changes))

    @cached_property
    def changes(self) -> list[Change]:
        """In the order of the matrix."""
        return [change for target in self.targets for change in target.standing.plan.changes]

    @property
    def reckoning(self) -> str:
        """How many calls go to which targets, and what becomes of the changes without a call."""
        actions = Counter(change.action for change in self.changes)
        sent, others = list(self.sent), len(self.targets)
        many = f"all {others} targets" if len(sent) == others else f"{len(sent)} of {others} targets"
        where = " and ".join(sent) if len(sent) <= 2 else many
        words = [f"{counted(len(self.calls), 'create call')} to {where}"] if sent else []
        words += [f"{counted(actions[Action.RETIRE], 'retirement')} (no call)"] if actions[Action.RETIRE] else []
        words += [f"{actions[Action.RESTORE]} restored (no call)"] if actions[Action.RESTORE] else []
        blocked = actions[Action.BLOCKED]
        words += [f"{counted(blocked, 'blocked change')} will not be sent"] if blocked else []
        unchanged = self.overview.plan.unchanged
        words += [f"{counted(unchanged, 'subscription')} unchanged"] if unchanged or not words else []
        return ", ".join(words)

    @property
    def approval(self) -> Task | None:
        return approval(self.overview.plan)

    @cached_property
    def sent(self) -> dict[str, list[Call]]:
        """The calls that each target gets."""
        found: dict[str, list[Call]] = {}
        for call in self.calls:
            found.setdefault(call.address.target, []).append(call)
        return found

    @cached_property
    def calls(self) -> list[Call]:
        """What is sent, in the order of the matrix."""
        return [
            Call(
                SIGNS[change.action],
                change.action,
                change.address,
                change.request.codes,
                change.request.url,
                tuple(_left(change, change.request.url)),
            )
            for change in self.changes
            if change.request
        ]

    def by_time(self, approval: Task | None) -> dict[When, dict[Who, list[Task]]]:
        """Each person's tasks, by when they are to be done; the approval of the plan, where it is one, comes first."""
        found: dict[When, dict[Who, list[Task]]] = {}
        for task in [*([approval] if approval else []), *self.tasks]:
            found.setdefault(task.when, {}).setdefault(task.who, []).append(task)
        return found

    @property
    def urgent(self) -> bool:
        """Whether somebody must act now, whatever becomes of the plan."""
        return any(task.when is When.NOW for task in self.tasks)

    @cached_property
    def explanations(self) -> list[Explanation]:
        """Of all changes, in the order of the matrix."""
        return [
            Explanation(SIGNS[change.action], change.address, WORD[Kind(change.action.value)], effect(change))
            for change in self.changes
        ]

    @property
    def unknown(self) -> list[Attempt]:
        """What has an unknown outcome."""
        attempts = (known.attempt for target in self.targets for known in target.standing.attempts)
        return [attempt for attempt in attempts if attempt.unresolved]

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
    plan = contents.overview.plan
    if plan.changes:
        return f"Plan: {contents.reckoning}."
    matching = counted(plan.unchanged, "recorded subscription matches", "recorded subscriptions match")
    return f"No changes. {matching} the configuration."


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
    return f"Status: {', '.join(words)}."


def _left(change: Change, new: str) -> Iterator[str]:
    """The URLs that a replacement leaves, shortened to `…/path` where the host is that of the `new` one."""
    host = "/".join(new.split("/", 3)[:3])
    for url in sorted({attempt.url for attempt in change.before if attempt.id in change.concerns} - {new}):
        yield f"…{url.removeprefix(host)}" if url.startswith(f"{host}/") else url


def _proven(target: TargetOverview) -> Proven:
    counts = Counter(
        evidence.proof
        for known in target.standing.attempts
        if known.attempt.in_force
        for evidence in known.evidence.values()
    )
    unknown = sum(known.attempt.unresolved for known in target.standing.attempts)
    return Proven(target.standing.name, counts[Proof.PROVEN], counts[Proof.SILENT], counts[Proof.NEVER_SEEN], unknown)
