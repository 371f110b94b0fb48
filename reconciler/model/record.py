"""The record as a value: its attempts, its losses, and everything else that follows from its facts."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from reconciler.model.url import has_attempt, normal_url, service_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from reconciler.model.address import Address
    from reconciler.model.outcome import Outcome

Scalar = str | int | float | bool
Route = tuple[str, str]
"""An event code and the template of a URL, in normal form."""


class Status(StrEnum):
    """The status of an attempt. PENDING: it has no outcome yet. GONE: it certainly does not deliver."""

    PENDING = "pending"
    UNKNOWN = "unknown"
    LIVE = "live"
    AWAITING_REMOVAL = "awaiting_removal"
    GONE = "gone"


UNRESOLVED = (Status.PENDING, Status.UNKNOWN)
IN_FORCE = (Status.LIVE, Status.AWAITING_REMOVAL)


class Said(Struct, frozen=True, gc=False):
    """A person's statement about an attempt: its time, its author and a note."""

    at: str
    by: Mapping[str, str]
    note: str = ""


class Attempt(Struct, frozen=True, gc=False):
    """A create call, or an imported subscription, and everything known about it.

    - `codes` are the codes that it delivers as far as is known, sorted.
    - `url` is the URL as sent; `template` is the URL before `{attempt}` was filled in.
    - `since` and `by` are the time and author of the first fact; `at` is the time of the last fact, except renames and
      notifications.
    - `send_by` and `settled_by` are in epoch seconds, 0 for an import.
    - `requests` are the ids of the removal requests that were not cancelled, `requested_codes` their codes, and
      `requested` the time of the last one. `by_plan` is true if a plan made all of them, so that a plan may withdraw
      them.
    - `cancelled` maps codes to the time at which their removal request was cancelled. Codes whose removal was requested
      again are omitted.
    - `exists`, `absent` and `removed` are people's statements; `confirmations` are the ids of the confirmed removals.
    - `beside` are attempts with the same routes that a person declared to be different subscriptions.
    - `received` is the time of the last notification at its own URL, which proves that the attempt exists; only
      attempts with `{attempt}` have such a URL. `revived` is true if that notification arrived after the removal of
      its code was confirmed.
    - `supersedes` are the unknown attempts that this one retried; `retries` is the number of retries that led to it.
    - `superseded_by` are the attempts that make this one redundant: direct or indirect retries that may exist, or
      earlier attempts that turned out to deliver its routes.
    - `other_addresses` are the addresses that conflicting renames give it; `former_addresses` are its earlier
      addresses.
    - `responses` and `secrets` are encrypted texts or names of private files; `fields` are the unencrypted response
      fields.
    """

    id: str
    address: Address
    codes: tuple[str, ...]
    url: str
    template: str
    base_url: str
    status: Status
    since: str
    at: str
    by: Mapping[str, str]
    account: str = ""
    action: str = ""
    send_by: float = 0.0
    settled_by: float = 0.0
    outcome: Outcome | None = None
    http_status: int | None = None
    date: str | None = None
    detail: str | None = None
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    exists: Said | None = None
    absent: Said | None = None
    removed: Said | None = None
    removed_codes: tuple[str, ...] = ()
    confirmations: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    requested_codes: tuple[str, ...] = ()
    requested: str = ""
    by_plan: bool = False
    cancelled: Mapping[str, str] = field(default_factory=dict)
    received: str = ""
    revived: bool = False
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    retries: int = 0
    other_addresses: tuple[Address, ...] = ()
    former_addresses: tuple[str, ...] = ()
    renames: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    @property
    def in_force(self) -> bool:
        """True if the attempt delivers, as far as is known."""
        return self.status in IN_FORCE

    @property
    def unresolved(self) -> bool:
        """True if it is unknown whether the attempt was created."""
        return self.status in UNRESOLVED

    @property
    def blocks(self) -> bool:
        """True if the attempt is unresolved and no retry has superseded it."""
        return self.status in UNRESOLVED and not self.superseded_by

    @property
    def given_up(self) -> bool:
        """True if the attempt was superseded, or if a person declared it not created and it has a URL of its own."""
        return bool(self.superseded_by) or (self.absent is not None and self.own_url)

    @property
    def imported(self) -> bool:
        """True if the attempt was created by other means and recorded by a person."""
        return not self.settled_by

    @property
    def own_url(self) -> bool:
        """True if no other attempt has the same URL, so that a notification there proves that this attempt exists."""
        return has_attempt(self.template)

    @property
    def service(self) -> str:
        """Return the key of the service on which the attempt was created."""
        return service_key(self.base_url)

    @property
    def routes(self) -> frozenset[Route]:
        """Return the routes of the attempt: each of its codes with the template of its URL."""
        url = normal_url(self.template)
        return frozenset((code, url) for code in self.codes)

    def is_at(self, template: str) -> bool:
        """True if the attempt delivers to the URL with this template."""
        return self.template == template or normal_url(self.template) == normal_url(template)

    def settled(self, now: float) -> bool:
        """True if the call of the attempt can no longer be in flight at `now` (epoch seconds)."""
        return now >= self.settled_by

    def in_flight(self, now: float) -> bool:
        """True if the attempt has no outcome yet and its call may still be in flight at `now` (epoch seconds)."""
        return self.status is Status.PENDING and not self.settled(now)


def is_recorded_twice(one: Attempt, other: Attempt) -> bool:
    """True if one attempt may be an import of the other, so that both may be the same subscription.

    An import may name only some of the codes that the subscription has.
    """
    if one.id in other.beside or other.id in one.beside or not other.is_at(one.template):
        return False
    return any(a.imported and set(a.codes) <= set(b.codes) for a, b in ((one, other), (other, one)))


class Loss(Struct, frozen=True, gc=False):
    """A loss: the end of the record may be missing.

    `cause` and `heads` are as in `LossOpened`. `of` is the place that was copied, for a loss that a copy opened.
    """

    id: str
    cause: str
    at: str
    by: Mapping[str, str]
    heads: tuple[str, ...] = ()
    of: str = ""
    completed: Said | None = None

    @property
    def open(self) -> bool:
        """True if the loss has not ended."""
        return self.completed is None


class Record(Struct, frozen=True, dict=True):
    """The state that results from all facts of a record. `attempts` are by id, oldest first.

    - `head` is the hash of the last line, and `entries` is the number of lines.
    - `closed_to` is the place where the record continues, or "" if the record is open. `closed_for` is the id of the
      loss that `state copy` opened at that place.
    - `base_urls` and `accounts` map each target to the base URLs and accounts that it is bound to. A target has several
      only if a person has declared that they are the same.
    - `services` maps the key of a service to the key that represents all services declared to be the same one.
    - `contained` holds the hashes of all lines of this record, and of the lines merged from other histories.
    - `missed` holds the heads that a loss lists as missing.
    - `received` has the periods (first, last) in which notifications arrived, by service, normalised URL and event
      code.
    """

    id: str
    head: str
    entries: int
    attempts: Mapping[str, Attempt]
    losses: Mapping[str, Loss]
    closed_to: str = ""
    base_urls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    accounts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)
    contained: AbstractSet[str] = frozenset()
    received: Mapping[tuple[str, str, str], tuple[tuple[str, str], ...]] = field(default_factory=dict)
    missed: frozenset[str] = frozenset()
    closed_for: str = ""

    @property
    def open_losses(self) -> tuple[Loss, ...]:
        """Return the losses that have not ended, in the order in which they were opened."""
        return tuple(loss for loss in self.losses.values() if loss.completed is None)

    def contains(self, head: str) -> bool:
        """True if the record contains everything up to this head, or if a loss names the head."""
        return head in self.contained or head in self.missed

    def service_of(self, base_url: str) -> str:
        """Return the key that represents the service at `base_url` and all services declared to be the same one."""
        key = service_key(base_url)
        return self.services.get(key, key)

    def at_address(self, address: str) -> tuple[Attempt, ...]:
        """Return the attempts of an address, oldest first."""
        return self._by_address.get(address, ())

    @property
    def addresses(self) -> list[str]:
        """Return the addresses that have an attempt, sorted."""
        return sorted(self._by_address)

    def routes_at(self, service: str) -> Mapping[Route, tuple[Attempt, ...]]:
        """Return the attempts that deliver, or may deliver, each route on a service (a key from `service_of`).

        Superseded attempts are omitted, because they block nothing.
        """
        return self._by_service.get(service, {})

    def received_by(self, attempt: Attempt) -> dict[str, tuple[str, str]]:
        """Return, for each code, when it first and last arrived at an attempt's URL since the attempt was created.

        A code that another attempt in force delivers to the same URL is omitted, unless this attempt is in force or
        has a URL of its own.
        """
        url, found = normal_url(attempt.url), {}
        rivals = {} if attempt.in_force or attempt.own_url else self.routes_at(self.service_of(attempt.base_url))
        for code in attempt.codes:
            spans = self.received.get((attempt.service, url, code), ())
            since = [
                (first if first >= attempt.since else last, last) for first, last in spans if last >= attempt.since
            ]
            if since and not any(other.in_force for other in rivals.get((code, normal_url(attempt.template)), ())):
                found[code] = min(first for first, _ in since), max(last for _, last in since)
        return found

    @cached_property
    def bound_services(self) -> frozenset[str]:
        """Return the keys (see `service_of`) of the services that the record's targets are bound to."""
        return frozenset(self.service_of(url) for urls in self.base_urls.values() for url in urls)

    @cached_property
    def _by_address(self) -> dict[str, tuple[Attempt, ...]]:
        found: dict[str, list[Attempt]] = {}
        for attempt in self.attempts.values():
            found.setdefault(attempt.address, []).append(attempt)
        return {address: tuple(attempts) for address, attempts in found.items()}

    @cached_property
    def _by_service(self) -> dict[str, dict[Route, tuple[Attempt, ...]]]:
        found: dict[str, dict[Route, list[Attempt]]] = {}
        for attempt in self.attempts.values():
            if attempt.in_force or attempt.blocks:
                routes = found.setdefault(self.service_of(attempt.base_url), {})
                for route in attempt.routes:
                    routes.setdefault(route, []).append(attempt)
        return {
            service: {route: tuple(attempts) for route, attempts in routes.items()} for service, routes in found.items()
        }
