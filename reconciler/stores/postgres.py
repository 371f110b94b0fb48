"""Stores a record in a table of a PostgreSQL database: one row for each line, with the line number as primary key.

The primary key makes the database reject the second of two appends to the same head. An append is one transaction on
its own connection and keeps no session state, so the connection may go through a pooler.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import IsolationLevel, errors, sql
from psycopg.conninfo import conninfo_to_dict

from reconciler.errors import Message, SettingsError, Step, StoreUnavailable
from reconciler.record.chain import head_of
from reconciler.record.store import Stored, head_moved
from reconciler.stores.waiting import at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

T = TypeVar("T")

_PATIENCE = 30.0  # seconds for one call
_CONNECT_TIMEOUT = "10"  # seconds for each address of the server
_TABLE = "reconciler_record"
_TABLE_PARAMETER = re.compile(r"([?&])table=([^&]*)(&|$)")
_TABLE_NAME = re.compile(r"(?:[a-z_][a-z0-9_]{0,62}\.)?[a-z_][a-z0-9_]{0,62}")
_FORM = Step("use postgresql://USER@HOST:PORT/DATABASE, with the password in PGPASSWORD or in a password file")

_CREATE = "CREATE TABLE IF NOT EXISTS {table} (seq bigint PRIMARY KEY CHECK (seq >= 1), line bytea NOT NULL)"
_READ = "SELECT pg_is_in_recovery(), (SELECT string_agg(line || '\\x0a'::bytea, ''::bytea ORDER BY seq) FROM {table})"
_LAST = "SELECT seq, line FROM {table} ORDER BY seq DESC LIMIT 1"
_LINE = "SELECT line FROM {table} WHERE seq = %s"
_INSERT = "INSERT INTO {table} (seq, line) SELECT * FROM unnest(%s::bigint[], %s::bytea[])"
_LIMITS = "SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = '20s'; SET LOCAL synchronous_commit = 'on'"
_STEPS = {
    "25006": Step("use the primary server, or add ?target_session_attrs=primary to the URL"),
    "42501": Step("grant the role SELECT and INSERT on the table"),
    "53100": Step("free space on the disk of the database server"),
}


def open_postgres(place: str) -> PostgresStore:
    """Return the store for a URL. `table=NAME` in the query of the URL selects another table. Raises SettingsError."""
    url, table = f"postgresql{place[len('postgresql') :]}", _TABLE
    named = _TABLE_PARAMETER.search(url)
    if named:
        url, table = url[: named.start()] + (named[1] if named[3] else "") + url[named.end() :], named[2]
    if not _TABLE_NAME.fullmatch(table):
        what = "the table in the URL must be a plain name (a-z, 0-9, _), or two names joined by a dot"
        raise SettingsError(Message("place-no-table", what, "--state", (_FORM,)))
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items() if value}
    except psycopg.ProgrammingError:  # the exception's text quotes the URL
        raise SettingsError(Message("place-no-database", "not a PostgreSQL URL", "--state", (_FORM,))) from None
    place = url if table == _TABLE else f"{url}{'&' if '?' in url else '?'}table={table}"
    return PostgresStore(place, given, table)


class PostgresStore:
    """Stores the record in one table. Threads may share a store: each call opens its own connection."""

    path: Path | None = None

    def __init__(self, place: str, parameters: Mapping[str, str], table: str) -> None:
        self.place = place
        self._parameters = {
            "connect_timeout": _CONNECT_TIMEOUT,
            "fallback_application_name": "reconciler",
            **parameters,
            "client_encoding": "utf8",
        }
        self._table = sql.Identifier(*table.split("."))

    def read(self) -> Stored:
        """Return all lines from one snapshot. Raises StoreUnavailable for a standby server, which may lag behind."""

        def work(connection: psycopg.Connection[Any]) -> Stored:
            try:
                row = connection.execute(self._statement(_READ)).fetchone()
            except errors.UndefinedTable:
                return Stored(None)
            is_standby, data = row or (True, None)
            if is_standby:
                raise self._failure("the server is a standby", "25006")
            return Stored(data)

        return self._in_connection(work)

    def append(self, head: str | None, lines: bytes, summary: str, *, second: str | None = None) -> None:  # noqa: ARG002
        """Insert the lines in one transaction, then read back the last line."""
        new = lines.split(b"\n")[:-1]

        def work(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction():
                connection.execute(_LIMITS)
                last, line = connection.execute(self._statement(_LAST)).fetchone() or (0, None)
                if (None if line is None else head_of(line)) != head or (line is None) != (head is None):
                    raise head_moved(self.place, *(["the record is missing"] if line is None else []))
                connection.execute(self._statement(_INSERT), (list(range(last + 1, last + 1 + len(new))), new))
            if new and connection.execute(self._statement(_LINE), (last + len(new),)).fetchone() != (new[-1],):
                raise self._failure("the database acknowledged the lines, but does not return them")

        try:
            self._in_connection(work)
        except errors.UniqueViolation:
            raise head_moved(self.place) from None

    def prepare(self) -> None:
        """Create the table if it does not exist."""

        def work(connection: psycopg.Connection[Any]) -> None:
            try:
                connection.execute(self._statement(_LAST))
            except errors.UndefinedTable:
                # Another run may be creating it at the same time.
                with suppress(errors.UniqueViolation, errors.DuplicateObject, errors.DuplicateTable):
                    connection.execute(self._statement(_CREATE))

        self._in_connection(work)

    def check_writable(self) -> None:
        """Check that lines can be inserted, in a transaction that is rolled back."""

        def work(connection: psycopg.Connection[Any]) -> None:
            # If another run appends meanwhile, lines can be inserted.
            with suppress(errors.UniqueViolation), connection.transaction(force_rollback=True):
                connection.execute(_LIMITS)
                last, _ = connection.execute(self._statement(_LAST)).fetchone() or (0, None)
                connection.execute(self._statement(_INSERT), ([last + 1], [b""]))

        self._in_connection(work)

    def _in_connection(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Run `work` on a connection with a time limit and return its result.

        Raises HeadMoved if the table is missing, and StoreUnavailable for every other failure except a unique
        violation.
        """

        def connected() -> T:
            # Behind a pooler, prepared statements of an earlier transaction may be missing.
            with psycopg.connect(**self._parameters, autocommit=True, prepare_threshold=None) as connection:  # type: ignore[arg-type]
                connection.isolation_level = IsolationLevel.READ_COMMITTED
                return work(connection)

        try:
            return at_once([connected], _PATIENCE)[0]
        except errors.UniqueViolation:
            raise
        except errors.UndefinedTable:
            raise head_moved(self.place, "the record is missing") from None
        except psycopg.Error as problem:
            reason = problem.diag.message_primary or str(problem) or type(problem).__name__
            raise self._failure(f"the database failed: {reason}", problem.sqlstate or "") from None
        except TimeoutError as problem:
            raise self._failure(f"the database returned {problem}") from None

    def _failure(self, what: str, state: str = "") -> StoreUnavailable:
        printable = "".join(letter if letter.isprintable() else " " for letter in what)
        text = f"{' '.join(printable.split())[:500]}{f' ({state})' if state else ''}"
        step = _STEPS.get(state, Step("check the server, the network, the user and the password"))
        return StoreUnavailable(Message("database-unavailable", text, self.place, (step,)))

    def _statement(self, text: str) -> sql.Composed:
        return sql.SQL(text).format(table=self._table)
