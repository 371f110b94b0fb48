"""`listen`, and `signature detect`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from support.memory_project import MemoryProject, desired_of, unknown
from support.notified import notification, post
from support.refusals import raised
from support.sandbox_client import STAGING

from reconciler.errors import Message, Refused, SettingsError
from reconciler.http_messages import Request
from reconciler.model.desired import Verification
from reconciler.model.record import Status
from reconciler.notifications.captured import Captured, read_captured
from reconciler.notifications.signatures import sign
from reconciler.operations import listening as operation
from reconciler.operations.listening import Listening, SignatureCheck, detect_signature
from reconciler.operations.observing import observed
from reconciler.receiver.receiver import Behaviour
from reconciler.record.statements import Begin

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

SCHEME = Verification("X-Signature", "hmac-sha256", "sha256=")
TEMPLATE = "https://hooks.partner.example/offers/{attempt}"
TARGET = "/offers/" + "0" * 32


def signed(body: bytes, secret: bytes = b"s3cret") -> tuple[tuple[str, str], ...]:
    """Return the headers of a signed request."""
    return (("X-Signature", sign(SCHEME, secret, [], body)),)


class TestSignatureCheck:
    """Which requests `listen --verify` refuses."""

    def test_answers(self) -> None:
        """404 for a path of no subscription, 401 for another's secret, none for a right one."""
        known = {TEMPLATE: [b"s3cret"], "https://hooks.partner.example/loans": [b"other"]}
        check = SignatureCheck(SCHEME, lambda: known)
        body = notification()

        def judge(target: str) -> int | None:
            refusal = check(Request("POST", target, signed(body), body))
            return refusal.status if refusal else None

        assert [None, 401, 404, 404] == [judge(target) for target in (TARGET, "/loans", "/offers/1", "/")]

    def test_one_path_on_several_hosts(self) -> None:
        """Where the templates of several subscriptions fit a path, the secret of each of them signs for it."""
        fitting = (TEMPLATE, TEMPLATE.replace("hooks", "staging"), TEMPLATE.replace("{attempt}", "0" * 32))
        known = {template: [f"{number}a".encode(), f"{number}b".encode()] for number, template in enumerate(fitting)}
        check = SignatureCheck(SCHEME, lambda: known | {"https://hooks.partner.example/loans": [b"other"]})
        secrets = [secret for some in known.values() for secret in some]
        refusals = [check(Request("POST", TARGET, signed(b"{}", secret), b"{}")) for secret in (*secrets, b"other")]
        assert [None] * 6 + [401] == [refusal and refusal.status for refusal in refusals]

    def test_reads_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """After a refusal what is known is read again, at most every two seconds."""
        known: list[dict[str, list[bytes]]] = [{}, {TEMPLATE: [b"s3cret"]}]
        check = SignatureCheck(SCHEME, lambda: known.pop(0))
        request = Request("POST", TARGET, signed(b"{}"), b"{}")
        assert check(request) is not None
        monkeypatch.setattr(operation, "_REREAD_SECONDS", 0.0)
        assert check(request) is None

    def test_record_that_cannot_be_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was known goes on to count, and there is a warning."""
        monkeypatch.setattr(operation, "_REREAD_SECONDS", 0.0)
        warnings: list[Message] = []
        answers: list[Callable[[], dict[str, list[bytes]]]] = [dict]

        def read() -> dict[str, list[bytes]]:
            if answers:
                return answers.pop()()
            raise Refused(Message("unreadable", "no record"))

        check = SignatureCheck(SCHEME, read, warnings.append)
        refusal = check(Request("POST", TARGET, (), b"{}"))
        assert (404, ["unreadable"]) == (refusal and refusal.status, [message.name for message in warnings])


class TestListening:
    """`listen`."""

    def test_listens(self, tmp_path: Path) -> None:
        """What is confirmed is in the file and reported; after a restart, a repeated delivery is recognised."""
        with Listening(0, None, tmp_path / "data") as first:
            assert 200 == post(f"{first.url}/offers", notification()).status
            assert 1 == next(first.deliveries()).number
            assert tmp_path / "data" / "notifications.jsonl" == first.file
        with Listening(0, first.file, tmp_path / "data", Behaviour(status=204)) as second:
            assert 204 == post(f"{second.url}/offers", notification()).status
        assert [2] == [delivery.number for delivery in second.rest()]
        assert ["ONB10011"] * 2 == [captured.code for captured in read_captured(first.file)]

    def test_forged_notification_proves_nothing(self, tmp_path: Path) -> None:
        """What `listen --record` kept without a valid signature settles no unknown create; a signed one does."""
        attempt, template, body = "0" * 32, "http://127.0.0.1/offers/{attempt}", notification()
        project = MemoryProject({}, desired_of(verification=SCHEME))
        project.say(Begin(complete=True))
        project.add(
            *unknown(attempt, f"{STAGING}/offers", url=template.replace("{attempt}", attempt), template=template)
        )
        project.clock = time.time()
        check, file = SignatureCheck(SCHEME, lambda: {template: [b"s3cret"]}), tmp_path / "n"
        for secret, answer, status in ((b"guessed", 401, Status.UNKNOWN), (b"s3cret", 200, Status.LIVE)):
            with Listening(0, file, tmp_path, check=check) as listening:
                headers = dict(signed(body, secret))
                assert answer == post(f"{listening.url}/offers/{attempt}", body, headers).status
            project.say(observed(project, str(file)))
            assert status is project.record_at().attempts[attempt].status

    def test_nobody_takes_the_deliveries(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """They are dropped, and counted, rather than have the sender wait."""
        monkeypatch.setattr(operation, "_QUEUE_LIMIT", 1)
        monkeypatch.setattr(operation, "_PATIENCE", 0.01)
        with Listening(0, tmp_path / "n", tmp_path) as listening:
            assert {200} == {post(listening.url, notification()).status for _ in range(3)}
        assert (2, 1) == (listening.dropped, len(listening.rest()))

    def test_stop_ends_a_delay(self, tmp_path: Path) -> None:
        """A delayed answer is given at once when listening ends."""
        with Listening(0, tmp_path / "n", tmp_path, Behaviour(delay=3600)):
            assert "port-unusable" == raised(SettingsError, Listening, 70_000, tmp_path / "n", tmp_path).name

    def test_directory_that_cannot_be(self, tmp_path: Path) -> None:
        """The message names --record."""
        (tmp_path / "file").write_text("")
        assert "unwritable-capture" == raised(SettingsError, Listening, 0, None, tmp_path / "file" / "data").name


class TestDetect:
    """`signature detect`."""

    def capture(self, body: bytes, secret: bytes, **more: str) -> Captured:
        headers = (*signed(body, secret), *more.items())
        return Captured("2026-01-01T00:00:00Z", "ONB10011", "/", body=body, headers=headers)

    def test_detects(self) -> None:
        """The scheme of those that a known secret signed; others are passed over."""
        captured = [self.capture(b"{}", b"foreign"), self.capture(b"{1}", b"s3cret")]
        assert SCHEME == detect_signature(captured, [b"s3cret"])

    def test_none(self) -> None:
        """No scheme fits: refused."""
        assert "no-scheme" == raised(Refused, detect_signature, [self.capture(b"{}", b"foreign")], [b"s3cret"]).name

    def test_several(self) -> None:
        """Two fit one notification; another notification decides."""
        body = b"{}"
        twice = self.capture(body, b"s3cret", Copy=sign(SCHEME, b"s3cret", [], body))
        assert "several-schemes" == raised(Refused, detect_signature, [twice], [b"s3cret"]).name
        assert SCHEME == detect_signature([twice, self.capture(b"[]", b"s3cret")], [b"s3cret"])
