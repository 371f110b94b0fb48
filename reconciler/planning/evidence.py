"""Which recorded subscription explains a notification that was received."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reconciler.model.record import Status
from reconciler.model.standing import Unexplained
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.address import Address
    from reconciler.model.record import Attempt, Record


@dataclass(frozen=True, slots=True)
class Sighting:
    """One notification: when (UTC, ISO 8601 with a Z), its event code, and where it was received.

    `url` is None where only the path (with its query) is known, as behind a tunnel.
    """

    at: str
    code: str
    path: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What sightings come to: (address, URL, event code) -> when it was received last; and what nothing explains."""

    received: dict[tuple[Address, str, str], str]
    unexplained: tuple[Unexplained, ...]


def weigh(records: Iterable[Record], sightings: Iterable[Sighting]) -> Evidence:
    """Match sightings with everything that is in force, or may be."""
    attempts = [one for record in records for one in record.attempts.values() if one.status is not Status.GONE]
    received: dict[tuple[Address, str, str], str] = {}
    left: dict[tuple[str, str], list[tuple[str, tuple[Address, ...]]]] = {}
    for sighting in sightings:
        matching = _explaining(attempts, sighting)
        addresses = tuple(sorted({one.address for one in matching}))
        if len(addresses) == 1:
            key = addresses[0], matching[0].url, sighting.code
            received[key] = max(sighting.at, received.get(key, ""))
        else:
            where = sighting.url or sighting.path
            left.setdefault((sighting.code, where), []).append((sighting.at, addresses))
    unexplained = (_unexplained(code, where, found) for (code, where), found in sorted(left.items()))
    return Evidence(received, tuple(unexplained))


def heard_of(record: Record, attempt: Attempt) -> dict[str, str]:
    """Which codes of an attempt were received at its URL since it began, and when last.

    What another attempt of the address delivers as far as anyone knows is a sign of that one, and of no other that
    nobody knows the outcome of.
    """
    url = normal_url(attempt.url)
    others = (one for one in record.at_address(attempt.address) if one.in_force and one.id != attempt.id)
    explained = {route for one in others for route in one.routes} if not attempt.in_force else set()
    found = {
        code: record.received.get((attempt.address, code, url), "")
        for code in attempt.codes
        if (code, url) not in explained
    }
    return {code: at for code, at in found.items() if at >= attempt.since}


def _explaining(attempts: Iterable[Attempt], sighting: Sighting) -> list[Attempt]:
    """The attempts that deliver such a notification: to that very URL, or else to that path of any host."""
    having = [one for one in attempts if sighting.code in one.codes]
    if sighting.url is not None:
        url = _normal(sighting.url)
        exact = [one for one in having if normal_url(one.url) == url]
        if exact:
            return exact
    return [one for one in having if _path(one.url) == sighting.path]


def _normal(url: str) -> str | None:
    try:
        return normal_url(url)
    except ValueError:
        return None


def _path(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _unexplained(code: str, where: str, found: Sequence[tuple[str, tuple[Address, ...]]]) -> Unexplained:
    return Unexplained(code, where, len(found), max(at for at, _ in found), found[-1][1])
