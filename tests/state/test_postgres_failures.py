"""A database that is away, slow, full or read-only, connections that are lost, and rows that are swallowed."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import psycopg
import pytest
from support.journal_samples import TARGET, begun, entries, imported, journal, journal_bytes
from support.postgres import PASSWORD, Scene, Server
from support.store_conformance import append_one, read_back
from support.tcp_proxy import Proxy

from reconciler.errors import HeadMoved, StateError, StoreUnavailable
from reconciler.state.journal.chain import link
from reconciler.state.stores.postgres import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.tcp_proxy import Mishap

    from reconciler.state.stores.store import Store

LINES, HEAD = link(journal(2).head, 2, [imported("a3"), imported("a4")])


@pytest.fixture
def proxy(postgres_server: Server) -> Iterator[Proxy]:
    """What is between the store and the server."""
    with Proxy(postgres_server.port) as proxy:
        yield proxy


@pytest.fixture
def store(scene: Scene, proxy: Proxy) -> Store:
    """The store behind the proxy, with a journal of two entries."""
    begin(scene)
    return scene.open(scene.spec(port=proxy.port))


def begin(scene: Scene) -> Store:
    """A journal of two entries, and a handle on it."""
    store = scene.prepared()
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    return store


def append(store: Store) -> None:
    """Append two entries to the journal of two."""
    store.append(TARGET, journal(2).head, 3, LINES, "two")


@pytest.mark.parametrize("mishap", ["lose-answer", "lose-request"])
def test_a_lost_connection(store: Store, proxy: Proxy, scene: Scene, mishap: Mishap) -> None:
    """Whether the entries had arrived or not, they are there once, and the append succeeds on a new connection."""
    store.read(TARGET)
    proxy.mishaps = [mishap]
    append(store)
    assert (journal_bytes(entries(4)), 2) == (store.read(TARGET), proxy.connections)
    assert 4 == scene.rows()


@pytest.mark.parametrize("mishap", ["lose-answer", "lose-request"])
def test_connections_that_are_always_lost(
    store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, mishap: Mishap
) -> None:
    """A store that never answers an append is unavailable after a few attempts; whoever reads learns what it did."""
    proxy.mishaps = [mishap] * 9
    with pytest.raises(StoreUnavailable, match="the connection to the database was lost"):
        append(store)
    assert 4 == len(proxy.mishaps)
    assert journal_bytes(entries(4 if mishap == "lose-answer" else 2)) == store.read(TARGET)


def test_a_late_arrival(store: Store, proxy: Proxy, scene: Scene) -> None:
    """An append that arrives after its repetition is refused by the database."""
    proxy.mishaps = ["hold-request"]
    append(store)
    proxy.release()
    wait_for_no_other_session(scene)
    assert (journal_bytes(entries(4)), 4) == (store.read(TARGET), scene.rows())


def test_a_late_arrival_after_another_s_append(store: Store, proxy: Proxy, scene: Scene) -> None:
    """If another run was first, that is a conflict, and what arrives late changes nothing."""
    proxy.mishaps = ["hold-request"]
    proxy.meanwhile = lambda: append_one(scene.open(), "b3")
    with pytest.raises(HeadMoved, match="another run appended"):
        append(store)
    before = store.read(TARGET)
    proxy.release()
    wait_for_no_other_session(scene)
    assert before == store.read(TARGET)
    assert 3 == len(read_back(store).lines)


def test_an_arrival_that_is_under_way(store: Store, proxy: Proxy, scene: Scene) -> None:
    """A repetition waits for the first attempt, which is still at work in the server, and finds that it succeeded."""
    proxy.mishaps = ["lose-request"]
    with psycopg.connect(scene.spec().partition("&")[0]) as other:
        rows = table._Rows(TARGET, journal(2).head, 3, LINES)
        insert = table._APPEND.partition("INSERT")[2].partition(";")[0]
        with psycopg.ClientCursor(other) as cursor:
            cursor.execute(f"INSERT{insert.format(table=scene.table)}".encode(), rows.parameters)
        timer = threading.Timer(0.5, other.commit)
        timer.start()
        append(store)
        timer.join()
    assert journal_bytes(entries(4)) == store.read(TARGET)


def wait_for_no_other_session(scene: Scene) -> None:
    """Wait until what was sent to the server late is done with."""
    busy = f"state = 'active' AND query LIKE '%INSERT INTO%{scene.schema}%' AND pid <> pg_backend_pid()"
    time.sleep(0.1)
    until = time.monotonic() + 10
    while scene.execute(f"SELECT FROM pg_stat_activity WHERE {busy}"):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_server_that_is_silent(store: Store, proxy: Proxy) -> None:
    """No wait is without an end; the next call has a connection of its own."""
    proxy.mishaps = ["silence"]
    store._sessions._patience = 0.5  # type: ignore[attr-defined]
    with pytest.raises(StoreUnavailable, match=r"no answer from the database \(waited 0.5 s\)"):
        append(store)
    assert journal_bytes(entries(4)) == store.read(TARGET)


def test_an_append_that_nobody_waits_for(store: Store, proxy: Proxy, scene: Scene) -> None:
    """What was not sent when the wait was over is never sent."""
    proxy.delay = 0.4
    store._sessions._patience = 0.6  # type: ignore[attr-defined]
    with pytest.raises(StoreUnavailable, match="no answer from the database"):
        append(store)
    until = time.monotonic() + 30
    while not store._sessions._idle:  # type: ignore[attr-defined]
        assert time.monotonic() < until
        time.sleep(0.05)
    assert 2 == scene.rows()


def test_sessions_that_were_ended(store: Store, scene: Scene) -> None:
    """An administrator, or a firewall, ends the sessions between two calls: nobody notices."""
    for count in (3, 4):
        store.read(TARGET)
        scene.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE usename = 'app' AND query LIKE '%{scene.schema}%'"
        )
        assert append_one(store, f"a{count}")
    assert journal_bytes(entries(4)) == store.read(TARGET)


def test_a_session_that_is_ended_at_work(scene: Scene) -> None:
    """One that is ended within the append is replaced, and the append is made once."""
    store = begin(scene)
    rows = f"{scene.schema}.rows"
    scene.execute(f"CREATE SEQUENCE {rows}", f"GRANT USAGE ON SEQUENCE {rows} TO app")
    end = "PERFORM pg_terminate_backend(pg_backend_pid());"
    scene.trigger(f"IF nextval('{rows}') = 1 THEN {end} END IF; RETURN NEW;")
    append(store)
    assert (journal_bytes(entries(4)), 4) == (store.read(TARGET), scene.rows())
    assert [(3,)] == scene.execute(f"SELECT last_value FROM {rows}")


def test_away(store: Store, proxy: Proxy) -> None:
    """A server that is not there is an error that names the place, and no password."""
    store.read(TARGET)
    proxy.away = True
    proxy.cut()
    for call in (lambda: append(store), lambda: store.read(TARGET), store.targets):
        with pytest.raises(StoreUnavailable, match=rf"^postgresql://127.0.0.1:{proxy.port}/journals.*: cannot connect"):
            call()
    assert store.stamp(TARGET) is None
    proxy.away = False
    append(store)


def test_slow(store: Store, proxy: Proxy) -> None:
    """A server that takes its time is waited for."""
    proxy.delay = 0.2
    append(store)
    assert journal_bytes(entries(4)) == store.read(TARGET)


@pytest.mark.parametrize("password", ["wrong-horse", "wrong%2Fhorse", ""])
def test_wrong_credentials(scene: Scene, password: str) -> None:
    """They are refused with what to check, and the password is in no text of the error."""
    store = scene.open(scene.spec(password=password))
    with pytest.raises(StoreUnavailable, match=r"cannot connect to the database: .*password.*PGPASSWORD") as caught:
        store.read(TARGET)
    assert "horse" not in f"{caught.value!r} {caught.value} {caught.value.__cause__} {caught.value.__context__}"


def test_no_database(scene: Scene) -> None:
    """A database that is not there is named."""
    store = scene.open(scene.spec().replace("/journals?", "/elsewhere?"))
    with pytest.raises(StoreUnavailable, match='database "elsewhere" does not exist'):
        store.targets()


def test_no_table(scene: Scene) -> None:
    """Where there is no table there is no journal; it is not made by an append, and the message says how it is."""
    store = scene.open()
    assert (None, [], None) == (store.read(TARGET), store.targets(), store.stamp(TARGET))
    with pytest.raises(StoreUnavailable, match=r"does not exist \(42P01\); to create the table, run: reconciler state"):
        store.append(TARGET, None, 1, journal_bytes([begun()]), "begin")


def test_read_only(scene: Scene) -> None:
    """A database that an administrator has set to read-only is not written to, and can be read."""
    begin(scene)
    user = scene.role("default_transaction_read_only = on")
    store = scene.open(scene.spec(user))
    with pytest.raises(StoreUnavailable, match=r"cannot execute INSERT in a read-only transaction.*set to read-only"):
        append(store)
    with pytest.raises(StoreUnavailable, match="read-only"):
        store.prepare()
    assert journal_bytes(entries(2)) == store.read(TARGET)


def test_not_allowed(scene: Scene) -> None:
    """A user who may read only is told what to ask for."""
    begin(scene)
    scene.execute("GRANT SELECT ON {table} TO reader")
    store = scene.open(scene.spec("reader"))
    with pytest.raises(StoreUnavailable, match=r"permission denied for table .*GRANT SELECT, INSERT"):
        append(store)
    assert journal_bytes(entries(2)) == store.read(TARGET)


def test_full(scene: Scene) -> None:
    """A disk without space is an error that says so, and nothing of the append is left."""
    store = begin(scene)
    scene.trigger("IF NEW.seq = 4 THEN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END IF; RETURN NEW;")
    with pytest.raises(StoreUnavailable, match=r"no space left \(53100\); free space on the disk of the database"):
        append(store)
    assert journal_bytes(entries(2)) == store.read(TARGET)


def test_a_locked_table(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that somebody holds is waited for a while only; it is an error, and no conflict."""
    store = begin(scene)
    monkeypatch.setattr(table, "_APPEND", table._APPEND.replace("lock_timeout = '10s'", "lock_timeout = '100ms'"))
    with psycopg.connect(scene.spec().partition("&")[0]) as other:
        other.execute(f"LOCK TABLE {scene.table} IN SHARE MODE".encode())
        with pytest.raises(StoreUnavailable, match=r"lock timeout \(55P03\); another transaction holds a lock"):
            append(store)


@pytest.mark.parametrize(
    "swallow",
    ["RETURN NULL;", "NEW.line = 'x'; RETURN NEW;", "IF NEW.seq > 3 THEN RETURN NULL; END IF; RETURN NEW;"],
)
def test_triggers_that_swallow_rows(scene: Scene, swallow: str) -> None:
    """What was acknowledged and is not there as it was sent is an error."""
    store = begin(scene)
    scene.trigger(swallow)
    with pytest.raises(StoreUnavailable, match=r"acknowledged the entries, and does not return them; remove the trig"):
        append(store)


def test_rules_that_swallow_rows(scene: Scene) -> None:
    """A rule is noticed as well, by `state init` and by an append."""
    store = begin(scene)
    scene.execute("CREATE RULE nothing AS ON INSERT TO {table} DO INSTEAD NOTHING")
    with pytest.raises(StateError, match="the table reconciler_journal swallows rows"):
        store.prepare()
    with pytest.raises(StoreUnavailable, match="acknowledged the entries, and does not return them"):
        append(store)


def test_policies_that_hide_rows(scene: Scene) -> None:
    """Row-level security that lets rows in and does not show them."""
    begin(scene)
    scene.execute(
        "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY insertable ON {table} FOR INSERT WITH CHECK (true)",
        "CREATE POLICY short ON {table} FOR SELECT USING (seq < 3)",
    )
    store = scene.open(scene.spec(scene.role()))
    with pytest.raises(StoreUnavailable, match="acknowledged the entries, and does not return them"):
        append(store)


def test_settings_of_the_role_that_do_not_matter(scene: Scene) -> None:
    """Isolation, encoding, search path, timeouts and a weaker commit for standbys are none of the store's."""
    begin(scene)
    user = scene.role(
        "default_transaction_isolation = serializable", "client_encoding = LATIN1", "search_path = pg_catalog",
        "standard_conforming_strings = off", "bytea_output = escape", "DateStyle = German", "row_security = off",
        "synchronous_commit = remote_write", "default_transaction_deferrable = on",
    )  # fmt: skip
    stores = [scene.open(scene.spec(user), {"PGCLIENTENCODING": "SQL_ASCII"}) for _ in range(3)]
    for store in stores:
        store.prepare()

    def race(number: int) -> None:
        assert any(append_one(stores[number], f"r{number}-{turn}") for turn in range(100))

    threads = [threading.Thread(target=race, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 5 == len(read_back(stores[0]).lines)
    assert [TARGET] == stores[0].targets()


@pytest.mark.parametrize(("given", "used"), [("remote_write", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_how_an_append_is_committed(scene: Scene, given: str, used: str) -> None:
    """Its commit is waited for, whatever the role has set, and nothing stronger is weakened; no snapshot is kept."""
    begin(scene)
    user = scene.role(f"synchronous_commit = {given}", "default_transaction_isolation = serializable")
    settings = "current_setting('synchronous_commit') || ' ' || current_setting('transaction_isolation')"
    scene.execute(f"CREATE TABLE {scene.schema}.seen AS SELECT ''", f"GRANT INSERT ON {scene.schema}.seen TO {user}")
    scene.trigger(f"INSERT INTO {scene.schema}.seen SELECT {settings}; RETURN NEW;")
    append(scene.open(scene.spec(user)))
    assert {("",), (f"{used} read committed",)} == set(scene.execute(f"SELECT * FROM {scene.schema}.seen"))


def test_no_password_in_what_the_server_says(scene: Scene) -> None:
    """A message that quotes it is told without it."""
    store = begin(scene)
    scene.trigger(f"RAISE EXCEPTION 'is it {PASSWORD}? %', E'\\n\\x1b[31m'; RETURN NEW;")
    with pytest.raises(StoreUnavailable, match=r"is it \*\*\*\? \[31m \(P0001\)"):
        append(store)


def test_ten_thousand_entries(scene: Scene) -> None:
    """A journal of ten thousand entries is written and read whole."""
    store = scene.prepared()
    lines = journal_bytes(entries(10_000))
    store.append(TARGET, None, 1, lines, "begin")
    assert lines == store.read(TARGET)
    lines, _ = link(journal(1).head, 1, [imported("late")])
    with pytest.raises(HeadMoved):
        store.append(TARGET, journal(1).head, 2, lines, "late")
