"""Reads the record for a person or a script: its subscriptions, its history and its integrity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from reconciler.errors import Message, SelectionError, step
from reconciler.model.address import is_pattern, matches, suggestion
from reconciler.model.record import Status
from reconciler.record.descriptions import describe, subjects
from reconciler.record.gates import obstacle_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.model.record import Attempt
    from reconciler.operations.project import Project


class Entry(Struct, frozen=True):
    """An entry of the record.

    `subjects` holds addresses or a target. `merged` is true if the entry came from another history.
    """

    number: int = field(name="entry")
    at: str
    by: Mapping[str, str]
    kind: str
    subjects: tuple[str, ...]
    what: str
    merged: bool = False


class Shown(Struct, frozen=True):
    """The attempts to show.

    If `of_address` is true, these are all attempts of one address; otherwise, they are the selected attempts that are
    in force or unknown. `messages` say why a gate is closed.
    """

    attempts: tuple[Attempt, ...]
    of_address: bool
    messages: tuple[Message, ...] = ()


class Verified(Struct, frozen=True):
    """A record whose chain is intact.

    `torn` is the number of bytes that an interrupted write left. `messages` say why a gate is closed.
    """

    place: str
    record: str
    entries: int
    head: str
    torn: int
    messages: tuple[Message, ...]


def find_attempts(project: Project, where: str = "") -> Shown:
    """Return the attempts that match `where`, an address or a pattern; "" selects the whole record.

    Raises SelectionError and RecordError.
    """
    reading = project.journal.read()
    if where:
        _refuse_unmatched(where, reading.record.addresses)
    of_address = where in reading.record.addresses
    attempts = tuple(
        attempt
        for attempt in sorted(reading.record.attempts.values(), key=lambda attempt: (attempt.address, attempt.since))
        if _is_selected(where, attempt.address) and (of_address or attempt.status is not Status.GONE)
    )
    messages = obstacle_messages(reading.record, reading.standing, project.now(), project.journal.expected)
    return Shown(attempts, of_address, messages)


def attempts_json(attempts: Iterable[Attempt]) -> list[dict[str, Any]]:
    """Return the list that `state show --format json` prints."""
    return [
        {
            "address": attempt.address,
            "attempt": attempt.id,
            "eventCodes": attempt.codes,
            "webhookUrl": attempt.url,
            "status": str(Status.UNKNOWN if attempt.unresolved else attempt.status),
            "at": attempt.at,
            "fields": dict(attempt.fields),
        }
        for attempt in attempts
    ]


def list_entries(project: Project, where: str = "") -> list[Entry]:
    """Return the entries about an address or a pattern, including those under former names; "" selects all entries.

    Raises SelectionError and RecordError.
    """
    reading = project.journal.read()
    entries = [
        Entry(
            number,
            line.fact.at,
            line.fact.by,
            str(type(line.fact).__struct_config__.tag),
            subjects(line.fact, reading.record),
            describe(line.fact),
            bool(line.fact.origin),
        )
        for number, line in enumerate(reading.lines, 1)
    ]
    if not where:
        return entries
    _refuse_unmatched(where, sorted({name for entry in entries for name in entry.subjects}))
    return [entry for entry in entries if any(_is_selected(where, name) for name in entry.subjects)]


def verify_record(project: Project) -> Verified:
    """Check the chain and return the record. Raises RecordDamaged, which names the line, and RecordMissing."""
    reading = project.journal.read()
    messages = obstacle_messages(reading.record, reading.standing, project.now(), project.journal.expected)
    record = reading.record
    return Verified(project.journal.place, record.id, record.entries, record.head, reading.torn, messages)


def _refuse_unmatched(where: str, known: Iterable[str]) -> None:
    """Raise SelectionError if `where` is neither an address nor a pattern, or if it matches nothing."""
    if not is_pattern(where):
        raise SelectionError(Message("bad-address", "expected region/environment/name, or a pattern", where))
    names = list(known)
    if not any(_is_selected(where, name) for name in names):
        lists = step("to list what is recorded, run", "reconciler", "state", "show")
        raise SelectionError(Message("not-recorded", f"not in the record{suggestion([where], names)}", where, (lists,)))


def _is_selected(where: str, name: str) -> bool:
    """True if a pattern selects a target or an address; a target pattern also selects the target's addresses."""
    return not where or matches(where, name) or (where.count("/") == 1 and matches(f"{where}/*", name))
