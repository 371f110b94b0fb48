"""A record that cannot be used, and the services at which what it holds may exist all the same."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import StateError
from reconciler.model.url import same_service
from reconciler.state.heads.remembered import record_replaced, replaced_heads, seen_at
from reconciler.state.journal.chain import head_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.record import Record
    from reconciler.state.heads.known_head import KnownHead
    from reconciler.state.stores.store import Store


@dataclass(frozen=True, slots=True)
class UnusableRecord:
    """The record of `target`: `problem` keeps it from being used; `services` are base URLs, none for any service."""

    target: TargetName
    problem: StateError
    services: frozenset[str]

    def concerns(self, base_url: str) -> bool:
        """Whether what it holds may exist at the service at `base_url`."""
        return not self.services or any(same_service(one, base_url) for one in self.services)


def unusable_record(
    store: Store,
    target: TargetName,
    problem: StateError,
    seen: Mapping[str, KnownHead],
    location: str,
    declared: str | None,
) -> UnusableRecord:
    """The record of a target that `problem` keeps from being used; `declared` is the service of the target, if any.

    Its services are those it was seen to belong to, and those that its journal names as far as it can be read.
    """
    services = {one.base_url for one in seen_at(seen, target, location)}
    with suppress(StateError):
        services |= set(_services_named(store.read(target) or b""))
    if not services or "" in services:
        return UnusableRecord(target, problem, frozenset())
    return UnusableRecord(target, problem, frozenset(services | ({declared} if declared else set())))


def replaced_records(record: Record, seen: Mapping[str, KnownHead], location: str) -> list[UnusableRecord]:
    """The records that were in the place of `record` before, and of which it knows nothing."""
    return [
        UnusableRecord(record.target, record_replaced(record, one, location), frozenset({one.base_url} - {""}))
        for one in replaced_heads(record, seen, location)
    ]


def _services_named(data: bytes) -> list[str]:
    """The services that the whole lines of a damaged journal name; none if its first line does not."""
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
