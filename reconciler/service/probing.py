"""Examines whether a call can reach a server, with a HEAD request that has no credentials and changes nothing.

A receiver need not accept HEAD, and the service does not document its answer to HEAD, so hardly any status counts as a
failure.
"""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from reconciler.errors import Message, step
from reconciler.model.plan import Finding, Health
from reconciler.model.url import is_placeholder
from reconciler.service.transport import Failure, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TOLERATED = 15  # seconds by which the clocks may differ


class Probe(Struct, frozen=True):
    """The result of a probe: the HTTP status of the response or, in `problem`, the reason why there is no response.

    `ahead` is the number of seconds by which this machine's clock is certainly ahead of the server's clock, or None if
    the response has no valid Date header. The number is negative if this machine's clock is behind. It allows for the
    header's precision of one second and for the duration of the exchange.
    """

    status: int | None = None
    problem: str | None = None
    ahead: float | None = None


class Prober:
    """Sends HEAD requests from any number of threads. `timeout` limits each whole request, in seconds."""

    def __init__(self, timeout: float, clock: Callable[[], float] = time.time) -> None:
        """Raise SettingsError if the environment's proxy or certificate settings are unusable."""
        self._timeout = timeout
        self._clock = clock
        self._transport = Transport()

    def probe(self, url: str) -> Probe:
        """Send a HEAD request to `url` and return the result. Raises nothing."""
        asked = self._clock()
        result = self._transport.send("HEAD", url, timeout=self._timeout)
        if isinstance(result, Failure):
            return Probe(problem=result.reason)
        return Probe(result.status, ahead=_ahead(result.headers.get("date", ""), asked, self._clock()))


def examine_server(url: str, *, of_service: bool, timeout: float) -> Iterator[Finding]:
    """Yield findings about whether the server of `url` is reachable and, with `of_service`, whether the clocks agree.

    Raises SettingsError, as `Prober` does.
    """
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    if is_placeholder(url):
        yield Finding("server", Health.SKIPPED, Message("server-placeholder", "a new project's placeholder", origin))
        return
    probe = Prober(timeout).probe(f"{origin}/")
    if probe.problem is not None:
        field = "base_url or auth_url" if of_service else "webhookUrl"
        advice = step(f"check this {field}, the network, the proxy, and the certificates in SSL_CERT_FILE")
        yield Finding("server", Health.FAILED, Message("server-unreachable", probe.problem, origin, (advice,)))
        return
    yield Finding("server", Health.OK, Message("server-reachable", f"answered HEAD with {probe.status}", origin))
    if of_service and probe.ahead is not None:
        yield _clock(origin, probe.ahead)


def _clock(origin: str, ahead: float) -> Finding:
    if abs(ahead) <= _TOLERATED:
        return Finding("clock", Health.OK, Message("clock-right", f"differs by less than {_TOLERATED} s", origin))
    what = f"the clock of this machine is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the server's"
    advice = step("set the clock, and synchronize it with NTP")
    return Finding("clock", Health.FAILED, Message("clock-skewed", what, origin, (advice,)))


def _ahead(date: str, asked: float, answered: float) -> float | None:
    """Return the seconds by which this machine's clock is certainly ahead of a server, or None if `date` is invalid.

    `date` is the response's Date header. The request was sent at `asked` and answered at `answered`, in epoch seconds.
    """
    try:
        server = parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return asked - server - 1 if asked > server + 1 else min(answered - server, 0.0)
