"""Answers requests to the endpoints of the service and of its operator.

The operator's endpoints are under `/_sandbox` and accept only JSON, which a web page from another origin cannot send.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reconciler.http_messages import Response
from reconciler.sandbox.events import notification_body
from reconciler.sandbox.faults import error_response
from reconciler.sandbox.layout import API_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.http_messages import Request
    from reconciler.sandbox.events import Token
    from reconciler.sandbox.layout import Provider, Target
    from reconciler.sandbox.world import World

MAX_COUNT = 10_000
_TOKEN_PARAMETERS = ("grant_type", "client_id", "client_secret", "audience")
_EVENT_CODE = re.compile(r"[A-Z]{3}[0-9]{5}")
_JSON = "application/json"
_NOTHING = Response(502)


class _Refusal(Exception):
    """Raised to refuse a request with an error response."""

    def __init__(self, status: int, error: str, description: str, *headers: tuple[str, str]) -> None:
        super().__init__(status)
        self.response = error_response(status, error, description, *headers)


class Service:
    """The endpoints of a `World`, by path. Every URL begins with `root`."""

    def __init__(self, world: World, root: str) -> None:
        self._world = world
        self._endpoints: dict[str, tuple[str, Callable[[Request], Response]]] = {
            "/_sandbox/state": ("GET", lambda _: _json_response(200, world.describe())),
            "/_sandbox/remove": ("POST", self._remove),
            "/_sandbox/trigger": ("POST", self._trigger),
        }
        for target in world.targets.values():
            base, auth = target.base_url.removeprefix(root), target.provider.auth_url.removeprefix(root)
            self._endpoints |= {
                f"{auth}/oauth/token": ("POST", partial(self._request_token, target.provider)),
                f"{base}/notification/webhooksubscription": ("POST", partial(self._create_subscription, target)),
                f"{base}/onboarding/leads": ("POST", partial(self._create_lead, target)),
            }

    def handle(self, request: Request) -> Response:
        """Return the response to a request."""
        if request.problem is not None:
            return error_response(request.problem.status, "invalid_request", request.problem.body.decode().strip())
        method, endpoint = self._endpoints.get(request.path, ("", None))
        if endpoint is None:
            return error_response(404, "not_found", "path not found")
        if request.method != method:
            return error_response(405, "method_not_allowed", f"expected method {method}", ("Allow", method))
        try:
            return endpoint(request)
        except _Refusal as refusal:
            return refusal.response

    def _request_token(self, provider: Provider, request: Request) -> Response:
        """Handle POST {auth_url}/oauth/token of an identity provider.

        The errors of the service are not documented; these errors follow RFC 6749.
        """
        fault = self._world.meet("token", provider.name, provider.targets)
        if fault is not None and not fault.processed:
            return fault.spoil(_NOTHING)
        document = _json_object(request)
        given = {name: value for name in _TOKEN_PARAMETERS if isinstance(value := document.get(name), str) and value}
        if missing := [name for name in _TOKEN_PARAMETERS if name not in given]:
            raise _Refusal(400, "invalid_request", f"required, as a string: {', '.join(missing)}")
        if given["grant_type"] != "client_credentials":
            raise _Refusal(400, "unsupported_grant_type", "grant_type must be client_credentials")
        if provider.clients.get(given["client_id"]) != given["client_secret"]:
            raise _Refusal(401, "invalid_client", "unknown client or wrong secret")
        base, _, api_name = given["audience"].rpartition("/")
        if base != provider.audience_base or api_name not in API_NAMES:
            description = "unknown audience: expected the audience base, a slash and the API's name"
            raise _Refusal(403, "access_denied", description)
        token = self._world.issue_token(provider, given["client_id"], given["audience"])
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": self._world.token_lifetime}
        response = _json_response(200, answer, ("Cache-Control", "no-store"))
        return response if fault is None else fault.spoil(response)

    def _create_subscription(self, target: Target, request: Request) -> Response:
        """Handle POST {base_url}/notification/webhooksubscription of one target.

        The response is not documented (service description, section 2.4). The sandbox answers 201 with a
        subscriptionId, the fields of the request, and a secretKey of 32 random bytes in base64.
        """
        bearer = (request.header("authorization") or "").rpartition(" ")[2]
        fault = self._world.meet("create", target.name, (target.name,), bearer)
        if fault is not None and not fault.processed and not fault.late:
            if fault.revokes:
                self._world.revoke_token(bearer)
            return fault.spoil(_NOTHING)
        token = self._authorize(target, "notification", request)
        codes, url = _subscription_of(_json_object(request))
        if fault is not None and fault.late:
            self._world.create_later(target.name, codes, url, token.client_id)
            return fault.spoil(_NOTHING)
        created = self._world.create(target.name, codes, url, token.client_id)
        answer = {"subscriptionId": created.id, "eventCodes": codes, "webhookUrl": url, "secretKey": created.secret}
        response = _json_response(201, answer)
        return response if fault is None else fault.spoil(response)

    def _create_lead(self, target: Target, request: Request) -> Response:
        """Handle POST {base_url}/onboarding/leads of one target.

        Any JSON object is accepted as a lead, because its fields are not documented.
        """
        fault = self._world.meet("lead", target.name, (target.name,))
        if fault is not None and not fault.processed:
            return fault.spoil(_NOTHING)
        self._authorize(target, "onboarding", request)
        if _JSON not in _media_types(request.header("accept")):
            raise _Refusal(406, "not_acceptable", f"accept must be {_JSON}")
        lead = self._world.add_lead(target.name, _json_object(request))
        response = _json_response(201, {"leadId": lead.id, "status": "created"})
        return response if fault is None else fault.spoil(response)

    def _authorize(self, target: Target, api_name: str, request: Request) -> Token:
        """Return the request's token. Refuse an invalid token with 401, and a token for another API with 403."""
        scheme, _, text = (request.header("authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            raise _Refusal(401, "invalid_token", "no Bearer token was sent", ("WWW-Authenticate", "Bearer"))
        token = self._world.find_token(text.strip())
        if token is None or token.provider != target.provider.name:
            description = "the token was not issued for this service, has expired or was revoked"
            raise _Refusal(401, "invalid_token", description, ("WWW-Authenticate", 'Bearer error="invalid_token"'))
        if token.audience != target.audience(api_name):
            raise _Refusal(403, "insufficient_scope", f"the token is for another audience than the API {api_name}")
        return token

    def _remove(self, request: Request) -> Response:
        """Handle POST /_sandbox/remove with `{"subscriptionId"}`.

        The answer is 200, or 404 if the subscription does not exist.
        """
        subscription_id = _json_object(request).get("subscriptionId")
        if not isinstance(subscription_id, str) or not self._world.remove(subscription_id):
            raise _Refusal(404, "not_found", "no subscription with this id; `sandbox list` shows the ids")
        return _json_response(200, {"removed": subscription_id})

    def _trigger(self, request: Request) -> Response:
        """Handle POST /_sandbox/trigger with `{"code", "properties"?, "target"?, "count"?}`.

        The answer is 202 with the number of deliveries.
        """
        document = _json_object(request)
        code, target, count = document.get("code"), document.get("target"), document.get("count", 1)
        properties = document.get("properties")
        if set(document) - {"code", "properties", "target", "count"} or not isinstance(properties, dict | None):
            raise _Refusal(400, "invalid_request", "expected code, and optionally properties, target and count")
        if not isinstance(code, str) or not _EVENT_CODE.fullmatch(code):
            raise _Refusal(400, "invalid_request", "expected an event code of three capital letters and five digits")
        if not isinstance(target, str | None) or (target is not None and target not in self._world.targets):
            served = ", ".join(self._world.targets)
            raise _Refusal(400, "invalid_request", f"the sandbox does not serve this target; use one of: {served}")
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_COUNT:
            raise _Refusal(400, "invalid_request", f"count must be 1 to {MAX_COUNT}")
        bodies = [notification_body(code, properties) for _ in range(count)]
        return _json_response(202, {"deliveries": self._world.trigger(code, bodies, target)})


def _json_response(status: int, document: object, *headers: tuple[str, str]) -> Response:
    return Response(status, json.dumps(document).encode(), (("Content-Type", _JSON), *headers))


def _json_object(request: Request) -> dict[str, object]:
    """Return the JSON object in the body. Refuse a content type other than JSON with 415, and any other body with 400.

    Numbers with a fraction or an exponent become strings, exactly as written.
    """
    if _media_types(request.header("content-type")) != [_JSON]:
        raise _Refusal(415, "unsupported_media_type", f"content-type must be {_JSON}")
    try:  # `int` refuses NaN and Infinity, which Python accepts; JSON has neither
        document = json.loads(request.body.decode(), parse_float=str, parse_constant=int)
    except (ValueError, RecursionError):
        raise _Refusal(400, "invalid_request", "the body is not JSON") from None
    if not isinstance(document, dict):
        raise _Refusal(400, "invalid_request", "the body is not a JSON object")
    return document


def _subscription_of(document: dict[str, object]) -> tuple[tuple[str, ...], str]:
    """Return the event codes and the URL in a create request (service description, section 2.2).

    An invalid request is refused.
    """
    if set(document) != {"eventCodes", "webhookUrl"}:
        raise _Refusal(400, "invalid_request", "expected exactly the fields eventCodes and webhookUrl")
    codes, url = document["eventCodes"], document["webhookUrl"]
    sound = isinstance(codes, list) and all(isinstance(code, str) and _EVENT_CODE.fullmatch(code) for code in codes)
    if not isinstance(codes, list) or not codes or not sound:
        raise _Refusal(400, "invalid_request", "expected event codes of three capital letters and five digits")
    if not isinstance(url, str) or not _is_absolute_url(url):
        raise _Refusal(400, "invalid_request", "webhookUrl must be an absolute http or https URL")
    return tuple(codes), url


def _is_absolute_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and has_host and text.isprintable() and " " not in text


def _media_types(header: str | None) -> list[str]:
    return [media_type.partition(";")[0].strip().lower() for media_type in (header or "").split(",")]
