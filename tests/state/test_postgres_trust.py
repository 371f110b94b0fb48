"""Databases that would lose what they acknowledge, and tables that would accept what they must not, are refused."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import threading
from functools import partial
from pathlib import Path

import pytest
from support.certificates import write_certificate
from support.journal_samples import TARGET, entries, imported, journal, journal_bytes
from support.postgres import PASSWORD, Scene, Server
from support.store_conformance import append_one, read_back

from reconciler.errors import StateError, StoreUnavailable
from reconciler.state.journal.chain import link
from reconciler.state.stores.postgres import table, trust
from reconciler.state.stores.postgres.trust import doubt_of

GOOD = {
    "standby": False, "synchronous_commit": "on", "standbys": "", "kind": "rp", "fsync": "on", "full_page_writes": "on",
    "data_sync_retry": "off", "zero_damaged_pages": "off", "ignore_checksum_failure": "off",
    "session_replication_role": "origin",
}  # fmt: skip
LOSING = "this database may lose entries that it acknowledged: "


@pytest.mark.parametrize(
    ("facts", "doubt"),
    [
        ({}, None),
        ({"kind": None}, None),
        *(({"synchronous_commit": value}, None) for value in ("local", "remote_write", "remote_apply")),
        ({"synchronous_commit": "on", "standbys": "s1"}, None),
        ({"synchronous_commit": "off"}, "synchronous_commit is off"),
        ({"synchronous_commit": "local", "standbys": "s1"}, "synchronous_commit is local"),
        ({"standby": True}, "the server is a standby"),
        *(({name: "off"}, f"{name} is off") for name in ("fsync", "full_page_writes")),
        *(
            ({name: "on"}, f"{name} is on")
            for name in ("data_sync_retry", "zero_damaged_pages", "ignore_checksum_failure")
        ),
        ({"session_replication_role": "replica"}, "session_replication_role is replica"),
        ({"fsync": None}, "fsync is not known to the server"),
        ({"kind": "ru"}, "reconciler_journal is an unlogged table"),
        *(({"kind": kind}, "reconciler_journal is not an ordinary table") for kind in ("rt", "vp", "pp", "fp")),
    ],
)
def test_doubts(facts: dict[str, object], doubt: str | None) -> None:
    """Each setting that may lose an acknowledged entry is a reason, with what to change."""
    found = doubt_of({**GOOD, **facts})
    assert doubt == (None if found is None else found[0])
    assert found is None or found[1]


def test_settings_that_lose_commits(own_server: Server) -> None:
    """They are refused by `state init`, and before the first append of a run; what is there can be read."""
    scene = own_server.scene()
    scene.prepared().append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    for name, remedy in {
        "fsync": "set fsync = on in postgresql.conf",
        "full_page_writes": "set full_page_writes = on in postgresql.conf",
        "synchronous_commit": "as its administrator, run in the database: ALTER ROLE USER SET synchronous_commit = on",
    }.items():
        own_server.set(**{name: "off"})
        store = scene.open()
        for call in (store.prepare, partial(append_one, store, "a3")):
            with pytest.raises(StateError, match=f"{LOSING}{name} is off; {remedy}"):
                call()
        assert journal_bytes(entries(2)) == store.read(TARGET)
        own_server.set(**{name: "on"})
    assert append_one(scene.open(), "a3")


def test_a_standby(own_server: Server) -> None:
    """A server that follows another one may be behind: it is neither read nor written."""
    scene = own_server.scene()
    scene.prepared().append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    own_server.become_standby()
    store = scene.open()
    assert store.stamp(TARGET) is None
    for call in (
        store.prepare,
        store.targets,
        partial(store.read, TARGET),
        partial(store.append, TARGET, "f" * 64, 3, b"", ""),
    ):
        with pytest.raises(StateError, match=r"the server is a standby.*; use the primary server"):
            call()


def test_an_unlogged_table(scene: Scene) -> None:
    """It is empty after a crash."""
    scene.prepared()
    scene.execute("ALTER TABLE {table} SET UNLOGGED")
    with pytest.raises(StateError, match=f"{LOSING}reconciler_journal is an unlogged table; .* SET LOGGED"):
        scene.open().append(TARGET, None, 1, journal_bytes(entries(2)), "begin")


def test_a_view(scene: Scene) -> None:
    """Whatever it shows, it is not the table."""
    scene.prepared()
    scene.execute(
        f"ALTER TABLE {{table}} RENAME TO other; CREATE VIEW {{table}} AS SELECT * FROM {scene.schema}.other",
        "GRANT SELECT, INSERT ON {table} TO app",
    )
    with pytest.raises(StateError, match="reconciler_journal is not an ordinary table"):
        scene.open().prepare()


@pytest.mark.parametrize(
    ("change", "accepted"),
    [
        ("DROP CONSTRAINT reconciler_journal_pkey CASCADE", "two entries of one number"),
        ("DROP CONSTRAINT reconciler_journal_target_prev_seq_prev_hash_fkey", "an entry after a missing one"),
        ("DISABLE TRIGGER ALL", "an entry after a missing one"),
        ("DROP CONSTRAINT reconciler_journal_check", "an entry that skips a number"),
        ("DROP CONSTRAINT reconciler_journal_hash_check", "a hash that is not one"),
    ],
)
def test_a_table_that_accepts_too_much(scene: Scene, change: str, accepted: str) -> None:
    """`state init` tries the table itself, whatever its definition says; nothing of that stays."""
    store = scene.prepared()
    scene.execute(f"ALTER TABLE {{table}} {change}")
    with pytest.raises(StateError, match=f"the table reconciler_journal accepts {accepted}; "):
        store.prepare()
    assert 0 == scene.rows()


def test_nothing_stays_of_a_trial(scene: Scene) -> None:
    """Neither of making sure of a place twice, nor of trying to write."""
    store = scene.prepared()
    store.prepare()
    store.check_writable(TARGET)  # type: ignore[attr-defined]
    assert ([], 0) == (store.targets(), scene.rows())


def test_made_by_many_at_once(scene: Scene) -> None:
    """Runs that make the table at the same moment all succeed."""
    stores = [scene.open() for _ in range(6)]
    problems: list[StateError] = []

    def prepare(number: int) -> None:
        try:
            stores[number].prepare()
        except StateError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=prepare, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == problems


def test_a_user_who_may_not_make_the_table(postgres_server: Server) -> None:
    """The message has the command for whoever may; after that the user may append, and change nothing."""
    scene = postgres_server.scene(owner="postgres")
    store = scene.open()
    with pytest.raises(StateError, match="cannot create the table reconciler_journal: permission denied") as caught:
        store.prepare()
    command = str(caught.value).partition("run: ")[2]
    environment = {"PGUSER": "postgres", "PGPASSWORD": PASSWORD, "PATH": os.environ["PATH"]}
    subprocess.run(shlex.split(command), env=environment, check=True, capture_output=True)
    store.prepare()
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    assert append_one(store, "a3")
    for statement in ("UPDATE {} SET line = ''", "DELETE FROM {}", "TRUNCATE {}", "DROP TABLE {}"):
        with pytest.raises(StoreUnavailable, match=r"permission denied|must be owner"):
            store._sessions.call(  # type: ignore[attr-defined]
                lambda session, statement=statement: session.connection.execute(statement.format(scene.table))
            )
    assert 3 == len(read_back(store).lines)


def test_a_schema_that_is_not_there(scene: Scene) -> None:
    """It is named like a table that may not be made: with the command."""
    with pytest.raises(StateError, match=r"no schema has been selected.*CREATE SCHEMA IF NOT EXISTS elsewhere"):
        scene.open(scene.spec().replace(scene.schema, "elsewhere")).prepare()


def test_the_database_holds_the_chain(scene: Scene) -> None:
    """Nobody, its administrator included, takes a line out of a journal or puts one in without being refused."""
    scene.prepared().append(TARGET, None, 1, journal_bytes(entries(3)), "begin")
    row = "INSERT INTO {{table}} VALUES ('europe/staging', {}, '{}', {}, {}, '')"
    for statement in (
        "DELETE FROM {table} WHERE seq = 2",
        "UPDATE {table} SET hash = repeat('0', 64) WHERE seq = 2",
        row.format(3, "0" * 64, 2, "(SELECT hash FROM {table} WHERE seq = 2)"),
        row.format(4, "0" * 64, 3, "repeat('0', 64)"),
        row.format(1, "0" * 64, "NULL", "NULL"),
    ):
        with pytest.raises(Exception, match="violates"):
            scene.execute(statement)
    assert journal(3).lines == read_back(scene.open()).lines


def test_a_standby_that_does_not_confirm(own_server: Server) -> None:
    """An append that a standby has not confirmed is not acknowledged, even if an administrator ends the wait for it."""
    scene = own_server.scene()
    store = scene.prepared()
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    over = threading.Event()
    canceled: list[object] = []

    def cancel() -> None:
        waiting = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        while not over.wait(0.05):
            canceled.extend(own_server.execute(waiting))

    own_server.set(synchronous_standby_names="nobody")
    administrator = threading.Thread(target=cancel)
    administrator.start()
    lines, _ = link(journal(2).head, 2, [imported("a3")])
    try:
        with pytest.raises(StoreUnavailable, match="committed, but an administrator ended the wait for the standby"):
            store.append(TARGET, journal(2).head, 3, lines, "a3")
    finally:
        over.set()
        administrator.join()
    assert len(canceled) >= 5
    assert journal_bytes(entries(3)) == store.read(TARGET)


def test_the_page_on_it() -> None:
    """It has the statements that make the table, and each setting that is checked."""
    page = (Path(__file__).parents[2] / ".github" / "STORES.md").read_text(encoding="utf-8")
    script = table._SCRIPT.read_text(encoding="utf-8")
    statements = "\n".join(line.removeprefix("-- ") for line in script.splitlines() if not re.match("-- [TOM]", line))
    assert statements.strip() in page
    assert set() == {name for name in (*trust._SETTINGS, "synchronous_commit") if f"`{name}`" not in page}


def test_tls(own_server: Server, tmp_path: Path) -> None:
    """The server's certificate is checked as libpq is told to."""
    scene = own_server.scene()
    own_server.use_tls(write_certificate(tmp_path / "server.pem"))
    for name, trusted in (("server.pem", True), ("other.pem", False)):
        authority = tmp_path / name if trusted else write_certificate(tmp_path / name)
        spec = scene.spec(more=f"&sslrootcert={authority}").replace("sslmode=disable", "sslmode=verify-full")
        if trusted:
            scene.open(spec).prepare()
        else:
            with pytest.raises(StoreUnavailable, match=r"cannot connect to the database: .*certificate verify failed"):
                scene.open(spec).prepare()
