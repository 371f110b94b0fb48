"""What a plan does to what is subscribed: a row or two for each change, what it does not send, and what stops."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple, assert_never

from reconciler.model.plan import Action, Block
from reconciler.model.record import Status
from reconciler.reports.html.twice import Delivery, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reconciler.model.address import Address
    from reconciler.model.plan import Change
    from reconciler.model.record import Attempt


class NotSent(NamedTuple):
    """A change that an apply leaves, and why in a few words."""

    address: Address
    codes: tuple[str, ...]
    why: str


class Stop(NamedTuple):
    """Codes of one service that nothing delivers any more once the operator has deleted `deliveries`."""

    codes: tuple[str, ...]
    deliveries: tuple[Delivery, ...]

    @property
    def leavers(self) -> list[tuple[Address, str]]:
        """The addresses and URLs of what is deleted."""
        return places(self.deliveries)

    @property
    def asked(self) -> str:
        """When the operator was asked for all of it, whatever becomes of the plan; empty if for some it was not."""
        dates = {delivery.asked for delivery in self.deliveries}
        return "" if "" in dates else ", ".join(sorted(dates))


_WHY = {
    Block.UNRESOLVED: "an earlier create has an unknown outcome",
    Block.ELSEWHERE: "another subscription has it, or may have it",
    Block.WAITS: "it waits for the removal of another subscription",
}


def not_sent(changes: Iterable[Change]) -> Iterator[NotSent]:
    """The changes that are blocked."""
    for change in changes:
        if change.action is Action.BLOCKED:
            codes = change.after.codes if change.after else tuple(_codes(change.before))
            yield NotSent(change.address, codes, _WHY[change.block or Block.UNRESOLVED])


def stops(services: Iterable[dict[str, list[Delivery]]]) -> Iterator[Stop]:
    """What stops, from the deliveries of each code of each service."""
    for codes in services:
        alike: dict[tuple[Delivery, ...], list[str]] = defaultdict(list)
        for code, deliveries in sorted(codes.items()):
            stays = any(delivery.sure and not delivery.leaves for delivery in deliveries)
            if not stays and any(delivery.leaves for delivery in deliveries):
                alike[tuple(sorted(delivery for delivery in deliveries if delivery.leaves))].append(code)
        for leaving, found in alike.items():
            yield Stop(tuple(found), leaving)


def effect(change: Change) -> tuple[str, ...]:
    """What a change sends, what is subscribed then, and until when."""
    sends = f"sends {_listed(change.request.codes)} to {change.request.url}" if change.request else ""
    concerned = [attempt for attempt in change.before if attempt.id in change.concerns]
    match change.action:
        case Action.CREATE:
            return (sends,)
        case Action.EXTEND:
            url = change.request.url if change.request else ""
            staying = [attempt for attempt in change.before if attempt.status is Status.LIVE and attempt.url == url]
            before = _listed(_codes(staying))
            return (sends, *([f"{url} is already subscribed to {before}"] if before else []), *change.reasons)
        case Action.REPLACE:
            return (sends, *_moves(change, concerned), *change.reasons)
        case Action.RESTORE:
            return (*(f"stays subscribed, without a call: {_route(attempt)}" for attempt in concerned), *change.reasons)
        case Action.RETIRE:
            return (*(f"no call; {_ends(attempt)}" for attempt in concerned), *change.reasons)
        case Action.BLOCKED:
            return (_WHY[change.block or Block.UNRESOLVED],)
        case _:
            assert_never(change.action)


def _moves(change: Change, concerned: Sequence[Attempt]) -> Iterator[str]:
    new = change.request
    for attempt in concerned:
        if new is None or attempt.url == new.url:
            yield _ends(attempt)
            continue
        yield f"URL: {attempt.url} → {new.url}"
        both = [code for code in attempt.codes if code in new.codes]
        if both:
            yield f"{_listed(both)} will arrive at both URLs until the service's operator deletes attempt {attempt.id}"
        if ending := [code for code in attempt.codes if code not in new.codes]:
            yield f"{_listed(ending)} is subscribed at the old URL until then, and not at the new one"


def _ends(attempt: Attempt) -> str:
    return f"{_route(attempt)} is subscribed until the service's operator deletes attempt {attempt.id}"


def _route(attempt: Attempt) -> str:
    return f"{_listed(attempt.codes)} to {attempt.url}"


def _listed(codes: Iterable[str]) -> str:
    return ", ".join(codes)


def _codes(attempts: Iterable[Attempt]) -> list[str]:
    return sorted({code for attempt in attempts for code in attempt.codes})
