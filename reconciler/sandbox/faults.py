"""The faults that a create or a token request can meet, by name, and which request meets which.

A fault is drawn for each request as soon as its head is read. These are the names for creates; with `token-` before
them for the token endpoint (where "committed" means that the token was issued):

=================  ==============================================================================================
refuse             the connection is reset before the body is read
reset-before       the connection is reset after the request is read
hang               no answer until the client disconnects, or for 300 s
400 … 422          that status: 400, 401, 403, 404, 408, 409, 422, 499
401-once           401, and the token is revoked: a new one is needed (which is exempt from this fault); creates only
429                429 without Retry-After; 429-retry-after: after 1 s; 429-forever: after three years
500, 503           that status
html-200           a 200 with an HTML page, as from a captive portal
redirect           a 307 to elsewhere; redirect-303: a 303
reset-after        committed, then the connection is reset
hang-after         committed, then no answer
drip               committed, then the answer is sent a byte a second
half               committed, then the head and half of the body are sent, and a reset
500-after          committed, then a 500; 502-after: a 502
html               committed, then a 502 with an HTML page
empty              committed, and answered with an empty body
huge               committed, and answered with a body of 100 MB
=================  ==============================================================================================

A fault before the commit meets every request. The others only change the answer to a valid request; an invalid one is
refused as usual.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from enum import Enum, auto
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import SettingsError
from reconciler.sandbox.exchange import Manner, Response, error_response

_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_PAGE = b"<!DOCTYPE html><html><head><title>Gateway</title></head><body><h1>Something else answered</h1></body></html>"
_STATUSES = (400, 401, 403, 404, 408, 409, 422, 429, 499, 500, 503)


class Kind(Enum):
    """Which endpoint a fault is for."""

    CREATE = "create"
    TOKEN = "token"  # noqa: S105


class Stage(Enum):
    """How far a request gets before the fault."""

    UNREAD = auto()
    READ = auto()
    COMMITTED = auto()


class Fault(Struct, frozen=True):
    """How far a request gets, and how its response is spoiled (before COMMITTED it is an empty one).

    `revokes`: the token of the request is revoked.
    """

    stage: Stage
    spoil: Callable[[Response], Response]
    revokes: bool = False


def _lost(manner: Manner) -> Callable[[Response], Response]:
    return lambda response: replace(response, manner=manner)


def _instead(answer: Response) -> Callable[[Response], Response]:
    return lambda _: answer


def _error(stage: Stage, status: int, *headers: tuple[str, str], revokes: bool = False) -> Fault:
    answer = error_response(status, "sandbox_fault", f"injected fault {status}", *headers)
    return Fault(stage, _instead(answer), revokes)


FAULTS: Mapping[str, Fault] = {
    "refuse": Fault(Stage.UNREAD, _lost(Manner.RESET)),
    "reset-before": Fault(Stage.READ, _lost(Manner.RESET)),
    "reset-after": Fault(Stage.COMMITTED, _lost(Manner.RESET)),
    "hang": Fault(Stage.READ, _lost(Manner.HANG)),
    "hang-after": Fault(Stage.COMMITTED, _lost(Manner.HANG)),
    "drip": Fault(Stage.COMMITTED, _lost(Manner.DRIP)),
    "half": Fault(Stage.COMMITTED, _lost(Manner.HALF)),
    **{str(status): _error(Stage.READ, status) for status in _STATUSES},
    "401-once": _error(Stage.READ, 401, revokes=True),
    "429-retry-after": _error(Stage.READ, 429, ("Retry-After", "1")),
    "429-forever": _error(Stage.READ, 429, ("Retry-After", "99999999")),
    "500-after": _error(Stage.COMMITTED, 500),
    "502-after": _error(Stage.COMMITTED, 502),
    "html": Fault(Stage.COMMITTED, _instead(Response(502, _PAGE, _HTML))),
    "html-200": Fault(Stage.READ, _instead(Response(200, _PAGE, _HTML))),
    "empty": Fault(Stage.COMMITTED, lambda response: replace(response, body=b"")),
    "huge": Fault(Stage.COMMITTED, _lost(Manner.FLOOD)),
    "redirect": _error(Stage.READ, 307, ("Location", "/elsewhere")),
    "redirect-303": _error(Stage.READ, 303, ("Location", "/elsewhere")),
}

FAULT_NAMES = (*FAULTS, *(f"token-{name}" for name, fault in FAULTS.items() if not fault.revokes))


class _Scripted(Struct):
    fault: Fault
    target: str | None
    left: int


class _Odds:
    """The faults of one kind: first the scripted ones, in order, then random ones."""

    def __init__(self, probabilities: Mapping[str, float], random: Random) -> None:
        self._probabilities = sorted(probabilities.items())
        self._random = random
        self.scripted: deque[_Scripted] = deque()

    def draw(self, targets: Collection[str], *, spared: bool) -> Fault | None:
        for scripted in self.scripted:
            if scripted.target is None or scripted.target in targets:
                scripted.left -= 1
                if not scripted.left:
                    self.scripted.remove(scripted)
                return scripted.fault
        point = self._random.random()
        for name, probability in self._probabilities:
            point -= probability
            if point < 0:
                fault = FAULTS[name]
                return None if spared and fault.revokes else fault
        return None


class FaultPlan:
    """Which request meets which fault: scripted, otherwise at random.

    `probabilities` are 0 to 1 by fault name; of one kind their sum is at most 1. One `seed` gives one sequence of draws
    for each kind. Raises SettingsError for an unknown name or an invalid probability.
    """

    def __init__(self, probabilities: Mapping[str, float], seed: int | None = None) -> None:
        by_kind: dict[Kind, dict[str, float]] = {kind: {} for kind in Kind}
        for full_name, probability in probabilities.items():
            kind, name = _parse_name(full_name)
            if not 0 <= probability <= 1:
                raise SettingsError(
                    f"not a probability: {probability}", where=full_name, remedy="use a number from 0 to 1"
                )
            by_kind[kind][name] = probability
        self._odds = {}
        for kind, some in by_kind.items():
            if sum(some.values()) > 1 + 1e-9:
                raise SettingsError(
                    f"the fault probabilities of {kind.value} requests add up to more than 1",
                    where=", ".join(sorted(some)),
                    remedy="lower some of them",
                )
            self._odds[kind] = _Odds(some, Random(None if seed is None else f"{seed}/{kind.value}"))  # noqa: S311

    def fail_next(self, name: str, count: int = 1, target: str | None = None) -> None:
        """Let the next `count` requests, only to `target` if given, meet a fault. Raises SettingsError."""
        kind, name = _parse_name(name)
        if count < 1:
            raise SettingsError(f"invalid count {count}", where=name, remedy="use at least 1")
        self._odds[kind].scripted.append(_Scripted(FAULTS[name], target, count))

    def draw(self, kind: Kind, targets: Collection[str], *, spared: bool = False) -> Fault | None:
        """The fault of the next request to `targets`, if any; the token of a `spared` one is not revoked."""
        return self._odds[kind].draw(targets, spared=spared)


def _parse_name(full_name: str) -> tuple[Kind, str]:
    if full_name not in FAULT_NAMES:
        raise SettingsError("unknown fault", where=full_name, remedy=f"valid faults: {', '.join(FAULT_NAMES)}")
    name = full_name.removeprefix("token-")
    return (Kind.CREATE if name == full_name else Kind.TOKEN), name
