"""Attempts as text: in full, and as a preview before a command edits the record."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from reconciler.model.entry import who
from reconciler.model.record import Attempt
from reconciler.reports.line import Line, Tone
from reconciler.reports.times import ago
from reconciler.reports.wording import in_words, status_word


def attempt_text(attempts: Sequence[Attempt]) -> list[Line]:
    """Attempts of one address, in full: `state show`."""
    lines: list[Line] = []
    for attempt in attempts:
        rows = {
            "status": in_words(attempt.status),
            "eventCodes": ", ".join(attempt.codes),
            "webhookUrl": attempt.url,
            "started" if attempt.settled_by else "imported": f"{attempt.since} by {who(attempt.started_by)}",
            "last change": f"{attempt.at} by {who(attempt.by)}",
            "detail": attempt.detail,
            "response": _location(attempt.response),
            "secret set": str(len(attempt.secrets)) if attempt.secrets else None,
            **{f"field {name}": str(value) for name, value in sorted(attempt.fields.items())},
        }
        lines.append(Line(f"  {attempt.address}  attempt {attempt.id}", Tone.HEADING))
        lines += [Line(f"      {name}: {text}") for name, text in rows.items() if text]
    return lines


def _location(response: str | None) -> str | None:
    if response is None:
        return None
    encrypted = response.startswith("age:")
    return "encrypted in the journal" if encrypted else "in a private file on the machine that ran apply"


def preview_line(attempt: Attempt, what: str) -> Line:
    """An attempt, and what is to be recorded about it."""
    return Line(f"  {_named(attempt)}, {status_word(attempt)}: {what}")


def cancelled_line(attempt: Attempt) -> Line:
    """That the removal of an attempt was cancelled; what the operator is to be told follows."""
    return Line(f"  {attempt.address}: removal of attempt {attempt.id} cancelled")


def unresolved_text(attempt: Attempt, now: datetime, received: Mapping[str, str], proof: str | None) -> list[Line]:
    """An attempt with an unknown outcome, and the evidence for what it may be.

    `received`: when notifications of its codes were received last, since it was started; `proof`: the evidence on this
    machine.
    """
    started = f"started {attempt.since}{ago(attempt.since, now)} by {who(attempt.started_by)}"
    outcome = f"outcome: {attempt.detail or 'unknown'}" if attempt.outcome else "no outcome recorded"
    codes = ", ".join(f"{code} last {at}" for code, at in sorted(received.items()))
    notifications = f"notifications received since: {codes or 'none'}"
    rows = [started, outcome, notifications, *([f"evidence on this machine: {proof}"] if proof else [])]
    return [Line(f"  {_named(attempt)}", Tone.HEADING), *(Line(f"      {row}") for row in rows)]


def _named(attempt: Attempt) -> str:
    codes = ", ".join(attempt.codes)
    return f"{attempt.address}  attempt {attempt.id}, {codes} to {attempt.url}"
