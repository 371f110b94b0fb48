"""Records in PostgreSQL: lost answers, servers that lost commits, standbys, tables that cannot be used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest
from support import servers
from support.records import add, begin, linked, named, names_of, sample
from support.refusals import raised
from support.tcp_proxy import Proxy

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.record.store import Store
from reconciler.stores import postgres as module
from stores.conftest import Site


@pytest.fixture
def store(postgres: Site) -> Store:
    """A store with a record of two lines."""
    store = postgres.open()
    store.prepare()
    begin(store)
    return store


@pytest.fixture
def execute(postgres: Site) -> Callable[..., list[Any]]:
    """Executes statements as the superuser; `{table}` in them is the table of the record."""

    def execute(*statements: str) -> list[Any]:
        with psycopg.connect(re.sub("[?&]table=.*", "", postgres.place), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.replace("{table}", table_of(postgres)).encode())
            return cursor.fetchall() if cursor.description else []

    return execute


@pytest.fixture
def proxy(postgres: Site, postgres_port: int) -> Iterator[Proxy]:
    """A proxy before the server, at which the place is from then on; what commits meets its mishaps."""
    with Proxy(postgres_port, b"COMMIT\0") as proxy:
        postgres.place = postgres.place.replace(f":{postgres_port}/", f":{proxy.port}/")
        yield proxy


def table_of(site: Site) -> str:
    """Return the table that a place names."""
    return site.place.rpartition("table=")[2]


def failure(call: Callable[..., object], *args: object) -> str:
    """Return what the only message of a failure of the database says."""
    message = raised(StoreUnavailable, call, *args)
    assert message.name == "database-unavailable"
    return str(message)


@pytest.mark.parametrize(("mishap", "is_there"), [("lose-answer", True), ("lose-request", False)])
def test_lost_answer(postgres: Site, store: Store, proxy: Proxy, mishap: Any, *, is_there: bool) -> None:
    """A COMMIT without an answer fails the append; reading again shows what became of it."""
    through = postgres.open()
    proxy.mishaps = [mishap]
    failure(add, through, "x")
    assert names_of(store)[2:] == (["x"] if is_there else [])
    add(through, "y")


def test_silent_server(postgres: Site, store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer is not waited for without an end."""
    through = postgres.open()
    head = sample()[1][-1]
    proxy.mishaps = ["silence"]
    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    assert "no answer" in failure(through.append, head, linked(head, 2, [named("x")])[0], "x")


@pytest.mark.parametrize(("lost", "left"), [("seq > 3", 3), ("true", 0)])
def test_server_that_lost_commits(store: Store, execute: Callable[..., list[Any]], lost: str, left: int) -> None:
    """After a failover to a server that lost commits the record is the older one or none; the lost head is refused."""
    head = add(store, "x", "y")
    execute(f"DELETE FROM {{table}} WHERE {lost}")
    assert (store.read().data or b"").count(b"\n") == left
    raised(HeadMoved, store.append, head, b"z\n", "z")


def test_order_of_rows(store: Store, execute: Callable[..., list[Any]]) -> None:
    """Lines are read in their order, wherever the server keeps them."""
    execute("UPDATE {table} SET line = line WHERE seq = 1")
    assert store.read().data == sample()[0]


def test_dropped_table(store: Store, execute: Callable[..., list[Any]]) -> None:
    """It is a record that is missing, and not one to begin."""
    execute("DROP TABLE {table}")
    for head in (sample()[1][-1], None):
        with pytest.raises(HeadMoved, match="missing"):
            store.append(head, b"x\n", "late")
    assert store.read().data is None


@pytest.mark.parametrize(("does", "told"), [
    ("DELETE FROM {table} WHERE seq > 2; RETURN NULL", "the lines, but does not return them; check"),
    (r"RAISE EXCEPTION E'a\x1b[31m\n b' USING DETAIL = 'hunter2'", ": the database failed: a [31m b (P0001); check"),
    ("RAISE EXCEPTION '% % %', {0}lock_timeout'), {0}statement_timeout'), {0}synchronous_commit')".replace(
        "{0}", "current_setting('"), "failed: 10s 20s on (P0001)"),
])  # fmt: skip
def test_swallowed_rows(store: Store, execute: Callable[..., list[Any]], does: str, told: str) -> None:
    """Rows that are gone once acknowledged are noticed, and refused ones with the server's reason on one line."""
    execute(
        f"CREATE FUNCTION f_{{table}}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {does}; END $$",
        "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
        " EXECUTE FUNCTION f_{table}()",
    )
    assert told in failure(add, store, "x")


def test_overtaken_in_the_transaction(postgres: Site, store: Store, execute: Callable[..., list[Any]]) -> None:
    """An append whose number is taken while it waits is a conflict, however isolated; a try is content."""
    head, table = sample()[1][-1], table_of(postgres)
    lines = linked(head, 2, [named("x")])[0]
    postgres.place += "&options=-cdefault_transaction_isolation%3Dserializable"
    through = postgres.open()
    with ThreadPoolExecutor(2) as pool, psycopg.connect(re.sub("[?&]table=[^&]*", "", postgres.place)) as other:
        other.execute(f"SELECT seq FROM {table}".encode())
        other.execute(f"INSERT INTO {table} VALUES (3, %s)".encode(), (lines[:-1],))
        ends = pool.submit(raised, HeadMoved, through.append, head, lines, "x"), pool.submit(through.check_writable)
        while len(execute("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'")) < len(ends):
            pass
        other.commit()
        assert ("head-moved", None) == (ends[0].result().name, ends[1].result())


def test_table_locked(postgres: Site, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that somebody holds ends an append, and a try, in time."""
    monkeypatch.setattr(module, "_LIMITS", "SET LOCAL lock_timeout = '50ms'")
    with psycopg.connect(re.sub("[?&]table=.*", "", postgres.place)) as other:
        other.execute(f"LOCK TABLE {table_of(postgres)} IN EXCLUSIVE MODE".encode())
        assert store.read().data == sample()[0]
        for step in (lambda: add(store, "x"), store.check_writable):
            assert "55P03" in failure(step)


def test_standby(postgres: Site, store: Store, execute: Callable[..., list[Any]]) -> None:
    """A standby is refused: what it shows may be old. The primary server is named."""
    execute(
        "CREATE SCHEMA s_{table}",
        "CREATE FUNCTION s_{table}.pg_is_in_recovery() RETURNS bool LANGUAGE sql AS 'SELECT true'",
    )
    postgres.place += f"&options=-csearch_path%3Ds_{table_of(postgres)},pg_catalog,public"
    assert "target_session_attrs" in failure(postgres.open().read)


def test_read_only(postgres: Site, store: Store) -> None:
    """A database that permits no writes is named as such, by an append and by a try."""
    postgres.place += "&options=-cdefault_transaction_read_only%3Don"
    through = postgres.open()
    for step in (lambda: add(through, "x"), through.check_writable):
        assert "target_session_attrs" in failure(step)


def test_role_that_may_only_read(postgres: Site, store: Store, execute: Callable[..., list[Any]]) -> None:
    """A role that may not insert is noticed by a try."""
    role = f"r_{table_of(postgres)}"
    execute(f"CREATE ROLE {role} LOGIN PASSWORD '{servers.PASSWORD}'", f"GRANT SELECT ON {{table}} TO {role}")
    postgres.place = postgres.place.replace("app@", f"{role}@")
    through = postgres.open()
    assert through.read().data == sample()[0]
    assert "grant the role" in failure(through.check_writable)


@pytest.mark.parametrize(("statement", "state"), [
    ("REVOKE ALL ON {table} FROM r_{table}", "42501"),
    ("CREATE SCHEMA {table}; ALTER TABLE {table} SET SCHEMA {table}", "42501"),
    ("ALTER TABLE {table} RENAME COLUMN line TO other", "42703"),
])  # fmt: skip
def test_table_that_cannot_be_read(
    statement: str, state: str, postgres: Site, store: Store, execute: Callable[..., list[Any]]
) -> None:
    """It is no place without a record, whatever is done there."""
    name, role = table_of(postgres), f"r_{table_of(postgres)}"
    execute(f"CREATE ROLE {role} LOGIN PASSWORD '{servers.PASSWORD}'", f"GRANT ALL ON {{table}} TO {role}", statement)
    postgres.place = postgres.place.replace("app@", f"{role}@")
    if "SCHEMA" in statement:
        postgres.place = postgres.place.replace(f"table={name}", f"table={name}.{name}")
    through = postgres.open()
    for step in (through.read, through.prepare, through.check_writable, lambda: add(through, "x")):
        assert state in failure(step)


def test_table_of_a_schema(postgres: Site, execute: Callable[..., list[Any]]) -> None:
    """A table can be in another schema, and each holds a record of its own."""
    name = table_of(postgres)
    execute("CREATE SCHEMA {table}")
    other = postgres.place.replace(f"table={name}", f"table={name}.{name}")
    for place in (postgres.place, other):
        postgres.place = place
        store = postgres.open()
        store.prepare()
        begin(store)
        assert (store.place, store.read().data) == (place, sample()[0])


def test_foreign_line(postgres: Site, execute: Callable[..., list[Any]]) -> None:
    """A table with a line of something else is no place to begin a record."""
    store = postgres.open()
    store.prepare()
    execute("INSERT INTO {table} VALUES (1, 'x')")
    raised(HeadMoved, begin, store)


def test_parameters_of_the_url(postgres: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the URL says counts before what the program would say, but for the encoding."""
    connect = Mock(side_effect=[psycopg.OperationalError("no"), psycopg.OperationalError])
    monkeypatch.setattr(psycopg, "connect", connect)
    given = {"connect_timeout": "3", "application_name": "x", "client_encoding": "latin1"}
    postgres.place = f"postgresql://host/db?{'&'.join(map('='.join, given.items()))}&options="
    assert "no" in failure(postgres.open().read)
    given |= {"host": "host", "dbname": "db", "client_encoding": "utf8", "fallback_application_name": "reconciler"}
    connect.assert_called_once_with(**given, autocommit=True, prepare_threshold=None)
    assert "OperationalError" in failure(postgres.open().read)


@pytest.mark.parametrize("error", ["unique_violation", "duplicate_object", "duplicate_table"])
def test_prepared_at_once(postgres: Site, monkeypatch: pytest.MonkeyPatch, error: str) -> None:
    """A run that meets another that prepares the table at the same time is not disturbed."""
    monkeypatch.setattr(module, "_CREATE", f"DO $$ BEGIN RAISE {error}; END $$")
    postgres.open().prepare()


def test_wrong_password(postgres: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password that is refused is not shown."""
    monkeypatch.setenv("PGPASSWORD", "hunter2-hunter2")
    with pytest.raises(StoreUnavailable) as caught:
        postgres.open().read()
    assert [("database-unavailable", True)] == [(each.name, "password" in str(each)) for each in caught.value.messages]
    assert "hunter2" not in str(caught.value) + repr(caught.value)
