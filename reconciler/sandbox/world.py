"""Computes the state of the sandbox from its events, and changes it. Starts no threads and opens no sockets."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from base64 import b64encode, urlsafe_b64encode
from collections import Counter
from fcntl import LOCK_EX, LOCK_NB, flock
from heapq import heappop, heappush
from itertools import count
from threading import Condition, Lock
from typing import TYPE_CHECKING, assert_never
from uuid import UUID

import msgspec
from msgspec.structs import asdict, replace

from reconciler.disk import private_directory, sync_directory, write_at
from reconciler.errors import Message, SettingsError, Step
from reconciler.sandbox.events import Attempted, Delivery, Event, Lead, Removed, Revoked, Started, Subscription, Token

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from reconciler.sandbox.faults import Fault, FaultPlan
    from reconciler.sandbox.layout import Provider, Target


ATTEMPTS = 4  # the first attempt and 3 retries (service description, section 8)


class World:
    """The whole state of a sandbox. The condition `changed` guards it, and is notified of every event.

    `append` stores events before they are applied. `clock` returns epoch seconds, and `entropy` returns the given
    number of random bytes. A create with the fault `late` happens `late_seconds` later. `requests` counts
    requests by endpoint (`token`, `create`, `lead`) and by target or, for tokens, by identity provider. The lists
    `created`, `leads`, `attempted` and `failures` only grow.
    """

    def __init__(
        self,
        targets: Mapping[str, Target],
        faults: FaultPlan,
        append: Callable[[Iterable[Event]], object] = lambda _: None,
        *,
        token_lifetime: int = 86_400,
        retry_interval: float = 15.0,
        clock: Callable[[], float] = time.time,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self.targets, self.token_lifetime, self.retry_interval = targets, token_lifetime, retry_interval
        self.late_seconds = 2.0
        self.changed = Condition()
        self.created: list[Subscription] = []
        self.leads, self.attempted = list[Lead](), list[Attempted]()
        self.tokens: dict[str, Token] = {}
        self.unfinished: dict[str, Delivery] = {}
        self.requests: Counter[tuple[str, str]] = Counter()
        self.failures: list[str] = []
        self._faults, self._append, self._clock, self._entropy = faults, append, clock, entropy
        self._removed, self._revoked = set[str](), set[str]()
        self._waiting: list[tuple[float, int, Delivery]] = []
        self._order = count()
        self._late: list[tuple[float, str, tuple[str, ...], str, str]] = []

    def restore(self, events: Iterable[Event]) -> None:
        """Restore the state from the events of earlier runs."""
        for event in events:
            self._apply(event)

    def record(self, *events: Event) -> None:
        """Record events durably, then apply them to the state."""
        with self.changed:
            self._append(events)
            for event in events:
                self._apply(event)
            self.changed.notify_all()

    def _apply(self, event: Event) -> None:
        match event:
            case Started():
                pass
            case Subscription():
                self.created.append(event)
            case Removed():
                self._removed.add(event.id)
            case Lead():
                self.leads.append(event)
            case Token():
                self.tokens[event.text] = event
            case Revoked():
                self._revoked.add(event.text)
            case Delivery():
                self.unfinished[event.id] = event
                heappush(self._waiting, (event.due, next(self._order), event))
            case Attempted():
                self.attempted.append(event)
                delivery = self.unfinished.pop(event.id)
                if event.due is not None:
                    self._apply(replace(delivery, number=event.number + 1, due=event.due))
            case _:
                assert_never(event)

    def fail_next(self, name: str, count: int = 1, target: str | None = None) -> None:
        """Inject this fault into the next `count` requests (to `target`, if given). Raises SettingsError."""
        with self.changed:
            self._faults.fail_next(name, count, target)

    def meet(self, kind: str, place: str, targets: Collection[str], bearer: str = "") -> Fault | None:
        """Count a request and return its fault, or None. `bearer` is the token of the request."""
        with self.changed:
            self.requests[kind, place] += 1
            token = self.tokens.get(bearer)
            return self._faults.draw(kind, targets, spared=token is not None and token.spared)

    def issue_token(self, provider: Provider, client_id: str, audience: str) -> str:
        """Issue and return a token that is valid for `token_lifetime` seconds."""
        now = int(self._clock())
        expires_at = now + self.token_lifetime
        claims = {"iss": provider.auth_url, "sub": client_id, "aud": audience, "iat": now, "exp": expires_at}
        parts = {"alg": "HS256", "typ": "JWT"}, {**claims, "jti": self._new_id()}
        signed = ".".join(_base64url(json.dumps(part).encode()) for part in parts)
        text = f"{signed}.{_base64url(hmac.digest(provider.key, signed.encode(), hashlib.sha256))}"
        with self.changed:
            revoked = [self.tokens[text] for text in self._revoked]
            spared = any((token.client_id, token.audience) == (client_id, audience) for token in revoked)
            self.record(Token(text, provider.name, client_id, audience, expires_at, spared))
        return text

    def find_token(self, text: str) -> Token | None:
        """Return the token if this sandbox issued it and it is neither expired nor revoked, otherwise None."""
        with self.changed:
            token = self.tokens.get(text)
            return None if token is None or text in self._revoked or token.expires_at <= self._clock() else token

    def revoke_token(self, text: str) -> None:
        """Revoke a token."""
        with self.changed:
            if text in self.tokens:
                self.record(Revoked(text))

    def create(self, target: str, codes: tuple[str, ...], url: str, account: str = "") -> Subscription:
        """Create and return a subscription, even if an equal subscription exists: creates are not idempotent."""
        with self.changed:
            sequence, secret = len(self.created) + 1, b64encode(self._entropy(32)).decode()
            subscription = Subscription(sequence, self._clock(), target, codes, url, self._new_id(), secret, account)
            self.record(subscription)
            return subscription

    def create_later(self, target: str, codes: tuple[str, ...], url: str, account: str) -> None:
        """Schedule the creation of a subscription after `late_seconds`, or earlier if the sandbox stops."""
        with self.changed:
            self._late.append((self._clock() + self.late_seconds, target, codes, url, account))
            self.changed.notify_all()

    def add_lead(self, target: str, document: dict[str, object]) -> Lead:
        lead = Lead(self._clock(), target, self._new_id(), document)
        self.record(lead)
        return lead

    def remove(self, subscription_id: str) -> bool:
        """Remove a subscription, as the service's operator does; return False if no subscription has this id."""
        with self.changed:
            exists = any(subscription.id == subscription_id for subscription in self.subscriptions())
            if exists:
                self.record(Removed(subscription_id))
            return exists

    def subscriptions(self, target: str | None = None) -> list[Subscription]:
        """Return the existing subscriptions of `target` (of all targets if None) in order of creation."""
        with self.changed:
            existing = [subscription for subscription in self.created if subscription.id not in self._removed]
        return [subscription for subscription in existing if target in (None, subscription.target)]

    def trigger(self, code: str, bodies: Iterable[bytes], target: str | None) -> int:
        """Schedule a delivery of each body to each subscription with the code; return the number of deliveries."""
        subscribed = [subscription for subscription in self.subscriptions(target) if code in subscription.codes]
        now = self._clock()
        deliveries = [Delivery(self._new_id(), to.id, code, body, now) for body in bodies for to in subscribed]
        self.record(*deliveries)
        return len(deliveries)

    def take_due(self) -> list[tuple[Delivery, Subscription]]:
        """Create the late subscriptions that are due, and return the deliveries to attempt now."""
        with self.changed:
            now = self._clock()
            self.create_late(now)
            due = []
            while self._waiting and self._waiting[0][0] <= now:
                delivery = heappop(self._waiting)[2]
                if self.unfinished.get(delivery.id) is delivery:
                    due.append(delivery)
            by_id = {subscription.id: subscription for subscription in self.created} if due else {}
            return [(delivery, by_id[delivery.subscription_id]) for delivery in due]

    def seconds_left(self) -> float | None:
        """Return the seconds until the next delivery or late create is due, or None if nothing is scheduled."""
        with self.changed:
            due = [late[0] for late in self._late] + [waiting[0] for waiting in self._waiting[:1]]
            return max(0.0, min(due) - self._clock()) if due else None

    def create_late(self, until: float = float("inf")) -> None:
        """Create the late subscriptions that are due by `until`."""
        with self.changed:
            due = [late for late in self._late if late[0] <= until]
            self._late = [late for late in self._late if late not in due]
            for _, target, codes, url, account in due:
                self.create(target, codes, url, account)

    def settle(self, delivery: Delivery, to: Subscription, status: int | None, detail: str, *, final: bool) -> None:
        """Record the result of a delivery attempt.

        A failed attempt is retried later, unless it was the last one or the failure is `final`.
        """
        now = self._clock()
        failed = status is None or not 200 <= status < 300
        due = now + self.retry_interval if failed and not final and delivery.number < ATTEMPTS else None
        what = delivery.id, to.id, to.target, delivery.code, to.url
        self.record(Attempted(*what, now, delivery.number, status, detail, due))

    def describe(self) -> dict[str, object]:
        """Return the whole state as a JSON document, without secrets, tokens or credentials."""
        with self.changed:
            requests: dict[str, dict[str, int]] = {}
            for (endpoint, place), number in sorted(self.requests.items()):
                requests.setdefault(endpoint, {})[place] = number
            return {
                "subscriptions": [
                    {
                        "sequence": subscription.sequence,
                        "at": subscription.at,
                        "target": subscription.target,
                        "subscriptionId": subscription.id,
                        "eventCodes": list(subscription.codes),
                        "webhookUrl": subscription.url,
                        "removed": subscription.id in self._removed,
                    }
                    for subscription in self.created
                ],
                "requests": requests,
                "tokens": len(self.tokens),
                "leads": len(self.leads),
                "deliveries": [asdict(attempt) for attempt in self.attempted],
                "failures": list(self.failures),
            }

    def _new_id(self) -> str:
        return str(UUID(bytes=self._entropy(16), version=4))


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


FILE = "sandbox.jsonl"


class Memory:
    """Reads the events of earlier runs from a file, and appends new events. A missing file or directory is created.

    Only one sandbox at a time can open the file. An incomplete last line is removed. Raises SettingsError.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._writing, self._descriptor = Lock(), -1
        try:
            private_directory(directory)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            sync_directory(directory)
            flock(self._descriptor, LOCK_EX | LOCK_NB)
            self.events = self._read()
        except OSError as problem:
            self.close()
            reason = "in use by another sandbox" if isinstance(problem, BlockingIOError) else problem.strerror
            raise self._unusable(reason or "cannot be opened", str(self._path)) from None

    def append(self, events: Iterable[Event]) -> None:
        """Append events and return once they are on disk. Raises OSError if none of them is stored."""
        data = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
        with self._writing:
            if self._descriptor >= 0:  # a delivery that ends after `close` is repeated by the next run
                try:
                    write_at(self._descriptor, data, self._size)
                    self._size += len(data)
                except BaseException:  # what failed must not count after a restart, in whole or in part
                    os.ftruncate(self._descriptor, self._size)
                    raise

    def close(self) -> None:
        with self._writing:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> list[Event]:
        whole, newline, _ = self._path.read_bytes().rpartition(b"\n")
        self._size = len(whole) + len(newline)
        os.ftruncate(self._descriptor, self._size)
        decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
        events = list[Event]()
        try:
            events.extend(map(decoder.decode, whole.splitlines()))
        except msgspec.MsgspecError:
            self.close()
            where = f"{self._path}:{len(events) + 1}"
            raise self._unusable("not written by this version of the sandbox", where) from None
        return events

    def _unusable(self, what: str, where: str) -> SettingsError:
        return SettingsError(Message("sandbox-data-unusable", what, where, (Step("use another --data"),)))
