"""The issues about what waits for a person: one for each kind, with the same text as long as the same is the case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct

from reconciler.errors import StateError
from reconciler.model.address import TargetName
from reconciler.model.plan import Block
from reconciler.model.status import TargetStatus
from reconciler.reports.markdown import questions
from reconciler.reports.paper import Paper, code
from reconciler.reports.questions import unproven
from reconciler.reports.wording import SIGNS, resolve_advice

PATIENCE = timedelta(days=7)
"""How long a subscription may await removal before it is an issue."""

_FOOT = "\nUpdated by {}, which closes this issue when none of it is the case any more.\n"


class Kind(StrEnum):
    """What an issue is about."""

    UNKNOWN = "unknown"
    DRIFT = "drift"
    RECORD = "record"


class Matters(Struct, frozen=True):
    """What is the case: the status of the targets whose record can be used, and why others cannot; `now` is UTC."""

    standings: Sequence[TargetStatus]
    problems: Mapping[TargetName, StateError]
    now: datetime


class Issue(Struct, frozen=True):
    """An issue of one kind: its text but for the marker, None if there is nothing to say; `digest` of that text."""

    kind: Kind
    title: str
    text: str | None

    @property
    def digest(self) -> str:
        return sha256(f"{self.title}\n{self.text}".encode()).hexdigest()[:16]


def issues(matters: Matters) -> list[Issue]:
    """One of each kind."""
    return [_issue(kind, title, list(rows(matters))) for kind, (title, rows) in _ISSUES.items()]


def _issue(kind: Kind, title: str, rows: Sequence[str]) -> Issue:
    if not rows:
        return Issue(kind, title, None)
    paper = Paper()
    paper.bullets(title, rows)
    return Issue(kind, title, paper.text(_FOOT.format(code("reconciler github issues"))))


def _unknown(matters: Matters) -> Iterable[str]:
    for standing in matters.standings:
        for observed in standing.attempts:
            if observed.attempt.unresolved:
                yield f"- {code(observed.attempt.address)}: {code(resolve_advice(observed))}\n"
        yield from questions(unproven(standing))


def _drift(matters: Matters) -> Iterable[str]:
    for standing in matters.standings:
        for change in standing.plan.changes:
            if change.block not in (Block.UNRESOLVED, Block.WAITS):
                yield f"- {SIGNS[change.action]} {code(change.address)}: {change.action} not applied\n"
        for attempt in standing.plan.to_remove:
            if _is_old(attempt.at, matters.now):
                what = f"removal requested {attempt.at}, not recorded as removed; run: reconciler removals"
                yield f"- {code(attempt.address)} (attempt {code(attempt.id)}): {code(what)}\n"


def _is_old(at: str, now: datetime) -> bool:
    try:
        return now - datetime.fromisoformat(at) > PATIENCE
    except (ValueError, TypeError):  # a journal may hold anything
        return True


def _record(matters: Matters) -> Iterable[str]:
    return (f"- {code(name)}: {code(str(problem))}\n" for name, problem in sorted(matters.problems.items()))


_ISSUES: dict[Kind, tuple[str, Callable[[Matters], Iterable[str]]]] = {
    Kind.UNKNOWN: ("Creates with an unknown outcome", _unknown),
    Kind.DRIFT: ("Subscriptions that differ from the configuration", _drift),
    Kind.RECORD: ("State records that cannot be used", _record),
}
