"""`listen --forward-to`: what is passed on, how it is answered, and that nothing is lost when it is killed."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPException
from operator import le
from threading import Event
from typing import TYPE_CHECKING

import pytest
from support.notified import document, listening, notification, post, talk, wait_until
from support.ports import free_port
from support.recording_endpoint import Arrived, RecordingEndpoint

from reconciler.receiver.captured import captured_in
from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.project import Project

HOSTILE = [
    b"",
    b"\xff\xfe\x00binary\r\n\r\n",
    b"{" * 500,
    b'{"EventCode": "ONB10011", "Message": "\xe2\x80\xa8", "EventProperties": {}}\n',
    bytes(range(256)) * 4096,  # as large as a body may be
]


@pytest.fixture
def endpoint() -> Iterator[RecordingEndpoint]:
    """The partner's own endpoint."""
    with RecordingEndpoint() as one:
        yield one


def raw(body: bytes, headers: list[tuple[bytes, bytes]], target: bytes = b"/") -> bytes:
    """A request in bytes, as some sender writes it."""
    head = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
    return b"POST " + target + b" HTTP/1.1\r\nHost: a.example\r\n" + head + b"\r\n" + body


class TestPassingOn:
    """What arrives at the endpoint."""

    def test_to_the_byte(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """Body, order, case and number of headers; all but Host and what is for the connection only."""
        with listening(project, "--record", "r.jsonl", "--forward-to", endpoint.url, fork=False) as listen:
            port = int(listen.url.rpartition(":")[2])
            for number, body in enumerate(HOSTILE):
                headers = [
                    (b"x-Order", b"%d" % number), (b"X-A", b"1"), (b"CONTENT-TYPE", b"text/plain; a=\xe4\xff"),
                    (b"x-a", b"2, 3"), (b"Authorization", b"Bearer s3cret"),
                    (b"content-length", b"%d" % len(body)), (b"X-A", b""),
                ]  # fmt: skip
                hop_by_hop = [
                    (b"TE", b"trailers"),
                    (b"Keep-Alive", b"5"),
                    (b"Connection", b"x-mine"),
                    (b"X-Mine", b"1"),
                ]
                request = raw(body, [*headers, *hop_by_hop], b"/a//b?c=%00&d")
                assert b"HTTP/1.1 200 OK\r\n" in talk(port, request, half_close=True)
                arrived = endpoint.arrived[-1]
                assert (b"POST /a//b?c=%00&d HTTP/1.1", body) == (arrived.line, arrived.body)
                assert headers == arrived.end_to_end
                assert f"127.0.0.1:{endpoint.port}".encode() == arrived.header("host")
        assert [(body, "/a//b?c=%00&d") for body in HOSTILE] == [
            (one.body, one.path) for one in captured_in(project.path / "r.jsonl")
        ]

    def test_only_after_it_is_on_disk(self, project: Project) -> None:
        """When the endpoint sees it, the file has it."""
        counts = []

        def answer(_: Arrived) -> int:
            counts.append(len((project.path / "r.jsonl").read_bytes().splitlines()))
            return 200

        with (
            RecordingEndpoint(answer) as endpoint,
            listening(project, "--record", "r.jsonl", "--forward-to", endpoint.url) as listen,
        ):
            for number in range(3):
                post(listen.url, notification(f"ONB1000{number}"))
        assert [1, 2, 3] == counts

    @pytest.mark.parametrize(
        ("url", "line"),
        [
            ("", b"/a?b"), ("/", b"/?b"), ("/hooks", b"/hooks?b"), ("/hooks?tenant=7", b"/hooks?tenant=7"),
            ("?tenant=7", b"/a?tenant=7"),
        ],
    )  # fmt: skip
    def test_where_to(self, project: Project, endpoint: RecordingEndpoint, url: str, line: bytes) -> None:
        """A URL without a path keeps that of the request; the scheme may be left out."""
        with listening(project, "--forward-to", f"127.0.0.1:{endpoint.port}{url}") as listen:
            post(f"{listen.url}/a?b", notification())
            assert f"Passing notifications on to http://127.0.0.1:{endpoint.port}{url}; " in listen.said
        assert [b"POST " + line + b" HTTP/1.1"] == [one.line for one in endpoint.arrived]

    def test_what_verify_refuses_is_not_passed_on(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """It is kept."""
        project.declare({})
        project.write("config/v.yaml", "verification: {header: X-Signature, algorithm: hmac-sha256}\n")
        project.step("state", "init")
        with listening(project, "--verify", "--record", "r.jsonl", "--forward-to", endpoint.url) as listen:
            assert 401 == post(listen.url, notification()).status
        assert [] == endpoint.arrived
        assert [False] == [one.confirmed for one in captured_in(project.path / "r.jsonl")]


class TestAnswers:
    """How the sender is answered, and what is told."""

    @pytest.mark.parametrize(
        ("status", "answered"), [(200, 200), (204, 204), (302, 302), (304, 304), (401, 401), (500, 500), (503, 503)]
    )
    def test_the_endpoint_decides(self, project: Project, status: int, answered: int) -> None:
        """Its status is that of the answer, and told."""
        with (
            RecordingEndpoint(lambda _: status) as endpoint,
            listening(project, "--forward-to", endpoint.url) as listen,
        ):
            assert answered == post(listen.url, notification()).status
            (told,) = listen.wait_told(1)
        assert (answered, status, None) == (told["status"], told["endpoint"]["status"], told["endpoint"]["problem"])
        assert document() == told["notification"]

    def test_the_endpoint_is_down(self, project: Project) -> None:
        """A 502 that says so, so that the service delivers again; it is kept, and there is no traceback."""
        with listening(project, "--record", "r.jsonl", "--forward-to", f"127.0.0.1:{free_port()}") as listen:
            answer = post(listen.url, notification())
            (told,) = listen.wait_told(1)
        assert (502, "the endpoint: no answer: Connection refused") == answer
        assert (None, "no answer: Connection refused") == (told["endpoint"]["status"], told["endpoint"]["problem"])
        assert [notification()] == [one.body for one in captured_in(project.path / "r.jsonl")]
        assert "Traceback" not in listen.said

    def test_the_endpoint_takes_too_long(self, project: Project) -> None:
        """A 504 after --timeout."""
        go_on = Event()
        with (
            RecordingEndpoint(lambda _: 200 if go_on.wait(30) else 500) as endpoint,
            listening(project, "--timeout", "0.5", "--forward-to", endpoint.url) as listen,
        ):
            answer = post(listen.url, notification())
            go_on.set()
        assert (504, "the endpoint: no answer within 0.5 s") == answer

    def test_a_body_that_cannot_be_read(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """Is told as that; the endpoint decides."""
        with listening(project, "--forward-to", endpoint.url) as listen:
            assert 200 == post(listen.url, b"\xff").status
            (told,) = listen.wait_told(1)
        assert (None, "the body is not UTF-8 (byte 0)") == (told["notification"], told["problem"])

    def test_the_service_retries_what_the_endpoint_refused(self, project: Project) -> None:
        """Three times, each told as a delivery of the same notification and marked as one in the file."""
        statuses = iter([500, 404, 503, 200])
        with (
            Sandbox(retry_interval=0.1) as sandbox,
            RecordingEndpoint(lambda _: next(statuses)) as endpoint,
            listening(project, "--record", "r.jsonl", "--forward-to", endpoint.url) as listen,
        ):
            sandbox.world.commit_subscription("europe/staging", ("ONB10011",), f"{listen.url}/offers")
            assert 1 == sandbox.deliveries.trigger("ONB10011")
            told = listen.wait_told(4)
            assert sandbox.deliveries.wait_idle(20)
        assert [(1, 500), (2, 404), (3, 503), (4, 200)] == [(one["delivery"], one["status"]) for one in told]
        assert [500, 404, 503, 200] == [one.status for one in sandbox.world.delivery_attempts]
        assert [False, True, True, True] == [one.duplicate for one in captured_in(project.path / "r.jsonl")]

    def test_failing_first(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """What fails on purpose does not reach the endpoint."""
        with listening(project, "--fail-first", "1", "--forward-to", endpoint.url) as listen:
            assert [503, 200] == [post(listen.url, notification()).status for _ in range(2)]
        assert 1 == len(endpoint.arrived)


class TestRefused:
    """What cannot be meant."""

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (["http://hooks.example/a"], "--forward-to: http is allowed for loopback addresses only"),
            (["ftp://127.0.0.1"], "--forward-to: expected an http or https URL"),
            (["http://u:p@127.0.0.1"], "--forward-to: expected an http or https URL"),
            (["http://127.0.0.1:x"], "--forward-to: expected an http or https URL"),
            (["http://127.0.0.1:9/#a"], "--forward-to: expected an http or https URL"),
            ([""], "--forward-to: expected an http or https URL"),
            (["http://127.0.0.1:9", "--respond", "200"], "use either --forward-to or --respond"),
        ],
    )
    def test_urls(self, project: Project, arguments: list[str], problem: str) -> None:
        """Are refused before anything is listened to."""
        done = project.run("listen", "--forward-to", *arguments)
        assert (1, "") == (done.code, done.out)
        assert problem in done.err


class Sender:
    """Posts each notification until it is confirmed, as a patient service would."""

    def __init__(self, url: Callable[[], str]) -> None:
        self._url = url

    def __call__(self, number: int) -> None:
        body = b'{"EventCode": "ONB10011", "Message": "\xff%d", "EventProperties": {}}' % number
        while True:
            try:
                if post(f"{self._url()}/{number}", body, {"X-Number": f"{number}"}).status == 200:
                    return
            except (OSError, HTTPException):
                pass


def killed_while_passing_on(project: Project, count: int, kills: int) -> tuple[list[Arrived], list[bytes]]:
    """Send so many notifications through a `listen` that is killed again and again: what arrived, and what was kept."""
    port = str(free_port())
    with RecordingEndpoint() as endpoint, ThreadPoolExecutor(8) as senders:
        sending = [senders.submit(Sender(lambda: f"http://127.0.0.1:{port}"), number) for number in range(count)]
        arguments = ("--port", port, "--record", "r.jsonl", "--forward-to", endpoint.url)
        for number in range(kills):
            with listening(project, *arguments) as listen:
                enough = count * (number + 1) // (kills + 1)
                wait_until(partial(len, endpoint.arrived), partial(le, enough), 300)
                os.kill(listen.process.pid, signal.SIGKILL)
                listen.process.wait()
        with listening(project, *arguments):
            done = [one.result(600) for one in sending]
        assert count == len(done)
        return endpoint.arrived, [one.body for one in captured_in(project.path / "r.jsonl")]


@pytest.mark.parametrize(("count", "kills"), [(300, 3), pytest.param(10_000, 20, marks=pytest.mark.soak)])
@pytest.mark.timeout(1200)
def test_none_is_lost_when_it_is_killed(project: Project, count: int, kills: int) -> None:
    """Each arrives and is kept, whole, whenever `listen` is killed; what arrived twice was delivered twice."""
    arrived, kept = killed_while_passing_on(project, count, kills)
    sent = {b"%d" % number: b'{"EventCode": "ONB10011", "Message": "\xff%d", "EventProperties": {}}' % number
            for number in range(count)}  # fmt: skip
    assert set(sent.items()) == {(one.header("x-number"), one.body) for one in arrived}
    assert set(sent.values()) == set(kept)
