"""Looks at a server as a call would reach it, with a request that changes nothing: HEAD, and without credentials."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from reconciler.service.transport import Failure, Transport

if TYPE_CHECKING:
    from collections.abc import Callable


class Probe(Struct, frozen=True):
    """What a request showed: the HTTP status of the response, or in one line why there is none.

    `ahead` are the seconds by which the clock of this machine is ahead of the server's (negative: behind), as far as
    that is certain: the Date of a response stands for a whole second, and responses take time. None if it has no Date.
    """

    status: int | None = None
    problem: str | None = None
    ahead: float | None = None


class Prober:
    """Sends HEAD requests, from any number of threads; `timeout` is in seconds, for the whole of one."""

    def __init__(self, timeout: float, clock: Callable[[], float] = time.time) -> None:
        """Raises SettingsError if the environment's proxy or certificate settings are unusable."""
        self._timeout = timeout
        self._clock = clock
        self._transport = Transport()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._transport.close()

    def probe(self, url: str) -> Probe:
        """Return what a HEAD request for `url` shows. Raises nothing."""
        asked = self._clock()
        result = self._transport.send("HEAD", url, timeout=self._timeout)
        if isinstance(result, Failure):
            return Probe(problem=result.reason)
        return Probe(result.status, ahead=_ahead(result.headers.get("date", ""), asked, self._clock()))


def _ahead(date: str, asked: float, answered: float) -> float | None:
    """Return the seconds that this machine's clock is certainly ahead of a server that gave `date` in between."""
    try:
        server = parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return asked - server - 1 if asked > server + 1 else min(answered - server, 0.0)
