"""The result of an apply, as a document: what needs a person first, then every address, then what to do next."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reconciler.errors import Message, step
from reconciler.model.clock import stamp
from reconciler.model.result import Done
from reconciler.reports.document import Commands, Document, Letter, Paragraph, Table, Todo, Tone
from reconciler.reports.letters import Purpose, letter, letters_by_target, one_line
from reconciler.reports.messages import alerts
from reconciler.reports.plan import differing, verdict
from reconciler.reports.words import SIGNS, capital, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reconciler.errors import Step
    from reconciler.model.record import Attempt
    from reconciler.model.result import Applied, Result

WORDS = {
    Done.CREATED: "created",
    Done.REJECTED: "rejected",
    Done.NOT_SENT: "not sent",
    Done.UNKNOWN: "outcome unknown",
    Done.RESTORED: "restored",
    Done.REQUESTED: "removal requested",
    Done.SKIPPED: "skipped",
}
TONES = {
    Done.CREATED: Tone.ADDED,
    Done.REJECTED: Tone.ERROR,
    Done.NOT_SENT: Tone.ERROR,
    Done.UNKNOWN: Tone.ERROR,
    Done.RESTORED: Tone.CHANGED,
    Done.REQUESTED: Tone.REMOVED,
    Done.SKIPPED: Tone.WARNING,
}
_HEAD = ("", "address", "outcome", "status", "attempt")


def apply_document(applied: Applied) -> Document:
    """Return the document of an apply."""
    rows = tuple(map(_row, applied.results))
    table = Table(_HEAD, rows, tuple(TONES[result.outcome] for result in applied.results))
    return Document(
        "apply",
        _verdict(applied),
        _tone(applied),
        alerts=(*alerts(_problems(applied)), *alerts(applied.messages)),
        body=(*([table] if rows else []), *_letters(applied)),
        summary=tuple(Paragraph(text, Tone.WARNING) for text in _left(applied)),
        next=Commands(tuple(_next(applied))) if any(_next(applied)) else None,
    )


def removal_letters(applied: Applied) -> list[tuple[Attempt, str]]:
    """Return the request to the operator for each attempt whose removal was requested, on one line."""
    return [(attempt, one_line(letter([attempt], Purpose.DELETE))) for attempt in applied.removal]


def result_row(result: Result) -> str:
    """Return one result on one line, for progress and logs."""
    return " ".join(filter(None, _row(result)[:4]))


def _row(result: Result) -> tuple[str, ...]:
    status = "" if result.status is None else str(result.status)
    return SIGNS[result.action], result.address, WORDS[result.outcome], status, result.attempt or ""


def _verdict(applied: Applied) -> str:
    counts = Counter(result.outcome for result in applied.results)
    words = [f"{counts[outcome]} {WORDS[outcome]}" for outcome in Done if counts[outcome]]
    done = f"{'Interrupted' if applied.signal else 'Applied'}: {', '.join(words)}." if words else ""
    rest = f"{counted(len(applied.unresolved), 'unresolved create')} (exit 3)." if applied.unresolved else ""
    if done or rest:
        return f"{done} {rest}".strip()
    return verdict(applied.left) if applied.left else "Nothing to apply."


def _tone(applied: Applied) -> Tone:
    outcomes = {result.outcome for result in applied.results}
    if applied.unresolved or outcomes & {Done.REJECTED, Done.NOT_SENT, Done.UNKNOWN}:
        return Tone.ERROR
    return Tone.WARNING if Done.SKIPPED in outcomes or applied.signal else Tone.ADDED


def _problems(applied: Applied) -> Iterator[Message]:
    """Yield why a change was not carried out, and what to do about each unresolved create."""
    told = {message.what for message in applied.messages}
    for result in applied.results:
        if (
            result.detail
            and result.detail not in told
            and result.outcome in (Done.REJECTED, Done.NOT_SENT, Done.SKIPPED)
        ):
            steps: tuple[Step, ...] = ()
            if result.outcome is Done.REJECTED and result.status == 409:
                command = ("reconciler", "state", "import", result.address)
                steps = (step("if the subscription exists already, record it with", *command),)
            what = f"{WORDS[result.outcome]}: {result.detail}"
            yield Message(f"result-{result.outcome}", what, result.address, steps)
    for attempt in applied.unresolved:
        yield unresolved_message(attempt)


def unresolved_message(attempt: Attempt) -> Message:
    """Return what is not known of an attempt, and the two ways to settle it."""
    resolve = ("reconciler", "state", "resolve", attempt.address)
    which = ("--attempt", attempt.id)
    return Message(
        "outcome-unknown",
        "outcome unknown; do not create the subscription by other means",
        attempt.address,
        (
            step("ask the operator whether it exists; if it does, run", *resolve, "--created", *which),
            step(f"if it does not exist after {stamp(attempt.settled_by)}, run", *resolve, "--not-created", *which),
        ),
    )


def _letters(applied: Applied) -> Iterator[Letter]:
    yield from letters_by_target(applied.restored, Purpose.KEEP)
    yield from letters_by_target(applied.removal, Purpose.DELETE)
    yield from letters_by_target(applied.unresolved, Purpose.ASK)


def _left(applied: Applied) -> Sequence[str]:
    if applied.left is None:
        return ("The record could not be read at the end: what is left is not known.",)
    return [f"{capital(word)}." for word in differing(applied.left)] if applied.results else []


def _next(applied: Applied) -> Iterator[Todo]:
    if applied.removal:
        targets = sorted({attempt.address.target for attempt in applied.removal})
        commands = tuple(("reconciler", "removal", "confirm", f"{target}/*") for target in targets)
        yield Todo("Once the operator has deleted them, run", commands)
    outcomes = {result.outcome for result in applied.results}
    if outcomes & {Done.REJECTED, Done.NOT_SENT, Done.SKIPPED} or applied.signal:
        yield Todo("To see what is left, run", (("reconciler", "plan"),))
    elif outcomes and not applied.unresolved:
        yield Todo("To see what is in force, run", (("reconciler", "status"),))
