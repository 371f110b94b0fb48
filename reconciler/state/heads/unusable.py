"""A record that cannot be used, and the services at which its subscriptions may exist."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import StateError
from reconciler.model.url import same_service
from reconciler.state.heads.remembered import record_replaced, replaced_heads
from reconciler.state.journal.chain import head_of

if TYPE_CHECKING:
    from reconciler.model.address import TargetName
    from reconciler.model.record import Record
    from reconciler.state.heads.seen import Seen
    from reconciler.state.stores.store import Store, StoreLocation


class UnusableRecord(Struct, frozen=True):
    """A record of `target` and the `problem` with it; `services` are base URLs, empty if it may be any service."""

    target: TargetName
    problem: StateError
    services: frozenset[str]

    def concerns(self, base_url: str) -> bool:
        """Whether the record's subscriptions may exist at the service at `base_url`."""
        return not self.services or any(same_service(service, base_url) for service in self.services)


def unusable_record(
    store: Store,
    target: TargetName,
    problem: StateError,
    seen: Seen,
    declared: str | None,
) -> UnusableRecord:
    """The record of a target that cannot be used because of `problem`; `declared` is the target's service, if any.

    Its services are those it was last known to belong to, and those that the readable lines of its journal name.
    """
    services = {known.base_url for known in seen.at(target, store.place)}
    with suppress(StateError):
        services |= set(_services_named(store.read(target) or b""))
    if not services or "" in services:
        return UnusableRecord(target, problem, frozenset())
    return UnusableRecord(target, problem, frozenset(services | ({declared} if declared else set())))


def replaced_records(record: Record, seen: Seen, place: StoreLocation) -> list[UnusableRecord]:
    """The records that `record` replaced in its place, and whose loss it does not accept."""
    return [
        UnusableRecord(record.target, record_replaced(record, known, place), frozenset({known.base_url} - {""}))
        for known in replaced_heads(record, seen, place)
    ]


def _services_named(data: bytes) -> list[str]:
    """The services that the intact lines of a damaged journal name; none if its first line does not."""
    first, *rest = data.split(b"\n")
    begun = _service_named(first)
    return [] if begun is None else [begun, *(named for line in rest if (named := _service_named(line)) is not None)]


def _service_named(line: bytes) -> str | None:
    if b'"base_url"' not in line or head_of(line) is None:
        return None
    try:
        named = json.loads(line).get("base_url")
    except (ValueError, RecursionError):
        return None
    return named if isinstance(named, str) and named else None
