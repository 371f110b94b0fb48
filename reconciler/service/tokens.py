"""Access tokens for the APIs of the service, cached or requested from an identity provider (SERVICE.md, section 5)."""

import json
import time
from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from reconciler.errors import TokenError
from reconciler.model.desired import Target
from reconciler.model.outcome import Answer
from reconciler.service import clock
from reconciler.service.credentials import Credentials
from reconciler.service.outcomes import json_object, outcome_of
from reconciler.service.stored_token import Purpose
from reconciler.service.token_cache import TokenCache
from reconciler.service.transport import Transport

_PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each retry. Requesting a token again does no harm."""

_LONGEST_LIFE = 86_400  # seconds (SERVICE.md, section 8): a longer one is cut to this
_LONGEST_TOKEN = 16_384  # characters: servers accept no longer header
_LONGEST_PAUSE = 10.0


class TokenAnswer(BaseModel):
    """The answer of the token endpoint (SERVICE.md, section 2.1)."""

    model_config = ConfigDict(hide_input_in_errors=True, frozen=True)

    access_token: Annotated[
        str, StringConstraints(pattern=r"^[\x21-\x7e]+$", max_length=_LONGEST_TOKEN), Field(repr=False)
    ]
    token_type: Annotated[str, StringConstraints(pattern=r"^(?i:bearer)$")]
    expires_in: Annotated[int, Field(gt=0)]

    @property
    def lifetime(self) -> int:
        return min(self.expires_in, _LONGEST_LIFE)


class TokenRequest(Struct, frozen=True):
    """One request for a token: for a target, with its credentials, for one audience."""

    target: Target
    credentials: Credentials
    audience: str

    def send(self, transport: Transport, timeout: float, pauses: Sequence[float] = _PAUSES) -> tuple[str, float]:
        """Request a token and its lifetime in seconds; retry if the provider is unreachable, failing or overloaded.

        One call takes `timeout` seconds at most; after as many seconds in all, there is no further retry. Raises
        TokenError.
        """
        started = clock.steady()
        answer = self._ask(transport, timeout)
        for pause in pauses:
            if not _is_transient(answer) or clock.steady() - started > timeout:
                break
            time.sleep(max(pause, min(answer.retry_after or 0.0, _LONGEST_PAUSE)))
            answer = self._ask(transport, timeout)
        return self._read(answer)

    def _ask(self, transport: Transport, timeout: float) -> Answer:
        body = {
            "grant_type": "client_credentials",
            "client_id": self.credentials.client_id,
            "client_secret": self.credentials.client_secret,
            "audience": self.audience,
        }
        url = f"{self.target.auth_url}/oauth/token"
        secrets = [self.credentials.client_id, self.credentials.client_secret]
        result = transport.post(
            url, {"content-type": "application/json"}, json.dumps(body).encode(), timeout=timeout, secrets=secrets
        )
        return outcome_of(result, secrets)

    def _read(self, answer: Answer) -> tuple[str, float]:
        if answer.status is None or not 200 <= answer.status < 300:
            raise self._error(answer, answer.detail or "")
        try:
            token = TokenAnswer.model_validate(json_object(answer.body))
        except ValidationError as problem:
            names = ", ".join(sorted({str(error["loc"][0]) for error in problem.errors()}))
        else:
            return token.access_token, token.lifetime
        # Outside of the handler: the validation error holds the answer, and perhaps a token in it.
        raise self._error(answer, f"HTTP {answer.status} without a valid {names}")

    def _error(self, answer: Answer, what: str) -> TokenError:
        return TokenError(f"no access token: {what}", where=self.target.name, remedy=self._remedy(answer.status))

    def _remedy(self, status: int | None) -> str:
        prefix = self.target.name.variable_prefix
        if status in (400, 401, 403):
            return f"check {prefix}CLIENT_ID, {prefix}CLIENT_SECRET and the audience {self.audience}"
        if status is None:
            return f"check auth_url ({self.target.auth_url}) and the network"
        if status == 429 or status >= 500:
            return "the identity provider is overloaded or unavailable: retry later"
        return f"check auth_url ({self.target.auth_url})"


def _is_transient(answer: Answer) -> bool:
    return answer.status is None or answer.status == 429 or answer.status >= 500


class Tokens:
    """Gives tokens from a cache, and requests those that are not in it; `timeout` is in seconds, for one request."""

    def __init__(
        self, transport: Transport, cache: TokenCache, timeout: float, pauses: Sequence[float] = _PAUSES
    ) -> None:
        self._transport = transport
        self._cache = cache
        self._timeout = timeout
        self._pauses = pauses

    def token(self, target: Target, credentials: Credentials, api: str) -> str:
        """A token for one API on `target`. Raises TokenError."""
        purpose = _purpose(target, credentials, api)
        request = TokenRequest(target, credentials, purpose.audience)
        return self._cache.get(
            purpose, credentials.client_secret, lambda: request.send(self._transport, self._timeout, self._pauses)
        )

    def is_new(self, target: Target, credentials: Credentials, api: str) -> bool:
        """Get a token as `token` does; whether it was requested, and not in the cache. Raises TokenError."""
        purpose, requests = _purpose(target, credentials, api), list[TokenRequest]()

        def request() -> tuple[str, float]:
            requests.append(TokenRequest(target, credentials, purpose.audience))
            return requests[0].send(self._transport, self._timeout, self._pauses)

        self._cache.get(purpose, credentials.client_secret, request)
        return bool(requests)

    def renew(self, target: Target, credentials: Credentials, api: str, refused: str) -> str:
        """Another token than the one the service `refused`. Raises TokenError."""
        self._cache.discard(_purpose(target, credentials, api), credentials.client_secret, refused)
        return self.token(target, credentials, api)


def _purpose(target: Target, credentials: Credentials, api: str) -> Purpose:
    return Purpose(target.auth_url, credentials.client_id, f"{target.audience_base}/{api}")
