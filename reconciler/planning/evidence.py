"""Matches received notifications with the attempts whose existence they prove."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from reconciler.model.record import Status
from reconciler.model.status import Unexplained
from reconciler.model.url import ATTEMPT, has_attempt, normal_url, service_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.address import Address
    from reconciler.model.desired import Desired
    from reconciler.model.record import Attempt, Record

_ID = re.compile("[0-9a-f]{32}")


class Sighting(Struct, frozen=True):
    """A received notification: its time (UTC, ISO 8601 with a Z), its event code, and where it arrived.

    `url` is None if only the path and the query are known, for example behind a tunnel.
    """

    at: str
    code: str
    path: str
    url: str | None = None


class Observed(Struct, frozen=True, order=True):
    """Notifications of one code from one service at one recorded URL, and the times of the first and last."""

    base_url: str
    url: str
    code: str
    first: str
    last: str


class Matches(Struct, frozen=True):
    """The result of matching notifications with attempts.

    `observed` are notifications that match one recorded URL and are not recorded yet. `unexplained` are notifications
    that match no recorded URL, or several.
    """

    observed: tuple[Observed, ...]
    unexplained: tuple[Unexplained, ...]


def match(desired: Desired, record: Record, sightings: Iterable[Sighting]) -> Matches:
    """Match notifications with the attempts that deliver or may deliver them, or at whose own URL they arrived."""
    deliveries = _Deliveries(desired, record)
    times: dict[tuple[str, str, str], list[str]] = {}
    rest: dict[tuple[str, str], tuple[list[str], list[Attempt], bool, Attempt | None]] = {}
    for sighting in sightings:
        matching = deliveries.matching(sighting)
        keys = {(attempt.service, normal_url(attempt.url)) for attempt in matching}
        if len(keys) == 1:
            times.setdefault((matching[0].base_url, matching[0].url, sighting.code), []).append(sighting.at)
        else:
            where = sighting.url or sighting.path
            unmanaged = not matching and deliveries.is_like_an_attempt(where)
            removed = None if matching else deliveries.removed(sighting)
            rest.setdefault((sighting.code, where), ([], matching, unmanaged, removed))[0].append(sighting.at)
    observed = (Observed(*key, min(received), max(received)) for key, received in sorted(times.items()))
    unexplained = (
        Unexplained(code, where, len(received), max(received), _addresses(matching), unmanaged, removed)
        for (code, where), (received, matching, unmanaged, removed) in sorted(rest.items(), key=lambda item: item[0])
    )
    return Matches(tuple(sighting for sighting in observed if not _is_known(record, sighting)), tuple(unexplained))


def _is_known(record: Record, observed: Observed) -> bool:
    spans = record.received.get((service_key(observed.base_url), normal_url(observed.url), observed.code), ())
    return any(first <= observed.first and observed.last <= last for first, last in spans)


def _addresses(attempts: Iterable[Attempt]) -> tuple[Address, ...]:
    return tuple(sorted({attempt.address for attempt in attempts}))


class _Deliveries:
    """An index of attempts by code and URL, so that a notification need not be compared with every attempt.

    A URL that contains an attempt's id identifies that attempt for every code, even after its removal.
    """

    def __init__(self, desired: Desired, record: Record) -> None:
        self._by_url: dict[tuple[str, str], list[Attempt]] = {}
        self._by_path: dict[tuple[str, str], list[Attempt]] = {}
        self._removed: dict[tuple[str, str], Attempt] = {}
        self._urls: set[str] = set()
        self._templates = {subscription.template for subscription in desired.subscriptions.values()}
        for attempt in record.attempts.values():
            url, path = normal_url(attempt.url), _path(attempt.url)
            self._urls.add(url)
            self._templates.add(attempt.template)
            if attempt.status is not Status.GONE or attempt.own_url:
                for code in ("",) if attempt.own_url else attempt.codes:
                    self._by_url.setdefault((code, url), []).append(attempt)
                    self._by_path.setdefault((code, path), []).append(attempt)
            for code in () if attempt.own_url else attempt.removed_codes:
                for key in ((code, url), (code, path)):
                    self._removed[key] = max(attempt, self._removed.get(key, attempt), key=_removed_at)
        templates = {template for template in self._templates if has_attempt(template)}
        self._patterns = {normal_url(template) for template in templates} | {_path(template) for template in templates}

    def matching(self, sighting: Sighting) -> list[Attempt]:
        """Return the attempts that may have delivered a notification.

        If the notification's URL is recorded, whole URLs are compared, otherwise only paths and queries.
        """
        url = _normal(sighting.url)
        index, key = (self._by_url, url) if url in self._urls else (self._by_path, sighting.path)
        return [*index.get(("", key), ()), *index.get((sighting.code, key), ())]

    def removed(self, sighting: Sighting) -> Attempt | None:
        """Return the attempt that used to deliver this code to this URL or path and has been removed.

        If there are several, return the one whose removal is the most recent.
        """
        url = _normal(sighting.url)
        return self._removed.get((sighting.code, url if url in self._urls else sighting.path))

    def is_like_an_attempt(self, where: str) -> bool:
        """True if a URL or path equals a known template with any id in place of `{attempt}`."""
        text = where if where.startswith("/") else _normal(where)
        texts = {text, _path(text)} if text else set()
        return any(
            text[: match.start()] + text[match.start() :].replace(match[0], ATTEMPT) in self._patterns
            for text in texts
            for match in _ID.finditer(text)
        )


def _removed_at(attempt: Attempt) -> str:
    return attempt.removed.at if attempt.removed else ""


def _normal(url: str | None) -> str:
    try:
        return normal_url(url) if url else ""
    except ValueError:
        return ""


def _path(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
