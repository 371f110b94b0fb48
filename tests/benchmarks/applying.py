"""Rows about `apply`: many creates at a service that answers after a pause, the record durable in files."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from support.certificates import write_certificate

from benchmarks.peers import terraform_apply
from benchmarks.projects import CREDENTIALS, Project
from benchmarks.races import Failed, Runner, Usage, plain_environment
from benchmarks.rows import JUDGED, Row, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.course import Course

PAUSE, ROUND_TRIP = 0.02, 0.02  # seconds
_BARE = "httpx in 8 threads, connections kept, without a record"


@dataclass(frozen=True)
class Service:
    """A quick service that runs."""

    url: str
    process: subprocess.Popen[bytes]
    environment: dict[str, str]
    """What a client needs to trust it."""

    def counts(self) -> dict[str, int]:
        """What has reached it since this was asked last."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]

    def expect(self, creates: int) -> None:
        """Raises Failed unless just so many creates have reached it."""
        counts = self.counts()
        if counts.get("creates") != creates:
            raise Failed(f"{creates} creates expected, the service has {counts}")


@contextmanager
def service(directory: Path, round_trip: float = 0.0, tls: str | None = None) -> Iterator[Service]:
    """A quick service; with TLS of that version, if one is given, and its certificate in `directory`."""
    command = [sys.executable, str(Path(__file__).with_name("quick_service.py"))]
    command += ["--pause", str(PAUSE), "--round-trip", str(round_trip)]
    environment = {}
    if tls is not None:
        certificate = str(write_certificate(directory / "server.pem"))
        command += ["--certificate", certificate, "--tls", tls]
        environment = {"SSL_CERT_FILE": certificate}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        yield Service(f"{'https' if tls else 'http'}://127.0.0.1:{port}", process, environment)
    finally:
        process.communicate()


def our_apply(course: Course, at: Service, count: int, parallelism: int = 8) -> Runner:
    """The program creating so many subscriptions, with a new record each time."""
    name = f"ours-{count}"
    project = Project(course.program, course.place(name), count, url=at.url).declare()
    environment = {**CREDENTIALS, **at.environment}

    def start_again() -> None:
        project.forget()
        subprocess.run(
            [course.program, "state", "init"],
            cwd=project.directory, env=plain_environment(project.directory, **environment), check=True,
            capture_output=True,
        )  # fmt: skip
        at.counts()

    return project.runner(
        "apply", "--auto-approve", "--parallelism", str(parallelism),
        environment=environment, before=start_again, after=partial(at.expect, count),
    )  # fmt: skip


def bare_apply(course: Course, at: Service, count: int) -> Runner:
    """The same creates by a client without a record."""
    command: list[str | Path] = [course.python, Path(__file__).with_name("bare_client.py"), at.url, str(count), "8"]
    return Runner(
        command, course.place(f"bare-{count}"), at.environment, before=at.counts, after=partial(at.expect, count)
    )


def apply_500(course: Course) -> list[Row]:
    """The wall time of five hundred creates, to that of a bare client."""
    return [_apply_500(course, "apply-500", "", 0.0, None)]


def apply_500_tls(course: Course) -> list[Row]:
    """The same over TLS, over a network with a round trip of 20 ms: a handshake takes two of them with TCP's."""
    return [_apply_500(course, "apply-500-tls", " over TLS, 20 ms of round trip", ROUND_TRIP, "1.3")]


def apply_500_tls12(course: Course) -> list[Row]:
    """The same over TLS 1.2, where a handshake takes three round trips with TCP's."""
    return [_apply_500(course, "apply-500-tls12", " over TLS 1.2, 20 ms of round trip", ROUND_TRIP, "1.2")]


def _apply_500(course: Course, name: str, over: str, round_trip: float, tls: str | None) -> Row:
    with service(course.directory, round_trip, tls) as at:
        took = course.track.race(5, ours=our_apply(course, at, 500), bare=bare_apply(course, at, 500))
    work = f"`apply` of 500 creates, answered in 20 ms{over}, parallelism 8"
    return ratio(name, work, _BARE, took["ours"], took["bare"], 1.15, "wall")


def create_cpu(course: Course) -> list[Row]:
    """What one more create costs, to one more of a bare client."""
    few, many = 20, 500
    with service(course.directory) as at:
        took = course.track.race(
            5,
            few=our_apply(course, at, few), many=our_apply(course, at, many),
            bare_few=bare_apply(course, at, few), bare_many=bare_apply(course, at, many),
        )  # fmt: skip
    ours = _each(took["few"], took["many"], many - few)
    bare = _each(took["bare_few"], took["bare_many"], many - few)
    return [ratio("create-cpu", "one create of `apply`, parallelism 8, beyond the start", _BARE, ours, bare, 1.5)]


def create_growth(course: Course) -> list[Row]:
    """What one of sixteen thousand creates costs, to one of five hundred."""
    few, some, many = 20, 500, 16_000
    with service(course.directory) as at:
        counts = {"few": few, "some": some, "many": many}
        took = course.track.race(2, **{name: our_apply(course, at, count) for name, count in counts.items()})
    each, among = _each(took["few"], took["many"], many - few), _each(took["few"], took["some"], some - few)
    return [ratio("create-growth", "one create among 16,000", "one create among 500", each, among, 1.0)]


def apply_100_terraform(course: Course) -> list[Row]:
    """A hundred creates, ten at a time, to Terraform with curl."""
    with service(course.directory) as at:
        took = course.track.race(
            5,
            ours=our_apply(course, at, 100, parallelism=10),
            terraform=terraform_apply(course.directory / "terraform", 100, at.url, partial(at.expect, 100)),
        )
    work, terraform = "`apply` of 100 creates, 10 at a time", "Terraform, `local-exec` with curl, 10 at a time"
    ours, theirs = took["ours"], took.get("terraform")
    return [ratio(f"apply-100-terraform-{judged}", work, terraform, ours, theirs, judged=judged) for judged in JUDGED]


def _each(few: Usage, many: Usage, count: int) -> Usage:
    """What each of the `count` that many has more than few took."""
    return Usage((many.cpu - few.cpu) / count, (many.wall - few.wall) / count, many.peak)
