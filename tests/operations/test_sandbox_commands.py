"""`sandbox serve`, `trigger`, `list` and `delete`."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.refusals import raised
from support.sandbox_client import STAGING, create

from reconciler.errors import CallFailed, SettingsError
from reconciler.http_messages import Response
from reconciler.http_server import Server
from reconciler.operations.listening import Listening
from reconciler.operations.sandbox import delete_subscription, list_subscriptions, sandbox_served, trigger_event


def test_whole_loop(tmp_path: Path) -> None:
    """A subscription is created, triggered, listed and deleted; a receiver keeps the notification."""
    with (
        Listening(0, tmp_path / "n", tmp_path) as listening,
        sandbox_served(0, [STAGING], None, tmp_path / ".env", 0.1) as sandbox,
    ):
        wanted = {"eventCodes": ["ONB10011"], "webhookUrl": f"{listening.url}/offers"}
        created = create(sandbox, body=wanted).document
        assert 2 == trigger_event(sandbox.url, "ONB10011", b'{"Amount": 1.50}', 2, STAGING)
        assert sandbox.wait_idle(10)
        assert {"Amount": "1.50"} == json.loads(next(listening.deliveries()).request.body)["EventProperties"]
        (shown,) = list_subscriptions(sandbox.url)
        assert wanted | {"target": STAGING} == {key: shown[key] for key in ("target", *wanted)}
        delete_subscription(sandbox.url, created["subscriptionId"])
        assert [] == list_subscriptions(sandbox.url)
        message = raised(CallFailed, delete_subscription, sandbox.url, created["subscriptionId"])
        assert ("sandbox-rejected", ()) == (message.name, message.steps)
        variables = dict(line.split("=", 1) for line in (tmp_path / ".env").read_text().splitlines())
    assert "no-sandbox" == raised(CallFailed, list_subscriptions, sandbox.url).name
    assert dict(sandbox.variables()) == variables
    assert 0o600 == (tmp_path / ".env").stat().st_mode & 0o777


def test_env_file_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of a sandbox is replaced; nothing else is left of it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for _ in range(2):
        with sandbox_served(0, [STAGING], None, tmp_path / ".env") as sandbox:
            assert sandbox.url in (tmp_path / ".env").read_text()
            assert 1 == len([*tmp_path.glob("reconciler-sandbox-*")])
    assert [tmp_path / ".env"] == [*tmp_path.iterdir()]


@pytest.mark.parametrize("mark", ["", "A=ÿ", "# {}=x", "MY_{}=x", "{}_OF_MINE=x", "{}", "X={}=x"])
def test_env_file_of_a_person_is_left_as_it_is(tmp_path: Path, mark: str) -> None:
    """Only a line that sets the URL of a sandbox says that a sandbox wrote it; before that, nothing is stored."""
    text = f"A=1\n{mark.format('RECONCILER_SANDBOX_URL')}\n".encode("latin-1") if mark else b""
    (tmp_path / ".env").write_bytes(text)
    serving = sandbox_served(0, [STAGING], tmp_path / "data", tmp_path / ".env")
    told = raised(SettingsError, serving.__enter__).name
    assert ("env-file-unusable", [text]) == (told, [file.read_bytes() for file in tmp_path.iterdir()])


@pytest.mark.parametrize("fault", ["500=often", "500=", "500=nan", "x"])
def test_bad_faults(fault: str) -> None:
    """Probabilities are numbers, faults have names."""
    name = raised(SettingsError, sandbox_served(0, [STAGING], None, None, 0.0, [fault]).__enter__).name
    assert name == ("unknown-fault" if fault == "x" else "bad-probability")


def test_options_reach_the_sandbox(tmp_path: Path) -> None:
    """One seed makes one sequence of faults; a fault without a number is met each time."""
    drawn = []
    for seed, *faults in ((0, "500=0.5"), (0, "500=0.5"), (8, "500=0.5"), (0, "500")):
        with sandbox_served(0, names := [STAGING, "a/b"], tmp_path / "data", None, 0.0, faults, seed) as sandbox:
            drawn.append([sandbox.world.meet("create", STAGING, (STAGING,)) is None for _ in range(40)])
            assert ([*sandbox.world.targets], sandbox.world.retry_interval) == (names, 0.0)
    assert (tmp_path / "data").is_dir()
    assert (drawn[0] == drawn[1] != drawn[2], {*drawn[3]}) == (True, {False})


@pytest.mark.parametrize("url", ["", "https://127.0.0.1:1", "http://a.example:1", "http://127.0.0.1:0", "http://["])
def test_no_sandbox_url(url: str) -> None:
    """Only plain http on loopback can be a sandbox."""
    assert "no-sandbox-url" == raised(SettingsError, list_subscriptions, url).name


@pytest.mark.parametrize("status", [200, 202, 404])
@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"{", b"{}", b"null", b'{"deliveries": {}, "subscriptions": [1]}', b"[" * 100_000]
)
def test_server_that_is_no_sandbox(status: int, answer: bytes) -> None:
    """What answers something else is named as such."""
    with Server(0, lambda _: Response(status, answer)) as server:
        assert "no-sandbox" == raised(CallFailed, trigger_event, server.url, "ONB10011", None, 1, None).name
        assert "no-sandbox" == raised(CallFailed, delete_subscription, server.url, "x").name
        assert "no-sandbox" == raised(CallFailed, list_subscriptions, server.url).name


def test_limits_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has 30 s to come, and no more of it is read than fits into memory."""
    monkeypatch.setattr(socket, "create_connection", connected := Mock(wraps=socket.create_connection))
    with Server(0, lambda _: Response(200, b'{"subscriptions": []}')) as server:
        assert [] == list_subscriptions(server.url)
        monkeypatch.setattr("reconciler.operations.sandbox._ANSWER_LIMIT", 20)
        assert "no-sandbox" == raised(CallFailed, list_subscriptions, server.url).name
    assert 30 == connected.call_args.args[1]


@pytest.mark.parametrize("properties", [
    b"", b"[]", b"{", b"\xff", b"null", b"[" * 100_000, "{}".encode("utf-16"), "{}".encode("utf-8-sig"),
])  # fmt: skip
def test_bad_properties(properties: bytes) -> None:
    """They must be a JSON object in UTF-8."""
    message = raised(SettingsError, trigger_event, "http://127.0.0.1:1", "ONB10011", properties, 1, None)
    assert "bad-properties" == message.name
