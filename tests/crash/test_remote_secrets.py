"""What an apply with its record on a server lets nobody see, and what is advised where a table is lost."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

from support.leaks import Secrets, is_private_response
from support.object_servers import S3_SECRET
from support.postgres import PASSWORD, Scene, Server
from support.project import Project, finish
from support.remote_project import RemoteProject, in_bucket, in_table
from support.sandbox_project import HERE
from support.tcp_proxy import Proxy

if TYPE_CHECKING:
    from pathlib import Path

    from support.object_servers import ObjectServer


def test_the_password_is_nowhere(tmp_path: Path, scene: Scene, postgres_server: Server) -> None:
    """Not in what commands print, most talkative and in trouble, not in files, not in what other users see of them."""
    heard: list[str] = []
    with Proxy(postgres_server.port) as proxy, RemoteProject(tmp_path, in_table(scene), 1, proxy.port) as work:
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
    with RemoteProject(tmp_path, in_table(scene), 1) as work:
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


def test_no_secret_of_a_bucket_is_printed_or_written(tmp_path: Path, s3: ObjectServer) -> None:
    """Neither with all that can be said, nor where the library's own message would quote it."""
    with RemoteProject(tmp_path, in_bucket(s3), 1) as work:
        done = work.project.step("apply", "--auto-approve", "-vv")
        work.project.environment["RECONCILER_STATE"] = "s3://nowhere/x"
        failed = work.project.step("status", "-vv", code=1)
        assert "s3://nowhere/x: the bucket does not exist" in failed.err
        assert not any(S3_SECRET in told.out + told.err for told in (done, failed))
        assert [] == [
            path for path in tmp_path.rglob("*") if path.is_file() and S3_SECRET.encode() in path.read_bytes()
        ]
