"""Sessions with the database: opened when needed, kept for the next call, and no call waits without an end.

Nothing is left in a session between two calls, so each may run on another connection of a pooler: no prepared
statements, no settings that outlive a transaction, no startup options.
"""

from __future__ import annotations

import time
import weakref
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import psycopg
from psycopg import ClientCursor, IsolationLevel
from psycopg.pq import TransactionStatus

from reconciler.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.state.stores.postgres.database import Database

T = TypeVar("T")

_PATIENCE = 30.0  # seconds for a call, with all its attempts
_BRIEFLY = 5.0  # seconds, after a timeout: an apply retries for each outcome, and must end
_PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0)  # seconds before each attempt
_ABORTED = ("40001", "40P01")  # serialization failure, deadlock: the transaction was undone
_LOST = ("08", "57P")  # the connection; the server shuts down, has crashed, or an administrator ended the session


class Unanswered(StoreUnavailable):
    """The connection was lost, or the statement was undone for no reason of its own: worth another attempt.

    A statement that writes may have been executed, or may still be.
    """


class Session:
    """A connection, what was found out about its server, and whether nobody waits for the present call any longer."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.trusted = False
        self.unreplicated = False
        self.abandoned = Event()
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        connection.add_notice_handler(self._notice)

    @property
    def client_cursor(self) -> ClientCursor[Any]:
        """A cursor whose statements are sent as one message of text, with the parameters in it."""
        return ClientCursor(self.connection)

    def refuse_late(self) -> None:
        """Raises StoreUnavailable if nobody waits: what is not sent by then must not be sent later."""
        if self.abandoned.is_set():
            raise StoreUnavailable("the call was abandoned")

    def _notice(self, notice: psycopg.errors.Diagnostic) -> None:
        """A commit that was told not to wait for a standby succeeds with a warning, in any language."""
        if notice.source_function == "SyncRepWaitForLSN":
            self.unreplicated = True


class Sessions:
    """Sessions with one database. Threads may share it; each call has a session of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._patience = _PATIENCE
        self._idle: list[Session] = []
        weakref.finalize(self, _close, self._idle)

    def call(self, work: Callable[[Session], T]) -> T:
        """What `work` does in a session; it is done again if the connection is lost.

        Raises StoreUnavailable, after 30 s at the latest, whatever the network and the server do: the work may go on
        in its thread, which ends with the process. Signals end the wait.
        """
        until = time.monotonic() + self._patience
        for pause in _PAUSES:
            time.sleep(pause)
            try:
                answer = self._attempt(work, until)
            except Unanswered as problem:
                self._forget()
                last = problem
                if time.monotonic() > until:
                    break
            else:
                self._patience = _PATIENCE
                return answer
        raise last

    def _attempt(self, work: Callable[[Session], T], until: float) -> T:
        abandoned = Event()
        attempt = _Attempt(lambda: self._in_session(work, abandoned))
        try:
            if attempt.ended.wait(max(0.0, until - time.monotonic())):
                return attempt.answer()
        finally:
            abandoned.set()
        waited, self._patience = self._patience, _BRIEFLY
        raise StoreUnavailable(
            f"no answer from the database (waited {waited:g} s)",
            where=self._database.location,
            remedy="check the network and the server, then run the command again",
        )

    def _in_session(self, work: Callable[[Session], T], abandoned: Event) -> T:
        session = self._session()
        session.abandoned = abandoned
        try:
            return work(session)
        except psycopg.Error as problem:
            session.connection.close()
            raise self._failure(problem) from None
        finally:
            if session.connection.info.transaction_status == TransactionStatus.IDLE:
                self._idle.append(session)
            else:
                session.connection.close()

    def _session(self) -> Session:
        with suppress(IndexError):
            return self._idle.pop()
        try:
            return Session(
                psycopg.connect(**self._database.parameters, autocommit=True, prepare_threshold=None)  # type: ignore[arg-type]
            )
        except psycopg.Error as problem:
            raise self._unavailable("connect to the database", str(problem), _CONNECTING) from None

    def _failure(self, problem: psycopg.Error) -> StoreUnavailable:
        """An error of a statement as one of the store."""
        state = problem.sqlstate or ""
        if not state or state.startswith(_LOST):
            told = self._database.hide_secrets(str(problem))
            return Unanswered(f"the connection to the database was lost: {told}", where=self._database.location)
        told = problem.diag.message_primary or type(problem).__name__
        if state in _ABORTED:
            told = self._database.hide_secrets(told)
            return Unanswered(f"the database undid the transaction: {told}", where=self._database.location)
        return self._unavailable("access the state record", f"{told} ({state})", self._remedy(state))

    def _remedy(self, state: str) -> str:
        remedy = _REMEDIES.get(state, "check the database server, then run the command again")
        return remedy.replace("TABLE", f"{self._database.schema}.reconciler_journal")

    def _unavailable(self, what: str, told: str, remedy: str) -> StoreUnavailable:
        told = self._database.hide_secrets(told)
        return StoreUnavailable(f"cannot {what}: {told}", where=self._database.location, remedy=remedy)

    def _forget(self) -> None:
        """Close the sessions that wait for a call: what ended one may have ended them all."""
        _close(self._idle)


class _Attempt(Generic[T]):
    """Work in a thread of its own: name resolution, TLS and a server that is silent cannot be interrupted."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.ended = Event()
        self._work = work
        self._answers: list[T] = []
        self._problem: BaseException | None = None
        Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._answers.append(self._work())
        except BaseException as problem:  # noqa: BLE001 - raised again by whoever waits
            self._problem = problem
        self.ended.set()

    def answer(self) -> T:
        """What the work gave. Raises what it raised."""
        if self._problem is not None:
            raise self._problem
        return self._answers[0]


def _close(sessions: list[Session]) -> None:
    while sessions:
        with suppress(psycopg.Error, IndexError):
            sessions.pop().connection.close()


_CONNECTING = "check the host, the user and the password (PGPASSWORD, or a password file), then run the command again"
_REMEDIES = {
    "25006": "the database or the role is set to read-only (default_transaction_read_only), or the server is a standby;"
    " use the primary server, or set it to off once the database may change again",
    "42501": "grant it, as the owner of the table: GRANT SELECT, INSERT ON TABLE TO ROLE",
    "42P01": "to create the table, run: reconciler state init",
    "53100": "free space on the disk of the database server, then run the command again",
    "55P03": "another transaction holds a lock on the table; end it, then run the command again",
}
