"""`sandbox serve`, `trigger`, `list` and `delete`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.refusals import raised
from support.sandbox_client import STAGING, create

from reconciler.errors import CallFailed, SettingsError
from reconciler.http_messages import Response
from reconciler.http_server import Server
from reconciler.operations.listening import Listening
from reconciler.operations.sandbox import delete_subscription, list_subscriptions, sandbox_served, trigger_event

if TYPE_CHECKING:
    from pathlib import Path


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
        assert "sandbox-rejected" == message.name
        variables = dict(line.split("=", 1) for line in (tmp_path / ".env").read_text().splitlines())
    assert dict(sandbox.variables()) == variables
    assert 0o600 == (tmp_path / ".env").stat().st_mode & 0o777


def test_env_file_is_written_again(tmp_path: Path) -> None:
    """One of a sandbox is replaced; any other is left as it is."""
    for _ in range(2):
        with sandbox_served(0, [STAGING], None, tmp_path / ".env"):
            pass
    (tmp_path / ".env").write_text("RECONCILER_CLIENT_SECRET=x\n")
    serving = sandbox_served(0, [STAGING], None, tmp_path / ".env")
    assert "env-file-unusable" == raised(SettingsError, serving.__enter__).name


@pytest.mark.parametrize(
    ("fault", "interval", "message"),
    [("500=often", 15.0, "bad-probability"), ("nonsense", 15.0, "unknown-fault"), ("500", -1.0, "bad-interval")],
)
def test_bad_options(fault: str, interval: float, message: str) -> None:
    """Probabilities are numbers, faults have names, intervals are not negative."""
    serving = sandbox_served(0, [STAGING], None, None, interval, [fault])
    assert message == raised(SettingsError, serving.__enter__).name


@pytest.mark.parametrize("url", ["", "https://127.0.0.1:1", "http://a.example:1", "http://127.0.0.1:0", "http://["])
def test_no_sandbox_url(url: str) -> None:
    """Only plain http on loopback can be a sandbox."""
    assert "no-sandbox-url" == raised(SettingsError, list_subscriptions, url).name


@pytest.mark.parametrize("answer", [b"", b"[]", b"{", b"[" * 100_000])
def test_server_that_is_no_sandbox(answer: bytes) -> None:
    """What answers something else is named as such; so is nothing."""
    with Server(0, lambda _: Response(404, answer)) as server:
        assert "no-sandbox" == raised(CallFailed, trigger_event, server.url, "ONB10011", None, 1, None).name
    assert "no-sandbox" == raised(CallFailed, list_subscriptions, server.url).name


@pytest.mark.parametrize("properties", [b"", b"[]", b"{", b"\xff"])
def test_bad_properties(properties: bytes) -> None:
    """They must be a JSON object."""
    message = raised(SettingsError, trigger_event, "http://127.0.0.1:1", "ONB10011", properties, 1, None)
    assert "bad-properties" == message.name
