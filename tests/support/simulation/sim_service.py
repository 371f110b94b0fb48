"""The lending service, simulated: it creates, an operator deletes, and nobody can look at it but the simulation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reconciler.model.plan import Request

Route = tuple[str, str]


class Promise(StrEnum):
    """What the product promises, and each simulation holds it to."""

    INTENT_FIRST = "a call is sent only after its intent is durable"
    ONCE = "nothing is created again that could have been known to exist"
    KEPT = "nothing is created again that a file on the same machine tells of"
    IN_TIME = "a call leaves in its window only"
    FRESH = "a call does not leave long after somebody has settled it"
    FEW_OPEN = "no more intents are open than calls may be in flight"
    NOT_FORGOTTEN = "what exists is in force, or unknown"
    SAVED = "an outcome is recorded, or kept together with its intent"
    SOUND = "a journal only grows, by entries that follow and say something new"
    TRUTHFUL = "a run says what became of each change, and whether all went well"
    AT_REST = "all comes to an end, in which what is wanted is delivered"


class Violation(AssertionError):
    """A promise was broken."""

    def __init__(self, promise: Promise, how: str) -> None:
        super().__init__(f"{promise}: {how}")
        self.promise = promise


@dataclass(slots=True)
class Existing:
    """A subscription that exists, or existed, at the service; `attempt` is the create call that made it."""

    attempt: str
    service: str
    routes: frozenset[Route]
    removed: bool = False


def routes_of(codes: Iterable[str], url: str) -> frozenset[Route]:
    """Routes as the service and the planner compare them."""
    return frozenset((code, normal_url(url)) for code in codes)


class SimService:
    """Every subscription that was ever created, by the attempt that did."""

    def __init__(self) -> None:
        self.created: dict[str, Existing] = {}

    def create(self, attempt: str, service: str, request: Request) -> Existing:
        """Create a subscription. Raises Violation if the very attempt has created one before."""
        if attempt in self.created:
            raise Violation(Promise.ONCE, f"attempt {attempt} was created twice")
        existing = Existing(attempt, service, routes_of(request.codes, request.url))
        self.created[attempt] = existing
        return existing

    def exists(self, attempt: str) -> bool:
        existing = self.created.get(attempt)
        return existing is not None and not existing.removed

    def delete(self, attempt: str) -> None:
        """What the operator does; deleting what is not there is nothing."""
        if attempt in self.created:
            self.created[attempt].removed = True

    def present(self, service: str) -> Iterator[Existing]:
        return (one for one in self.created.values() if one.service == service and not one.removed)
