"""What the logs show of a call, with everything turned on: where it went and what came of it, never a secret."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING

import pytest
from support.raw_server import say
from support.service_fixtures import SECRET

from reconciler.errors import TokenError
from reconciler.model.plan import Request
from reconciler.service.api import Service
from reconciler.service.exchange import Reply
from reconciler.service.transport import Transport, always

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.lending_service import LendingService
    from support.raw_server import RawServer

    from reconciler.model.desired import Target
    from reconciler.service.credentials import Credentials
    from reconciler.service.tokens import Tokens

REQUEST = Request(("ONB10011",), "https://hooks.example/x")


@pytest.fixture
def service(
    transport: Transport, tokens: Tokens, target_at: Callable[..., Target], credentials: Credentials,
    lending_service: LendingService,
) -> Service:  # fmt: skip
    """The lending service as a target's credentials see it."""
    return Service(transport, tokens, target_at(lending_service.url), credentials, 5)


def test_debug_of_everything_shows_no_secret(
    service: Service, lending_service: LendingService, caplog: pytest.LogCaptureFixture
) -> None:
    """With the root logger at DEBUG there is a line for each call, and neither token, secret nor body in any."""
    lending_service.answers_with([(401, ""), (201, '{"secretKey": "k3y"}')])
    with caplog.at_level(logging.DEBUG):
        service.create_subscription(REQUEST, always)
        service.create_subscription(REQUEST, always, renew=False)
    ours = [record.message for record in caplog.records if record.name == "reconciler.service"]
    assert [line.split(", ")[0].partition("/")[2] for line in ours] == [
        "tenant/oauth/token: 200", "eu/v9/notification/webhooksubscription: 401",
        "tenant/oauth/token: 200", "eu/v9/notification/webhooksubscription: 201",
    ]  # fmt: skip
    for secret in ("token-number", SECRET, json.dumps(SECRET), "k3y", "hooks.example", "Bearer"):
        assert secret not in caplog.text


def test_no_query_and_no_user_info_is_logged(
    transport: Transport, serve: Callable[..., RawServer], caplog: pytest.LogCaptureFixture
) -> None:
    """Of a URL the host and the path are shown, and of the response nothing but the status."""
    server = serve(say(b"HTTP/1.1 200 OK\r\nSet-Cookie: hunter1\r\nContent-Length: 7\r\n\r\nhunter0"))
    with caplog.at_level(logging.DEBUG):
        url = f"http://user:hunter2@127.0.0.1:{server.port}/path?key=hunter3#hunter4"
        assert isinstance(transport.post(url, {"x": "hunter5"}, b"hunter6", timeout=5), Reply)
    assert f"127.0.0.1:{server.port}/path: 200" in caplog.text
    assert "hunter" not in caplog.text


def test_a_program_that_logs_everything_shows_no_secret(lending_service: LendingService, tmp_path: Path) -> None:
    """The same in a process of its own, whose logging is set up after everything was imported."""
    program = """
import logging, sys
from pathlib import Path
from reconciler.model.address import TargetName
from reconciler.mistake import Place
from reconciler.model.desired import *
from reconciler.model.plan import Request
from reconciler.service.api import Service
from reconciler.service.credentials import Credentials
from reconciler.service.token_cache import TokenCache
from reconciler.service.tokens import Tokens
from reconciler.service.exchange import Reply
from reconciler.service.transport import Transport, always
logging.basicConfig(level=logging.DEBUG)
url, cache, secret = sys.argv[1:]
place = Place("f", 1, 1)
target = Target(TargetName("a/b"), f"{url}/tenant", f"{url}/eu/v9", url, Overlap.REFUSE, Replace.OVERLAP, place)
with Transport() as transport:
    tokens = Tokens(transport, TokenCache(Path(cache)), 5)
    print(Service(transport, tokens, target, Credentials("id", secret), 5).create_subscription(
        Request(("ONB10011",), "https://hooks.example"), always))
"""
    command = [sys.executable, "-c", program, lending_service.url, str(tmp_path / "tokens"), SECRET]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={}, check=True)
    assert "reconciler.service:POST" in done.stderr
    assert "created" in done.stdout
    for secret in ("token-number", SECRET, "Bearer"):
        assert secret not in done.stdout + done.stderr


def test_no_secret_in_a_traceback(service: Service, lending_service: LendingService) -> None:
    """An error holds neither the secret nor the token, with its whole chain printed."""
    answer = {"access_token": "value-of-token", "token_type": "mac", "error": SECRET}
    lending_service.answer_next_token((200, json.dumps(answer)))
    with pytest.raises(TokenError) as caught:
        service.authorise()
    printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert SECRET not in printed
    assert "value-of-token" not in printed
