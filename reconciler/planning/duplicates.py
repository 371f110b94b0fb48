"""Finds deliveries that are not desired: surplus codes, and routes that several attempts deliver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.model.plan import Duplicate, Surplus
from reconciler.model.record import Status, is_recorded_twice
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reconciler.model.address import Selection, TargetName
    from reconciler.model.desired import Subscription
    from reconciler.model.plan import Request
    from reconciler.model.record import Attempt, Record


class Duplicates(Struct, frozen=True):
    """The routes that several live attempts share, sorted. In each route, the attempt to keep comes first.

    Codes whose removal was requested do not count, and neither do attempts that await removal.

    `delivered` are the routes that are delivered twice. `recorded` are the routes that are only recorded twice: an
    import and another attempt with the same codes and URL count as one subscription.
    """

    delivered: tuple[Duplicate, ...]
    recorded: tuple[Duplicate, ...]


def find_duplicates(record: Record) -> Duplicates:
    """Return the routes that several live attempts on one service share, once for each target of these attempts."""
    services: dict[str, str] = {}  # by base URL
    first: dict[tuple[str, str], Attempt] = {}
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in record.attempts.values():
        if attempt.status is Status.LIVE:
            if attempt.base_url not in services:
                services[attempt.base_url] = record.service_of(attempt.base_url)
            key = services[attempt.base_url], normal_url(attempt.template)
            earlier = first.setdefault(key, attempt)
            if earlier is not attempt:
                groups.setdefault(key, [earlier]).append(attempt)
    routes = [route for attempts in groups.values() for route in _shared_routes(attempts)]
    return Duplicates(
        tuple(sorted((route for route, is_twice in routes if is_twice), key=_order)),
        tuple(sorted((route for route, is_twice in routes if not is_twice), key=_order)),
    )


def duplicates_by_target(
    routes: Iterable[Duplicate], record: Record, selection: Selection
) -> dict[TargetName, list[Duplicate]]:
    """Return, by target, the duplicate routes that involve an attempt of a selected address."""
    by_target: dict[TargetName, list[Duplicate]] = {}
    for route in routes:
        addresses = {record.attempts[attempt].address for attempt in route.attempts}
        if any(address.target == route.target and selection.has(address) for address in addresses):
            by_target.setdefault(route.target, []).append(route)
    return by_target


def surplus_of(subscription: Subscription, attempts: Sequence[Attempt]) -> list[Surplus]:
    """Return the live codes at the desired URL that are undesired or delivered twice, sorted by attempt.

    Codes that are only recorded twice are not surplus, nor are codes of attempts that a plan removes (see `outlived`).
    """
    live = [attempt for attempt in attempts if attempt.status is Status.LIVE and attempt.is_at(subscription.template)]
    gone = {attempt.id for attempt in outlived(subscription, attempts)}
    kept: list[Attempt] = []
    surplus: list[Surplus] = []
    for attempt in sorted((attempt for attempt in live if attempt.id not in gone), key=_keep_first):
        others = {code for other in kept if not is_recorded_twice(other, attempt) for code in other.codes}
        extra = [code for code in attempt.codes if code not in subscription.codes or code in others]
        for requested in (False, True):
            codes = tuple(code for code in extra if (code in attempt.requested_codes) is requested)
            if codes:
                surplus.append(Surplus(subscription.address, attempt.id, codes, requested))
        kept.append(attempt)
    return sorted(surplus, key=lambda item: (item.attempt, item.requested))


def outlived(subscription: Subscription | Request, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the live `given_up` attempts whose desired codes are all delivered by later live attempts."""
    replaced = []
    for number, attempt in enumerate(attempts):
        if attempt.given_up and attempt.status is Status.LIVE:
            useful = set(attempt.codes).intersection(subscription.codes)
            later = [other for other in attempts[number + 1 :] if other.status is Status.LIVE]
            there = [other for other in later if other.is_at(subscription.template)]
            if there and useful <= {code for other in there for code in other.codes}:
                replaced.append(attempt)
    return replaced


def _shared_routes(attempts: Sequence[Attempt]) -> Iterator[tuple[Duplicate, bool]]:
    """Yield each route that several attempts at one URL share, once per target, and whether it is delivered twice."""
    ordered = sorted(attempts, key=_keep_first)
    by_code: dict[str, list[Attempt]] = {}
    for attempt in ordered:
        for code in attempt.codes:
            if code not in attempt.requested_codes:
                by_code.setdefault(code, []).append(attempt)
    for code, sharing in by_code.items():
        if len(sharing) > 1:
            distinct: list[Attempt] = []
            for attempt in sharing:
                if not any(is_recorded_twice(attempt, other) for other in distinct):
                    distinct.append(attempt)
            ids = tuple(attempt.id for attempt in sharing)
            for target in {attempt.address.target for attempt in sharing}:
                yield Duplicate(target, code, sharing[0].template, ids), len(distinct) > 1


def _keep_first(attempt: Attempt) -> tuple[bool, bool, bool, str, str]:
    """Return the sort key of an attempt. The attempt to keep sorts first, for example one with a stored secret."""
    has_secret = bool(attempt.responses or attempt.secrets)
    return attempt.given_up, attempt.imported, not has_secret, attempt.since, attempt.id


def _order(route: Duplicate) -> tuple[str, str, str]:
    return route.target, route.code, route.url
