"""A real PostgreSQL server, and PgBouncer before it, for the tests of one session; each test has a schema of its own.

The server runs as `postgres` where the tests run as root, since it refuses root.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from reconciler.state.stores.location import open_store
from support.components import component, session_folder, shared
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reconciler.state.stores.store import Store

PASSWORD = "correct-horse-battery"
_USER = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
_started: dict[int, subprocess.Popen[bytes]] = {}
"""The servers that this process has started and has to wait for."""
_CONFIGURATION = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
max_connections = 150
shared_buffers = 16MB
max_wal_senders = 2
max_prepared_transactions = 2
"""
_ACCESS = """
local all all trust
host all all 127.0.0.1/32 scram-sha-256
"""
_BOUNCER = """
[databases]
journals = host=127.0.0.1 port={port} dbname=journals
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {bouncer}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
logfile = {folder}/pgbouncer.log
"""


class Server:
    """A server that has been started: where it is, and what an administrator does there."""

    def __init__(self, folder: str, port: int, pid: int, **_: object) -> None:
        self.folder = folder
        self.port = port
        self.pid = pid

    def execute(self, *statements: str, database: str = "journals") -> list[Any]:
        """Execute statements as the superuser; the rows of the last."""
        with psycopg.connect(host=self.folder, port=self.port, user="postgres", dbname=database, autocommit=True) as db:
            for statement in statements:
                cursor = db.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def set(self, **settings: str) -> None:
        """Change settings of a server that no other test uses, and wait until they are in effect."""
        self.execute(
            *(f"ALTER SYSTEM SET {name} = '{value}'" for name, value in settings.items()), "SELECT pg_reload_conf()"
        )
        for name, value in settings.items():
            while self.execute(f"SHOW {name}") != [(value,)]:
                time.sleep(0.01)

    def use_tls(self, certificate: Path) -> None:
        """Serve TLS with a certificate and its key, in one file."""
        key = Path(self.folder, "data", "server.pem")
        _write(key, certificate.read_text())
        key.chmod(0o600)
        self.set(ssl_cert_file=str(key), ssl_key_file=str(key), ssl="on")

    def become_standby(self) -> None:
        """Stop, and start again as a server that follows another one."""
        _end(self.pid, signal.SIGINT)
        data = Path(self.folder, "data")
        _write(data / "standby.signal", "")
        self.pid = _start([component("postgres"), "-D", data], data.parent)
        _wait(lambda: self.execute("SELECT 1"), data.parent)

    def scene(self, port: int | None = None, owner: str = "app") -> Scene:
        """A schema of its own for a test; through another port, where that is a proxy."""
        schema = f"t_{uuid.uuid4().hex[:12]}"
        self.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {owner}", f"GRANT USAGE ON SCHEMA {schema} TO app, reader")
        return Scene(self, schema, port or self.port)


class Scene:
    """A schema for the table of a test, and the ways to it."""

    def __init__(self, server: Server, schema: str, port: int) -> None:
        self.server = server
        self.schema = schema
        self.port = port
        self.table = f"{schema}.reconciler_journal"

    def spec(self, user: str = "app", password: str = PASSWORD, *, port: int | None = None, more: str = "") -> str:
        """The value of `--state`."""
        credentials = f"{user}:{password}" if password else user
        query = f"sslmode=disable&reconciler_schema={self.schema}{more}"
        return f"postgresql://{credentials}@127.0.0.1:{port or self.port}/journals?{query}"

    def open(self, spec: str = "", environment: Mapping[str, str] | None = None) -> Store:
        """Another handle on the store, as another process or machine would have it."""
        return open_store(spec or self.spec(), Path("cache"), environment or {})

    def prepared(self) -> Store:
        """The store with its table."""
        store = self.open()
        store.prepare()
        return store

    def execute(self, *statements: str) -> list[Any]:
        """Execute statements as the superuser; `{table}` in them is the table."""
        return self.server.execute(*(statement.replace("{table}", self.table) for statement in statements))

    def role(self, *settings: str) -> str:
        """A user of its own with settings, who may append and read; its name."""
        name = f"u_{uuid.uuid4().hex[:12]}"
        self.execute(
            f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'",
            f"GRANT USAGE ON SCHEMA {self.schema} TO {name}",
            f"GRANT SELECT, INSERT ON {{table}} TO {name}",
            *(f"ALTER ROLE {name} SET {setting}" for setting in settings),
        )
        return name

    def trigger(self, body: str, when: str = "BEFORE") -> None:
        """Have something done for each row that is inserted, in PL/pgSQL."""
        self.execute(
            f"CREATE FUNCTION {self.schema}.act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$",
            f"CREATE TRIGGER act {when} INSERT ON {{table}} FOR EACH ROW EXECUTE FUNCTION {self.schema}.act()",
        )

    def rows(self) -> int:
        """How many rows there are."""
        count: int = self.execute("SELECT count(*) FROM {table}")[0][0]
        return count


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that the tests of a session share."""
    component("postgres")
    with shared(session_folder(tmp_path_factory), "postgres", start_postgres, stop_postgres) as started:
        yield Server(**started)


@pytest.fixture(scope="session")
def bouncer_port(postgres_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a PgBouncer in transaction mode before the server."""
    component("pgbouncer")
    with shared(
        session_folder(tmp_path_factory), "pgbouncer", lambda: start_bouncer(postgres_server), stop_bouncer
    ) as started:
        yield started["port"]


@pytest.fixture
def scene(postgres_server: Server) -> Scene:
    """A schema for this test."""
    return postgres_server.scene()


@pytest.fixture
def own_server(postgres_server: Server) -> Iterator[Server]:
    """A server that no other test uses: for what changes its settings."""
    server = Server(**_started_in(_folder("reconciler-postgres-"), Path(postgres_server.folder, "template")))
    yield server
    stop_postgres(vars(server))


def start_postgres() -> dict[str, Any]:
    """Make a cluster, and start a server for a copy of it."""
    folder = _folder("reconciler-postgres-")
    initdb = [component("initdb"), "-D", folder / "template", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]
    subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **_USER)  # type: ignore[call-overload]
    return _started_in(folder, folder / "template")


def _started_in(folder: Path, template: Path) -> dict[str, Any]:
    """Start a server in a directory for a copy of a cluster, and make its roles and its database."""
    data, port = folder / "data", free_port()
    subprocess.run(["cp", "-a", template, data], check=True)
    with (data / "postgresql.conf").open("a") as configuration:
        configuration.write(_CONFIGURATION.format(port=port, folder=folder))
    (data / "pg_hba.conf").write_text(_ACCESS)
    pid = _start([component("postgres"), "-D", data], folder)
    server = Server(str(folder), port, pid)
    _wait(lambda: server.execute("SELECT 1", database="postgres"), folder)
    server.execute(
        *(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'" for role in ("app", "reader")),
        f"ALTER ROLE postgres PASSWORD '{PASSWORD}'",
        "CREATE DATABASE journals",
        database="postgres",
    )
    return vars(server)


def stop_postgres(started: Mapping[str, Any]) -> None:
    """Stop the server at once: its data are thrown away."""
    _stop(started, signal.SIGQUIT)


def start_bouncer(server: Server) -> dict[str, Any]:
    """Start a pooler that knows the same users."""
    folder, port = _folder("reconciler-pgbouncer-"), free_port()
    (folder / "users.txt").write_text(f'"app" "{PASSWORD}"\n')
    (folder / "pgbouncer.ini").write_text(_BOUNCER.format(port=server.port, bouncer=port, folder=folder))
    pid = _start([component("pgbouncer"), "-q", folder / "pgbouncer.ini"], folder)
    address = f"postgresql://app:{PASSWORD}@127.0.0.1:{port}/journals"
    _wait(lambda: psycopg.connect(address).close(), folder)
    return {"folder": str(folder), "port": port, "pid": pid}


def stop_bouncer(started: Mapping[str, Any]) -> None:
    """Stop the pooler at once."""
    _stop(started, signal.SIGTERM)


def _folder(prefix: str) -> Path:
    """A directory that the server's user owns; its path is short, since sockets are in it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
    if _USER:
        shutil.chown(folder, _USER["user"], _USER["group"])  # type: ignore[call-overload]
    return folder


def _start(command: list[str | Path], folder: Path) -> int:
    with (folder / "log").open("ab") as log:
        process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **_USER
        )
    _started[process.pid] = process
    return process.pid


def _stop(started: Mapping[str, Any], number: signal.Signals) -> None:
    """End a server, which another worker may have started, and remove its files."""
    _end(started["pid"], number)
    shutil.rmtree(started["folder"], ignore_errors=True)


def _end(pid: int, number: signal.Signals) -> None:
    os.kill(pid, number)
    if pid in _started:
        _started.pop(pid).wait(30)


def _write(path: Path, text: str) -> None:
    """Write a file of the server's user."""
    path.write_text(text)
    if _USER:
        shutil.chown(path, _USER["user"], _USER["group"])  # type: ignore[call-overload]


def _wait(attempt: Callable[[], object], folder: Path) -> None:
    """Wait until something can be done, for 30 s."""
    until = time.monotonic() + 30
    while True:
        try:
            attempt()
        except (psycopg.Error, OSError):
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.02)
        else:
            return
