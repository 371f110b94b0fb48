"""Access tokens for the APIs of the service (service description, section 5), cached or requested.

A request that fails does no harm, so it is retried a few times while the identity provider is unreachable, failing or
overloaded.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec
from msgspec import Meta

from reconciler.errors import Message, Step, TokenError, step
from reconciler.service import clock
from reconciler.service.outcomes import outcome_of
from reconciler.service.token_cache import Purpose
from reconciler.values import Discreet

if TYPE_CHECKING:
    from reconciler.model.desired import Target
    from reconciler.model.outcome import Answer
    from reconciler.service.token_cache import TokenCache
    from reconciler.service.transport import Transport

PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each retry."""

_LONGEST_LIFE = 86_400  # seconds (service description, section 8): a longer one is cut to this
_LONGEST_TOKEN = 16_384  # characters: servers accept no longer header
_LONGEST_PAUSE = 10.0
_MEMBER = re.compile(r"(?:`\$\.|field `)(\w+)`")  # in the text of a validation error


class Secret(Protocol):
    """A value that hides what it holds from its repr, such as pydantic's SecretStr."""

    def get_secret_value(self) -> str: ...


class Credentials(Protocol):
    """A client identifier and its secret, as the operator issued them (service description, section 5)."""

    @property
    def client_id(self) -> str: ...
    @property
    def client_secret(self) -> Secret: ...


class TokenAnswer(Discreet, frozen=True):
    """The answer of the token endpoint (service description, section 2.1)."""

    unprinted = ("access_token",)

    access_token: Annotated[str, Meta(pattern=r"\A[\x21-\x7e]+\Z", max_length=_LONGEST_TOKEN)]
    token_type: Annotated[str, Meta(pattern=r"\A(?i:bearer)\Z")]
    expires_in: Annotated[int, Meta(gt=0)]


class Tokens:
    """The tokens of one target; `timeout` is in seconds, for one request."""

    def __init__(
        self, transport: Transport, cache: TokenCache, target: Target, credentials: Credentials, timeout: float
    ) -> None:
        self._transport = transport
        self._cache = cache
        self._target = target
        self._credentials = credentials
        self._secret = credentials.client_secret.get_secret_value()
        self._timeout = timeout

    def token(self, api: str) -> str:
        """Return a token for one API. Raises TokenError."""
        purpose = self._purpose(api)
        return self._cache.get(purpose, self._secret, lambda: self._request(purpose))

    def discard(self, api: str, refused: str) -> None:
        """Throw away a token that the service refused."""
        self._cache.discard(self._purpose(api), self._secret, refused)

    def _purpose(self, api: str) -> Purpose:
        return Purpose(self._target.auth_url, self._credentials.client_id, f"{self._target.audience_base}/{api}")

    def _request(self, purpose: Purpose) -> tuple[str, float]:
        """Request a token and its lifetime in seconds; after `timeout` seconds in all there is no further retry."""
        started, answer = clock.steady(), self._ask(purpose)
        for pause in PAUSES:
            transient = answer.status is None or answer.status == 429 or answer.status >= 500
            if not transient or clock.steady() - started > self._timeout:
                break
            time.sleep(max(pause, min(answer.retry_after or 0.0, _LONGEST_PAUSE)))
            answer = self._ask(purpose)
        if answer.status is None or not 200 <= answer.status < 300:
            raise self._error(answer, answer.detail or "", purpose)
        try:
            token = msgspec.json.decode(answer.body, type=TokenAnswer)
        except msgspec.ValidationError as problem:
            member = _MEMBER.search(str(problem))
            fault = f"a valid {member[1]}" if member else "a JSON object"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            fault = "a JSON object"
        else:
            return token.access_token, min(token.expires_in, _LONGEST_LIFE)
        # Outside of the handler: the validation error may quote the answer, and a token in it.
        raise self._error(answer, f"HTTP {answer.status} without {fault}", purpose)

    def _ask(self, purpose: Purpose) -> Answer:
        body = {
            "grant_type": "client_credentials",
            "client_id": purpose.client_id,
            "client_secret": self._secret,
            "audience": purpose.audience,
        }
        secrets = (purpose.client_id, self._secret)
        result = self._transport.send(
            "POST", f"{self._target.auth_url}/oauth/token", {"content-type": "application/json"},
            msgspec.json.encode(body), timeout=self._timeout, secrets=secrets,
        )  # fmt: skip
        return outcome_of(result, secrets)

    def _error(self, answer: Answer, fault: str, purpose: Purpose) -> TokenError:
        what = f"no access token: {fault}"
        return TokenError(Message("no-token", what, self._target.name, (self._advice(answer.status, purpose),)))

    def _advice(self, status: int | None, purpose: Purpose) -> Step:
        prefix, address = self._target.name.variable_prefix, self._target.auth_url
        if status in (400, 401, 403):
            return step(f"check {prefix}CLIENT_ID, {prefix}CLIENT_SECRET and the audience {purpose.audience}")
        if status is None:
            return step(f"check auth_url ({address}) and the network")
        if status == 429 or status >= 500:
            return step("the identity provider is overloaded or unavailable: retry later")
        return step(f"check auth_url ({address})")
