"""`reconciler sandbox delete`: what the operator of the service does, in a sandbox that serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_httpserver import HTTPServer
    from support.project import Project


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox that serves, with two subscriptions."""
    with Sandbox() as serving:
        for target in ("europe/staging", "usa/production"):
            serving.world.commit_subscription(target, ("ONB10011", "LOA10013"), "https://hooks.example/o")
        yield serving


@pytest.fixture
def user(project: Project, sandbox: Sandbox) -> Project:
    """A project that knows the sandbox by its variable."""
    project.environment["RECONCILER_SANDBOX_URL"] = sandbox.url
    return project


def test_deletes_one(user: Project, sandbox: Sandbox) -> None:
    """The one with the id and no other, once; without an id, what exists is listed."""
    first, second = sandbox.world.commits
    lines = [f"{one.id}  {one.target}  ONB10011, LOA10013  https://hooks.example/o\n" for one in (first, second)]
    assert "".join(lines) == user.step("sandbox", "delete").out
    done = user.step("sandbox", "delete", first.id)
    assert (f"Deleted {first.id}\n", "") == (done.out, done.err)
    assert [second] == sandbox.world.subscriptions()
    assert lines[1] == user.step("sandbox", "delete").out
    done = user.step("sandbox", "delete", first.id, code=1)
    assert f"{sandbox.url}: the sandbox rejected the deletion (404): subscription not found or already rem" in done.err
    user.step("sandbox", "delete", second.id, "--url", f"{sandbox.url}/")
    assert "No subscription exists in the sandbox\n" == user.step("sandbox", "delete").out


@pytest.mark.parametrize("arguments", [[], ["some-id"]])
@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"subscriptions": [1]}', b'{"removed": "another"}'])
def test_something_else_answers(project: Project, httpserver: HTTPServer, arguments: list[str], answer: bytes) -> None:
    """Which is no sandbox."""
    for what in ("state", "remove"):
        httpserver.expect_request(f"/_sandbox/{what}").respond_with_data(answer)
    done = project.step("sandbox", "delete", *arguments, "--url", httpserver.url_for(""), code=1)
    assert "the server at this URL is not a sandbox (200); to start it, run:" in done.err


def test_the_url_is_needed(project: Project) -> None:
    """From the flag or the variable, and on this machine."""
    assert "the URL of the sandbox is not set" in project.step("sandbox", "delete", code=1).err
    done = project.step("sandbox", "delete", "x", "--url", "http://sandbox.example", code=1)
    assert "expected an http URL of this machine" in done.err
