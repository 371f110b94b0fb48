"""`reconciler sandbox trigger`: an event in a sandbox that serves."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.ports import free_port

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_httpserver import HTTPServer
    from support.project import Project


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox that serves."""
    with Sandbox() as one:
        yield one


@pytest.fixture
def user(project: Project, sandbox: Sandbox, httpserver: HTTPServer) -> Project:
    """A project that knows the sandbox by its variables; two subscriptions, on two targets."""
    httpserver.expect_request("/hook").respond_with_data(status=204)
    for target in ("europe/staging", "usa/production"):
        sandbox.world.commit_subscription(target, ("ONB10011",), httpserver.url_for("/hook"))
    project.environment["RECONCILER_SANDBOX_URL"] = sandbox.url
    return project


def received(sandbox: Sandbox, httpserver: HTTPServer) -> list[str]:
    """The bodies that arrived."""
    assert sandbox.deliveries.wait_idle(20)
    return [request.get_data().decode() for request, _ in httpserver.log]


@pytest.mark.parametrize(
    ("arguments", "told", "count"),
    [
        (["ONB10011"], "2 deliveries started\n", 2),
        (["ONB10011", "-t", "usa/production"], "1 delivery started\n", 1),
        (["ONB10011", "--count", "3"], "6 deliveries started\n", 6),
        (["LOA10013"], "No subscription has LOA10013: nothing delivered\n", 0),
    ],
)
def test_makes_an_event_happen(
    user: Project, sandbox: Sandbox, httpserver: HTTPServer, arguments: list[str], told: str, count: int
) -> None:
    """On one target or on all, once or more; how many deliveries that begins is told."""
    done = user.step("sandbox", "trigger", *arguments)
    assert (told, "") == (done.out, done.err)
    assert count == len(received(sandbox, httpserver))


@pytest.mark.parametrize("source", ["file", "-"])
def test_properties(user: Project, sandbox: Sandbox, httpserver: HTTPServer, source: str) -> None:
    """From a file or standard input; their numbers arrive as strings, just as they are written."""
    text = '{"Amount": 1.10, "Big": 1E400, "\\u00e4": [null, {"n": 7}]}\n'
    user.write("p.json", text)
    arguments = ["ONB10011", "-t", "europe/staging", "--properties", "p.json" if source == "file" else "-"]
    user.step("sandbox", "trigger", *arguments, stdin=text)
    (body,) = received(sandbox, httpserver)
    expected = {"Amount": "1.10", "Big": "1E400", "\u00e4": [None, {"n": "7"}]}
    assert expected == json.loads(body)["EventProperties"]


def test_url_wins_over_the_variable(user: Project, sandbox: Sandbox) -> None:
    """And a path before `/_sandbox` is kept, which here leads nowhere."""
    user.environment["RECONCILER_SANDBOX_URL"] = "http://127.0.0.1:1"
    user.step("sandbox", "trigger", "ONB10011", "--url", f"{sandbox.url}/")
    done = user.run_fork("sandbox", "trigger", "ONB10011", "--url", f"{sandbox.url}/below")
    assert (1, True) == (
        done.code,
        f"Error: {sandbox.url}: the sandbox rejected the event (404): path not found" in done.err,
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["offers"],
            "the sandbox rejected the event (400): offers: expected an event code of three",
        ),
        (["ONB10011", "-t", "europe/*"], "the sandbox does not serve this target; use one of: europe/staging"),
        (["ONB10011", "--count", "0"], "0 is not in the range"),
        (["ONB10011", "--properties", "none.json"], "--properties none.json: cannot be read: No such file"),
        (["ONB10011", "--properties", "."], "--properties .: cannot be read: Is a directory"),
    ],
)
def test_what_cannot_happen(user: Project, arguments: list[str], told: str) -> None:
    """Is said, in the sandbox's words or our own."""
    done = user.run_fork("sandbox", "trigger", *arguments)
    assert (1, "", True) == (done.code, done.out, told in done.err)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": NaN}', b'{"a": "\xff"}', "[" * 100_000])
def test_properties_that_are_no_object(user: Project, text: str | bytes) -> None:
    """Are not sent."""
    user.write("p.json", text)
    done = user.run_fork("sandbox", "trigger", "ONB10011", "--properties", "p.json")
    assert (1, "Error: --properties p.json: expected a JSON object in UTF-8\n") == (done.code, done.err)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:1",
        "http://sandbox.example",
        "http://192.0.2.1",
        "127.0.0.1:1",
        "http://[",
        "http://a:b",
        "http://127.0.0.1:0",
        "",
    ],
)
def test_what_is_not_on_this_machine(user: Project, url: str) -> None:
    """Is not a sandbox of ours, and is not called."""
    done = user.run_fork("sandbox", "trigger", "ONB10011", "--url", url)
    told = "Error: --url: expected an http URL of this machine; to get one, run:\n    reconciler sandbox serve\n"
    assert (1, told) == (done.code, done.err)


def test_nobody_said_where_it_is(project: Project) -> None:
    """Neither by flag nor by variable."""
    done = project.run_fork("sandbox", "trigger", "ONB10011")
    assert (1, True) == (
        done.code,
        "Error: --url or RECONCILER_SANDBOX_URL: the URL of the sandbox is not set" in done.err,
    )


def test_nobody_answers(project: Project) -> None:
    """No sandbox serves there."""
    port = free_port()
    done = project.run_fork("sandbox", "trigger", "ONB10011", "--url", f"http://127.0.0.1:{port}")
    told = (
        f"Error: http://127.0.0.1:{port}: cannot reach the sandbox: Connection refused;"
        " to start it, run:\n    reconciler sandbox serve\n"
    )
    assert (1, told) == (done.code, done.err)


def test_nobody_answers_in_time(project: Project) -> None:
    """As long as --timeout says."""
    with closing(socket.create_server(("127.0.0.1", 0))) as one:
        url = f"http://localhost:{one.getsockname()[1]}"
        done = project.run_fork("sandbox", "trigger", "ONB10011", "--url", url, "--timeout", "0.2")
    assert (1, True) == (done.code, "cannot reach the sandbox: TimeoutError" in done.err)


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"deliveries": "1"}'])
def test_something_else_answers(project: Project, httpserver: HTTPServer, answer: bytes) -> None:
    """Which is no sandbox."""
    httpserver.expect_request("/_sandbox/trigger").respond_with_data(answer, status=202)
    done = project.run_fork("sandbox", "trigger", "ONB10011", "--url", httpserver.url_for(""))
    told = (
        f"Error: http://localhost:{httpserver.port}: the server at this URL is not a sandbox (202);"
        " to start it, run:\n    reconciler sandbox serve\n"
    )
    assert (1, told) == (done.code, done.err)
