"""Which recorded subscriptions the notifications received are evidence for."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from reconciler.model.record import Status
from reconciler.model.status import Unexplained
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from reconciler.model.address import Address
    from reconciler.model.record import Attempt, Record


class Received(Struct, frozen=True):
    """One notification: when it was received (UTC, ISO 8601 with a Z), its event code, and where.

    `url` is None if only the path (with its query) is known, as behind a tunnel.
    """

    at: str
    code: str
    path: str
    url: str | None = None


class Matches(Struct, frozen=True):
    """The notifications by what they match.

    `received` says when the last one was received, by (address, URL, event code); `unexplained` are those that match no
    recorded subscription, or several.
    """

    received: dict[tuple[Address, str, str], str]
    unexplained: tuple[Unexplained, ...]


def match_notifications(records: Iterable[Record], notifications: Iterable[Received]) -> Matches:
    """Match notifications with everything that is in force, or may be."""
    deliveries = _Deliveries(records)
    received: dict[tuple[Address, str, str], str] = {}
    left: dict[tuple[str, str], list[tuple[str, tuple[Address, ...]]]] = {}
    for notification in notifications:
        matching = deliveries.matching(notification)
        addresses = tuple(sorted({attempt.address for attempt in matching}))
        if len(addresses) == 1:
            key = addresses[0], matching[0].url, notification.code
            received[key] = max(notification.at, received.get(key, ""))
        else:
            where = notification.url or notification.path
            left.setdefault((notification.code, where), []).append((notification.at, addresses))
    unexplained = (_unexplained(code, where, notified) for (code, where), notified in sorted(left.items()))
    return Matches(received, tuple(unexplained))


def evidence_for(record: Record, attempt: Attempt) -> dict[str, str]:
    """Which codes of an attempt were received at its URL since it started, and when last.

    What another attempt of the address delivers, as far as is known, is evidence for that one, and not for one whose
    outcome is unknown.
    """
    return _received(record, attempt, set() if attempt.in_force else _explained(record, attempt))


def own_evidence_for(record: Record, attempt: Attempt) -> dict[str, str]:
    """As `evidence_for`, without what another attempt of the address may have delivered, whatever is known of both."""
    return _received(record, attempt, _explained(record, attempt))


def _explained(record: Record, attempt: Attempt) -> set[tuple[str, str]]:
    """The routes of the other attempts in force at its address."""
    others = (other for other in record.at_address(attempt.address) if other.in_force and other.id != attempt.id)
    return {route for other in others for route in other.routes}


def _received(record: Record, attempt: Attempt, explained: Container[tuple[str, str]]) -> dict[str, str]:
    url = normal_url(attempt.url)
    last_received = {
        code: record.received.get((attempt.address, code, url), "")
        for code in attempt.codes
        if (code, url) not in explained
    }
    return {code: at for code, at in last_received.items() if at >= attempt.since}


def first_evidence(record: Record, attempt: Attempt) -> dict[str, str]:
    """When each code of an attempt was first observed at its URL since it started; codes that never were are left out.

    What was observed before, of an earlier attempt at that URL, is no evidence for this one.
    """
    url = normal_url(attempt.url)
    times = {code: record.observed.get((attempt.address, code, url), ()) for code in attempt.codes}
    since = {code: [at for at in observed if at >= attempt.since] for code, observed in times.items()}
    return {code: observed[0] for code, observed in since.items() if observed}


class _Deliveries:
    """The attempts that are not gone, by what they deliver and where to: a notification is not compared with each."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_url: dict[tuple[str, str], list[Attempt]] = {}
        self._by_path: dict[tuple[str, str], list[Attempt]] = {}
        self._recorded: set[str] = set()
        """The URL of every attempt, those that are gone too: none of them is that of a tunnel."""
        for attempt in (attempt for record in records for attempt in record.attempts.values()):
            url, path = normal_url(attempt.url), _path(attempt.url)
            self._recorded.add(url)
            if attempt.status is Status.GONE:
                continue
            for code in attempt.codes:
                self._by_url.setdefault((code, url), []).append(attempt)
                self._by_path.setdefault((code, path), []).append(attempt)

    def matching(self, notification: Received) -> list[Attempt]:
        """The attempts that deliver such a notification: to that very URL, or to that path if nothing has the URL."""
        url = None if notification.url is None else _normal(notification.url)
        if url is not None and url in self._recorded:
            return self._by_url.get((notification.code, url), [])
        return self._by_path.get((notification.code, notification.path), [])


def _normal(url: str) -> str | None:
    try:
        return normal_url(url)
    except ValueError:
        return None


def _path(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _unexplained(code: str, where: str, deliveries: Sequence[tuple[str, tuple[Address, ...]]]) -> Unexplained:
    return Unexplained(code, where, len(deliveries), max(at for at, _ in deliveries), deliveries[-1][1])
