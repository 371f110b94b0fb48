"""Attempts as text: whole, and as shown before a command changes what the record says of them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from reconciler.model.entry import who
from reconciler.reports.line import Line, Tone
from reconciler.reports.visible import visible
from reconciler.reports.wording import in_words, status_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reconciler.model.record import Attempt


def attempt_text(attempts: Sequence[Attempt]) -> list[Line]:
    """Attempts of one address, whole: `state show`."""
    lines: list[Line] = []
    for one in attempts:
        rows = {
            "status": in_words(one.status),
            "eventCodes": ", ".join(one.codes),
            "webhookUrl": one.url,
            "begun": f"{one.since} by {who(one.begun_by)}",
            "last change": f"{one.at} by {who(one.by)}",
            "detail": one.detail,
            "response": _where(one.response),
            "secret set": str(len(one.secrets)) if one.secrets else None,
            **{f"field {name}": str(value) for name, value in sorted(one.fields.items())},
        }
        lines.append(Line(f"  {visible(one.address)}  attempt {one.id}", Tone.HEADING))
        lines += [Line(f"      {visible(name)}: {visible(text)}") for name, text in rows.items() if text]
    return lines


def _where(response: str | None) -> str | None:
    if response is None:
        return None
    return "sealed in the journal" if response.startswith("age:") else "in a private file of the machine that applied"


def preview_line(attempt: Attempt, what: str) -> Line:
    """An attempt, and `what` is to be recorded of it."""
    return Line(f"  {_named(attempt)}, {status_word(attempt)}: {what}")


def cancelled_line(attempt: Attempt) -> Line:
    """What to do about an attempt that stays after all."""
    address = visible(attempt.address)
    return Line(f"  {address}: attempt {attempt.id} stays; withdraw the request to the operator to remove it")


def unresolved_text(attempt: Attempt, now: datetime, heard: Mapping[str, str], proof: str | None) -> list[Line]:
    """An attempt whose outcome is to be settled, with what is known of it.

    `heard` says when notifications of its codes were received last, since it began; `proof` what is known on this
    machine.
    """
    begun = f"begun {attempt.since}{_ago(attempt.since, now)} by {who(attempt.begun_by)}"
    outcome = f"outcome: {attempt.detail or 'unknown'}" if attempt.outcome else "no outcome is recorded"
    told = ", ".join(f"{code} last {at}" for code, at in sorted(heard.items()))
    evidence = f"notifications received since: {told or 'none recorded'}"
    rows = [begun, outcome, evidence, *([f"known on this machine: {proof}"] if proof else [])]
    return [Line(f"  {_named(attempt)}", Tone.HEADING), *(Line(f"      {visible(row)}") for row in rows)]


def _named(attempt: Attempt) -> str:
    codes = ", ".join(attempt.codes)
    return f"{visible(attempt.address)}  attempt {attempt.id}, {visible(codes)} to {visible(attempt.url)}"


def _ago(since: str, now: datetime) -> str:
    """How long ago that was, in words; nothing where a journal says no time that can be told."""
    try:
        seconds = int((now - datetime.fromisoformat(since)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return ""
    if seconds < 0:
        return " (ahead of this machine's clock)"
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = seconds // length
            return f" ({count} {name}{'' if count == 1 else 's'} ago)"
    return " (less than a minute ago)"
