"""`listen`, and `signature detect`."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from support.memory_project import MemoryProject, desired_of, unknown
from support.notified import notification, post, wait_until
from support.refusals import raised
from support.sandbox_client import STAGING

from reconciler.errors import Message, Refused, SettingsError
from reconciler.http_messages import Request
from reconciler.http_server import Server
from reconciler.model.desired import Verification
from reconciler.model.record import Status
from reconciler.notifications.captured import Captured, read_captured
from reconciler.notifications.signatures import sign
from reconciler.operations import listening as operation
from reconciler.operations.listening import Listening, SignatureCheck, detect_signature
from reconciler.operations.observing import observed
from reconciler.receiver.receiver import Behaviour
from reconciler.record.statements import Begin

SCHEME = Verification("X-Signature", "hmac-sha256", "sha256=")
TEMPLATE = "https://hooks.partner.example/offers/{attempt}"
TARGET = "/offers/" + "0" * 32


def signed(body: bytes, secret: bytes = b"s3cret") -> tuple[tuple[str, str], ...]:
    """Return the headers of a signed request."""
    return (("X-Signature", sign(SCHEME, secret, [], body)),)


# Which requests `listen --verify` refuses.


def test_answers() -> None:
    """404 for a path of no subscription, 401 for another's secret, none for a right one."""
    known = {TEMPLATE: [b"s3cret"], "https://x.example/loans": [b"other"], "https://x.example/none": []}
    check = SignatureCheck(SCHEME, lambda: known)
    body = notification()
    targets = (TARGET, "/loans", "/none", "/offers/1")
    refusals = [check(Request("POST", target, signed(body), body)) for target in targets]
    assert [None, 401, 401, 404] == [refusal and refusal.status for refusal in refusals]


def test_one_path_on_several_hosts() -> None:
    """Where the templates of several subscriptions fit a path, the secret of each of them signs for it."""
    fitting = (TEMPLATE, TEMPLATE.replace("hooks", "staging"), TEMPLATE.replace("{attempt}", "0" * 32))
    known = {template: [f"{number}a".encode(), f"{number}b".encode()] for number, template in enumerate(fitting)}
    check = SignatureCheck(SCHEME, lambda: known | {"https://hooks.partner.example/loans": [b"other"]})
    secrets = [secret for some in known.values() for secret in some]
    refusals = [check(Request("POST", TARGET, signed(b"{}", secret), b"{}")) for secret in (*secrets, b"other")]
    assert [None] * 6 + [401] == [refusal and refusal.status for refusal in refusals]


def test_reads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a refusal what is known is read again, at most every two seconds; a failure is a warning."""
    warnings, read = list[Message](), list[float]()
    known: dict[float, dict[str, list[bytes]]] = {10: {TEMPLATE: [b"old"]}, 16: {}, 19: {TEMPLATE: [b"s3cret"]}}
    clock = Mock(return_value=10)
    monkeypatch.setattr(operation, "time", SimpleNamespace(monotonic=clock))

    def read_again() -> dict[str, list[bytes]]:
        read.append(clock.return_value)
        if read[-1] in known:
            return known[read[-1]]
        raise Refused(Message("unreadable", "no record"))

    check, answers = SignatureCheck(SCHEME, read_again, warnings.append), []
    for clock.return_value in (11, 13, 14, 16, 17, 19, 30):
        refusal = check(Request("POST", TARGET, signed(b"{}"), b"{}"))
        answers.append(refusal and refusal.status)
    assert ([401, 401, 401, 404, 404, None, None], [10, 13, 16, 19]) == (answers, read)
    assert ["unreadable"] == [message.name for message in warnings]


# `listen`.


def test_listens(tmp_path: Path) -> None:
    """What is confirmed is in the file and reported; after a restart, a repeated delivery is recognised."""
    with Listening(0, None, tmp_path / "data") as first:
        assert 200 == post(f"{first.url}/offers", notification()).status
        assert 1 == next(first.deliveries()).number
        assert tmp_path / "data" / "notifications.jsonl" == first.file
    with Listening(0, first.file, tmp_path / "data", Behaviour(status=204)) as second:
        assert [204] * 2 == [post(f"{second.url}/offers", notification()).status for _ in range(2)]
    assert [2, 3] == [delivery.number for delivery in second.rest()]
    assert ["ONB10011"] * 3 == [captured.code for captured in read_captured(first.file)]


def test_forged_notification_proves_nothing(tmp_path: Path) -> None:
    """What `listen --record` kept without a valid signature settles no unknown create; a signed one does."""
    attempt, template, body = "0" * 32, "http://127.0.0.1/offers/{attempt}", notification()
    project = MemoryProject({}, desired_of(verification=SCHEME))
    project.say(Begin(complete=True))
    project.add(*unknown(attempt, f"{STAGING}/offers", url=template.replace("{attempt}", attempt), template=template))
    project.clock = time.time()
    check, file = SignatureCheck(SCHEME, lambda: {template: [b"s3cret"]}), tmp_path / "n"
    for secret, answer, status in ((b"guessed", 401, Status.UNKNOWN), (b"s3cret", 200, Status.LIVE)):
        with Listening(0, file, tmp_path, check=check) as listening:
            headers = dict(signed(body, secret))
            assert answer == post(f"{listening.url}/offers/{attempt}", body, headers).status
        project.say(observed(project, str(file)))
        assert status is project.record_at().attempts[attempt].status


def test_nobody_takes_the_deliveries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are dropped, and counted, rather than have the sender wait."""
    monkeypatch.setattr(operation, "_QUEUE_LIMIT", 1)
    monkeypatch.setattr(operation, "_PATIENCE", 0.01)
    with Listening(0, tmp_path / "n", tmp_path) as listening:
        assert {200} == {post(listening.url, notification()).status for _ in range(3)}
    assert (2, 1) == (listening.dropped, len(listening.rest()))


def test_sender_waits_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is dropped as long as somebody takes the deliveries, however slowly."""
    monkeypatch.setattr(operation, "_QUEUE_LIMIT", 1)
    with Listening(0, tmp_path / "n", tmp_path) as listening, ThreadPoolExecutor() as threads:
        post(listening.url, notification())
        second = threads.submit(post, listening.url, notification())
        wait([second], 0.05)
        assert [1, 2] == [next(listening.deliveries()).number for _ in range(2)]
    assert (200, 0) == (second.result().status, listening.dropped)


def test_stop_ends_a_delay(tmp_path: Path) -> None:
    """A delayed answer is given at once when listening ends."""
    file = tmp_path / "n"
    with ThreadPoolExecutor() as threads, Listening(0, file, tmp_path, Behaviour(delay=3600)) as listening:
        answer = threads.submit(post, listening.url, notification())
        assert wait_until(lambda: file.stat().st_size > 0)
        assert "port-unusable" == raised(SettingsError, Listening, 70_000, file, tmp_path).name
    assert 200 == answer.result().status


def test_what_arrives_while_it_ends_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is open until the server has stopped."""
    stop = Server.stop
    monkeypatch.setattr(Server, "stop", lambda server: stop(server) if post(server.url, b"{}").status else None)
    with Listening(0, tmp_path / "n", tmp_path):
        pass
    assert 1 == len([*read_captured(tmp_path / "n")])


def test_directory_that_cannot_be(tmp_path: Path) -> None:
    """The message names --record, with which none is needed."""
    (tmp_path / "file").write_text("")
    assert "unwritable-capture" == raised(SettingsError, Listening, 0, None, tmp_path / "file" / "data").name
    with Listening(0, tmp_path / "n", tmp_path / "file" / "data") as listening:
        assert tmp_path / "n" == listening.file


def capture(body: bytes, secret: bytes, **more: str) -> Captured:
    """Return a notification that is signed with a secret."""
    headers = (*signed(body, secret), *more.items())
    return Captured("2026-01-01T00:00:00Z", "ONB10011", "/", body=body, headers=headers)


def test_several() -> None:
    """Two fit one notification; another notification decides, and those that no known secret signed are passed over."""
    body = b"{}"
    copies = {name: sign(SCHEME, b"s3cret", [], body) for name in ("Copy", "Other")}
    one, two = capture(body, b"s3cret", **copies), capture(b"[]", b"s3cret")
    told = raised(Refused, detect_signature, [one], [b"s3cret"])
    assert ("several-schemes", 3) == (told.name, told.what.count(" over "))
    both = [capture(b"{}", b"foreign"), one, two, capture(b"{2}", b"foreign")]
    assert [SCHEME] * 2 == [detect_signature(given, [b"s3cret"]) for given in (both, both[::-1])]
    other = replace(one, headers=(*copies.items(),))
    assert "no-scheme" == raised(Refused, detect_signature, [two, other, two], [b"s3cret"]).name
