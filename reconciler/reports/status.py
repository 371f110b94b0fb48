"""The status of targets, and how two targets compare, as documents."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reconciler.errors import Message, step
from reconciler.model.record import Status as AttemptStatus
from reconciler.model.status import Proof
from reconciler.reports.apply import unresolved_message
from reconciler.reports.document import Commands, Details, Document, Heading, Paragraph, Table, Todo, Tone
from reconciler.reports.messages import alerts
from reconciler.reports.plan import blocked_alerts, differing, matrix, selected, settled, surplus_messages, twice
from reconciler.reports.words import STATUS, ago, capital, counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.record import Attempt
    from reconciler.model.status import ObservedAttempt, Status, TargetStatus
    from reconciler.reports.document import Block
    from reconciler.reports.plan import Cells

_HEAD = ("address", "status", "codes", "URL", "attempt")


def status_document(status: Status) -> Document:
    """Return the document of what is in force, and of what waits for a person."""
    return Document(
        "status",
        _verdict(status),
        Tone.ADDED if _is_settled(status) else Tone.WARNING,
        facts=(
            ("Targets", listed([target.name for target in status.targets], 8) or "none"),
            ("Record", f"{status.plan.place} ({counted(status.plan.entries, 'entry', 'entries')})"),
            ("Digest", status.plan.digest),
        ),
        alerts=(*blocked_alerts(status.plan), *alerts(_unsettled(status))),
        body=tuple(block for target in status.targets for block in _target(target)),
        summary=(
            *alerts((*surplus_messages(status.plan), *_doubts(status)), "Warning"),
            *(Paragraph(text, Tone.WARNING) for target in status.targets for text in _differing(target, status.now)),
        ),
        next=Commands(tuple(_next(status))) if any(_next(status)) else None,
        details=(Details("Event codes by subscription and target", (_matrix(status),)),) if status.targets else (),
    )


def unresolved_of(status: Status) -> list[Attempt]:
    """Return the attempts with an unknown outcome, those not superseded."""
    every = (observed.attempt for target in status.targets for observed in target.attempts)
    return [attempt for attempt in every if attempt.blocks]


def _is_settled(status: Status) -> bool:
    recorded_twice = any(target.recorded_twice or target.revived for target in status.targets)
    return settled(status.plan) and not (unresolved_of(status) or recorded_twice)


def _verdict(status: Status) -> str:
    if _is_settled(status):
        matching = counted(status.plan.unchanged, "subscription matches", "subscriptions match")
        return f"No changes. {matching} the configuration."
    in_force = sum(observed.attempt.in_force for target in status.targets for observed in target.attempts)
    changes, unresolved = len(status.plan.changes), len(unresolved_of(status))
    words = [
        f"{counted(changes, 'change')} pending" if changes else "",
        counted(unresolved, "unresolved create") if unresolved else "",
        *differing(status.plan),
    ]
    rest = f" {capital(listed(filter(None, words)))}." if any(words) else ""
    return f"{counted(in_force, 'subscription')} in force.{rest}"


def _next(status: Status) -> Iterator[Todo]:
    options = selected(status.plan)
    if status.plan.changes:
        yield Todo("To see the changes, run", (("reconciler", "plan", *options),))
    if any(target.awaiting_removal or unresolved_of(status) for target in status.targets):
        yield Todo("To see the message to the operator, run", (("reconciler", "removal", "list", *options),))


def _unsettled(status: Status) -> Iterator[Message]:
    """Yield what is unresolved and blocks no change, so that no reason of the plan says it."""
    told = {attempt.id for change in status.plan.changes for attempt in change.blocking}
    yield from (unresolved_message(attempt) for attempt in unresolved_of(status) if attempt.id not in told)


def _doubts(status: Status) -> Iterator[Message]:
    for target in status.targets:
        for attempt in target.revived:
            what = f"delivered at {attempt.received}, after its confirmed removal: it is in force again"
            yield Message("revived", what, f"{attempt.address} (attempt {attempt.id})")
        for attempt in target.cancelled:
            command = ("reconciler", "removal", "confirm", attempt.address, "--attempt", attempt.id)
            yield Message(
                "removal-cancelled",
                f"the request to remove it was cancelled at {attempt.cancelled}",
                f"{attempt.address} (attempt {attempt.id})",
                (step("if the operator has removed it all the same, run", *command),),
            )
        if not target.declared:
            yield Message("target-undeclared", "not declared in config/: not planned", target.name)


def _differing(target: TargetStatus, now: float) -> Iterator[str]:
    yield from (twice(route, "delivered") for route in target.duplicates)
    yield from (twice(route, "recorded") for route in target.recorded_twice)
    for attempt in target.awaiting_removal:
        since = attempt.requested and f" since {ago(attempt.requested, now)}"
        yield f"{attempt.address}: removal awaited{since}"


def _target(target: TargetStatus) -> Iterator[Block]:
    yield Heading(target.name)
    if not target.attempts:
        yield Paragraph("Nothing is in force.", Tone.FAINT)
        return
    tones = {AttemptStatus.LIVE: Tone.PLAIN, AttemptStatus.AWAITING_REMOVAL: Tone.WARNING}
    shown = tuple(tones.get(observed.attempt.status, Tone.ERROR) for observed in target.attempts)
    yield Table(_HEAD, tuple(map(_row, target.attempts)), shown)


def _row(observed: ObservedAttempt) -> tuple[str, ...]:
    attempt = observed.attempt
    word = "superseded" if attempt.superseded_by and attempt.unresolved else STATUS[attempt.status]
    return attempt.address, word, _codes(observed), attempt.url, attempt.id


def _codes(observed: ObservedAttempt) -> str:
    proofs = Counter(evidence.proof for evidence in observed.evidence.values())
    words = [f"{proofs[proof]} {proof}" for proof in Proof if proofs[proof]]
    codes = counted(len(observed.attempt.codes), "code")
    return f"{codes}: {', '.join(words)}" if words else codes


def _matrix(status: Status) -> Table:
    """Return what is known of each event code of each subscription, target by target."""
    cells: Cells = {}
    for target in status.targets:
        for observed in target.attempts:
            for code in observed.attempt.codes:
                evidence = observed.evidence.get(code)
                word = evidence.proof if evidence and observed.attempt.in_force else STATUS[observed.attempt.status]
                cells.setdefault((observed.attempt.address.name, code), {})[target.name] = str(word)
    return matrix(cells, [target.name for target in status.targets])
