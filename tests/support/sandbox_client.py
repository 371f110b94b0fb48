"""A plain HTTP client for the sandbox, of nothing but the standard library."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.sandbox import Sandbox
    from reconciler.sandbox.targets import Target

STAGING = "europe/staging"
WANTED = {"eventCodes": ["ONB10001", "LOA10013"], "webhookUrl": "https://hooks.partner.example/applications"}


@dataclass(frozen=True)
class Answer:
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
    """One request on a connection of its own; a `body` that is not bytes is sent as JSON."""
    parts = urlsplit(url)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    sent = {"content-type": "application/json", **(headers or {})}
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)) as connection:
        connection.request(method, parts.path, data, sent)
        with connection.getresponse() as response:
            lower = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, lower, response.read())


def token_request(target: Target, api_name: str = "notification", **changes: object) -> dict[str, object]:
    """The parameters of a right token request, or with `changes`; None leaves a parameter out."""
    parameters: dict[str, object] = {
        "grant_type": "client_credentials",
        "client_id": target.client_id,
        "client_secret": target.client_secret,
        "audience": f"{target.provider.audience_base}/{api_name}",
        **changes,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def ask_token(
    sandbox: Sandbox, name: str = STAGING, api_name: str = "notification", changes: Mapping[str, object] | None = None
) -> Answer:
    """The answer of a target's token endpoint."""
    target = sandbox.world.targets[name]
    parameters = token_request(target, api_name, **(changes or {}))
    return call("POST", f"{target.provider.auth_url}/oauth/token", parameters)


def get_token(sandbox: Sandbox, name: str = STAGING, api_name: str = "notification") -> str:
    """An access token."""
    return str(ask_token(sandbox, name, api_name).document["access_token"])


def create_url(sandbox: Sandbox, name: str = STAGING) -> str:
    """Where subscriptions of a target are created."""
    return f"{sandbox.world.targets[name].base_url}/notification/webhooksubscription"


def create(
    sandbox: Sandbox,
    token: str | None = None,
    body: object = WANTED,
    name: str = STAGING,
    headers: Mapping[str, str] | None = None,
    timeout: float = 10,
) -> Answer:
    """One create call, with a new token where none is given."""
    bearer = {"authorization": f"Bearer {token or get_token(sandbox, name)}"}
    return call("POST", create_url(sandbox, name), body, {**bearer, **(headers or {})}, timeout)


def subscribe(sandbox: Sandbox, url: str, *codes: str, name: str = STAGING) -> str:
    """A subscription made without HTTP; its id."""
    return sandbox.world.commit_subscription(name, codes or ("ONB10011",), url).id
