"""Access tokens for the APIs of the service: one for each identity provider, client and audience."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.service.stored_token import Purpose
from reconciler.service.token_request import PAUSES, TokenRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.model.desired import Target
    from reconciler.service.credentials import Credentials
    from reconciler.service.token_cache import TokenCache
    from reconciler.service.transport import Transport


class Tokens:
    """Gives tokens from a cache, and requests those that are not in it; `timeout` is in seconds, for one request."""

    def __init__(
        self, transport: Transport, cache: TokenCache, timeout: float, pauses: Sequence[float] = PAUSES
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

    def renew(self, target: Target, credentials: Credentials, api: str, refused: str) -> str:
        """Another token than the one the service `refused`. Raises TokenError."""
        self._cache.discard(_purpose(target, credentials, api), credentials.client_secret, refused)
        return self.token(target, credentials, api)


def _purpose(target: Target, credentials: Credentials, api: str) -> Purpose:
    return Purpose(target.auth_url, credentials.client_id, f"{target.audience_base}/{api}")
