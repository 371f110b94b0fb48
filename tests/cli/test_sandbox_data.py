"""`sandbox serve --data`: what a sandbox still knows after it was stopped or killed; its targets and its `.env`."""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from support.notified import wait_until
from support.project import end
from support.recording_endpoint import RecordingEndpoint
from support.sandbox_client import call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from subprocess import Popen

    from support.project import Project
    from support.warm import Started

CREDENTIALS = "RECONCILER_MY_REAL_CLIENT_SECRET=1\n"


@contextmanager
def serving(project: Project, *options: str, number: signal.Signals = signal.SIGTERM) -> Iterator[str]:
    """A sandbox that remembers, with its variables in `.env`, until it is told to stop or killed; its URL."""
    (project.path / ".env").unlink(missing_ok=True)
    process = project.start_step("sandbox", "serve", "--data", "data", "--env-file", ".env", *options)
    try:
        yield variables(project, process)["RECONCILER_SANDBOX_URL"]
    finally:
        end(process, number)


def variables(project: Project, process: Popen[bytes] | Started | None = None) -> dict[str, str]:
    """What `.env` holds, once it is there."""
    path = project.path / ".env"
    wait_until(path.exists, lambda exists: exists or (process is not None and process.poll() is not None))
    return dict(line.split("=", 1) for line in path.read_text(encoding="utf-8").splitlines())


def declare(project: Project, url: str, targets: Sequence[str] = ("europe/staging",)) -> None:
    """A subscription on each target that has the sandbox's addresses in the environment."""
    declared = {
        name: {"auth_url": "https://login.example", "base_url": f"https://api.example/{name}"} for name in targets
    }
    offers = {"offers": {"eventCodes": ["ONB10011"], "webhookUrl": url}}
    document = {"targets": declared, "subscriptions": dict.fromkeys(targets, offers)}
    project.write("config/all.yaml", json.dumps(document))


def state(url: str) -> dict[str, Any]:
    """What the sandbox shows of itself."""
    return dict(call("GET", f"{url}/_sandbox/state").document)


def attempts(url: str, count: int) -> list[Any]:
    """The attempts to deliver so far, once there are so many."""
    return wait_until(lambda: state(url)["deliveries"], lambda log: len(log) >= count)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_continues_after_a_restart(project: Project, number: signal.Signals) -> None:
    """Same port and credentials, subscriptions and tokens; the plan stays empty and events still arrive, signed."""
    with RecordingEndpoint() as endpoint:
        declare(project, endpoint.url)
        with serving(project, number=number) as first:
            before = variables(project)
            project.step("state", "init")
            project.step("apply", "--auto-approve")
        with serving(project, number=number) as second:
            assert (first, before) == (second, variables(project))
            assert "No changes. 1 subscription matches" in project.step("plan").out
            assert (1, 1) == (len(state(second)["subscriptions"]), state(second)["tokens"])
            assert "1 delivery started" in project.step("sandbox", "trigger", "ONB10011").out
            wait_until(lambda: endpoint.arrived, bool)
            assert endpoint.arrived[0].header("x-signature")
            project.step("token", "-t", "europe/staging")
            assert {} == state(second)["requests"]
        journal = (project.path / "data" / "sandbox.jsonl").stat()
        assert 0o600 == journal.st_mode & 0o777


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_pending_deliveries_continue(project: Project, number: signal.Signals) -> None:
    """With the retries that are left: four attempts in all, whenever it was stopped, and none of what was confirmed."""
    with RecordingEndpoint(lambda one: 204 if b"LOA10013" in one.body else 500) as endpoint:
        declare(project, endpoint.url)
        config = project.path / "config" / "all.yaml"
        config.write_text(config.read_text().replace('["ONB10011"]', '["ONB10011", "LOA10013"]'))
        with serving(project, "--retry-interval", "0.5", number=number) as url:
            project.step("state", "init")
            project.step("apply", "--auto-approve")
            project.step("sandbox", "trigger", "LOA10013")
            attempts(url, 1)
            project.step("sandbox", "trigger", "ONB10011")
            attempts(url, 2)
        for count in (3, 4, 5, 5):
            with serving(project, "--retry-interval", "0.1", number=number) as url:
                log = attempts(url, count)
        expected = [(1, 204), (1, 500), (2, 500), (3, 500), (4, 500)]
        assert expected == [(one["attempt"], one["status"]) for one in log]
        bodies = [one.body for one in endpoint.arrived]
        assert (1, 1) == (sum(b"LOA10013" in body for body in bodies), len({body for body in bodies if b"ONB" in body}))


def test_what_was_not_written_completely_is_cut_off(project: Project) -> None:
    """The lines before it stay."""
    declare(project, "http://127.0.0.1:9/")
    with serving(project):
        project.step("state", "init")
        project.step("apply", "--auto-approve")
    with (project.path / "data" / "sandbox.jsonl").open("ab") as file:
        file.write(b'{"type": "rem')
    with serving(project) as url:
        assert 1 == len(state(url)["subscriptions"])
        project.step("sandbox", "trigger", "ONB10011")
    with serving(project) as url:
        assert 1 == len(state(url)["subscriptions"])


def test_another_file_is_not_taken(project: Project) -> None:
    """What it did not write is an error with its line, and stays as it is."""
    project.write("data/sandbox.jsonl", '{"type": "removed", "id": "1"}\n{"a": 1}\n')
    (project.path / "data").chmod(0o700)
    done = project.run_fork("sandbox", "serve", "--data", "data")
    assert (1, "") == (done.code, done.out)
    assert "data/sandbox.jsonl:2: not written by this version of the sandbox" in done.err


def test_two_at_a_time(project: Project) -> None:
    """Are one too many."""
    with serving(project):
        done = project.run_fork("sandbox", "serve", "--data", "data", "--port", "0")
    assert (1, True) == (done.code, "in use by another sandbox" in done.err)


def test_plays_the_targets_of_the_configuration(project: Project) -> None:
    """Each at a base URL of its own."""
    declare(project, "http://127.0.0.1:9/", ["mars/staging", "mars/production"])
    with serving(project) as url:
        found = variables(project)
    assert {f"{url}/mars/staging/api", f"{url}/mars/production/api"} == {
        value for name, value in found.items() if name.endswith("_BASE_URL")
    }
    assert 2 * 5 + 1 == len(found)


def test_a_configuration_that_is_missing_or_wrong(project: Project) -> None:
    """Is an error if it was asked for."""
    assert 1 == project.run_fork("sandbox", "serve", "--config", "nowhere").code
    project.write("config/all.yaml", "targets: []\n")
    assert 1 == project.run_fork("sandbox", "serve").code


def test_an_env_file_of_somebody_else_stays(project: Project) -> None:
    """It may hold real credentials."""
    project.write(".env", CREDENTIALS)
    done = project.run_fork("sandbox", "serve", "--env-file", ".env")
    assert (1, CREDENTIALS) == (done.code, (project.path / ".env").read_text())
    assert "the file exists, and was not written by a sandbox" in done.err


def test_an_env_file_is_private(project: Project) -> None:
    """And replaced by the next sandbox; nothing of it is on stdout."""
    process = project.start("sandbox", "serve", "--env-file", ".env")
    first = variables(project, process)
    assert 0o600 == (project.path / ".env").stat().st_mode & 0o777
    assert b"" == end(process).out.encode()
    process = project.start("sandbox", "serve", "--env-file", ".env")
    second = wait_until(lambda: variables(project, process), lambda found: found != first)
    assert first.keys() == second.keys()
    assert os.path.lexists(project.path / ".env")
    end(process)
