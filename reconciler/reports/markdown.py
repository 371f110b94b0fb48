"""Markdown, for pull-request comments and job summaries.

Whatever comes from elsewhere stands in a `<code>` element, all but letters, digits, spaces, commas and slashes spelt
as entities: it can be no markup, no link, no mention. A report is at most 65,000 bytes: what does not fit is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.plan import Action
from reconciler.model.result import Done
from reconciler.reports.difference import change_rows, declared_disparities, disparities
from reconciler.reports.visible import visible
from reconciler.reports.wording import (
    SIGNS,
    applied_summary,
    in_words,
    parity_summary,
    plan_summary,
    removal_request,
    resolve_advice,
    status_word,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.parity import Parity
    from reconciler.model.plan import Change, Plan, Surplus, TargetPlan
    from reconciler.model.result import Applied, Result
    from reconciler.model.standing import AttemptStanding, TargetStanding
    from reconciler.reports.difference import Disparity

LIMIT = 65_000
"""Bytes that a report has at most; a comment may have 65,536 characters."""

_RESERVE = 400  # for what closes a report that was cut

_TABLE = "| | address | action | event codes | URL |\n|---|---|---|---|---|\n"
_STANDINGS = "| address | status | URL | heard |\n|---|---|---|---|\n"
_RESULTS = "| | address | outcome | status | detail |\n|---|---|---|---|---|\n"


def code(text: str) -> str:
    """`text` as inline code that acts as nothing else, wherever it stands."""
    spelt = "".join(
        one if one in " /," or (one.isascii() and one.isalnum()) else f"&#{ord(one)};" for one in visible(text)
    )
    return f"<code>{spelt}</code>"


def plan_markdown(plan: Plan) -> str:
    """A plan: what to look at first, a table for each target, and the details folded away."""
    paper = _Paper(f"<!-- reconciler:plan {plan.digest} -->\n", f"### {plan_summary(plan)}\n")
    targets = [plan.targets[name] for name in sorted(plan.targets)]
    paper.bullets("Warnings", [row for target in targets for row in _warnings(target)])
    for target in targets:
        if target.changes:
            paper.table(f"\n#### {code(target.name)}\n\n{_TABLE}", [_change_row(one) for one in target.changes])
    paper.fold("Details", [block for target in targets for change in target.changes for block in _details(change)])
    awaiting = [
        f"- {code(one.address)}: {code(', '.join(one.codes))} to {code(one.url)} (attempt {code(one.id)})\n"
        for target in targets
        for one in target.awaiting_removal
    ]
    paper.fold("Awaiting removal by the operator", awaiting)
    return paper.text(f"\nDigest: {code(plan.digest)}\n")


def _warnings(target: TargetPlan) -> list[str]:
    rows = [
        f"- {code(change.address)} is blocked: {code(reason)}\n"
        for change in target.changes
        if change.action is Action.BLOCKED
        for reason in change.reasons
    ]
    rows += [f"- {code(change.address)}: {code(warning)}\n" for change in target.changes for warning in change.warnings]
    return rows + [_surplus(extra) for extra in target.surplus]


def _surplus(extra: Surplus) -> str:
    remedy = code(f"reconciler state retire {extra.address} --attempt {extra.attempt}")
    return f"- {code(extra.address)} still delivers {code(', '.join(extra.codes))}, more than is wanted: {remedy}\n"


def _change_row(change: Change) -> str:
    request = change.request or change.after
    codes = code(", ".join(request.codes)) if request else ""
    url = code(request.url) if request else ""
    return f"| {SIGNS[change.action]} | {code(change.address)} | {change.action} | {codes} | {url} |\n"


def _details(change: Change) -> list[str]:
    rows = [f"  - {sign} {code(text)}\n" for sign, text in change_rows(change)]
    reasons = [f"  - {code(reason)}\n" for reason in change.reasons]
    return [f"- {SIGNS[change.action]} {code(change.address)}\n{''.join(rows)}{''.join(reasons)}"]


def applied_markdown(applied: Applied) -> str:
    """What an apply came to: what went wrong first, then every address, then the requests to the operator."""
    paper = _Paper("<!-- reconciler:apply -->\n", f"### {applied_summary(applied)}\n")
    wrong = [one for one in applied.results if one.outcome in (Done.UNKNOWN, Done.REJECTED, Done.NOT_SENT)]
    paper.bullets("To look at", [_trouble(result) for result in wrong])
    if applied.results:
        paper.table(f"\n{_RESULTS}", [_result_row(result) for result in applied.results])
    requests = [
        f"- {code(one.address)} (attempt {code(one.id)}): {code(removal_request(one))}\n" for one in applied.removal
    ]
    paper.bullets("To send to the operator", requests)
    return paper.text("")


def _trouble(result: Result) -> str:
    detail = "" if result.detail is None else f": {code(result.detail)}"
    settle = ""
    if result.outcome is Done.UNKNOWN:
        resolve = f"reconciler state resolve {result.address}"
        settle = (
            f" Ask the operator. If the subscription exists: {code(f'{resolve} --created')};"
            f" if it certainly does not: {code(f'{resolve} --not-created')}."
        )
    return f"- {code(result.address)} {in_words(result.outcome)}{detail}.{settle}\n"


def _result_row(result: Result) -> str:
    status = "" if result.status is None else str(result.status)
    detail = "" if result.detail is None else code(result.detail)
    return f"| {SIGNS[result.action]} | {code(result.address)} | {in_words(result.outcome)} | {status} | {detail} |\n"


def parity_markdown(parity: Parity) -> str:
    """Whether two targets are in line, and where they are not."""
    paper = _Paper("<!-- reconciler:parity -->\n", f"### {code(parity_summary(parity))}\n")
    paper.bullets("Differences", [_disparity(one) for one in disparities(parity)])
    ignored = [f"- {code(name)} {views}: {code(reason)}\n" for name, views, reason in declared_disparities(parity)]
    paper.fold("Declared to differ", ignored)
    return paper.text("")


def _disparity(one: Disparity) -> str:
    rows = "".join(f"  - {sign} {code(text)}\n" for sign, text in one.rows)
    return f"- {code(one.name)} {code(one.how)}\n{rows}"


def status_markdown(standings: Iterable[TargetStanding]) -> str:
    """How every target stands: what waits for a person first."""
    standings = list(standings)
    paper = _Paper("<!-- reconciler:status -->\n", "### How the subscriptions stand\n")
    unsettled = [one for standing in standings for one in standing.attempts if one.attempt.unsettled]
    waiting = [f"- {code(one.attempt.address)}: {code(resolve_advice(one))}\n" for one in unsettled]
    paper.bullets("Unknown outcomes", waiting)
    for standing in standings:
        rows = [_standing_row(one) for one in standing.attempts]
        paper.table(f"\n#### {code(standing.name)}\n\n{_STANDINGS}", rows)
    awaiting = [one for standing in standings for one in standing.plan.awaiting_removal]
    requests = [f"- {code(one.address)}: {code(removal_request(one))}\n" for one in awaiting]
    paper.fold("To send to the operator", requests)
    return paper.text("")


def _standing_row(standing: AttemptStanding) -> str:
    one = standing.attempt
    heard = code(", ".join(f"{name} {told.proof}" for name, told in standing.heard.items()))
    return f"| {code(one.address)} | {status_word(one)} | {code(one.url)} | {heard} |\n"


class _Paper:
    """A report while it is written: what no longer fits is counted instead."""

    def __init__(self, *parts: str) -> None:
        self._parts = list(parts)
        self._left = LIMIT - _RESERVE - sum(len(part.encode()) for part in parts)
        self._left_out = 0

    def bullets(self, title: str, rows: Iterable[str]) -> None:
        """A list under a title; nothing where it is empty."""
        self._block(f"\n**{title}**\n\n", rows, "")

    def table(self, head: str, rows: Iterable[str]) -> None:
        self._block(head, rows, "")

    def fold(self, title: str, rows: Iterable[str]) -> None:
        """A list that is folded away; nothing where it is empty."""
        self._block(f"\n<details><summary>{title}</summary>\n\n", rows, "\n</details>\n")

    def _block(self, head: str, rows: Iterable[str], foot: str) -> None:
        rows = list(rows)
        fitting = self._fitting(rows, len(head.encode()) + len(foot.encode()))
        self._left_out += len(rows) - len(fitting)
        if fitting:
            self._parts += [head, *fitting, foot]

    def _fitting(self, rows: list[str], around: int) -> list[str]:
        """The first rows that fit, with what goes around them; takes the room they need."""
        size = around
        for number, row in enumerate(rows):
            size += len(row.encode())
            if size > self._left:
                self._left -= size - len(row.encode()) if number else 0
                return rows[:number]
        self._left -= size if rows else 0
        return rows

    def text(self, foot: str) -> str:
        note = f"\n{self._left_out} lines are left out: too long for a comment.\n" if self._left_out else ""
        return "".join(self._parts) + note + foot
