"""Who has which route: an index over everything that delivers, or may deliver, at one service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from reconciler.model.record import Status
from reconciler.model.url import normal_url, service_key
from reconciler.planning.renames import Renames, is_renamed_with_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from reconciler.model.address import Address, TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.plan import Request
    from reconciler.model.record import Attempt, Record

_Key = TypeVar("_Key")


class ServiceRoutes:
    """The routes of each service, for all targets that are planned from the same records."""

    def __init__(self, desired: Desired) -> None:
        self._desired = desired
        self._routes: dict[str, Routes] = {}

    def add(self, record: Record) -> None:
        for service in self._services(record):
            self._of(service).add(record)

    def remove(self, record: Record) -> None:
        """Remove a record that was added."""
        for service in self._services(record):
            self._of(service).remove(record)

    def at(self, base_url: str) -> Routes:
        """What the records say exists at a service: those of targets declared there, and those bound to it."""
        return self._of(service_key(base_url))

    def _of(self, service: str) -> Routes:
        if service not in self._routes:
            self._routes[service] = Routes(self._desired)
        return self._routes[service]

    def _services(self, record: Record) -> set[str]:
        declared = self._desired.targets.get(record.target)
        base_urls = [record.base_url, declared.base_url] if declared else [record.base_url]
        return {service_key(base_url) for base_url in base_urls}


class Routes:
    """Every attempt of one service that is not gone, by what it delivers."""

    def __init__(self, desired: Desired) -> None:
        self._desired = desired
        self._records: dict[TargetName, Record] = {}
        self._renames: dict[TargetName, Renames] = {}
        self._by_route = _Index(self._records, lambda attempt: attempt.routes)
        self._unwanted = _Index(self._records, self._unwanted_codes)

    def add(self, record: Record) -> None:
        self._records[record.target] = record
        self._by_route.add(record)
        self._unwanted.add(record)

    def remove(self, record: Record) -> None:
        """Remove a record that was added."""
        self._by_route.remove(record)
        self._unwanted.remove(record)
        del self._records[record.target]
        self._renames.pop(record.target, None)

    def elsewhere(self, address: Address, request: Request) -> list[Attempt]:
        """Attempts of other addresses that deliver, or may deliver, a route of `request`."""
        url = normal_url(request.url)
        return _others(address, (self._by_route.of((code, url)) for code in request.codes))

    def moving(self, address: Address, request: Request) -> list[Attempt]:
        """Attempts of other addresses that deliver, or may deliver, a code of `request` that is not wanted of them."""
        return _others(address, (self._unwanted.of(code) for code in request.codes))

    def renaming(self, source: Address, destination: Address) -> list[str]:
        """The commands, in order, that record `source` as renamed to `destination`; empty where it was not."""
        if source.target != destination.target:
            return []
        if source.target not in self._renames:
            self._renames[source.target] = Renames(self._desired, self._records[source.target])
        return self._renames[source.target].commands(source, destination)

    def renamed_with_url(self, address: Address, moving: Iterable[Attempt]) -> list[Attempt]:
        """Those of `moving` that were recorded under a name which is wanted no longer, and have the URL it made."""
        wanted = self._desired.subscriptions[address]
        gone = (attempt for attempt in moving if attempt.address not in self._desired.subscriptions)
        return [attempt for attempt in gone if is_renamed_with_url(wanted, attempt)]

    def template(self, address: Address) -> str:
        """The URL of a desired subscription as config/ has it, with its variables."""
        return self._desired.subscriptions[address].template

    def _unwanted_codes(self, attempt: Attempt) -> list[str]:
        wanted = self._desired.subscriptions.get(attempt.address)
        return [code for code in attempt.codes if wanted is None or code not in wanted.codes]


class _Index(Generic[_Key]):
    """The attempts in `records` that are not gone, by each of their `keys`.

    It is made when it is first asked for: only a create asks, and most plans have none.
    """

    def __init__(self, records: Mapping[TargetName, Record], keys: Callable[[Attempt], Iterable[_Key]]) -> None:
        self._records = records
        self._keys = keys
        self._groups: dict[_Key, dict[tuple[TargetName, str], Attempt]] | None = None

    def of(self, key: _Key) -> Collection[Attempt]:
        """The attempts with that key."""
        if self._groups is None:
            self._groups = {}
            for record in self._records.values():
                self.add(record)
        return self._groups.get(key, {}).values()

    def add(self, record: Record) -> None:
        if self._groups is not None:
            for attempt in _present(record):
                for key in self._keys(attempt):
                    self._groups.setdefault(key, {})[record.target, attempt.id] = attempt

    def remove(self, record: Record) -> None:
        """Remove a record that was added."""
        if self._groups is not None:
            for attempt in _present(record):
                for key in self._keys(attempt):
                    self._groups[key].pop((record.target, attempt.id), None)


def _present(record: Record) -> Iterable[Attempt]:
    return (attempt for attempt in record.attempts.values() if attempt.status is not Status.GONE)


def _others(address: Address, groups: Iterable[Iterable[Attempt]]) -> list[Attempt]:
    """Each attempt once, sorted, without those of `address` itself."""
    others = {attempt.id: attempt for attempts in groups for attempt in attempts if attempt.address != address}
    return sorted(others.values(), key=lambda attempt: (attempt.address, attempt.id))
