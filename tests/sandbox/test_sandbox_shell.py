"""The socket shell: what it takes, what it refuses, and that it goes on serving and ends cleanly."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.sandbox_client import call, create, create_url, get_token

from reconciler.errors import SettingsError
from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.sandbox.exchange import Request, Response


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    """A sandbox that is to survive everything that is sent to it here."""
    with Sandbox() as one:
        yield one
    assert one.world.failures == []


def _port(sandbox: Sandbox) -> int:
    return urlsplit(sandbox.url).port or 0


def _send_raw(sandbox: Sandbox, data: bytes) -> bytes:
    """What comes back for some bytes, until the connection ends."""
    with socket.create_connection(("127.0.0.1", _port(sandbox)), timeout=10) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        received = b""
        try:
            while chunk := client.recv(65_536):
                received += chunk
        except ConnectionResetError:
            pass
        return received


@pytest.mark.parametrize("path", ["/", "/europe/staging/api", "/elsewhere", "/_sandbox", "/_sandbox/secrets", "/%2e"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_unknown_path_is_404(shared: Sandbox, method: str, path: str) -> None:
    """There is nothing but what is documented, in JSON as all else."""
    answer = call(method, shared.url + path, b"{}")

    assert (answer.status, answer.document["error"]) == (404, "not_found")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_wrong_method_is_405(shared: Sandbox, method: str) -> None:
    """Subscriptions cannot be listed, changed or deleted: the only method is POST."""
    answer = call(method, create_url(shared))

    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_head_has_no_body(shared: Sandbox) -> None:
    """A HEAD is a wrong method too, told without a body."""
    answer = call("HEAD", create_url(shared))

    assert (answer.status, answer.body) == (405, b"")


def test_state_is_only_read(shared: Sandbox) -> None:
    """The state takes a GET only; a query makes no difference."""
    assert call("POST", f"{shared.url}/_sandbox/state", {}).status == 405
    assert b"200 OK" in _send_raw(shared, b"GET /_sandbox/state?now=1 HTTP/1.1\r\n\r\n")


def test_connection_serves_many_requests(shared: Sandbox) -> None:
    """HTTP/1.1: one connection takes one request after the other, refused ones in between."""
    token, path = get_token(shared), urlsplit(create_url(shared)).path
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    wanted = b'{"eventCodes": ["ONB10001"], "webhookUrl": "https://hooks.partner.example/"}'
    requests = [("POST", path, wanted), ("POST", "/nowhere", b"x" * 5000), ("GET", path, None), ("POST", path, b"{")]
    with closing(HTTPConnection("127.0.0.1", _port(shared), timeout=10)) as connection:
        statuses = []
        for method, where, body in [*requests, requests[0]]:
            connection.request(method, where, body, headers)
            local = connection.sock.getsockname()
            with connection.getresponse() as response:
                response.read()
                statuses.append((response.status, local))

    assert [status for status, _ in statuses] == [201, 404, 405, 400, 201]
    assert len({local for _, local in statuses}) == 1


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (b"", 411),
        (b"Transfer-Encoding: chunked\r\n", 411),
        (b"Content-Length: many\r\n", 400),
        (b"Content-Length: -1\r\n", 400),
        (b"Content-Length: 2\r\nContent-Length: 2\r\n", 400),
        (b"Content-Length: 1048577\r\n", 413),
        (b"Content-Length: 99999999999\r\n", 413),
    ],
)
def test_length_has_to_be_known_and_small(shared: Sandbox, header: bytes, status: int) -> None:
    """No length 411, none that makes sense 400, over 1 MiB 413."""
    path = urlsplit(shared.world.targets["usa/production"].provider.auth_url).path
    head = f"POST {path}/oauth/token HTTP/1.1\r\nContent-Type: application/json\r\n".encode()

    assert f"HTTP/1.1 {status} " in _send_raw(shared, head + header + b"\r\n{}").decode()


def test_unknown_path_with_a_body_of_unknown_length_ends_the_connection(shared: Sandbox) -> None:
    """Where nobody can tell where the next request begins, none is looked for."""
    for header in (b"Transfer-Encoding: chunked", b"Content-Length: x"):
        received = _send_raw(shared, b"POST /nowhere HTTP/1.1\r\n" + header + b"\r\n\r\nGET / HTTP/1.1\r\n\r\n")

        assert received.count(b"HTTP/1.1 404") == 1
        assert b"Connection: close" in received


def test_body_of_just_the_limit_is_read(shared: Sandbox) -> None:
    """1 MiB is taken, and found to be no subscription; one byte more is not."""
    token = get_token(shared)

    assert create(shared, token, b" " * 1024 * 1024).status == 400
    assert create(shared, token, b" " * (1024 * 1024 + 1)).status == 413


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"BREW /_sandbox/state HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /nowhere HTTP/1.1\r\nContent-Length: 10\r\n\r\n123",
    ],
    ids=lambda data: repr(data[:20]),
)
def test_anything_may_come(shared: Sandbox, data: bytes) -> None:
    """Whatever it is, there is a JSON error or no answer, and the next request is served."""
    received = _send_raw(shared, data)

    assert received == b"" or received.partition(b"\r\n\r\n")[2].startswith(b'{"error"')
    assert call("GET", f"{shared.url}/_sandbox/state").status == 200


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
def test_any_bytes_may_come(shared: Sandbox, data: bytes) -> None:
    """No bytes stop it from serving."""
    _send_raw(shared, data)

    assert call("GET", f"{shared.url}/").status == 404


def test_body_that_breaks_off_is_not_committed(shared: Sandbox) -> None:
    """A client that goes in the middle of its request gets no answer and no subscription."""
    before = len(shared.world.commits)
    head = f"POST {urlsplit(create_url(shared)).path} HTTP/1.1\r\nContent-Type: application/json\r\n"
    data = f"{head}Authorization: Bearer {get_token(shared)}\r\nContent-Length: 500\r\n\r\n{{".encode()

    assert _send_raw(shared, data) == b""
    assert before == len(shared.world.commits)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither requests nor clients that go away leave a line on stdout or stderr."""
    with Sandbox() as sandbox:
        token = get_token(sandbox)
        for name in ("reset-after", "hang", "huge"):
            sandbox.world.fail_next(name)
            with socket.create_connection(("127.0.0.1", _port(sandbox)), timeout=5) as client:
                path = urlsplit(create_url(sandbox)).path
                body = b'{"eventCodes": ["ONB10001"], "webhookUrl": "https://hooks.partner.example/"}'
                head = f"POST {path} HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n"
                client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert create(sandbox, token).status == 201

    assert capfd.readouterr() == ("", "")
    assert sandbox.world.failures == []


def test_defects_are_kept_in_the_world() -> None:
    """An exception in the core ends the connection without an answer, and is not lost."""
    sandbox = Sandbox()

    def fail(request: Request) -> Response:
        raise LookupError("a defect")

    sandbox._routes.handle = fail  # type: ignore[method-assign]
    with sandbox, pytest.raises(ConnectionError):
        call("GET", sandbox.url)
    assert sandbox.world.failures == ["LookupError('a defect')"]


def test_only_loopback_is_bound(shared: Sandbox) -> None:
    """The port is one of 127.0.0.1, and the URL says so."""
    assert shared.url.startswith("http://127.0.0.1:")
    assert shared.variables()[0][1]
    assert shared._server.socket.getsockname()[0] == "127.0.0.1"


def test_port_can_be_chosen_but_not_shared() -> None:
    """A port that is taken, or is none, is an error that names it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"127.0.0.1:{port}: cannot listen on this port"):
            Sandbox(port)
    with Sandbox(port) as sandbox:
        assert f"http://127.0.0.1:{port}" == sandbox.url
        with pytest.raises(SettingsError, match="use another --port"):
            Sandbox(port)
    with pytest.raises(SettingsError, match="70000"):
        Sandbox(70_000)


def test_closed_sandbox_leaves_nothing_behind() -> None:
    """Idle, hanging and dripping connections are ended with their threads, within seconds; the port is free."""
    before = threading.active_count()
    with Sandbox() as sandbox:
        token = get_token(sandbox)
        for name in ("hang", "drip", "hang-after"):
            sandbox.world.fail_next(name)
        idle = socket.create_connection(("127.0.0.1", _port(sandbox)))
        with ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(create, sandbox, token, timeout=20) for _ in range(3)]
            while len(sandbox.world.commits) < 2:
                time.sleep(0.01)
            started = time.monotonic()
            sandbox.close()
            assert all(isinstance(one.exception(), OSError | HTTPException) for one in waiting)
        assert time.monotonic() - started < 4
        assert idle.recv(1) == b""
        idle.close()
    assert before == threading.active_count()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", _port(sandbox))) != 0


def test_closing_without_starting_or_twice_is_fine() -> None:
    """What was only bound is released, and a second close does nothing."""
    sandbox = Sandbox()
    sandbox.close()
    sandbox.close()

    assert sandbox._server.socket.fileno() + 1 == 0


def test_serve_forever_ends_with_close() -> None:
    """Whoever waits is let go of when another thread closes the sandbox."""
    with Sandbox() as sandbox:
        thread = threading.Thread(target=sandbox.serve_forever)
        thread.start()
        assert call("GET", sandbox.url).status == 404
        sandbox.close()
        thread.join(5)
        assert not thread.is_alive()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_a_sandbox_that_serves(signal_number: int) -> None:
    """A handler that raises ends serving at once, with a connection hanging; the process leaves no thread behind."""
    program = (
        "import signal, sys\n"
        "from reconciler.sandbox import Sandbox\n"
        "def stop(number, frame): raise SystemExit(40 + number)\n"
        "signal.signal(signal.SIGINT, stop); signal.signal(signal.SIGTERM, stop)\n"
        "with Sandbox() as sandbox:\n"
        "    print(sandbox.url, flush=True)\n"
        "    sandbox.serve_forever()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().strip()
        with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0)):
            process.send_signal(signal_number)
            assert 40 + signal_number == process.wait(10)
        assert process.stderr.read() == ""


def test_import_stays_lean() -> None:
    """Nothing but the standard library, msgspec and the rooms below is loaded."""
    program = "import sys, reconciler.sandbox; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())

    assert not {"httpx", "click", "pydantic", "yaml", "cryptography"} & loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("reconciler.")}
    assert {"disk", "errors", "loopback", "model", "posting", "sandbox", "values"} == rooms
