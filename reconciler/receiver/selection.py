"""Which requests of a capture file are meant: by line, event code and time."""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from reconciler.receiver.captured import Captured

_LEAP_SECOND = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:)60")


def received_at(captured: Captured) -> float | None:
    """When it was received, in epoch seconds; None for a line without a time, or with one before 1970.

    A leap second counts as the second before it.
    """
    seconds = _seconds(captured.at)
    return None if seconds is None or seconds < 0 else seconds


def _seconds(text: str) -> float | None:
    try:
        at = datetime.fromisoformat(_LEAP_SECOND.sub(r"\g<1>59", text))
        seconds = at.timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if at.tzinfo is not None else None


def event_code(captured: Captured) -> str | None:
    """The event code in the body; None if there is none."""
    try:
        document = json.loads(captured.body)
    except (ValueError, RecursionError):
        return None
    code = document.get("EventCode") if isinstance(document, dict) else None
    return code if isinstance(code, str) else None


class Lines(Struct, frozen=True):
    """Lines of a file by number, from 1: the `first` to the `last`, which are both included; None: to the end."""

    first: int
    last: int | None

    def __contains__(self, number: int) -> bool:
        return self.first <= number and (self.last is None or number <= self.last)

    def __str__(self) -> str:
        """As `lines_of` reads it."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last or ''}"


def lines_of(text: str) -> Lines | None:
    """The lines that `7`, `7-9` or `7-` stands for; None if it is nothing of that kind."""
    found = re.fullmatch(r"([1-9][0-9]{0,17})(?:(-)([1-9][0-9]{0,17})?)?", text)
    if found is None:
        return None
    first = int(found[1])
    last = int(found[3]) if found[3] else None if found[2] else first
    return Lines(first, last) if last is None or last >= first else None


def ranges(numbers: Iterable[int]) -> list[Lines]:
    """Ascending numbers as few ranges."""
    found: list[Lines] = []
    for number in numbers:
        if found and found[-1].last == number - 1:
            found[-1] = Lines(found[-1].first, number)
        else:
            found.append(Lines(number, number))
    return found


class Selection(Struct, frozen=True):
    """What to take: all that is empty or None does not restrict it. `since` and `until` are in epoch seconds.

    Unless `everything` is set, a retry of a notification that the file has already is left out, and so is what was
    refused because of its signature.
    """

    lines: Collection[Lines] = ()
    codes: Collection[str] = ()
    since: float | None = None
    until: float | None = None
    everything: bool = False

    def of(self, captured: Iterable[Captured]) -> Iterator[tuple[int, Captured]]:
        """The requests selected, each with the number of its line."""
        for number, request in enumerate(captured, 1):
            if self._has_line(number) and self._has(request):
                yield number, request

    def after(self, number: int) -> list[Lines]:
        """The lines selected from this one on."""
        clipped = [Lines(max(lines.first, number), lines.last) for lines in self.lines or [Lines(1, None)]]
        return [lines for lines in clipped if lines.last is None or lines.first <= lines.last]

    def _has_line(self, number: int) -> bool:
        return not self.lines or any(number in lines for lines in self.lines)

    def _has(self, captured: Captured) -> bool:
        if not self.everything and (captured.duplicate or not captured.confirmed):
            return False
        return (not self.codes or event_code(captured) in self.codes) and self._is_within(captured)

    def _is_within(self, captured: Captured) -> bool:
        if self.since is None and self.until is None:
            return True
        at = received_at(captured)
        if at is None:
            return False
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)
