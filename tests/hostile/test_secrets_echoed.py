"""A service that echoes what it was sent, and a proxy that listens: no credential is written or shown."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest
from support.leaks import Secrets, is_private_response
from support.project import Project
from support.raw_server import OK, say
from support.rude_service import RudeService, json_response, rude
from support.service_fixtures import serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.raw_server import RawServer

__all__ = ["rude", "serve"]

SECRET = "hunter2hunter2"
TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJwYXJ0bmVyLTEifQ.c2lnbmF0dXJl"
KEY = "whsec-0123456789"
ECHO = {
    "id": "sub-1",
    "sessionId": TOKEN,
    "partnerId": b64encode(f"client:{SECRET}".encode()).decode(),
    "traceId": TOKEN.encode().hex(),
    "requestId": SECRET.upper(),
    TOKEN + "Id": 1,
    "secretKey": KEY,
    "correlationId": KEY,
}


@pytest.fixture
def project(tmp_path: Path, rude: RudeService) -> Project:
    """A project that works with a rude service, started and with a token of its own."""
    rude.tokens["echo"] = json_response({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 86400}, "200 OK")
    variables = {name: str(tmp_path / name) for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    project = Project(tmp_path / "project", {**rude.credentials("echo"), **variables})
    project.write("config/all.yaml", rude.declare("echo"))
    project.step("state", "init")
    return project


@pytest.mark.parametrize(
    ("status", "code"), [("201 Created", 0), ("422 No " + SECRET, 1), ("500 " + SECRET, 3)], ids=["201", "422", "500"]
)
def test_an_echo_stays_sealed(tmp_path: Path, rude: RudeService, project: Project, status: str, code: int) -> None:
    """Whatever a service echoes, and in whatever spelling, no output, journal or log holds a credential."""
    texts = {"message": f"bad {TOKEN} for {KEY}", "detail": f"see %68unter2hunter2 {json.dumps(SECRET)}"}
    rude.creates["echo"] = json_response(ECHO | texts, status, f"Date: {TOKEN}")
    done = project.run("apply", "--auto-approve", "-vv", "--log-format", "json")
    assert code == done.code, done
    secrets = Secrets([SECRET, TOKEN, KEY])
    assert set() == secrets.leaked_in((done.out + done.err).encode())
    assert {} == secrets.leaked_below(tmp_path, allowed=is_private_response)
    if code == 0:
        (listed,) = project.step("state", "list", "--format", "json").document
        assert {"id": "sub-1"} == listed["fields"]


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("host", ["127.0.0.2", "[::1]", "api.localhost", "LOCALHOST"])
def test_a_proxy_never_sees_a_plain_request(
    serve: Callable[..., RawServer], rude: RudeService, project: Project, variable: str, host: str
) -> None:
    """However loopback is spelled in `config/`, the client secret does not go to the proxy of the environment."""
    proxy = serve(say(OK))
    project.environment[variable] = proxy.url
    project.write("config/all.yaml", rude.declare("echo").replace("127.0.0.1", host))
    project.step("token", "-t", "echo/rude", "--timeout", "5", code=None)
    assert [] == proxy.requests
