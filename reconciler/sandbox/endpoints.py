"""The endpoints of the service (SERVICE.md, section 4), each a function from request to response."""

import hmac

from reconciler.sandbox.checks import bearer_token, check_accept, json_object, subscription_of
from reconciler.sandbox.events import Token
from reconciler.sandbox.exchange import Request, Response, json_response, refusal
from reconciler.sandbox.faults import Fault, Kind, Stage
from reconciler.sandbox.targets import Provider, Target
from reconciler.sandbox.world import World

_TOKEN_PARAMETERS = ("grant_type", "client_id", "client_secret", "audience")
_NOTHING = Response(status=0)


def request_token(world: World, provider: Provider, request: Request) -> Response:
    """POST {auth_url}/oauth/token of one identity provider. Errors, which are not documented, are those of RFC 6749."""
    world.count_request("token", provider.name)
    fault = world.draw_fault(Kind.TOKEN, provider.targets)
    if fault is not None and fault.stage is not Stage.COMMITTED:
        return _lose(fault, request)
    response = _issue(world, provider, request)
    return response if fault is None else fault.spoil(response)


def _issue(world: World, provider: Provider, request: Request) -> Response:
    parameters = _token_parameters(request)
    if parameters["grant_type"] != "client_credentials":
        raise refusal(400, "unsupported_grant_type", "grant_type must be client_credentials")
    client_id, audience = parameters["client_id"], parameters["audience"]
    expected = provider.clients.get(client_id)
    if not _equal(expected or "", parameters["client_secret"]) or expected is None:
        raise refusal(401, "invalid_client", "unknown client or wrong secret")
    if audience not in provider.audiences:
        raise refusal(403, "access_denied", "unknown audience: expected the audience base, a slash and the API's name")
    return json_response(
        200,
        {
            "access_token": world.issue_token(provider, client_id, audience),
            "token_type": "Bearer",
            "expires_in": world.token_lifetime,
        },
        ("Cache-Control", "no-store"),
    )


def create_subscription(world: World, target: Target, request: Request) -> Response:
    """POST {base_url}/notification/webhooksubscription of one target.

    The response is not documented (SERVICE.md, section 2.4). Here it is a 201 with subscriptionId, what was sent, and
    secretKey: 32 random bytes in base64.
    """
    world.count_request("create", target.name)
    bearer = request.headers.get("authorization", "").rpartition(" ")[2]
    fault = world.draw_fault(Kind.CREATE, (target.name,), bearer)
    if fault is not None and fault.stage is not Stage.COMMITTED:
        if fault.revokes:
            world.revoke_token(bearer)
        return _lose(fault, request)
    response = _create(world, target, request)
    return response if fault is None else fault.spoil(response)


def _create(world: World, target: Target, request: Request) -> Response:
    token = _authorize(world, target, "notification", request)
    codes, url = subscription_of(json_object(request))
    commit = world.commit_subscription(target.name, codes, url, token.client_id)
    return json_response(
        201,
        {
            "subscriptionId": commit.id,
            "eventCodes": list(commit.codes),
            "webhookUrl": commit.url,
            "secretKey": commit.secret,
        },
    )


def create_lead(world: World, target: Target, request: Request) -> Response:
    """POST {base_url}/onboarding/leads of one target. Any JSON object is a lead: its fields are not documented."""
    world.count_request("lead", target.name)
    _authorize(world, target, "onboarding", request)
    check_accept(request)
    lead = world.add_lead(target.name, json_object(request))
    return json_response(201, {"leadId": lead.id, "status": "created"})


def _lose(fault: Fault, request: Request) -> Response:
    """The response to a request with a fault before it is processed."""
    if fault.stage is Stage.READ:
        request.read()
    return fault.spoil(_NOTHING)


def _token_parameters(request: Request) -> dict[str, str]:
    document = json_object(request)
    parameters = {name: value for name in _TOKEN_PARAMETERS if isinstance(value := document.get(name), str) and value}
    missing = [name for name in _TOKEN_PARAMETERS if name not in parameters]
    if missing:
        raise refusal(400, "invalid_request", f"required, as a string: {', '.join(missing)}")
    return parameters


def _authorize(world: World, target: Target, api_name: str, request: Request) -> Token:
    """The token; refuse an invalid one with 401, one for another API with 403 (SERVICE.md, section 5)."""
    token = world.find_token(bearer_token(request))
    if token is None or token.provider != target.provider.name:
        raise refusal(
            401,
            "invalid_token",
            "the token was not issued for this service, has expired or was revoked",
            ("WWW-Authenticate", 'Bearer error="invalid_token"'),
        )
    if token.audience != target.audience(api_name):
        raise refusal(403, "insufficient_scope", f"the token is for another audience than the API {api_name}")
    return token


def _equal(secret: str, other: str) -> bool:
    """Whether two secrets are equal, compared in constant time."""
    return hmac.compare_digest(secret.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
