"""Makes the calls that the service offers (service description, section 4). Each call is one method.

The token is renewed here rather than by an authentication class of the HTTP library, because only the caller may retry
a create, after it has read the record again.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec.structs import replace

from reconciler.errors import CallFailed, Message, TokenError, step
from reconciler.model.outcome import Answer, Outcome
from reconciler.service.outcomes import outcome_of
from reconciler.service.redaction import storable_fields
from reconciler.service.tokens import TokenCache, Tokens
from reconciler.service.transport import Transport, always
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from reconciler.model.desired import Target
    from reconciler.service.tokens import Credentials

_LEAD_FAILURES = {
    Outcome.NOT_SENT: ("lead-not-sent", "the lead was not sent", "nothing was created; retry"),
    Outcome.REJECTED: (
        "lead-rejected", "the lead was rejected", "nothing was created; correct the lead or the settings, and retry",
    ),
    Outcome.UNKNOWN: (
        "lead-unknown", "the lead was sent, but its outcome is unknown",
        "check with the operator before you send it again: a second send may create a duplicate",
    ),
}  # fmt: skip


class LeadAnswer(Discreet, frozen=True):
    """The answer to a lead that was created. Its body is not documented, so it is kept as received.

    `warning` says after how many bytes the body was cut off, or is None if the body is complete.
    """

    unprinted = ("body",)

    status: int
    body: bytes
    warning: str | None = None


def lead_failure(outcome: Outcome, detail: str | None, target: str) -> CallFailed:
    """Return the error for a lead that was not sent, was rejected, or has an unknown outcome."""
    name, what, advice = _LEAD_FAILURES[outcome]
    return CallFailed(Message(name, f"{what}: {detail}" if detail else what, target, (step(advice),)))


class ServiceClient:
    """Calls the service with the credentials of one target. `timeout` limits each whole call, in seconds.

    Any number of threads may use a client. Clients with the same `cache_dir` share their tokens.
    """

    def __init__(self, target: Target, credentials: Credentials, *, timeout: float, cache_dir: Path) -> None:
        """Raise SettingsError if the network settings or the cache directory are unusable."""
        self._target = target
        self._timeout = timeout
        self._transport = Transport()
        self._tokens = Tokens(self._transport, TokenCache(cache_dir / "tokens"), target, credentials, timeout)
        self._secrets_lock = Lock()  # without it, two threads could each drop the other's token
        self._secrets = frozenset({credentials.client_id, credentials.client_secret.get_secret_value()})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client; later calls send nothing."""
        self._transport.close()

    def authorise(self) -> None:
        """Get the token for creates in advance. Raises TokenError."""
        self.token()

    def token(self, api: str = "notification") -> str:
        """Return a token for one of the six APIs. Raises TokenError."""
        return self._tokens.token(api)

    def create_subscription(
        self, codes: Sequence[str], url: str, may_send: Callable[[], bool], *, renew: bool = True
    ) -> Answer:
        """Create a webhook subscription (service description, section 4.2). Raises nothing.

        Another thread calls `may_send` just before it sends the first byte, and sends nothing if the result is false.
        Nothing is retried. After a 401 the token is discarded; with `renew`, a new token is fetched, and the answer's
        `retry_after` is 0.
        """
        ordered = sorted(codes)
        body = msgspec.json.encode({"eventCodes": ordered, "webhookUrl": url})
        try:
            token = self.token()
        except TokenError as error:
            return Answer(Outcome.NOT_SENT, detail=str(error))
        answer = self._post("/notification/webhooksubscription", token, body, may_send, sent=(*ordered, url))
        if answer.status != 401:
            return answer
        self._tokens.discard("notification", token)
        if not renew:
            return answer
        try:
            self.token()
        except TokenError as error:
            return replace(answer, detail=f"{answer.detail}; {error}")
        return replace(answer, retry_after=0.0)

    def create_lead(self, body: bytes, may_send: Callable[[], bool] = always) -> LeadAnswer:
        """Create a lead (service description, section 4.3). The JSON document is sent once and unchanged.

        `may_send` works as in `create_subscription`. Raises TokenError, or CallFailed, whose text says whether the
        lead may have been created.
        """
        token = self.token("onboarding")
        answer = self._post("/onboarding/leads", token, body, may_send, accept="application/json")
        if answer.status == 401:
            self._tokens.discard("onboarding", token)
        if answer.status is not None and answer.outcome is Outcome.CREATED:
            return LeadAnswer(answer.status, answer.body, answer.detail)
        raise lead_failure(answer.outcome, answer.detail, self._target.name)

    def _post(
        self,
        path: str,
        token: str,
        content: bytes,
        may_send: Callable[[], bool],
        *,
        accept: str = "*/*",
        sent: Collection[str] = (),
    ) -> Answer:
        """Send a POST and return the answer. The values in `sent` are not secret: response fields may repeat them."""
        with self._secrets_lock:
            self._secrets |= {token}  # keeps the tokens of earlier calls: a service may echo such a token later
            secrets = self._secrets
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json", "accept": accept}
        result = self._transport.send(
            "POST", self._target.base_url + path, headers, content,
            timeout=self._timeout, may_send=may_send, secrets=secrets,
        )  # fmt: skip
        answer = outcome_of(result, secrets)
        if answer.outcome is not Outcome.CREATED:
            return answer
        return replace(answer, fields=storable_fields(answer.body, sent, secrets))
