"""Servers of others on loopback that all workers of a test run share: PostgreSQL, PgBouncer, an S3 and an Azurite.

They are looked for on the PATH, in the directories of RECONCILER_TEST_PATH, beside this Python, and where Debian puts
them. Without one a test is skipped; with RECONCILER_TEST_COMPONENTS=required it fails.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from pathlib import Path
from urllib.request import Request, urlopen

import psycopg
import pytest

PASSWORD = "correct-horse-battery"
BUCKET = "records"
S3_SECRET = "hunter2/s3-secret"
AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account and key that every Azurite has, as its documentation says."""
_REQUIRED = os.environ.get("RECONCILER_TEST_COMPONENTS") == "required"
_GIVEN = os.environ.get("RECONCILER_TEST_PATH", "")
_USER = "postgres" if os.geteuid() == 0 else ""  # PostgreSQL refuses root
_KEEP = """
import os, subprocess, sys, time
if os.fork():
    os._exit(0)
os.setsid()
owner, user, command = int(sys.argv[1]), sys.argv[2] or None, sys.argv[3:]
server = subprocess.Popen(command, user=user, group=user, extra_groups=[] if user else None)
until = time.monotonic() + 3600
while server.poll() is None:
    time.sleep(0.2)
    try:
        os.kill(owner, 0)
        if time.monotonic() > until:
            server.kill()
    except ProcessLookupError:
        server.terminate()
"""
"""Runs a server, in the background, for as long as a process lives that is not its parent."""
_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 150
shared_buffers = 16MB
fsync = off
synchronous_commit = off
"""
_BOUNCER = """
[databases]
* = host=127.0.0.1 port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {bouncer}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
"""


def component(name: str) -> str:
    """Return the executable; skip the test that asks for one that is not installed, or fail it where it is required."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    places = [*versions, os.environ.get("PATH", ""), _GIVEN, Path(sys.executable).parent, "/usr/sbin"]
    path = shutil.which(name, path=os.pathsep.join(str(place) for place in places if str(place)))
    if path is None:
        (pytest.fail if _REQUIRED else pytest.skip)(f"{name} is not installed")
    return str(path)


def free_port() -> int:
    """Return a port that nothing listens on, below the range from which the kernel takes those of connections."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(10_000, first), 100):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError("100 ports are taken")


def shared_server(
    factory: pytest.TempPathFactory, name: str, command: Callable[[int, Path], Sequence[str]],
    furnish: Callable[[int], object], environment: Mapping[str, str] | None = None, user: str = ""
) -> int:  # fmt: skip
    """Return the port of the run's server of that name, which whoever needs it first starts.

    `command` gets a port and a directory of the server's own; `furnish` puts into it what all tests need.
    """
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"server-{name}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        noted = folder / "port"
        if not noted.exists():
            port = free_port()
            own = Path(tempfile.mkdtemp(prefix=f"reconciler-{name}-", dir="/tmp"))
            if user:
                shutil.chown(own, user, user)
            owner = str(os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid())
            with (folder / "log").open("w") as log:
                subprocess.run(
                    [sys.executable, "-c", _KEEP, owner, user, *command(port, own)], cwd=own,
                    env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    check=True,
                )  # fmt: skip
            _wait(lambda: furnish(port), folder / "log")
            noted.write_text(str(port))
        return int(noted.read_text())


def postgres(factory: pytest.TempPathFactory) -> int:
    """Return the port of a PostgreSQL; each test makes a table of its own in its database `postgres`."""
    server = component("postgres")

    def command(port: int, folder: Path) -> list[str]:
        password = folder / "password"
        password.write_text(PASSWORD)
        options = ["-D", str(folder / "data"), "-U", "app", "-E", "UTF8", "--locale=C", "--no-sync"]
        options += ["--auth=scram-sha-256", f"--pwfile={password}"]
        as_user = {"user": _USER, "group": _USER, "extra_groups": []} if _USER else {}
        subprocess.run(
            [component("initdb"), *options],
            check=True,
            capture_output=True,
            cwd=folder,
            **as_user,  # type: ignore[call-overload]
        )
        with (folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS)
        return [server, "-D", str(folder / "data"), "-p", str(port)]

    return shared_server(factory, "postgres", command, _connect, user=_USER)


def bouncer(factory: pytest.TempPathFactory, port: int) -> int:
    """Return the port of a PgBouncer in transaction mode before the PostgreSQL at `port`."""
    program = component("pgbouncer")

    def command(own: int, folder: Path) -> list[str]:
        (folder / "users.txt").write_text(f'"app" "{PASSWORD}"\n')
        (folder / "pgbouncer.ini").write_text(_BOUNCER.format(port=port, bouncer=own, folder=folder))
        return [program, "-q", str(folder / "pgbouncer.ini")]

    return shared_server(factory, "pgbouncer", command, _connect, user=_USER)


def ministack(factory: pytest.TempPathFactory) -> int:
    """Return the port of an S3 with a bucket."""
    component("ministack")
    program = component("hypercorn")
    quiet = {"SERVICES": "s3", "IOT_MTLS_ENABLED": "0", "SFTP_ENABLED": "0", "LOG_LEVEL": "ERROR"}

    def make_bucket(port: int) -> None:
        _put(f"http://127.0.0.1:{port}/{BUCKET}", {})

    return shared_server(
        factory, "ministack", lambda port, _: [program, "ministack.app:app", "-b", f"127.0.0.1:{port}"], make_bucket,
        quiet,
    )  # fmt: skip


def azurite(factory: pytest.TempPathFactory) -> int:
    """Return the port of an Azurite with a container."""
    program = component("azurite-blob")
    options = ["--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--disableTelemetry"]

    def make_container(port: int) -> None:
        """Make the container, which obstore cannot; signed as Azure documents it under "Shared Key"."""
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
        listed = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        to_sign = "PUT" + "\n" * 12 + listed + f"/{AZURITE_ACCOUNT}/{AZURITE_ACCOUNT}/{BUCKET}\nrestype:container"
        digest = hmac.digest(base64.b64decode(AZURITE_KEY), to_sign.encode(), hashlib.sha256)
        headers["Authorization"] = f"SharedKey {AZURITE_ACCOUNT}:{base64.b64encode(digest).decode()}"
        _put(f"http://127.0.0.1:{port}/{AZURITE_ACCOUNT}/{BUCKET}?restype=container", headers)

    return shared_server(
        factory, "azurite", lambda port, _: [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), *options],
        make_container,
    )  # fmt: skip


def s3_environment(port: int) -> dict[str, str]:
    """Return the variables for an S3 at a port of this machine."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIAOFTHETESTS", "AWS_SECRET_ACCESS_KEY": S3_SECRET,
    }  # fmt: skip


def azure_environment(port: int) -> dict[str, str]:
    """Return the variables for an Azurite at a port of this machine."""
    return {
        "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{AZURITE_ACCOUNT}", "AZURE_ALLOW_HTTP": "true",
        "AZURE_STORAGE_ACCOUNT_NAME": AZURITE_ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": AZURITE_KEY,
    }  # fmt: skip


def _connect(port: int) -> None:
    psycopg.connect(host="127.0.0.1", port=port, user="app", password=PASSWORD, dbname="postgres").close()


def _put(url: str, headers: Mapping[str, str]) -> None:
    with urlopen(Request(url, headers=dict(headers), method="PUT"), timeout=30) as answer:
        answer.read()


def _wait(attempt: Callable[[], object], log: Path) -> None:
    """Wait until something can be done, for 60 s."""
    until = time.monotonic() + 60
    while True:
        try:
            attempt()
        except (psycopg.Error, OSError):
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        else:
            return
