"""Records in PostgreSQL: lost answers, servers that lost commits, standbys, tables that cannot be used."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from support import servers
from support.records import add, begin, linked, named, names_of, sample
from support.refusals import raised
from support.tcp_proxy import Proxy

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.stores import postgres as module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reconciler.record.store import Store
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
    with pytest.raises(StoreUnavailable):
        add(through, "x")
    assert names_of(store)[2:] == (["x"] if is_there else [])
    add(through, "y")


def test_silent_server(postgres: Site, store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer is not waited for without an end."""
    through = postgres.open()
    head = sample()[1][-1]
    proxy.mishaps = ["silence"]
    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    assert "no answer" in failure(through.append, head, linked(head, 2, [named("x")])[0], "x")


def test_server_that_lost_commits(store: Store, execute: Callable[..., list[Any]]) -> None:
    """After a failover to a server that lost commits the record is the older one, and the lost head is refused."""
    head = add(store, "x", "y")
    execute("DELETE FROM {table} WHERE seq > 3")
    assert names_of(store)[2:] == ["x"]
    with pytest.raises(HeadMoved):
        store.append(head, b"z\n", "z")


def test_emptied_table(store: Store, execute: Callable[..., list[Any]]) -> None:
    """A table without rows holds no record, and the old head is refused."""
    execute("DELETE FROM {table}")
    assert store.read().data is None
    with pytest.raises(HeadMoved):
        store.append(sample()[1][-1], b"z\n", "z")


def test_dropped_table(store: Store, execute: Callable[..., list[Any]]) -> None:
    """It is a record that is missing, and not one to begin."""
    _, heads = sample()
    data, _ = linked(heads[-1], 2, [named("late")])
    execute("DROP TABLE {table}")
    with pytest.raises(HeadMoved, match="missing"):
        store.append(heads[-1], data, "late")
    assert store.read().data is None


def test_numbers_are_unique(store: Store, execute: Callable[..., list[Any]]) -> None:
    """The database itself refuses a second line of one number."""
    with pytest.raises(psycopg.errors.UniqueViolation):
        execute("INSERT INTO {table} VALUES (2, 'x')")


def test_swallowed_rows(store: Store, execute: Callable[..., list[Any]]) -> None:
    """Rows that are acknowledged and not there are noticed."""
    execute(
        "CREATE FUNCTION f_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
        "CREATE TRIGGER t BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION f_{table}()",
    )
    assert "does not return them" in failure(add, store, "x")


def test_overtaken_in_the_transaction(postgres: Site, store: Store, execute: Callable[..., list[Any]]) -> None:
    """An append whose number is taken while it waits for the other transaction is a conflict."""
    head = sample()[1][-1]
    lines = linked(head, 2, [named("x")])[0]
    ended: list[BaseException | None] = []

    def append() -> None:
        try:
            postgres.open().append(head, lines, "x")
        except HeadMoved as problem:
            ended.append(problem)

    with psycopg.connect(re.sub("[?&]table=.*", "", postgres.place)) as other:
        other.execute(f"INSERT INTO {table_of(postgres)} VALUES (3, %s)".encode(), (lines[:-1],))
        thread = threading.Thread(target=append)
        thread.start()
        while not execute("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"):
            pass
    thread.join()
    assert [type(problem) for problem in ended] == [HeadMoved]


def test_table_locked(
    postgres: Site, store: Store, execute: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that somebody holds ends an append in time."""
    monkeypatch.setattr(module, "_LIMITS", "SET LOCAL lock_timeout = '50ms'")
    with psycopg.connect(re.sub("[?&]table=.*", "", postgres.place)) as other:
        other.execute(f"LOCK TABLE {table_of(postgres)} IN EXCLUSIVE MODE".encode())
        assert store.read().data == sample()[0]
        assert "55P03" in failure(add, store, "x")


def test_standby(postgres: Site, store: Store, execute: Callable[..., list[Any]]) -> None:
    """A standby is refused: what it shows may be old."""
    execute(
        "CREATE SCHEMA s_{table}",
        "CREATE FUNCTION s_{table}.pg_is_in_recovery() RETURNS bool LANGUAGE sql AS 'SELECT true'",
    )
    postgres.place += f"&options=-csearch_path%3Ds_{table_of(postgres)},pg_catalog,public"
    assert "standby" in failure(postgres.open().read)


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


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("REVOKE ALL ON {table} FROM r_{table}", "42501"),
        ("CREATE SCHEMA {table}; ALTER TABLE {table} SET SCHEMA {table}", "42501"),
        ("ALTER TABLE {table} RENAME COLUMN line TO other", "42703"),
    ],
)
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


def test_no_table(postgres: Site) -> None:
    """Without a table there is no record, and none is begun before the table is made."""
    store = postgres.open()
    assert store.read().data is None
    with pytest.raises(HeadMoved):
        begin(store)


def test_prepared_at_once(postgres: Site) -> None:
    """Runs that prepare the table at once do not disturb each other."""
    with ThreadPoolExecutor(6) as pool:
        assert [None] * 6 == [*pool.map(lambda _: postgres.open().prepare(), range(6))]


def test_wrong_password(postgres: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password that is refused is not shown."""
    monkeypatch.setenv("PGPASSWORD", "hunter2-hunter2")
    with pytest.raises(StoreUnavailable) as caught:
        postgres.open().read()
    assert [("database-unavailable", True)] == [(each.name, "password" in str(each)) for each in caught.value.messages]
    assert "hunter2" not in str(caught.value) + repr(caught.value)


def test_tls(postgres: Site) -> None:
    """TLS is as the URL says: a server without it is refused where it is required."""
    postgres.place = postgres.place.replace("sslmode=disable", "sslmode=require")
    assert "SSL" in failure(postgres.open().read)


def test_no_server(postgres: Site, postgres_port: int) -> None:
    """A server that cannot be reached is no place without a record."""
    postgres.place = postgres.place.replace(f":{postgres_port}/", ":1/")
    store = postgres.open()
    for step in (store.read, store.prepare, store.check_writable, lambda: begin(store)):
        with pytest.raises(StoreUnavailable):
            step()
