"""Real processes apply at once with a record in an object store."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

import pytest
from support.bucket_project import BucketProject
from support.object_servers import S3_SECRET, s3_environment
from support.project import finish
from support.sandbox_pace import hold_creates
from support.sandbox_project import subscriptions
from support.stopped_process import wait_until_stopped
from support.tcp_proxy import Proxy

if TYPE_CHECKING:
    from pathlib import Path

    from support.object_servers import ObjectServer
    from support.project import Finished

STOP = "before-append:1:stop"
SOON = "grace=0.5,closing=0.5"


def via(proxy: Proxy) -> dict[str, str]:
    """What leads to an S3 by way of a proxy."""
    return s3_environment(proxy.port)


def race(scene: BucketProject, processes: int) -> list[Finished]:
    """Applies that have planned the same, and go on all at once."""
    started = [scene.start_apply(failpoint=STOP) for _ in range(processes)]
    for process in started:
        wait_until_stopped(process.pid)
    for process in started:
        process.send_signal(signal.SIGCONT)
    return [finish(process) for process in started]


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.soak)])
def test_eight_applies_of_one_plan_create_each_route_once(tmp_path: Path, s3: ObjectServer, count: int) -> None:
    """Nothing twice, nothing lost."""
    with BucketProject(tmp_path, s3, subscriptions(count), {}) as scene:
        ended = race(scene, 8)
        assert {0, 1} >= {one.code for one in ended}, ended
        assert 0 in {one.code for one in ended}
        scene.assert_done()
        scene.project.step("state", "verify")


def test_an_apply_on_a_bad_network(tmp_path: Path, s3: ObjectServer) -> None:
    """Answers and requests that are lost on the way do not matter: the apply succeeds."""
    with Proxy(s3.port, b"PUT ") as proxy, BucketProject(tmp_path, s3, subscriptions(4), via(proxy)) as scene:
        proxy.mishaps = ["lose-answer", "lose-request", "lose-answer", "hold-request"]
        done = scene.run_apply()
        assert (0, []) == (done.code, proxy.mishaps), done
        proxy.release()
        scene.assert_done()


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
def test_a_bucket_that_goes_away(tmp_path: Path, s3: ObjectServer, number: signal.Signals | None) -> None:
    """As an outcome is to be appended: it is kept in a file, a signal is obeyed, and nothing is created twice."""
    work = tmp_path / "project"
    with Proxy(s3.port) as proxy, BucketProject(work, s3, subscriptions(2), via(proxy)) as scene:
        answers = hold_creates(scene.sandbox)
        process = scene.start_apply(failpoint=SOON)
        scene.wait_until_committed()
        proxy.away = True
        proxy.cut()
        if number:
            process.send_signal(number)
        answers.set()
        done = finish(process)
        assert (128 + number if number else 3) == done.code, done
        assert S3_SECRET not in done.out + done.err
        (kept,) = (tmp_path / "home" / "data" / "reconciler" / "unrecorded").glob("*.jsonl")
        scene.project.step("plan", code=1)
        proxy.away = False
        scene.project.step("state", "recover", kept)
        scene.recover()


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_bucket_that_does_not_answer(tmp_path: Path, s3: ObjectServer, command: str) -> None:
    """One signal ends the command."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as silent:
        with BucketProject(tmp_path, s3, subscriptions(1), {}) as scene:
            scene.project.environment |= s3_environment(silent.getsockname()[1])
            process = scene.project.start(command)
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                done = finish(process, timeout=20)
        assert (130, "Interrupted.") == (done.code, done.err.strip().splitlines()[-1])


def test_no_secret_is_printed_or_written(tmp_path: Path, s3: ObjectServer) -> None:
    """Neither with all that can be said, nor where the library's own message would quote it."""
    with BucketProject(tmp_path / "project", s3, subscriptions(1), {}) as scene:
        done = scene.project.step("apply", "--auto-approve", "-vv")
        scene.project.environment["RECONCILER_STATE"] = "s3://nowhere/x"
        failed = scene.project.step("status", "-vv", code=1)
        assert "s3://nowhere/x: the bucket does not exist" in failed.err
        assert not any(S3_SECRET in told.out + told.err for told in (done, failed))
        assert [] == [
            path for path in tmp_path.rglob("*") if path.is_file() and S3_SECRET.encode() in path.read_bytes()
        ]
