"""What the service offers (SERVICE.md, section 4), one method for each call.

The bearer and the new token after a 401 are plain code rather than an authentication class of the HTTP library: the
retry of a create is a call of its own, which its caller decides on after it has re-read the record.
"""

import json
from collections.abc import Callable, Collection, Mapping

from msgspec import field
from msgspec.structs import replace

from reconciler.errors import CallFailed, TokenError
from reconciler.model.desired import Target
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Request
from reconciler.service.credentials import Credentials
from reconciler.service.outcomes import harmless_fields, outcome_of
from reconciler.service.tokens import Tokens
from reconciler.service.transport import Transport, always
from reconciler.values import Discreet

_LEAD_FAILURES = {
    Outcome.NOT_SENT: ("the lead was not sent", "nothing was created; retry"),
    Outcome.REJECTED: ("the lead was rejected", "nothing was created; correct the lead or the settings, and retry"),
    Outcome.UNKNOWN: (
        "the lead was sent, but its outcome is unknown",
        "check with the operator before you send it again: a second send may create a duplicate",
    ),
}


def lead_failure(outcome: Outcome, detail: str | None, target: Target) -> CallFailed:
    """The error for a lead that was not created for certain."""
    what, remedy = _LEAD_FAILURES[outcome]
    return CallFailed(f"{what}: {detail}", where=target.name, remedy=remedy)


class LeadAnswer(Discreet, frozen=True):
    """The answer to a lead that was created; its body is not documented and given as received.

    `warning` says, in one line, after how many bytes the body was cut off.
    """

    unprinted = ("body",)

    status: int
    body: bytes
    warning: str | None = None


class _Call(Discreet, frozen=True):
    """One POST before it has a token: which API, the path below base_url, what is sent.

    `sent` are the values in it that are no secrets, so that an answer may repeat them.
    """

    unprinted = ("content",)

    api: str
    path: str
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: Collection[str] = ()


class Service:
    """The service with the credentials of one target; `timeout` is in seconds, for the whole of one call."""

    def __init__(
        self, transport: Transport, tokens: Tokens, target: Target, credentials: Credentials, timeout: float
    ) -> None:
        self._transport = transport
        self._tokens = tokens
        self._target = target
        self._credentials = credentials
        self._timeout = timeout
        self._sent_tokens: set[str] = set()

    def authorise(self) -> None:
        """Get the token that creates need, so that no create is started without one. Raises TokenError."""
        self._token("notification")

    def expect_creates(self, calls: int, at_once: int) -> None:
        """So many creates are left, `at_once` in flight at most: open connections for the next. Raises nothing."""
        self._transport.expect(self._target.base_url, calls, at_once, self._timeout)

    def expect_no_creates(self) -> None:
        """Close the connections that were opened for creates. Raises nothing."""
        self._transport.forget(self._target.base_url)

    def create_subscription(self, request: Request, may_send: Callable[[], bool], *, renew: bool = True) -> Answer:
        """Create a webhook subscription (SERVICE.md, section 4.2) and give its outcome; raises nothing.

        `may_send` is called, from another thread, just before the first byte. Nothing is retried: after a 401 the
        token is discarded and, if `renew`, a new one fetched; `retry_after` is then 0.
        """
        codes = sorted(request.codes)
        body = json.dumps({"eventCodes": codes, "webhookUrl": request.url}).encode()
        call = _Call("notification", "/notification/webhooksubscription", body, sent=(*codes, request.url))
        return self._send_once(call, may_send, renew=renew)

    def create_lead(self, lead: bytes, may_send: Callable[[], bool] = always) -> LeadAnswer:
        """Create a lead (SERVICE.md, section 4.3) from a JSON document, sent as it is.

        `may_send` is called as by `create_subscription`. Raises TokenError, and CallFailed, which says whether the lead
        may have been created.
        """
        self._token("onboarding")
        call = _Call("onboarding", "/onboarding/leads", lead, {"accept": "application/json"})
        answer = self._send_once(call, may_send, renew=True)
        if answer.status == 401 and answer.retry_after is not None:
            answer = self._send_once(call, may_send, renew=False)
        if answer.status is not None and answer.outcome is Outcome.CREATED:
            return LeadAnswer(answer.status, answer.body, answer.detail)
        raise lead_failure(answer.outcome, answer.detail, self._target)

    def _token(self, api: str) -> str:
        return self._tokens.token(self._target, self._credentials, api)

    def _send_once(self, call: _Call, may_send: Callable[[], bool], *, renew: bool) -> Answer:
        """Send `call`; after a 401 get a new token, if `renew`, and mark the answer with a `retry_after` of 0."""
        try:
            token = self._token(call.api)
        except TokenError as error:
            return Answer(Outcome.NOT_SENT, detail=str(error))
        answer = self._send_with(token, call, may_send)
        if answer.status != 401 or not renew:
            return answer
        try:
            self._tokens.renew(self._target, self._credentials, call.api, token)
        except TokenError as error:
            return replace(answer, detail=f"{answer.detail}; {error}")
        return replace(answer, retry_after=0.0)

    def _send_with(self, token: str, call: _Call, may_send: Callable[[], bool]) -> Answer:
        headers = {"authorization": f"Bearer {token}", "Content-Type": "application/json", **call.headers}
        self._sent_tokens.add(token)
        secrets = [*self._sent_tokens.copy(), self._credentials.client_id, self._credentials.client_secret]
        result = self._transport.post(
            self._target.base_url + call.path, headers, call.content,
            timeout=self._timeout, may_send=may_send, secrets=secrets,
        )  # fmt: skip
        answer = outcome_of(result, secrets)
        if answer.outcome is not Outcome.CREATED:
            return answer
        return replace(answer, fields=harmless_fields(answer.body, call.sent, secrets))
