"""A plain HTTP client for the sandbox, of nothing but the standard library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from reconciler.sandbox import Sandbox

STAGING = "europe/staging"
WANTED = {"eventCodes": ["ONB10001", "LOA10013"], "webhookUrl": "https://hooks.partner.example/applications"}


class Answer(NamedTuple):
    """What came back, whole. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


def call(
    method: str, url: str, body: object = None, headers: Mapping[str, str] | None = None, timeout: float = 10
) -> Answer:
    """Send one request on a connection of its own; a `body` that is not bytes is sent as JSON."""
    parts = urlsplit(url)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    sent = {"content-type": "application/json", **(headers or {})}
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)) as connection:
        connection.request(method, parts.path, data, sent)
        with connection.getresponse() as response:
            lower = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, lower, response.read())


def ask_token(
    sandbox: Sandbox, name: str = STAGING, api_name: str = "notification", changes: Mapping[str, object] | None = None
) -> Answer:
    """Return the answer of a target's token endpoint; a parameter that `changes` to None is left out."""
    target = sandbox.world.targets[name]
    parameters: dict[str, object] = {
        "grant_type": "client_credentials", "client_id": target.client_id, "client_secret": target.client_secret,
        "audience": f"{target.provider.audience_base}/{api_name}", **(changes or {}),
    }  # fmt: skip
    sent = {name: value for name, value in parameters.items() if value is not None}
    return call("POST", f"{target.provider.auth_url}/oauth/token", sent)


def get_token(sandbox: Sandbox, name: str = STAGING, api_name: str = "notification") -> str:
    """Return an access token."""
    return str(ask_token(sandbox, name, api_name).document["access_token"])


def create(
    sandbox: Sandbox, token: str | None = None, body: object = WANTED, name: str = STAGING,
    headers: Mapping[str, str] | None = None, timeout: float = 10
) -> Answer:  # fmt: skip
    """Send one create call, with a new token where none is given."""
    bearer = {"authorization": f"Bearer {token or get_token(sandbox, name)}"}
    url = f"{sandbox.world.targets[name].base_url}/notification/webhooksubscription"
    return call("POST", url, body, {**bearer, **(headers or {})}, timeout)
