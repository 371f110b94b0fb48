"""The state of the sandbox: subscriptions, tokens, faults, and logs of all requests and deliveries."""

import hashlib
import hmac
import json
import secrets
import time
import uuid
from base64 import b64encode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from threading import Lock
from typing import assert_never

from reconciler.sandbox.events import (
    Attempted,
    Commit,
    Created,
    DeliveryAttempt,
    Event,
    Issued,
    Lead,
    LeadCreated,
    Removed,
    Revoked,
    Started,
    Token,
    Triggered,
)  # fmt: skip
from reconciler.sandbox.faults import Fault, FaultPlan, Kind
from reconciler.sandbox.targets import Provider, Target


class World:
    """All state of a sandbox, in memory, behind one lock. The lists are logs: they only grow.

    Events are remembered before they count, if `continue_from` said where.

    `requests` counts by endpoint (`token`, `create`, `lead`) and place: a target, or the name of an identity provider.
    """

    def __init__(
        self, targets: Mapping[str, Target], faults: FaultPlan | None = None, *, token_lifetime: int = 86_400,
    ) -> None:  # fmt: skip
        self.targets = targets
        self.token_lifetime = token_lifetime
        self._append: Callable[[Event], object] = _forget
        self.commits: list[Commit] = []
        self.leads: list[Lead] = []
        self.tokens: dict[str, Token] = {}
        self.delivery_attempts: list[DeliveryAttempt] = []
        self.requests: Counter[tuple[str, str]] = Counter()
        self.failures: list[str] = []
        self._removed: set[str] = set()
        self._revoked: set[str] = set()
        self._faults = faults or FaultPlan({})
        self._lock = Lock()

    def remember(self, event: Event) -> None:
        """Have an event survive this run."""
        self._append(event)

    def continue_from(self, events: Iterable[Event], append: Callable[[Event], object]) -> None:
        """Take over what happened in an earlier run, and remember what happens from now on with `append`."""
        self._append = append
        for event in events:
            match event:
                case Created(commit):
                    self.commits.append(commit)
                case Removed(subscription_id):
                    self._removed.add(subscription_id)
                case LeadCreated(lead):
                    self.leads.append(lead)
                case Issued(text, token):
                    self.tokens[text] = token
                case Revoked(text):
                    self._revoked.add(text)
                case Attempted(attempt=attempt):
                    self.delivery_attempts.append(attempt)
                case Started() | Triggered():
                    pass
                case _:
                    assert_never(event)

    def fail_next(self, name: str, count: int = 1, target: str | None = None) -> None:
        """Let the next `count` requests (to `target`) meet a fault, before any random one. Raises SettingsError."""
        with self._lock:
            self._faults.fail_next(name, count, target)

    def draw_fault(self, kind: Kind, targets: Collection[str], bearer: str | None = None) -> Fault | None:
        """The fault that a request meets; `bearer` is its token."""
        with self._lock:
            token = self.tokens.get(bearer or "")
            return self._faults.draw(kind, targets, spared=token is not None and token.spared)

    def count_request(self, endpoint: str, place: str) -> None:
        with self._lock:
            self.requests[endpoint, place] += 1

    def issue_token(self, provider: Provider, client_id: str, audience: str) -> str:
        """A new token, valid for `token_lifetime` seconds."""
        now = int(time.time())
        expires_at = now + self.token_lifetime
        claims = {
            "iss": provider.auth_url,
            "sub": client_id,
            "aud": audience,
            "iat": now,
            "exp": expires_at,
            "jti": str(uuid.uuid4()),
        }
        token = _sign_token(claims, provider.key)
        with self._lock:
            revoked = [self.tokens[text] for text in self._revoked]
            spared = any((other.client_id, other.audience) == (client_id, audience) for other in revoked)
            issued = Token(provider.name, client_id, audience, expires_at, spared)
            self.remember(Issued(token, issued))
            self.tokens[token] = issued
        return token

    def find_token(self, text: str) -> Token | None:
        """The token, if this sandbox issued it, and it has neither expired nor been revoked."""
        with self._lock:
            token = self.tokens.get(text)
            if token is None or text in self._revoked or token.expires_at <= time.time():
                return None
            return token

    def revoke_token(self, text: str | None) -> None:
        """Make a token invalid before it expires."""
        with self._lock:
            if text is not None and text in self.tokens:
                self.remember(Revoked(text))
                self._revoked.add(text)

    def commit_subscription(self, target: str, codes: tuple[str, ...], url: str, account: str = "") -> Commit:
        """A new subscription, even if there is an equal one: creating is not idempotent."""
        with self._lock:
            commit = Commit(
                sequence=len(self.commits) + 1,
                at=time.time(),
                target=target,
                codes=codes,
                url=url,
                id=str(uuid.uuid4()),
                secret=b64encode(secrets.token_bytes(32)).decode(),
                account=account,
            )
            self.remember(Created(commit))
            self.commits.append(commit)
            return commit

    def add_lead(self, target: str, document: Mapping[str, object]) -> Lead:
        lead = Lead(time.time(), target, str(uuid.uuid4()), document)
        with self._lock:
            self.remember(LeadCreated(lead))
            self.leads.append(lead)
        return lead

    def remove_subscription(self, subscription_id: str) -> bool:
        """Remove a subscription, as the operator of the service can; False if none has this id."""
        with self._lock:
            exists = any(commit.id == subscription_id for commit in self.commits) and (
                subscription_id not in self._removed
            )
            if exists:
                self.remember(Removed(subscription_id))
                self._removed.add(subscription_id)
            return exists

    def subscriptions(self, target: str | None = None) -> list[Commit]:
        """The subscriptions that were not removed, on one target or on all, in order of creation."""
        with self._lock:
            return [
                commit for commit in self.commits if commit.id not in self._removed and target in (None, commit.target)
            ]

    def log_delivery(self, attempt: DeliveryAttempt) -> None:
        with self._lock:
            self.delivery_attempts.append(attempt)

    def log_failure(self, failure: BaseException | None) -> None:
        """Log a defect of the sandbox itself, which nothing else would show."""
        with self._lock:
            self.failures.append(repr(failure))

    def describe(self) -> dict[str, object]:
        """The whole state as a JSON document, without secret keys, tokens and credentials."""
        existing = {commit.id for commit in self.subscriptions()}
        with self._lock:
            requests: dict[str, dict[str, int]] = {}
            for (endpoint, place), count in sorted(self.requests.items()):
                requests.setdefault(endpoint, {})[place] = count
            return {
                "subscriptions": [
                    {
                        "sequence": commit.sequence,
                        "at": commit.at,
                        "target": commit.target,
                        "subscriptionId": commit.id,
                        "eventCodes": list(commit.codes),
                        "webhookUrl": commit.url,
                        "removed": commit.id not in existing,
                    }
                    for commit in self.commits
                ],
                "requests": requests,
                "tokens": len(self.tokens),
                "leads": len(self.leads),
                "deliveries": [_describe_delivery(attempt) for attempt in self.delivery_attempts],
                "failures": list(self.failures),
            }


def _forget(_: Event) -> None:
    """Remember nothing."""


def _describe_delivery(attempt: DeliveryAttempt) -> dict[str, object]:
    return {
        "at": attempt.at,
        "subscriptionId": attempt.subscription_id,
        "target": attempt.target,
        "eventCode": attempt.code,
        "webhookUrl": attempt.url,
        "attempt": attempt.number,
        "status": attempt.status,
        "detail": attempt.detail,
    }


def _sign_token(claims: Mapping[str, object], key: bytes) -> str:
    """The compact form of a JWT (RFC 7519), signed with HMAC SHA-256."""
    signed = f"{_encode_json({'alg': 'HS256', 'typ': 'JWT'})}.{_encode_json(claims)}"
    return f"{signed}.{_encode(hmac.digest(key, signed.encode(), hashlib.sha256))}"


def _encode_json(document: Mapping[str, object]) -> str:
    return _encode(json.dumps(document, separators=(",", ":")).encode())


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
