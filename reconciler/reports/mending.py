"""What a command that mends the record is about to do, shown before it does it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from reconciler.model.entry import who
from reconciler.reports.line import Line, Tone
from reconciler.reports.visible import visible
from reconciler.reports.wording import status_word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.record import Attempt


def shown_line(attempt: Attempt, what: str) -> Line:
    """An attempt, and `what` is to be recorded of it."""
    return Line(f"  {_named(attempt)}, {status_word(attempt)}: {what}")


def withdrawn_line(attempt: Attempt) -> Line:
    """What to do about an attempt that stays after all."""
    address = visible(attempt.address)
    return Line(f"  {address}: attempt {attempt.id} stays; withdraw the request to the operator to remove it")


def settling_text(attempt: Attempt, now: datetime, heard: Mapping[str, str], proof: str | None) -> list[Line]:
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
