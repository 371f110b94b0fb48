"""The receiver as a function: what is answered, what is kept, what is reported."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Barrier

import pytest
from support.late_locks import during_the_wait
from support.notified import notification
from support.refusals import raised

from reconciler.errors import SettingsError
from reconciler.http_messages import Request, Response
from reconciler.notifications.captured import Captured, line_of, parse_line, read_captured
from reconciler.receiver import capture_file
from reconciler.receiver import receiver as module
from reconciler.receiver.capture_file import CaptureFile
from reconciler.receiver.receiver import Behaviour, Delivery, Receiver, Refusal

BAD = Refusal(401, "bad signature")


class Bench:
    """A receiver whose file is a list, and which can be told to fail."""

    def __init__(self, how: Behaviour | None = None, refusal: Refusal | None = None, *, checks: bool = False) -> None:
        self.lines: list[bytes] = []
        self.reported: list[Delivery] = []
        self.waits: list[float] = []
        self.problem: OSError | None = None
        self.refusal = refusal
        check = (lambda _: self.refusal) if checks or refusal else None
        self.receiver = Receiver(self._save, self.reported.append, how, check, self.waits.append, lambda: 0.0)

    def _save(self, line: bytes) -> None:
        if self.problem:
            raise self.problem
        self.lines.append(line)

    def send(self, body: bytes = notification(), target: str = "/offers", method: str = "POST") -> int:
        headers = (("Host", "a.example"), ("X-A", "b"))
        self.answer = self.receiver.handle(Request(method, target, headers, body))
        told = self.reported[-1]
        assert (method, target, body) == (told.method, told.request.path, told.request.body)
        return self.answer.status

    @property
    def kept(self) -> list[Captured]:
        """What was saved."""
        return [parse_line(line, "here") for line in self.lines]


def test_notification_is_kept_and_confirmed() -> None:
    """The line has all of it; the report has the number of the delivery."""
    bench = Bench()
    assert 200 == bench.send(target="/offers?a=b")
    (captured,) = bench.kept
    assert ("1970-01-01T00:00:00Z", "ONB10011", "/offers?a=b", "http://a.example/offers?a=b", None) == (
        captured.at, captured.code, captured.path, captured.url, captured.verified
    )  # fmt: skip
    assert (notification(), ("X-A", "b")) == (captured.body, captured.headers[1])
    (delivery,) = bench.reported
    assert (200, 1, None) == (delivery.status, delivery.number, delivery.problem)


def test_repeated_delivery_is_named() -> None:
    """The same body at the same path is another delivery; at another path it is another notification."""
    bench = Bench()
    for target in ("/a", "/a", "/a?b"):
        bench.send(target=target)
    bench.send(notification(Other=1), "/b")
    assert [1, 2, 1, 1] == [delivery.number for delivery in bench.reported]
    later = Bench()
    later.receiver.remember(bench.kept)
    later.send(target="/a")
    assert 3 == later.reported[0].number


def test_url_behind_a_tunnel() -> None:
    """A tunnel says in X-Forwarded-Proto that it was called with https; without a host there is no URL."""
    bench = Bench()
    for headers in (*((("Host", "t.example"), ("X-Forwarded-Proto", proto)) for proto in ("https", "file")), ()):
        bench.receiver.handle(Request("POST", "/a", headers, b"{}"))
    assert ["https://t.example/a", "http://t.example/a", None] == [captured.url for captured in bench.kept]


def test_values_print_no_secret() -> None:
    """Neither headers nor bodies stand in what is printed of requests, responses and notifications."""
    headers = (("Authorization", "Bearer s3cret"),)
    for value in (
        Request("POST", "/", headers, b"s3cret"),
        Response(200, b"s3cret"),
        Captured("", "", "/", body=b"s3cret", headers=headers),
    ):
        assert "s3cret" not in repr(value)


def test_not_confirmed_unless_on_disk() -> None:
    """A notification that cannot be saved is a 503, so that the service delivers it again."""
    bench = Bench()
    for bench.problem in (OSError(errno.ENOSPC, "full"), TimeoutError()):
        assert 503 == bench.send()
    told = [(delivery.number, delivery.problem) for delivery in bench.reported]
    assert [(n, f"could not save the notification: {why}") for n, why in ((1, "full"), (2, "TimeoutError"))] == told


def test_fail_first() -> None:
    """The first deliveries of each notification fail and are not kept, also where signatures are only reported."""
    bench = Bench(Behaviour(fail_first=2, enforce=False), BAD)
    assert [503, 503, 200] == [bench.send() for _ in range(3)]
    assert 503 == bench.send(b'{"EventCode": "other"}')
    assert [1, 2, 3, 1] == [delivery.number for delivery in bench.reported]
    assert (1, [False, True]) == (len(bench.lines), [BAD.text == each.problem for each in bench.reported[1:3]])


def test_status_and_delay() -> None:
    """Another status is given after a delay; what is not confirmed is not kept."""
    bench = Bench(Behaviour(status=300, delay=2.5, enforce=False), BAD)
    assert ([300] * 2, [2.5] * 2, []) == ([bench.send(), bench.send()], bench.waits, bench.lines)
    bench = Bench(Behaviour(status=204))
    assert (204, 1) == (bench.send(), len(bench.lines))


def test_what_came_lately_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more notifications than are remembered, the one that has not come for the longest time is forgotten."""
    monkeypatch.setattr(module, "_REMEMBERED", 2)
    bench = Bench()
    for target in "abacab":
        bench.send(target=f"/{target}")
    assert [1, 1, 2, 1, 3, 1] == [delivery.number for delivery in bench.reported]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b"\xef\xbb\xbf{}", b'{"a": NaN}', b"[" * 100_000], ids=range(7)
)
def test_unreadable_body(body: bytes) -> None:
    """It is a 400 that says why, and is not kept."""
    bench = Bench()
    assert (400, []) == (bench.send(body), bench.lines)
    assert ("empty" in str(bench.reported[0].problem)) is (not body)
    assert 200 == bench.send(b'{"n": ' + b"7" * 5000 + b"}")  # more digits than an int is made of


def test_other_methods_and_unread_requests() -> None:
    """Only POST delivers; what the shell could not read is answered as it says."""
    bench = Bench()
    response = bench.receiver.handle(Request("PUT", "/", ()))
    headers = (("Content-Type", "text/plain; charset=utf-8"), ("Allow", "POST"))
    assert (405, headers, "PUT") == (response.status, response.headers, bench.reported[0].method)
    refused = bench.receiver.handle(Request(problem=Response(413, b"too large\n")))
    assert (413, response.headers[:1], b"too large\n") == (refused.status, refused.headers, refused.body)
    assert "too large" == bench.reported[1].problem


# With a check of signatures.


@pytest.mark.parametrize(("refusal", "enforce", "body", "status", "verified"), [
    (None, True, notification(), 200, [True]), (BAD, True, notification(), 401, [False]),
    (BAD, True, b"nonsense", 401, []), (BAD, True, b"", 401, []), (BAD, True, b"{}", 401, [False]),
    (BAD, False, notification(), 200, [False]),
    (Refusal(404, "no subscription has this path"), True, notification(), 404, []),
    (Refusal(404, "no subscription has this path"), False, notification(), 404, []),
])  # fmt: skip
def test_what_is_kept(refusal: Refusal | None, enforce: bool, body: bytes, status: int, verified: list[bool]) -> None:
    """What is verified, or might be; of an unknown path nothing is, nor nonsense, which proves nothing."""
    bench = Bench(Behaviour(enforce=enforce), refusal, checks=True)
    assert (status, verified) == (bench.send(body), [kept.verified for kept in bench.kept])
    told = refusal.text if refusal else None
    assert (told, f"{told}\n".encode() if told else b"") == (bench.reported[0].problem, bench.answer.body)


@pytest.mark.parametrize(("enforce", "numbers"), [(True, [None, 1]), (False, [1, 2])])
def test_bad_signature(enforce: bool, numbers: list[int | None]) -> None:
    """It does not count as a delivery, unless it is only reported."""
    bench = Bench(Behaviour(enforce=enforce), BAD)
    bench.send()
    bench.refusal = None
    bench.send()
    assert numbers == [delivery.number for delivery in bench.reported]


def test_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unverified notifications are kept within a budget, over runs, and are no deliveries; verified ones always."""
    bench = Bench(refusal=BAD)
    bench.send()
    monkeypatch.setattr(module, "UNVERIFIED_BUDGET", len(bench.lines[0]) * 2)
    assert [401] * 4 == [bench.send() for _ in range(4)]
    assert 2 == len(bench.lines)
    monkeypatch.setattr(module, "UNVERIFIED_BUDGET", len(bench.lines[0]) * 3 - 1)
    later = Bench(refusal=BAD)
    later.receiver.remember(bench.kept)
    assert (401, []) == (later.send(), later.lines)
    later.refusal = None
    assert (200, 1, 1) == (later.send(), len(later.lines), later.reported[-1].number)


def test_budget_when_not_enforced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not kept is not confirmed; what is not checked is always kept."""
    monkeypatch.setattr(module, "UNVERIFIED_BUDGET", 0)
    assert (503, 200) == (Bench(Behaviour(enforce=False), BAD).send(), Bench().send())


@pytest.mark.parametrize(("method", "problem", "asked"), [("POST", None, 1), ("GET", None, 0), ("POST", 400, 0)])
def test_only_what_may_be_a_notification_is_checked(method: str, problem: int | None, asked: int) -> None:
    """Of anything else nothing is said."""
    checked: list[Request] = []
    reported: list[Delivery] = []
    receiver = Receiver(lambda _: None, reported.append, None, checked.append)
    receiver.handle(Request(method, "/", (), b"{}", Response(problem, b"bad\n") if problem else None))
    assert (len(checked), reported[0].request.verified) == (asked, True if asked else None)


def test_a_refused_notification_that_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are said; for the budget only what is on the disk counts."""
    bench = Bench(refusal=BAD)
    bench.send()
    monkeypatch.setattr(module, "UNVERIFIED_BUDGET", len(bench.lines[0]) * 2)
    for bench.problem in (OSError(errno.ENOSPC, "no space"), None):
        bench.send()
    told = [BAD.text, f"{BAD.text}; could not save the notification: no space", BAD.text]
    assert (told, 2) == ([delivery.problem for delivery in bench.reported], len(bench.lines))


class TestFile:
    """The file that they are kept in."""

    @pytest.fixture(autouse=True)
    def _nothing_is_left_open(self) -> Iterator[None]:
        """Neither after a file is closed nor if it is refused."""
        before = [*Path("/proc/self/fd").iterdir()]
        yield
        assert before == [*Path("/proc/self/fd").iterdir()]

    def test_appends(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Lines are appended, by several processes, for the owner only, and the name of the file is on the disk."""
        file, synced = tmp_path / "n.jsonl", list[Path]()
        monkeypatch.setattr(capture_file, "sync_directory", synced.append)
        first, second = CaptureFile(file), CaptureFile(file)
        for number, captures in enumerate((first, second, first)):
            captures.append(line_of(Captured("2026-01-01T00:00:00Z", f"C{number}", "/")))
        first.close()
        second.close()
        assert ["C0", "C1", "C2"] == [captured.code for captured in read_captured(file)]
        assert (0o600, [tmp_path] * 2) == (file.stat().st_mode & 0o777, synced)

    def test_appends_behind_what_was_written_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing that another process has appended is written over."""
        file = tmp_path / "n.jsonl"
        first, second = CaptureFile(file), CaptureFile(file)
        during_the_wait(monkeypatch, capture_file, "lock", lambda: second.append(b'{"their": 1}\n'))
        first.append(b"{}\n")
        first.close()
        second.close()
        assert b'{"their": 1}\n{}\n' == file.read_bytes()

    def test_torn_line_is_cut_off(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The next append removes it."""
        file = tmp_path / "n.jsonl"
        line = line_of(Captured("2026-01-01T00:00:00Z", "C", "/"))
        monkeypatch.setattr(capture_file, "LINE_LIMIT", len(line) * 2 + 9)
        for whole, torn in ((b"", line[:9]), (line, line[:9]), (line * 3, line[:9]), (line, line[:1])):
            file.write_bytes(whole + torn)
            captures = CaptureFile(file)
            captures.append(b"{}\n")
            captures.close()
            assert whole + b"{}\n" == file.read_bytes()

    @pytest.mark.parametrize("failing", [1, 2])
    def test_failed_write_of_many(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
        """Of lines appended at once, the error is raised for each that is not in the file, and for no other."""
        captures, here, writes, sync = CaptureFile(tmp_path / "n.jsonl"), Barrier(8), count(1), os.fsync

        def write(descriptor: int) -> None:
            number = next(writes)
            if number == 1:
                time.sleep(0.1)  # meanwhile the other lines gather
            if number == failing:
                raise OSError(errno.ENOSPC, "full")
            sync(descriptor)

        def append(line: bytes) -> bool:
            here.wait()
            try:
                captures.append(line)
            except OSError:
                return False
            return True

        monkeypatch.setattr(os, "fsync", write)
        lines = [b"%d\n" % number for number in range(8)]
        with ThreadPoolExecutor(8) as threads:
            appended = [line for line, is_there in zip(lines, threads.map(append, lines), strict=True) if is_there]
        captures.close()
        assert sorted(appended) == sorted(captures.path.read_bytes().splitlines(keepends=True))
        assert len(appended) < 8

    @pytest.mark.parametrize("contents", [b"text", b"text\n", b"{}" + b" " * 70_000 + b"\n", b"\n{}\n"], ids=range(4))
    def test_other_contents(self, tmp_path: Path, contents: bytes) -> None:
        """A file with other contents is refused, and left as it is."""
        file = tmp_path / "n.jsonl"
        file.write_bytes(contents)
        with pytest.raises(SettingsError):
            CaptureFile(file)
        assert contents == file.read_bytes()

    def test_no_file(self, tmp_path: Path) -> None:
        """A directory, a device and a missing directory are refused."""
        for path in (tmp_path, tmp_path / "missing" / "n.jsonl", Path("/dev/null")):
            message = raised(SettingsError, CaptureFile, path)
            name = "other-contents" if path == Path("/dev/null") else "unwritable-capture"
            assert (name, str(path)) == (message.name, message.where)
