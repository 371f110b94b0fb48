"""How far a moment is from now, beside the moment itself."""

import re
from datetime import datetime, timedelta

from reconciler.reports.wording import counted

_WAIT = re.compile(r"\bwait until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ), then ")
_MOMENT = re.compile(r"\b(until|after|create started) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)(?!, in )")


def with_distances(text: str, now: datetime) -> str:
    """`text` with how long ago a create started, and how far the moments are that a person is to wait for."""

    def measured(found: re.Match[str]) -> str:
        try:
            distance = datetime.fromisoformat(found[2]) - now
        except ValueError:  # the thirty-first of February
            return found[0]
        if found[1] == "create started":
            return f"{found[0]}{ago(found[2], now)}"
        return f"{found[0]}, {_ahead(distance)}" if distance > timedelta() else f"{found[0]} (over)"

    def waiting(found: re.Match[str]) -> str:
        try:
            return found[0] if datetime.fromisoformat(found[1]) > now else ""
        except ValueError:
            return found[0]

    return _MOMENT.sub(measured, _WAIT.sub(waiting, text))


def ago(since: str, now: datetime) -> str:
    """How long ago that was, in parentheses after a blank; empty if the journal holds no readable time."""
    try:
        seconds = int((now - datetime.fromisoformat(since)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return ""
    if seconds < 0:
        return " (in the future by this machine's clock)"
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return f" ({counted(seconds // length, name)} ago)"
    return " (less than a minute ago)"


def _ahead(distance: timedelta) -> str:
    """How long it is until then, rounded up: who waits so long has waited long enough."""
    seconds = -(-distance // timedelta(seconds=1))
    for name, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds > 2 * length:
            return f"in {-(-seconds // length)} {name}"
    return f"in {seconds} s"
