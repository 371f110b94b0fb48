"""The connections of an apply: one for each call, opened ahead, and never in anyone's way."""

from __future__ import annotations

import json
import signal
import socket
import time
from typing import TYPE_CHECKING

import pytest
from support.project import finish
from support.rude_service import TOKEN, json_response

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from pathlib import Path

    from support.project import Project
    from support.raw_server import RawServer

    Serve = Callable[..., RawServer]


@pytest.fixture
def lender(serve: Serve) -> Callable[..., RawServer]:
    """Starts a service that answers every call well, with its identity provider, and closes what it has answered."""

    def start(context: ssl.SSLContext | None = None) -> RawServer:
        def answer(connection: socket.socket) -> None:
            token = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 86400}
            is_token = server.requests[-1].startswith(b"POST /oauth/token")
            time.sleep(0.005)
            connection.sendall(json_response(token, "200 OK") if is_token else json_response({"id": "s-1"}))

        server = serve(answer, context)
        return server

    return start


def begin(project: Project, count: int, certificate: Path, **addresses: str) -> None:
    """A project that wants so many subscriptions."""
    wanted = {f"s{number}": ([f"ONB{number:05}"], f"https://hooks.example/{number}") for number in range(count)}
    project.declare(wanted, audience_base="https://api.example", **addresses)
    project.environment |= {
        "RECONCILER_EUROPE_STAGING_CLIENT_ID": "client",
        "RECONCILER_EUROPE_STAGING_CLIENT_SECRET": "hunter2hunter2",
        "SSL_CERT_FILE": str(certificate),
    }
    project.step("state", "init")


@pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
def test_each_call_has_a_connection_and_no_connection_is_for_nothing(
    project: Project, lender: Callable[..., RawServer], secured: bool, tls: ssl.SSLContext, certificate: Path
) -> None:
    """However many are opened ahead: one for each create, and one for the token."""
    server = lender(tls if secured else None)
    begin(project, 24, certificate, auth_url=server.url, base_url=server.url)
    done = project.run("apply", "--auto-approve", "--parallelism", "4", "--format", "json")
    assert (0, 24) == (done.code, json.loads(done.out)["summary"]["created"])
    server.wait_until(ended=25)
    assert (25, 25) == (server.accepted, len(server.requests))


def test_without_approval_nothing_is_opened(
    project: Project, lender: Callable[..., RawServer], certificate: Path
) -> None:
    """Neither for a plan nor for an apply that is refused."""
    server = lender()
    begin(project, 3, certificate, auth_url=server.url, base_url=server.url)
    assert (0, 1) == (project.run_fork("plan").code, project.run_fork("apply").code)
    assert 1 == project.run_fork("apply", "--auto-approve", "--max-creates", "2").code
    assert 0 == server.accepted


def test_an_interrupt_does_not_wait_for_handshakes(
    project: Project, lender: Callable[..., RawServer], certificate: Path
) -> None:
    """The service accepts connections and says nothing: the run ends all the same, with one create open at most."""
    provider = lender()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base_url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        begin(project, 6, certificate, auth_url=provider.url, base_url=base_url)
        process = project.start("apply", "--auto-approve", "--format", "json")
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        done = finish(process)
        connection.close()
    assert 130 == done.code, done
    kinds = [json.loads(line)["kind"] for line in project.read("state/europe/staging.jsonl").splitlines()]
    assert kinds.count("intent") <= 1
    assert "Traceback" not in done.err
