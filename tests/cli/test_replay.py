"""`reconciler replay`: what is sent again, to the byte, what is selected, and how it ends."""

from __future__ import annotations

import hmac
import json
import os
import shlex
import signal
import subprocess
from base64 import b64encode
from functools import partial
from operator import le
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from support.notified import listening, notification, post, talk, wait_until
from support.project import EXECUTABLE, end
from support.recording_endpoint import Arrived, RecordingEndpoint

from reconciler.receiver.captured import Captured, captured_in, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.project import Project

KEY = b"sesame"
SIGNED = "verification: {header: X-Signature, algorithm: hmac-sha256, prefix: 'sha256='}\n"


@pytest.fixture
def endpoint() -> Iterator[RecordingEndpoint]:
    """The partner's own endpoint."""
    with RecordingEndpoint() as one:
        yield one


def capture(project: Project, *captured: Captured) -> None:
    """Write a file of captured requests."""
    (project.path / "r.jsonl").write_bytes(b"".join(map(line_of, captured)))


def some(count: int, **fields: Any) -> list[Captured]:
    """So many captured notifications, each at a path, a time and with a code of its own."""
    return [
        Captured(f"2026-01-0{n}T12:00:00Z", notification(f"ONB1000{n}"), f"/{n}", None, {"X-Number": f"{n}"}, **fields)
        for n in range(1, count + 1)
    ]


def numbers(endpoint: RecordingEndpoint) -> list[int]:
    """Which of `some` arrived, in order."""
    return [int(one.header("x-number") or 0) for one in endpoint.arrived]


class TestSending:
    """What is sent."""

    def test_to_the_byte(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """What `listen` has kept arrives as it came: bodies, and the headers in order, case and number."""
        bodies = [notification(), b'{"a": "\xe2\x80\xa8\\u0000"}\r\n', b"{}" + b" " * 1_000_000]
        with listening(project, "--record", "r.jsonl") as listen:
            port = int(listen.url.rpartition(":")[2])
            for number, body in enumerate(bodies):
                headers = [
                    (b"x-a", b"1"), (b"CONTENT-type", b"\xe4; x"), (b"X-A", b"2"),
                    (b"Content-Length", b"%d" % len(body)),
                ]  # fmt: skip
                head = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
                request = b"POST /%d?c HTTP/1.1\r\nHost: a.example\r\nCookie: a\r\n%s\r\n%s" % (number, head, body)
                assert b" 200 " in talk(port, request, half_close=True)
        done = project.run_fork("replay", "r.jsonl", "--to", endpoint.url)
        assert (0, "") == (done.code, done.err)
        assert bodies == [one.body for one in endpoint.arrived]
        assert [b"POST /%d?c HTTP/1.1" % number for number in range(3)] == [one.line for one in endpoint.arrived]
        for arrived, body in zip(endpoint.arrived, bodies, strict=True):
            length = (b"Content-Length", b"%d" % len(body))
            assert [(b"x-a", b"1"), (b"CONTENT-type", b"\xe4; x"), (b"X-A", b"2"), length] == arrived.end_to_end

    def test_what_is_told(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """Line, time, code, path and answer of each, and how many."""
        capture(project, *some(2))
        done = project.run_fork("replay", "r.jsonl", "--to", f"127.0.0.1:{endpoint.port}/hooks")
        first, second, last = done.out.splitlines()
        assert first.startswith("line 1  2026-01-01T12:00:00Z  ONB10001  /1  200 in ")
        assert second.startswith("line 2  2026-01-02T12:00:00Z  ONB10002  /2  200 in ")
        assert last == "2 notifications sent, 2 answered with 2xx."
        assert [b"POST /hooks HTTP/1.1"] * 2 == [one.line for one in endpoint.arrived]

    def test_hostile_text_is_shown_as_text(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """A path and a code from elsewhere move no cursor."""
        capture(project, Captured("\x1b[2J", notification("\x1b[31m"), "/\x9b2J", None, {"X\x1b": "\x00"}))
        done = project.run_fork("replay", "r.jsonl", "--to", endpoint.url)
        assert "\x1b" not in done.out + done.err
        assert "\x9b" not in done.out + done.err

    def test_dry_run(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """Shows what would be sent."""
        capture(project, *some(2))
        done = project.step("replay", "r.jsonl", "--to", endpoint.url, "--dry-run")
        assert "2 notifications to send, none sent." == done.out.splitlines()[-1]
        assert [] == endpoint.arrived


class TestSelecting:
    """What is sent again, of what there is."""

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ([], [1, 2, 3, 4, 5]),
            (["--line", "2"], [2]),
            (["--line", "4-", "--line", "1-2"], [1, 2, 4, 5]),
            (["--code", "ONB10003", "--code", "ONB10005"], [3, 5]),
            (["--since", "2026-01-02", "--until", "2026-01-04T14:00:00+02:00"], [2, 3, 4]),
            (["--since", "2026-01-02T12:00:01Z"], [3, 4, 5]),
            (["--line", "2-4", "--code", "ONB10003"], [3]),
        ],
    )
    def test_by(self, project: Project, endpoint: RecordingEndpoint, options: list[str], expected: list[int]) -> None:
        """Line, event code and time; what is selected by several options is selected by each."""
        capture(project, *some(5))
        project.step("replay", "r.jsonl", "--to", endpoint.url, *options)
        assert expected == numbers(endpoint)

    def test_retries_and_refused_ones(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """Are sent only with --all."""
        plain, retry, refused = some(3)
        capture(
            project, plain, Captured(retry.at, retry.body, "/", None, retry.headers, None, duplicate=True),
            Captured(refused.at, refused.body, "/", None, refused.headers, verified=False, confirmed=False),
        )  # fmt: skip
        project.step("replay", "r.jsonl", "--to", endpoint.url)
        assert [1] == numbers(endpoint)
        project.step("replay", "r.jsonl", "--to", endpoint.url, "--all")
        assert [1, 1, 2, 3] == numbers(endpoint)

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (["--line", "9"], "no notification is selected"),
            (["--line", "0"], "--line 0: expected a line number or a range"),
            (["--line", "3-2"], "--line 3-2: expected a line number or a range"),
            (["--since", "yesterday"], "--since yesterday: expected a time in ISO 8601"),
            (["--sign-with", "nowhere"], "--sign-with nowhere: cannot be read: No such file"),
            (["--to", "http://hooks.example"], "--to: http is allowed for loopback addresses only"),
        ],
    )
    def test_what_cannot_be_meant(
        self, project: Project, endpoint: RecordingEndpoint, options: list[str], problem: str
    ) -> None:
        """Is refused before anything is sent."""
        project.declare({})
        project.write("config/v.yaml", SIGNED)
        capture(project, *some(2))
        done = project.run_fork("replay", "r.jsonl", "--to", endpoint.url, *options)
        assert (1, []) == (done.code, endpoint.arrived)
        assert problem in done.err

    def test_a_damaged_line(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """Ends it, and is named; one that is still being written is only warned of."""
        first, second = map(line_of, some(2))
        (project.path / "r.jsonl").write_bytes(first + b"nonsense\n" + second)
        done = project.run_fork("replay", "r.jsonl", "--to", endpoint.url)
        assert (1, [1]) == (done.code, numbers(endpoint))
        assert "r.jsonl:2: invalid captured request: not a JSON object" in done.err
        (project.path / "r.jsonl").write_bytes(first + second[:20])
        done = project.run_fork("replay", "r.jsonl", "--to", endpoint.url)
        assert (0, [1, 1]) == (done.code, numbers(endpoint))
        assert "ignored an incomplete last line" in done.err


class TestSigning:
    """With the secret of another subscription, of the sandbox for instance."""

    def sign(self, body: bytes, *content: bytes) -> bytes:
        """The value of the header."""
        return f"sha256={hmac.digest(KEY, b''.join(content) or body, 'sha256').hex()}".encode()

    def test_replaces_the_signature(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """Where it was; one that was missing comes last. The secret is on standard input, as `secret show` gives it."""
        project.declare({})
        project.write("config/v.yaml", SIGNED)
        body = notification()
        capture(
            project,
            Captured("t", body, headers={"a": "1", "x-SIGNATURE": "sha256=00", "b": "2"}),
            Captured("t", body, headers={"a": "1"}),
        )
        done = project.run_fork(
            "replay", "r.jsonl", "--to", endpoint.url, "--sign-with", "-", stdin=f"{KEY.decode()}\n"
        )
        assert 0 == done.code
        signature = self.sign(body)
        first, second = ([pair for pair in one.end_to_end if pair[0] != b"Content-Length"] for one in endpoint.arrived)
        assert [(b"a", b"1"), (b"x-SIGNATURE", signature), (b"b", b"2")] == first
        assert [(b"a", b"1"), (b"X-Signature", signature)] == second
        assert KEY.decode() not in done.out + done.err

    def test_keeps_what_else_is_in_the_header(self, project: Project, endpoint: RecordingEndpoint) -> None:
        """A time beside the signature, and the header that is signed with the body."""
        project.declare({})
        scheme = (
            "header: X-Sig, algorithm: hmac-sha512, prefix: 'v1=', encoding: base64, content: '{header:X-Time}.{body}'"
        )
        project.write("config/v.yaml", f"verification: {{{scheme}}}\n")
        (project.path / "secret").write_bytes(KEY + b"\n")
        headers = {"X-Sig": "t=7,v1=b2xk,v0=AA==", "X-Time": "7"}
        capture(
            project, Captured("t", notification(), headers=headers), Captured("t", b"{}", headers={"X-Sig": "v1=x"})
        )
        done = project.run_fork("replay", "r.jsonl", "--to", endpoint.url, "--sign-with", "secret")
        (arrived,) = endpoint.arrived
        expected = subprocess.run(
            ["openssl", "dgst", "-sha512", "-hmac", KEY, "-binary"], input=b"7." + notification(), stdout=-1, check=True
        ).stdout
        assert b"t=7,v1=" + b64encode(expected) + b",v0=AA==" == arrived.header("x-sig")
        assert (1, True) == (done.code, "r.jsonl:2: a header that is part of the signed content is missing" in done.err)

    @pytest.mark.parametrize(
        ("config", "secret", "problem"),
        [("", "a", "config/ has no `verification:` section"), (SIGNED, "\n", "expected a secret in the key_encoding")],
    )
    def test_without_scheme_or_secret(self, project: Project, config: str, secret: str, problem: str) -> None:
        """It says what is missing."""
        project.declare({})
        project.write("config/v.yaml", config)
        capture(project, *some(1))
        done = project.run_fork("replay", "r.jsonl", "--to", "http://127.0.0.1:9", "--sign-with", "-", stdin=secret)
        assert (1, True) == (done.code, problem in done.err)


class TestEnding:
    """Exit codes, and how to go on."""

    def test_some_are_refused(self, project: Project) -> None:
        """The others are sent all the same; the command that sends those again is named, and works."""
        refused = {2, 3, 5}
        capture(project, *some(5))
        with RecordingEndpoint(lambda one: 500 if int(one.header("x-number") or 0) in refused else 204) as endpoint:
            done = project.run_fork("replay", "r.jsonl", "--to", endpoint.url, "--since", "2026-01-01")
            assert [1, 2, 3, 4, 5] == numbers(endpoint)
            assert (1, "5 notifications sent, 2 answered with 2xx.") == (done.code, done.out.splitlines()[-1])
            assert "3 notifications not answered with 2xx" in done.err
            again = shlex.split(done.err.partition("run:\n")[2].splitlines()[0])
            assert again[-4:] == ["--line", "2-3", "--line", "5"]
            refused.clear()
            project.step(*again[1:])
            assert [2, 3, 5] == numbers(endpoint)[5:]

    def test_nobody_answers(self, project: Project) -> None:
        """Each is told with what is wrong, and none with a traceback."""
        capture(project, *some(2))
        done = project.run_fork("replay", "r.jsonl", "--to", "127.0.0.1:9")
        assert (1, 2) == (done.code, done.out.count("no answer: Connection refused"))
        assert "Traceback" not in done.err

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_interrupted(self, project: Project, number: signal.Signals, code: int) -> None:
        """The command that continues with what may not have arrived is named, and works."""
        reached, go_on = Event(), Event()

        def answer(arrived: Arrived) -> int:
            if arrived.header("x-number") == b"3" and not go_on.is_set():
                reached.set()
                go_on.wait(30)
            return 200

        capture(project, *some(5))
        with RecordingEndpoint(answer) as endpoint:
            arguments = ("replay", "r.jsonl", "--to", endpoint.url, "--line", "2-4")
            process = project.start(*arguments)
            assert reached.wait(30)
            done = end(process, number)
            go_on.set()
            assert code == done.code
            assert "Line 3 may have been sent; to continue with it, run:\n" in done.err
            again = shlex.split(done.err.partition("run:\n")[2].splitlines()[0])
            project.step(*again[1:])
            assert [2, 3, 3, 4] == numbers(endpoint)


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.soak)])
@pytest.mark.timeout(1200)
def test_a_long_file(project: Project, endpoint: RecordingEndpoint, count: int) -> None:
    """Is sent in order and whole, also when it is killed and continued after what it told last."""
    bodies = [
        json.dumps({"EventCode": "ONB10011", "n": number, "x": "\xe4" * 2000}).encode() for number in range(count)
    ]
    (project.path / "r.jsonl").write_bytes(
        b"".join(line_of(Captured("t", body, headers={"X-Number": f"{n}"})) for n, body in enumerate(bodies, 1))
    )
    arguments = [str(EXECUTABLE), "replay", "r.jsonl", "--to", endpoint.url]
    out = project.path / "out"
    with out.open("wb") as stdout:
        process = subprocess.Popen(arguments, cwd=project.path, env=project.variables(), stdout=stdout)
        wait_until(lambda: len(endpoint.arrived), lambda arrived: arrived >= count // 3, 300)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    told = [line.split()[1] for line in out.read_text().splitlines() if line.endswith(" ms")]
    done = project.run_fork("replay", "r.jsonl", "--to", endpoint.url, "--line", f"{int(told[-1]) + 1}-")
    assert 0 == done.code
    by_number = {int(one.header("x-number") or 0): one.body for one in endpoint.arrived}
    assert dict(enumerate(bodies, 1)) == by_number
    assert numbers(endpoint) == sorted(numbers(endpoint))
    assert len(endpoint.arrived) <= count + 1


def test_a_file_is_not_read_ahead(project: Project, endpoint: RecordingEndpoint) -> None:
    """A notification is sent before the next one has to be there: of a long file, one line is in memory at a time."""
    os.mkfifo(project.path / "r.jsonl")
    process = project.start("replay", "r.jsonl", "--to", endpoint.url)
    with (project.path / "r.jsonl").open("wb", buffering=0) as file:
        for number, captured in enumerate(some(3), 1):
            file.write(line_of(captured)[:-1].ljust(70_000) + b"\n")  # more than is read at once
            assert number == wait_until(partial(len, endpoint.arrived), partial(le, number))
    process.communicate(timeout=30)


def test_what_a_listen_passed_on_and_the_endpoint_missed(project: Project) -> None:
    """Is replayed once the endpoint is there."""
    with listening(project, "--record", "r.jsonl", "--forward-to", "127.0.0.1:9") as listen:
        assert 502 == post(listen.url, notification()).status
        assert 502 == post(listen.url, notification()).status
    assert 2 == len(list(captured_in(project.path / "r.jsonl")))
    with RecordingEndpoint() as endpoint:
        project.step("replay", "r.jsonl", "--to", endpoint.url)
    assert [notification()] == [one.body for one in endpoint.arrived]
