"""Journals in a table: one row for each line. Its primary key admits one line of each number, its foreign key only one
that follows the line before it; so an INSERT is a compare-and-append.

An append is sent as one message, with its transaction: no part of it can be left waiting in the server for the rest. It
reads back what it wrote before it returns.
"""

from __future__ import annotations

import shlex
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from psycopg import errors, sql

from reconciler.errors import HeadMoved, StateError, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.journal.chain import head_of
from reconciler.state.stores.postgres.database import database_of
from reconciler.state.stores.postgres.sessions import Sessions, Unanswered
from reconciler.state.stores.postgres.trust import examine, try_table

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from reconciler.state.stores.postgres.database import Database
    from reconciler.state.stores.postgres.sessions import Session

_SCRIPT = Path(__file__).with_name("journal.sql")

_READ = """
SELECT pg_is_in_recovery(), (
    SELECT string_agg(line || '\\x0a'::bytea, ''::bytea ORDER BY seq) FROM {table} WHERE target = %(target)s
)"""
_TARGETS = "SELECT pg_is_in_recovery(), ARRAY(SELECT DISTINCT target FROM {table})"
_LAST = "SELECT hash FROM {table} WHERE target = %(target)s AND NOT pg_is_in_recovery() ORDER BY seq DESC LIMIT 1"
_FOUND = """
SELECT EXISTS (SELECT FROM {table} WHERE target = %(target)s), count(*),
    encode(sha256(coalesce(string_agg(line || '\\x0a'::bytea, ''::bytea ORDER BY seq), '')), 'hex')
FROM {table} WHERE target = %(target)s AND seq BETWEEN %(first)s AND %(last)s"""
_APPEND = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '20s';
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true);
INSERT INTO {table} (target, seq, hash, prev_seq, prev_hash, line)
    SELECT %(target)s, seq, hash, nullif(seq - 1, 0), prev_hash, decode(line, 'hex')
    FROM unnest(%(numbers)s::bigint[], %(hashes)s::text[], %(previous)s::text[], %(lines)s::text[])
        AS new (seq, hash, prev_hash, line);
COMMIT;
"""
"""The lines are in hexadecimal, which means the same however a server reads strings."""
_BARRIER = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true);
SELECT pg_logical_emit_message(true, 'reconciler', '');
COMMIT"""
"""A commit is acknowledged after all before it are as durable as it is."""


class _Rows(Struct, frozen=True):
    """Lines as rows of the table, after the line whose hash is `head`."""

    target: TargetName
    head: str | None
    first: int
    lines: bytes

    @property
    def parameters(self) -> dict[str, object]:
        lines = self.lines.split(b"\n")[:-1]
        hashes = [head_of(line) or sha256(line).hexdigest() for line in lines]
        return {
            "target": str(self.target),
            "first": self.first,
            "last": self.first + len(lines) - 1,
            "numbers": list(range(self.first, self.first + len(lines))),
            "hashes": hashes,
            "previous": [self.head, *hashes[:-1]],
            "lines": [line.hex() for line in lines],
        }


class _Found(Struct, frozen=True):
    """What is in the table in the place of rows."""

    any_of_target: bool
    count: int
    digest: str

    def is_all(self, rows: _Rows) -> bool:
        """Whether it is these very rows."""
        return self.digest == sha256(rows.lines).hexdigest()


def open_postgres(spec: str, environment: Mapping[str, str]) -> PostgresStore:
    """The store that `postgresql://…` names. Raises SettingsError; whether it is there shows with the first call."""
    return PostgresStore(database_of(spec, environment))


class PostgresStore:
    """Journals in the table reconciler_journal of a database. Threads may share it."""

    path = None

    def __init__(self, database: Database) -> None:
        self.location = database.location
        self.place = database.place
        self._database = database
        self._sessions = Sessions(database)
        self._table = sql.Identifier(database.schema, "reconciler_journal")

    def prepare(self) -> None:
        """See Store.prepare; makes the table, if there is none, and tries it.

        Raises StateError, with the command for whoever may make it, if this user may not.
        """
        self._sessions.call(self._prepare)

    def check_writable(self, target: TargetName) -> None:  # noqa: ARG002
        """Try whether entries could be appended; nothing of it stays. Raises StateError."""
        self._sessions.call(self._try)

    def targets(self) -> list[TargetName]:
        """See Store.targets."""
        return sorted(self._sessions.call(self._targets))

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:  # noqa: ARG002
        """See Store.read; what can be read was committed."""
        return self._sessions.call(partial(self._read, target))

    def stamp(self, target: TargetName) -> str | None:
        """See Store.stamp: the hash of the last line."""
        try:
            return self._sessions.call(partial(self._last, target))
        except StoreUnavailable:
            return None

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:  # noqa: ARG002
        """See Store.append; the table has no place for `note`.

        Raises StateError, too, for a database that may lose what it acknowledges.
        """
        rows, attempts = _Rows(target, head, seq, lines), count()
        self._sessions.call(lambda session: self._append(rows, session, again=next(attempts) > 0))

    def where(self, target: TargetName) -> str:
        """See Store.where."""
        return f"{self.location} {target}"

    def journal_file(self, target: TargetName) -> None:
        """See Store.journal_file: a database has none."""

    def _prepare(self, session: Session) -> None:
        connection = session.connection
        row = connection.execute("SELECT to_regclass(%s)", (self._table.as_string(connection),)).fetchone()
        if row == (None,):
            self._create(session)
        self._try(session)

    def _create(self, session: Session) -> None:
        try:
            with session.connection.transaction():
                session.connection.execute("SELECT set_config('search_path', %s, true)", (self._database.schema,))
                session.connection.execute(_SCRIPT.read_bytes())
        except (errors.DuplicateTable, errors.UniqueViolation):  # another run has just made it
            return
        except (errors.InsufficientPrivilege, errors.InvalidSchemaName) as problem:
            told = self._database.hide_secrets(problem.diag.message_primary or "")
            remedy = f"as a user who may create it, run: {self._script_command(session)}"
            what = f"cannot create the table reconciler_journal: {told}"
            raise StateError(what, where=self.location, remedy=remedy) from None

    def _script_command(self, session: Session) -> str:
        """The command that makes the table, for another user than this one."""
        schema, role = self._database.schema, sql.Identifier(session.connection.info.user).as_string(session.connection)
        statements = [
            f"CREATE SCHEMA IF NOT EXISTS {schema}",
            f"SET search_path TO {schema}",
            f"GRANT USAGE ON SCHEMA {schema} TO {role}",
            f"GRANT SELECT, INSERT ON reconciler_journal TO {role}",
        ]
        before, after = (
            [f"-c {shlex.quote(statement)}" for statement in some] for some in (statements[:2], statements[2:])
        )
        database = shlex.quote(self._database.url)
        return " ".join(
            ["psql", "-v ON_ERROR_STOP=1", "-d", database, *before, f"-f {shlex.quote(str(_SCRIPT))}", *after]
        )

    def _try(self, session: Session) -> None:
        examine(session.connection, self._table, self.location)
        try_table(session.connection, self._table, self.location)

    def _targets(self, session: Session) -> list[TargetName]:
        try:
            row = session.connection.execute(self._statement(_TARGETS)).fetchone()
        except errors.UndefinedTable:
            return []
        standby, targets = row or (False, [])
        self._refuse_standby(standby=standby)
        return [TargetName(target) for target in targets]

    def _read(self, target: TargetName, session: Session) -> bytes | None:
        try:
            cursor = session.connection.execute(self._statement(_READ), {"target": str(target)}, binary=True)
        except errors.UndefinedTable:
            return None
        standby, journal = cursor.fetchone() or (False, None)
        self._refuse_standby(standby=standby)
        return bytes(journal) if journal is not None else None

    def _refuse_standby(self, *, standby: bool) -> None:
        if standby:
            raise StoreUnavailable(
                "the server is a standby, which may be behind",
                where=self.location,
                remedy="use the primary server, or add ?target_session_attrs=primary to the URL",
            )

    def _last(self, target: TargetName, session: Session) -> str | None:
        try:
            row = session.connection.execute(self._statement(_LAST), {"target": str(target)}).fetchone()
        except errors.UndefinedTable:
            return None
        return None if row is None else row[0]

    def _append(self, rows: _Rows, session: Session, *, again: bool) -> None:
        """One attempt to append; `again`: another one was not answered, and may have succeeded, or may do so yet."""
        if not session.trusted:
            examine(session.connection, self._table, self.location)
            session.trusted = True
        try:
            found = self._insert(rows, session)
        except (errors.UniqueViolation, errors.ForeignKeyViolation):
            session.connection.rollback()
            self._settle(rows, session, again=again)
            return
        if not found.is_all(rows):
            raise StoreUnavailable(
                "the database acknowledged the entries, and does not return them",
                where=self.where(rows.target),
                remedy="remove the triggers, rules and policies of the table reconciler_journal, then run the command"
                " again",
            )

    def _insert(self, rows: _Rows, session: Session) -> _Found:
        """Insert rows; what is then in their place. Raises psycopg's errors, and StoreUnavailable."""
        session.refuse_late()
        with session.client_cursor as cursor:
            cursor.execute(self._statement(_APPEND + _FOUND), rows.parameters)
            self._refuse_unreplicated(session)
            while cursor.nextset():
                pass
            return _Found(*(cursor.fetchone() or ()))

    def _settle(self, rows: _Rows, session: Session, *, again: bool) -> None:
        """After a conflict: what is there may be these very rows, from an attempt that was not answered.

        They are durable then when this returns. Raises HeadMoved otherwise, and Unanswered.
        """
        with session.client_cursor as cursor:
            found = _Found(*(cursor.execute(self._statement(_FOUND), rows.parameters).fetchone() or ()))
            if not (again and found.is_all(rows)):
                raise HeadMoved(_how_moved(rows, found), where=self.where(rows.target))
            cursor.execute(_BARRIER)
        self._refuse_unreplicated(session)

    def _refuse_unreplicated(self, session: Session) -> None:
        if session.unreplicated:
            session.unreplicated = False
            raise Unanswered(
                "the entries were committed, but an administrator ended the wait for the standby", where=self.location
            )

    def _statement(self, text: str) -> sql.Composed:
        return sql.SQL(text).format(table=self._table)


def _how_moved(rows: _Rows, found: _Found) -> str:
    if not found.any_of_target:
        return "the journal is missing"
    return f"conflict: another run {'initialized' if rows.head is None else 'appended to'} this journal"
