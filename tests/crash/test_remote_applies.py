"""Real applies with the record on a server: many at once, and mishaps on the way to it."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from support.project import finish
from support.remote_project import RemoteProject, RemoteStore
from support.sandbox_pace import hold_creates
from support.stopped_process import wait_until_stopped
from support.tcp_proxy import Proxy

if TYPE_CHECKING:
    from pathlib import Path

STOP = "before-append:1:stop"
SOON = "grace=0.5,closing=0.5"

database_by_default = pytest.mark.parametrize(
    "remote_store", [pytest.param("s3", marks=pytest.mark.soak), "postgres"], indirect=True
)
"""Where the rule is not the store's own."""


@database_by_default
@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.soak)])
def test_eight_applies_of_one_plan_create_each_route_once(
    tmp_path: Path, remote_store: RemoteStore, count: int
) -> None:
    """Eight processes that planned the same thing share it out between them: nothing twice, nothing lost."""
    with RemoteProject(tmp_path, remote_store, count) as work:
        processes = [work.start_apply(failpoint=STOP) for _ in range(8)]
        for process in processes:
            wait_until_stopped(process.pid)
        for process in processes:
            process.send_signal(signal.SIGCONT)
        ended = [finish(process) for process in processes]
        assert {0, 1} >= {done.code for done in ended}, ended
        assert 0 in {done.code for done in ended}
        work.assert_done()
        work.project.step("state", "verify")


def test_an_apply_on_a_bad_network(tmp_path: Path, remote_store: RemoteStore) -> None:
    """Answers and requests that are lost on the way do not matter: the apply succeeds."""
    with (
        Proxy(remote_store.port, remote_store.writes) as proxy,
        RemoteProject(tmp_path, remote_store, 4, proxy.port) as work,
    ):
        proxy.mishaps = ["lose-answer", "lose-request", "lose-answer", "hold-request"]
        done = work.run_apply()
        assert (0, []) == (done.code, proxy.mishaps), done
        proxy.release()
        work.assert_done()


@database_by_default
@pytest.mark.parametrize("number", [None, signal.SIGTERM])
def test_a_server_that_goes_away(tmp_path: Path, remote_store: RemoteStore, number: signal.Signals | None) -> None:
    """As an outcome is to be appended: it is kept in a file, a signal is obeyed, and nothing is created twice."""
    with Proxy(remote_store.port) as proxy, RemoteProject(tmp_path, remote_store, 2, proxy.port) as work:
        answers = hold_creates(work.sandbox)
        process = work.start_apply(failpoint=SOON)
        work.wait_until_committed()
        proxy.away = True
        proxy.cut()
        if number:
            process.send_signal(number)
        answers.set()
        done = finish(process)
        assert (128 + number if number else 3) == done.code, done
        assert remote_store.secret not in done.out + done.err
        (kept,) = (tmp_path / "home" / "data" / "reconciler" / "unrecorded").glob("*.jsonl")
        work.project.step("plan", code=1)
        proxy.away = False
        work.project.step("state", "recover", kept)
        work.recover()


@pytest.mark.parametrize("command", [pytest.param("plan", marks=pytest.mark.soak), "apply"])
def test_a_server_that_does_not_answer(tmp_path: Path, remote_store: RemoteStore, command: str) -> None:
    """One signal ends the wait for it."""
    with Proxy(remote_store.port, b"") as proxy, RemoteProject(tmp_path, remote_store, 1, proxy.port) as work:
        proxy.mishaps = ["silence"]
        process = work.project.start(command)
        while proxy.mishaps:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        done = finish(process, timeout=20)
        assert (130, "Interrupted.") == (done.code, done.err.strip().splitlines()[-1])
        assert not work.sandbox.world.commits
