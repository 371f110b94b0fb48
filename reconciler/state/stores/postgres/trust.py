"""Whether a database keeps what it has acknowledged, and whether its table refuses what it must.

The settings are compared before the first append of each session, with one query. `state init` also tries the table: in
a transaction that is undone, so nothing of it stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from psycopg import errors, sql

from reconciler.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg import Connection

_SETTINGS = {
    "fsync": ("on", "set fsync = on in postgresql.conf"),
    "full_page_writes": ("on", "set full_page_writes = on in postgresql.conf"),
    "data_sync_retry": ("off", "set data_sync_retry = off in postgresql.conf"),
    "zero_damaged_pages": ("off", "set zero_damaged_pages = off"),
    "ignore_checksum_failure": ("off", "set ignore_checksum_failure = off"),
    "session_replication_role": ("origin", "set session_replication_role = origin for this role"),
}
"""What each must be, since an entry may be lost otherwise, or accepted that does not follow the one before it; and the
remedy."""
_NOT_ON = "ALTER ROLE USER SET synchronous_commit = on"

FACTS = sql.SQL("""
SELECT pg_is_in_recovery() AS standby, current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('synchronous_standby_names') AS standbys, (
        SELECT relkind::text || relpersistence::text FROM pg_class WHERE oid = to_regclass({name})
    ) AS kind, {settings}
""")


def examine(connection: Connection[Any], table: sql.Identifier, location: str) -> None:
    """Raises StateError for a database that may lose what it acknowledges; changes nothing."""
    settings = sql.SQL(", ").join(
        sql.SQL("current_setting({}, true) AS {}").format(name, sql.Identifier(name)) for name in _SETTINGS
    )
    cursor = connection.execute(FACTS.format(name=table.as_string(connection), settings=settings))
    names = [column.name for column in cursor.description or ()]
    doubt = doubt_of(dict(zip(names, cursor.fetchone() or (), strict=True)))
    if doubt is not None:
        what, remedy = doubt
        raise StateError(f"this database may lose entries that it acknowledged: {what}", where=location, remedy=remedy)


def doubt_of(facts: Mapping[str, object]) -> tuple[str, str] | None:
    """Why a database with these facts cannot be trusted, and what to change; None if there is no reason."""
    if facts["standby"]:
        return "the server is a standby", "use the primary server, or add ?target_session_attrs=primary to the URL"
    for name, (good, remedy) in _SETTINGS.items():
        if facts[name] != good:
            found = "not known to the server" if facts[name] is None else facts[name]
            return f"{name} is {found}", f"{remedy}; then run the command again"
    commit = facts["synchronous_commit"]
    if commit == "off" or (commit == "local" and facts["standbys"]):
        return f"synchronous_commit is {commit}", f"as its administrator, run in the database: {_NOT_ON}"
    match facts["kind"]:
        case None | "rp":  # missing, or an ordinary table
            return None
        case "ru":
            remedy = "as its owner, run in the database: ALTER TABLE reconciler_journal SET LOGGED"
            return "reconciler_journal is an unlogged table", remedy
        case _:
            return "reconciler_journal is not an ordinary table", "rename it; then run: reconciler state init"


def try_table(connection: Connection[Any], table: sql.Identifier, location: str) -> None:
    """Try in a transaction, which is undone, whether the table refuses what breaks a journal.

    Raises StateError.
    """
    one, two = "1" * 64, "2" * 64
    target = f".probe/{uuid4().hex}"
    insert = sql.SQL(
        "INSERT INTO {} (target, seq, hash, prev_seq, prev_hash, line) VALUES (%s, %s, %s, %s, %s, %s)"
    ).format(table)
    broken: dict[str, tuple[tuple[object, ...], type[errors.IntegrityError]]] = {
        "two entries of one number": ((1, two, None, None), errors.UniqueViolation),
        "an entry after a missing one": ((3, two, 2, one), errors.ForeignKeyViolation),
        "an entry that does not follow the one before it": ((2, two, 1, two), errors.ForeignKeyViolation),
        "an entry that skips a number": ((3, two, 1, one), errors.CheckViolation),
        "an entry that follows nothing": ((2, two, None, None), errors.CheckViolation),
        "a hash that is not one": ((2, "2", 1, one), errors.CheckViolation),
    }
    with connection.transaction(force_rollback=True):
        for number, fields in enumerate(((1, one, None, None), (2, two, 1, one))):
            if connection.execute(insert, (target, *fields, b"")).rowcount != 1:
                raise _useless("swallows rows", location)
            for accepted, (row, violation) in broken.items() if number == 0 else ():
                try:
                    with connection.transaction():
                        connection.execute(insert, (target, *row, b""))
                except violation:
                    continue
                raise _useless(f"accepts {accepted}", location)


def _useless(what: str, location: str) -> StateError:
    return StateError(
        f"the table reconciler_journal {what}",
        where=location,
        remedy="remove its triggers, rules and policies; if it is not the table that reconciler made, rename it, then"
        " run: reconciler state init",
    )
