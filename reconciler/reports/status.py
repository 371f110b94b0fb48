"""Builds the document of `status`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reconciler.errors import Message, step
from reconciler.model.record import Status
from reconciler.model.status import Proof
from reconciler.record.gates import removal_command
from reconciler.reports import document as doc
from reconciler.reports.apply import to_ask, unresolved_alerts
from reconciler.reports.document import alerts
from reconciler.reports.plan import (
    awaits_operator,
    blocked_alerts,
    describe_differences,
    is_in_line,
    matrix,
    superseded_alerts,
    surplus_messages,
    verdict,
)
from reconciler.reports.words import STATUS, ago, capital, counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.record import Attempt
    from reconciler.model.status import ObservedAttempt, ProjectStatus, TargetStatus
    from reconciler.reports.plan import Cells


_COLUMNS = ("address", "status", "codes", "URL", "attempt")


def status_document(status: ProjectStatus) -> doc.Document:
    """Return the document that shows what is in force and what needs a decision."""
    return doc.Document(
        "status",
        _verdict(status),
        doc.Tone.ADDED if _is_in_line(status) else doc.Tone.WARNING,
        facts=(
            ("Targets", listed([target.name for target in status.targets], 8) or "none"),
            ("Record", f"{status.plan.place} ({counted(status.plan.entries, 'entry', 'entries')})"),
            ("Digest", status.plan.digest),
        ),
        alerts=(*blocked_alerts(status.plan), *unresolved_alerts(_unmentioned(status), status.plan, now=status.now)),
        body=tuple(block for target in status.targets for block in _target_blocks(target)),
        summary=(
            *alerts((*_deliveries(status), *_warnings(status)), "Warning"),
            *superseded_alerts(status.plan.superseded),
            *(doc.Paragraph(text, doc.Tone.WARNING) for text in _difference_texts(status)),
        ),
        next=doc.Commands(following) if (following := tuple(_next(status))) else None,
        details=(doc.Details("Event codes by subscription and target", (_matrix(status),)),) if status.targets else (),
    )


def _unresolved(status: ProjectStatus) -> list[Attempt]:
    """Return the attempts whose outcome is unknown, except superseded attempts."""
    every = (observed.attempt for target in status.targets for observed in target.attempts)
    return [attempt for attempt in every if attempt.blocks]


def _is_in_line(status: ProjectStatus) -> bool:
    recorded_twice = any(target.recorded_twice or target.revived for target in status.targets)
    return is_in_line(status.plan) and not (_unresolved(status) or recorded_twice)


def _verdict(status: ProjectStatus) -> str:
    if _is_in_line(status):
        return verdict(status.plan)
    in_force = sum(observed.attempt.in_force for target in status.targets for observed in target.attempts)
    changes, unresolved = len(status.plan.changes), len(_unresolved(status))
    words = [
        f"{counted(changes, 'change')} pending" if changes else "",
        counted(unresolved, "unresolved create") if unresolved else "",
        *describe_differences(status.plan),
        "no create is possible" if status.plan.gates else "",
    ]
    rest = f" {capital(listed(filter(None, words)))}." if any(words) else ""
    return f"{counted(in_force, 'subscription')} in force.{rest}"


def _next(status: ProjectStatus) -> Iterator[doc.Todo]:
    options = status.plan.options
    if status.plan.changes:
        yield doc.Todo("To see the changes, run", (("reconciler", "plan", *options),))
    asked = to_ask(_unresolved(status), status.plan)
    if awaits_operator(status.plan) or any(not attempt.in_flight(status.now) for attempt in asked):
        yield doc.Todo("To see the message to the operator, run", (("reconciler", "removal", "list", *options),))


def _unmentioned(status: ProjectStatus) -> list[Attempt]:
    """Return the unresolved attempts that the plan's reasons do not mention, because they block no change."""
    blocking = {attempt.id for change in status.plan.changes for attempt in change.blocking}
    return [attempt for attempt in _unresolved(status) if attempt.id not in blocking]


def _deliveries(status: ProjectStatus) -> Iterator[Message]:
    duplicates = [route for target in status.targets for route in target.duplicates]
    return surplus_messages(status.plan, duplicates)


def _warnings(status: ProjectStatus) -> Iterator[Message]:
    for target in status.targets:
        for attempt in target.revived:
            what = f"delivered at {attempt.received}, after its removal was confirmed: it is in force again"
            yield Message("revived", what, f"{attempt.address} (attempt {attempt.id})")
        for attempt in target.cancelled:
            removed = "it" if len(attempt.cancelled) == len(attempt.codes) else ", ".join(attempt.cancelled)
            what = f"the request to remove {removed} was cancelled at {max(attempt.cancelled.values())}"
            command = removal_command("confirm", attempt, attempt.cancelled)
            steps = (step("if the operator removed it anyway, run", *command),)
            yield Message("removal-cancelled", what, f"{attempt.address} (attempt {attempt.id})", steps)
        if not target.declared:
            yield Message("target-undeclared", "not declared in config/, so not planned", target.name)


def _difference_texts(status: ProjectStatus) -> Iterator[str]:
    for target in status.targets:
        for route in target.recorded_twice:
            attempts = listed(route.attempts)
            yield f"{route.target}: {route.code} is recorded twice for {route.url}, by attempts {attempts}"
        for attempt in target.awaiting_removal:
            since = f" since {ago(attempt.requested, status.now)}" if attempt.requested else ""
            yield f"{attempt.address}: removal awaited{since} (attempt {attempt.id})"


def _target_blocks(target: TargetStatus) -> Iterator[doc.Block]:
    yield doc.Heading(target.name)
    if not target.attempts:
        yield doc.Paragraph("Nothing is in force.", doc.Tone.FAINT)
        return
    tones = {Status.LIVE: doc.Tone.PLAIN, Status.AWAITING_REMOVAL: doc.Tone.WARNING}
    shown = tuple(tones.get(observed.attempt.status, doc.Tone.ERROR) for observed in target.attempts)
    yield doc.Table(_COLUMNS, tuple(map(_attempt_row, target.attempts)), shown)


def _attempt_row(observed: ObservedAttempt) -> tuple[str, ...]:
    attempt = observed.attempt
    word = "superseded" if attempt.superseded_by and attempt.unresolved else STATUS[attempt.status]
    return attempt.address, word, _codes(observed), attempt.url, attempt.id


def _codes(observed: ObservedAttempt) -> str:
    codes = observed.attempt.codes
    if len(codes) <= 2:
        return ", ".join(f"{code}: {each.proof}" if (each := observed.evidence.get(code)) else code for code in codes)
    proofs = Counter(evidence.proof for evidence in observed.evidence.values())
    words = [f"{proofs[proof]} {proof}" for proof in Proof if proofs[proof]]
    number = counted(len(codes), "code")
    return f"{number}: {', '.join(words)}" if words else number


def _matrix(status: ProjectStatus) -> doc.Table:
    """Return a table that shows the state of each event code, by subscription and target."""
    cells: Cells = {}
    for target in status.targets:
        for observed in target.attempts:
            for code in observed.attempt.codes:
                evidence = observed.evidence.get(code)
                word = evidence.proof if evidence and observed.attempt.in_force else STATUS[observed.attempt.status]
                cells.setdefault((observed.attempt.address.name, code), {})[target.name] = str(word)
    return matrix(cells, [target.name for target in status.targets])
