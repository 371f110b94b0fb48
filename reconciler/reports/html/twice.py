"""Which event codes arrive twice once a plan is applied, where, and until when."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from reconciler.model.plan import Action
from reconciler.model.record import Status
from reconciler.model.url import service_key
from reconciler.reports.html.marks import concerned_attempts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reconciler.model.address import Address
    from reconciler.model.attempt import Attempt
    from reconciler.model.overview import TargetOverview


class Delivery(NamedTuple):
    """One subscription that delivers a code: which (`attempt`, empty if it is only planned), where, and how surely.

    `leaves`: the operator was asked to delete it (`asked` says when), or will be (`asked` is empty). `sure` is false
    for a create of unknown outcome.
    """

    address: Address
    url: str
    attempt: str
    leaves: bool
    asked: str
    sure: bool


class Twice(NamedTuple):
    """Codes of one service that several subscriptions deliver."""

    codes: tuple[str, ...]
    deliveries: tuple[Delivery, ...]

    @property
    def sure(self) -> bool:
        """Whether they certainly arrive twice, as far as the record knows."""
        return sum(delivery.sure for delivery in self.deliveries) > 1

    @property
    def now(self) -> bool:
        """Whether they certainly arrive twice before the plan is applied."""
        return sum(delivery.sure for delivery in self._before) > 1

    @property
    def perhaps_now(self) -> bool:
        """Whether they may arrive twice before the plan is applied: an outcome is unknown."""
        return len(self._before) > 1 and not self.now

    @property
    def later(self) -> bool:
        """Whether they arrive twice, or may, only once the plan is applied."""
        return not self.now and len(self._before) < len(self.deliveries)

    @property
    def _before(self) -> list[Delivery]:
        return [delivery for delivery in self.deliveries if delivery.attempt]

    @property
    def unknown(self) -> set[Address]:
        """The addresses of the creates of unknown outcome."""
        return {delivery.address for delivery in self.deliveries if not delivery.sure}

    @property
    def leaving(self) -> tuple[str, ...]:
        """The attempts after whose deletion they arrive once; empty if that is not enough."""
        leaving = tuple(delivery.attempt for delivery in self.deliveries if delivery.leaves)
        return leaving if len(self.deliveries) - len(leaving) < 2 else ()

    @property
    def leavers(self) -> list[tuple[Address, str]]:
        """The addresses and URLs of what `leaving` names."""
        return places(delivery for delivery in self.deliveries if delivery.leaves)

    @property
    def keepers(self) -> set[Address]:
        """The addresses that go on delivering; what leaves one of them is its old subscription."""
        return {delivery.address for delivery in self.deliveries if not delivery.leaves}


def deliveries_of(targets: Iterable[TargetOverview]) -> list[dict[str, list[Delivery]]]:
    """For each service the deliveries of each code: what exists there counts, whichever target created it."""
    services: dict[str, dict[str, list[Delivery]]] = defaultdict(lambda: defaultdict(list))
    for target in targets:
        for code, delivery in _deliveries(target):
            services[service_key(target.service)][code].append(delivery)
    return list(services.values())


def twice(services: Iterable[dict[str, list[Delivery]]]) -> list[Twice]:
    """What arrives twice, or may, from the deliveries of each code of each service."""
    return [found for codes in services for found in _several(codes.items())]


def places(deliveries: Iterable[Delivery]) -> list[tuple[Address, str]]:
    """Their addresses and URLs, each once."""
    return sorted({(delivery.address, delivery.url) for delivery in deliveries})


def asked_on(attempt: Attempt) -> str:
    """When the operator was asked to delete what awaits removal."""
    return f"asked on {attempt.at[:10]}"


def _several(codes: Iterable[tuple[str, Sequence[Delivery]]]) -> Iterator[Twice]:
    alike: dict[tuple[Delivery, ...], list[str]] = defaultdict(list)
    for code, deliveries in sorted(codes):
        if len(deliveries) > 1:
            alike[tuple(sorted(deliveries))].append(code)
    for deliveries, found in alike.items():
        yield Twice(tuple(found), deliveries)


def _deliveries(target: TargetOverview) -> Iterator[tuple[str, Delivery]]:
    standing = target.standing
    concerned = concerned_attempts(standing)
    for observed in standing.attempts:
        attempt = observed.attempt
        action = concerned.get(attempt.id)
        leaves = action not in (None, Action.RESTORE) or (attempt.status is Status.AWAITING_REMOVAL and action is None)
        known = Delivery(
            attempt.address,
            attempt.url,
            attempt.id,
            leaves,
            asked=asked_on(attempt) if leaves and attempt.status is Status.AWAITING_REMOVAL else "",
            sure=not attempt.unresolved,
        )
        yield from ((code, known) for code in attempt.codes)
    for change in standing.plan.changes:
        if change.request is not None:
            planned = Delivery(change.address, change.request.url, "", leaves=False, asked="", sure=True)
            yield from ((code, planned) for code in change.request.codes)
