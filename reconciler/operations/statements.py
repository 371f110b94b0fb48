"""Prepares the statements that a person makes about the record, and appends exactly what was shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.desired.fields import CODE
from reconciler.desired.urls import fault as url_fault
from reconciler.errors import HeadMoved, Message, ReconcilerError, Refused, SettingsError, StoreUnavailable, step
from reconciler.operations.recovery_file import recovery_messages
from reconciler.record import chain
from reconciler.record.facts import Begun
from reconciler.record.gates import Standing
from reconciler.record.statement_rows import propose
from reconciler.record.statements import AcceptLoss, Begin, Import, StatementContext

if TYPE_CHECKING:
    from reconciler.model.record import Record
    from reconciler.operations.project import Project
    from reconciler.record.facts import AnyFact
    from reconciler.record.journal import Journal, Reading
    from reconciler.record.statement_rows import Proposal
    from reconciler.record.statements import Statement

CONFLICTS = 10
"""The maximum number of tries to append a statement while other runs keep appending first."""


class AppendResult(Struct, frozen=True):
    """The facts that were appended, the id and head of the record afterwards, and `messages` for a person."""

    facts: tuple[AnyFact, ...]
    record: str
    head: str
    messages: tuple[Message, ...] = ()


def prepare(project: Project, statement: Statement) -> Proposal:
    """Read the record and return what a statement would append. Raises ReconcilerError."""
    if isinstance(statement, Import):
        _refuse_bad_values(statement)
    return propose(statement, _context(project, statement, _read(project.journal, statement)))


def _refuse_bad_values(statement: Import) -> None:
    """Raise SettingsError for a URL or a code that would be invalid in `config/`."""
    problems = []
    if statement.url and (fault := url_fault(statement.url)):
        problems.append(Message(fault.name, f"the URL {fault.what}", "--url", (step(fault.remedy),)))
    bad = ", ".join(repr(code) for code in statement.codes if not re.fullmatch(CODE.pattern, code))
    if bad:
        problems.append(Message("bad-code", f"expected {CODE.expected}, got {bad}", "--code"))
    if problems:
        raise SettingsError(*problems)


def refuse_unexpected(proposal: Proposal, digest: str) -> None:
    """Raise Refused unless the proposal has the reviewed digest."""
    if proposal.digest != digest:
        review = step("review it again with --dry-run")
        what = "the facts to append differ from those reviewed; nothing was appended"
        raise Refused(Message("proposal-changed", what, "--expect-digest", (review,)))


def append(project: Project, statement: Statement, proposal: Proposal) -> AppendResult:
    """Append the proposal that was shown. Raises ReconcilerError.

    The record is read again before each try. Raises Refused if the statement would no longer append what was shown.
    Nothing is appended if another run has recorded the same facts.
    """
    journal = project.journal
    if proposal.facts and isinstance(statement, Begin | AcceptLoss):
        journal.store.prepare()
    for _ in range(CONFLICTS):
        reading = _read(journal, statement)
        again = propose(statement, _context(project, statement, reading), proposal.ids)
        if not again.facts:
            record = reading.record if reading else None
            return AppendResult((), record.id if record else "", record.head if record else "", again.shown)
        if again.digest != proposal.digest:
            what = "the record has changed since this was shown; nothing was appended"
            raise Refused(Message("record-changed", what, journal.place, (step("run the command again"),)))
        after = _appended(journal, statement, reading, again.facts)
        if after is not None:
            begun = [fact.record for fact in again.facts if isinstance(fact, Begun) and not fact.origin]
            is_named = project.flags.state or (begun and begun[0] == journal.expected)
            named = (_name_in_config(begun[0]),) if begun and not is_named else ()
            return AppendResult(again.facts, after.record.id, after.record.head, named)
    raise Refused(too_many_conflicts(journal.place))


def too_many_conflicts(place: str) -> Message:
    """Return the message for a command that could not append because other runs kept appending first."""
    return Message("too-many-conflicts", "other runs keep appending to the record", place, (step("try again later"),))


def _appended(
    journal: Journal, statement: Statement, reading: Reading | None, facts: tuple[AnyFact, ...]
) -> Reading | None:
    """Append facts and return the record with them, or None if another run appended first.

    If the answer is lost, the record is read once more to find out whether the facts were appended.
    """
    accepts = isinstance(statement, Begin | AcceptLoss)
    summary = type(statement).__name__
    try:
        if reading is None or accepts:
            return journal.accept(reading, facts, summary)
        return journal.append(reading, facts, summary)
    except (HeadMoved, StoreUnavailable) as problem:  # HeadMoved too: a store's own retry may meet its first try
        lines = reading.lines if reading else ()
        last = chain.link(lines[-1].hash if lines else None, len(lines), facts)[1][-1].hash
        now = journal.look()
        if now is not None and now.record.contains(last) and (now.standing.first_gate_open or not accepts):
            journal.catch_up(now)
            return now
        if isinstance(problem, StoreUnavailable):
            raise
        return None


def _read(journal: Journal, statement: Statement) -> Reading | None:
    """Read the record. Return None if there is no record and the statement needs none."""
    return journal.look() if isinstance(statement, Begin | AcceptLoss) else journal.read()


def _context(project: Project, statement: Statement, reading: Reading | None) -> StatementContext:
    journal = project.journal
    record = reading.record if reading else None
    return StatementContext(
        standing=reading.standing if reading else Standing(journal.place, named_by=journal.named_by),
        desired=project.desired,
        now=project.now(),
        new_id=project.new_id,
        record=record,
        by=project.by(),
        accounts=project.accounts(),
        expected=journal.expected,
        notes=journal.remembered(record.id if record else journal.expected),
        second=reading.second if reading else journal.store.read().second,
        continues=isinstance(statement, AcceptLoss) and record is not None and _continues(project, record),
        in_ci=project.in_ci,
        signs=lambda attempt: tuple(record.received_by(attempt)) if record else (),
        unrecovered=recovery_messages(project, reading) if reading else {},
    )


def _continues(project: Project, record: Record) -> bool:
    """True if the record was copied to a place where it is complete, not closed, and readable."""
    if not record.closed_to:
        return False
    try:
        other = project.journal_at(record.closed_to).read()
    except ReconcilerError:
        return False
    loss = other.record.losses.get(record.closed_for)
    return loss is not None and not loss.open and not other.record.closed_to


def _name_in_config(record: str) -> Message:
    what = f"the record's id is {record}; once it is in config/, every clone and CI run will refuse any other record"
    return Message("record-begun", what, "config/", (step(f"add to config/: record: {record}"),))
