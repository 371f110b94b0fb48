"""The routes of a service that are in force, possibly in force, or desired."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from reconciler.model.address import Address
from reconciler.model.desired import Overlap
from reconciler.model.record import Status, is_recorded_twice
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.desired import Desired, Subscription
    from reconciler.model.plan import Request
    from reconciler.model.record import Attempt, Record


class Routes:
    """The routes of the record and of `config/` by service. The indexes are built on first use."""

    def __init__(self, desired: Desired, record: Record) -> None:
        self._desired = desired
        self._record = record
        self.services = {name: record.service_of(target.base_url) for name, target in desired.targets.items()}

    def elsewhere(self, address: Address, request: Request) -> list[Attempt]:
        """Return the attempts of other addresses that deliver, or may deliver, a route of a request."""
        url, routes = normal_url(request.template), self._record.routes_at(self.services[address.target])
        return _at_other_addresses(
            address, (attempt for code in request.codes for attempt in routes.get((code, url), ()))
        )

    def moving(self, address: Address, request: Request) -> list[Attempt]:
        """Return the attempts of other addresses that deliver, or may deliver, codes of a request.

        Codes that an attempt's own address desires do not count.
        """
        service = self.services[address.target]
        holders = (
            attempt
            for code in request.codes
            for attempt in self._by_code.get((service, code), ())
            if not self._is_desired(attempt.address, code, service)
        )
        return _at_other_addresses(address, holders)

    def is_unmanaged(self, attempt: Attempt, request: Request) -> bool:
        """True if an attempt will keep overlapping with a request: no removal is awaited, and none can be planned."""
        requested = set(request.codes).intersection(attempt.codes) <= set(attempt.requested_codes)
        return attempt.address.target not in self._desired.targets and not requested

    def superseded(self, address: Address, request: Request) -> list[Attempt]:
        """Return the superseded attempts of other addresses that may deliver codes of a request.

        They block nothing: each has its own URL, so the endpoint can distinguish their notifications.
        """
        service = self.services[address.target]
        holders = (
            attempt
            for attempt in self.superseded_attempts
            for code in attempt.codes
            if code in request.codes and self._record.service_of(attempt.base_url) == service
            if attempt.is_at(request.template) or not self._is_desired(attempt.address, code, service)
        )
        return _at_other_addresses(address, holders)

    def leaving(self, attempt: Attempt, codes: Iterable[str]) -> tuple[str, ...]:
        """Return the codes in `codes` that an attempt has but that its address no longer desires."""
        service = self._record.service_of(attempt.base_url)
        wanted = set(codes)
        return tuple(
            code for code in attempt.codes if code in wanted and not self._is_desired(attempt.address, code, service)
        )

    def rival(self, address: Address, request: Request) -> Subscription | None:
        """Return a desired subscription of another address that conflicts with codes of this request, or None.

        Subscriptions with the same `base_url` are checked when `config/` is read; this check is for services that the
        record declares to be the same. Another subscription conflicts only if its address comes first in order, or if
        an attempt of its address has the code and is in force or unresolved.
        """
        mode = self._desired.targets[address.target].overlap
        service = self.services[address.target]
        for code in request.codes if self._record.services else ():
            for other in self._desired_by_code.get((service, code), ()):
                if other.address == address:
                    continue
                modes = {mode, self._desired.targets[other.address.target].overlap}
                is_same = normal_url(other.template) == normal_url(request.template)
                if (is_same or Overlap.REFUSE in modes) and (
                    other.address < address
                    or any(attempt.address == other.address for attempt in self._by_code.get((service, code), ()))
                ):
                    return other
        return None

    def renaming(self, attempt: Attempt, address: Address) -> tuple[str, ...]:
        """Return the `state mv` arguments that move an attempt to this address, or none if it was not renamed.

        An attempt counts as renamed if its address no longer desires it. If an undesired subscription occupies the new
        address, the arguments are for the command that moves this subscription away first.
        """
        if not (attempt.by_plan or attempt.status is Status.LIVE) or self._is_kept(attempt.address):
            return ()
        if not self._present(address):
            return attempt.address, address
        aside = Address(f"{address}-moved")
        if self._is_kept(address) or aside in self._desired.subscriptions or self._record.at_address(aside):
            return ()
        return address, aside

    def is_kept_elsewhere(self, attempt: Attempt) -> bool:
        """True if an attempt and a desired attempt of another address may be the same subscription.

        This is possible if one of the two was imported. Removing the attempt could then remove the only subscription.
        """
        at_service = self._record.routes_at(self._record.service_of(attempt.base_url))
        sharing = (other for route in attempt.routes for other in at_service.get(route, ()))
        return any(
            other.status is Status.LIVE and is_recorded_twice(attempt, other) and self._is_wanted(other)
            for other in _at_other_addresses(attempt.address, sharing)
        )

    def _is_kept(self, address: Address) -> bool:
        """True if an address has an attempt, in force or unresolved, with a route that the address desires."""
        return any(map(self._is_wanted, self._present(address)))

    def _is_wanted(self, attempt: Attempt) -> bool:
        """True if one of an attempt's routes is desired by the attempt's address."""
        subscription = self._desired.subscriptions.get(attempt.address)
        if subscription is None:
            return False
        routes = {(code, normal_url(subscription.template)) for code in subscription.codes}
        return not routes.isdisjoint(attempt.routes)

    def _present(self, address: Address) -> list[Attempt]:
        return [attempt for attempt in self._record.at_address(address) if attempt.in_force or attempt.blocks]

    def _is_desired(self, address: Address, code: str, service: str) -> bool:
        subscription = self._desired.subscriptions.get(address)
        return subscription is not None and code in subscription.codes and self.services[address.target] == service

    @cached_property
    def superseded_attempts(self) -> list[Attempt]:
        """Return the attempts that a retry has superseded and whose outcome is still unknown."""
        return [attempt for attempt in self._record.attempts.values() if attempt.superseded_by and attempt.unresolved]

    @cached_property
    def _by_code(self) -> dict[tuple[str, str], list[Attempt]]:
        found: dict[tuple[str, str], list[Attempt]] = {}
        for attempt in self._record.attempts.values():
            if attempt.in_force or attempt.blocks:
                service = self._record.service_of(attempt.base_url)
                for code in attempt.codes:
                    found.setdefault((service, code), []).append(attempt)
        return found

    @cached_property
    def _desired_by_code(self) -> dict[tuple[str, str], list[Subscription]]:
        found: dict[tuple[str, str], list[Subscription]] = {}
        for address, subscription in self._desired.subscriptions.items():
            for code in subscription.codes:
                found.setdefault((self.services[address.target], code), []).append(subscription)
        return found


def _at_other_addresses(address: Address, attempts: Iterable[Attempt]) -> list[Attempt]:
    """Return the attempts of other addresses, sorted and without duplicates."""
    others = {attempt.id: attempt for attempt in attempts if attempt.address != address}
    return sorted(others.values(), key=lambda attempt: (attempt.address, attempt.id))
