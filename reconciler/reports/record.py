"""Builds the documents about the contents and the history of the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.record import Status
from reconciler.reports.document import Document, Facts, Heading, Table, Tone, alerts
from reconciler.reports.words import STATUS, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.errors import Message
    from reconciler.model.record import Attempt
    from reconciler.reports.document import Block

_COLUMNS = ("address", "status", "codes", "URL", "since", "attempt")


def record_document(attempts: Sequence[Attempt], messages: Sequence[Message], *, whole: bool) -> Document:
    """Return the document of the recorded attempts.

    The attempts form a table or, with `whole`, one block each. `messages` say why changes are blocked.
    """
    body: list[Block] = []
    if whole:
        for attempt in attempts:
            body += [Heading(f"{attempt.address}, attempt {attempt.id}"), Facts(_facts(attempt))]
    elif attempts:
        rows = [
            (attempt.address, _status(attempt), ", ".join(attempt.codes), attempt.url, attempt.since, attempt.id)
            for attempt in attempts
        ]
        tones = [Tone.ERROR if attempt.unresolved else Tone.PLAIN for attempt in attempts]
        body.append(Table(_COLUMNS, tuple(rows), tuple(tones)))
    in_force = sum(attempt.in_force for attempt in attempts)
    unresolved = sum(attempt.unresolved for attempt in attempts)
    verdict = f"{counted(in_force, 'subscription')} in force"
    return Document(
        "record",
        f"{verdict}, {counted(unresolved, 'unresolved create')}." if unresolved else f"{verdict}.",
        alerts=alerts(messages, "Warning"),
        body=tuple(body),
    )


def _status(attempt: Attempt) -> str:
    return STATUS[attempt.status] if attempt.status is not Status.GONE or attempt.removed else "not created"


def _facts(attempt: Attempt) -> tuple[tuple[str, str], ...]:
    rows = (
        ("status", _status(attempt)),
        ("event codes", ", ".join(attempt.codes)),
        ("URL", attempt.url),
        ("service", attempt.base_url),
        ("since", attempt.since),
        ("last change", attempt.at),
        ("answer", f"{attempt.http_status or ''} {attempt.detail or ''}".strip()),
        ("removal requested", f"{attempt.requested} {', '.join(attempt.requested_codes)}".strip()),
        ("last notification", attempt.received),
        ("supersedes", ", ".join(attempt.supersedes)),
        ("superseded by", ", ".join(attempt.superseded_by)),
        *((name, str(value)) for name, value in sorted(attempt.fields.items())),
    )
    return tuple((name, value) for name, value in rows if value)


def history_document(rows: Sequence[tuple[str, ...]]) -> Document:
    """Return the document of the history. Each row holds the number, time, author, subject and text of an entry."""
    table = Table(("entry", "at", "by", "about", "what"), tuple(rows))
    return Document("history", f"{counted(len(rows), 'entry', 'entries')}.", body=(table,) if rows else ())
