"""Who has which route: an index over everything that delivers, or may deliver, at one service."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from reconciler.model.record import Status
from reconciler.model.url import normal_url, service_key
from reconciler.planning.renames import Renames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reconciler.model.address import Address, TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.plan import Request
    from reconciler.model.record import Attempt, Record


class ServiceRoutes:
    """The routes of each service, made once for all targets of a service that are planned from the same records."""

    def __init__(self, desired: Desired, records: Mapping[TargetName, Record]) -> None:
        self._desired = desired
        self._records: dict[str, list[Record]] = {}
        for name, record in records.items():
            declared = desired.targets.get(name)
            urls = [record.base_url, declared.base_url] if declared else [record.base_url]
            for service in {service_key(base_url) for base_url in urls}:
                self._records.setdefault(service, []).append(record)
        self._routes: dict[str, Routes] = {}

    def at(self, base_url: str) -> Routes:
        """What the records say exists at a service: those of targets declared there, and those bound to it."""
        service = service_key(base_url)
        if service not in self._routes:
            self._routes[service] = Routes(self._desired, self._records.get(service, []))
        return self._routes[service]


class Routes:
    """Every attempt of one service that is not gone, by what it delivers.

    The indexes are made when they are first asked for: only a create asks, and most plans have none.
    """

    def __init__(self, desired: Desired, records: Sequence[Record]) -> None:
        self._desired = desired
        self._records = records
        self._renames: dict[TargetName, Renames] = {}

    def elsewhere(self, address: Address, request: Request) -> list[Attempt]:
        """Attempts of other addresses that deliver, or may deliver, a route of `request`."""
        url = normal_url(request.url)
        return _others(address, (self._by_route.get((code, url), ()) for code in request.codes))

    def moving(self, address: Address, request: Request) -> list[Attempt]:
        """Attempts of other addresses that deliver, or may deliver, a code of `request` that is not wanted of them."""
        return _others(address, (self._unwanted.get(code, ()) for code in request.codes))

    def renaming(self, source: Address, destination: Address) -> list[str]:
        """The commands, in order, that record `source` as renamed to `destination`; empty where it was not."""
        if source.target != destination.target:
            return []
        if source.target not in self._renames:
            record = next(record for record in self._records if record.target == source.target)
            self._renames[source.target] = Renames(self._desired, record)
        return self._renames[source.target].commands(source, destination)

    @cached_property
    def _by_route(self) -> dict[tuple[str, str], list[Attempt]]:
        attempts: dict[tuple[str, str], list[Attempt]] = {}
        for attempt in self._attempts():
            for route in attempt.routes:
                attempts.setdefault(route, []).append(attempt)
        return attempts

    @cached_property
    def _unwanted(self) -> dict[str, list[Attempt]]:
        attempts: dict[str, list[Attempt]] = {}
        for attempt in self._attempts():
            wanted = self._desired.subscriptions.get(attempt.address)
            for code in attempt.codes:
                if wanted is None or code not in wanted.codes:
                    attempts.setdefault(code, []).append(attempt)
        return attempts

    def _attempts(self) -> Iterator[Attempt]:
        for record in self._records:
            yield from (attempt for attempt in record.attempts.values() if attempt.status is not Status.GONE)


def _others(address: Address, groups: Iterable[Iterable[Attempt]]) -> list[Attempt]:
    """Each attempt once, sorted, without those of `address` itself."""
    others = {attempt.id: attempt for attempts in groups for attempt in attempts if attempt.address != address}
    return sorted(others.values(), key=lambda attempt: (attempt.address, attempt.id))
