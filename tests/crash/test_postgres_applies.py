"""Real applies with the record in a database: many at once, and mishaps on the way to it."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.leaks import Secrets, is_private_response
from support.postgres import PASSWORD, Scene, Server
from support.project import Project, finish
from support.sandbox_pace import hold_creates
from support.sandbox_project import HERE, SandboxProject, subscriptions
from support.stopped_process import wait_until_stopped
from support.tcp_proxy import Proxy

from reconciler.model.address import TargetName
from reconciler.state.journal.chain import parse

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.model.record import Record

STOP = "before-append:1:stop"
SOON = "grace=0.5,closing=0.5"


class DatabaseProject(SandboxProject):
    """A project whose record is in a database; responses are sealed."""

    def __init__(self, path: Path, scene: Scene, count: int, port: int | None = None) -> None:
        super().__init__(path / "project", subscriptions(count))
        self.project.environment["RECONCILER_STATE"] = scene.spec(port=port)
        self.project.seal()
        self._store = scene.open()

    def record(self, target: str = HERE) -> Record:
        data = self._store.read(TargetName(target))
        assert data is not None
        return parse(data, TargetName(target), "the database").record()


def test_eight_applies_of_one_plan_create_each_route_once(tmp_path: Path, scene: Scene) -> None:
    """Eight processes that planned the same thing share it out between them: nothing twice, nothing lost."""
    with DatabaseProject(tmp_path, scene, 100) as work:
        processes = [work.start_apply(failpoint=STOP) for _ in range(8)]
        for process in processes:
            wait_until_stopped(process.pid)
        for process in processes:
            process.send_signal(signal.SIGCONT)
        ended = [finish(process) for process in processes]
        assert {0, 1} >= {done.code for done in ended}, ended
        assert 0 in {done.code for done in ended}
        work.assert_done()


def test_an_apply_on_a_bad_network(tmp_path: Path, scene: Scene, postgres_server: Server) -> None:
    """Answers and requests that are lost on the way are nobody's business: the apply succeeds."""
    with Proxy(postgres_server.port) as proxy, DatabaseProject(tmp_path, scene, 4, proxy.port) as work:
        proxy.mishaps = ["lose-answer", "lose-request", "lose-answer", "hold-request"]
        done = work.apply()
        assert (0, []) == (done.code, proxy.mishaps), done
        proxy.release()
        work.assert_done()


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
def test_a_database_that_goes_away(
    tmp_path: Path, scene: Scene, postgres_server: Server, number: signal.Signals | None
) -> None:
    """As an outcome is to be appended: it is kept in a file, a signal is obeyed, and nothing is created twice."""
    with Proxy(postgres_server.port) as proxy, DatabaseProject(tmp_path, scene, 2, proxy.port) as work:
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
        assert "cannot connect to the database" in done.err
        (kept,) = (tmp_path / "home" / "data" / "reconciler" / "unrecorded").glob("*.jsonl")
        work.project.step("plan", code=1)
        proxy.away = False
        work.project.step("state", "recover", kept)
        work.recover()


def test_a_database_that_is_silent_and_a_signal(tmp_path: Path, scene: Scene, postgres_server: Server) -> None:
    """A signal ends the wait for it."""
    with Proxy(postgres_server.port) as proxy, DatabaseProject(tmp_path, scene, 1, proxy.port) as work:
        proxy.mishaps = ["silence"]
        process = work.start_apply(failpoint=SOON)
        while proxy.mishaps:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert 130 == finish(process).code
        assert not work.sandbox.world.commits


def test_the_password_is_nowhere(tmp_path: Path, scene: Scene, postgres_server: Server) -> None:
    """Not in what commands print, most talkative and in trouble, not in files, not in what other users see of them."""
    heard: list[str] = []
    with Proxy(postgres_server.port) as proxy, DatabaseProject(tmp_path, scene, 1, proxy.port) as work:
        for line in (
            "state init -vv",
            "plan -vv",
            "apply --auto-approve -vv",
            "state verify -vv",
            "status --format json",
        ):
            done = work.project.step(*line.split())
            heard += [done.out, done.err]
        process = work.start_apply(failpoint="before-append:1:stop")
        heard.append(subprocess.run(["ps", "axww", "-o", "args"], check=True, capture_output=True, text=True).stdout)
        process.send_signal(signal.SIGCONT)
        finish(process)
        proxy.away = True
        wrong = work.project.environment["RECONCILER_STATE"].replace("journals?", "journals?sslcert=/none&")
        for state in ("", wrong, wrong.replace("sslcert", "port"), wrong.replace(PASSWORD, f"{PASSWORD}%")):
            environment = {"RECONCILER_STATE": state} if state else {}
            work.project.environment |= environment
            done = work.project.step("status", "-vv", code=1)
            heard += [done.out, done.err]
    secrets = Secrets([PASSWORD])
    assert set() == secrets.leaked_in("\n".join(heard).encode())
    assert {} == secrets.leaked_below(tmp_path, allowed=is_private_response)


def test_a_table_that_is_lost(tmp_path: Path, scene: Scene) -> None:
    """What is advised leads out of it: the loss is accepted in a table that is made anew."""
    with DatabaseProject(tmp_path, scene, 1) as work:
        scene.execute("DROP TABLE {table}")
        for command in (("plan",), ("state", "init")):
            told = work.project.step(*command, code=1).err
            assert "if it is lost for good" in told
            assert f"reconciler state accept-rollback -t {HERE}" in told
        work.project.step("state", "accept-rollback", "-t", HERE, "--force")
        assert 0 == work.apply("--accept-possible-duplicates", HERE).code
        work.assert_done()


def test_advice_can_be_pasted(tmp_path: Path, scene: Scene) -> None:
    """A command that a message names has the URL, unless there is a password in it."""
    project = Project(tmp_path, {"PGPASSWORD": PASSWORD})
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    for spec, expected in (
        (scene.spec(password=""), f"reconciler --state '{scene.spec(password='')}'"),
        (scene.spec(), "reconciler"),
    ):
        done = project.step("plan", "--state", spec, code=1)
        assert f"{expected} state init" in done.err
        assert PASSWORD not in done.err
