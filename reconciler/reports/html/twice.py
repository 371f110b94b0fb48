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
    from reconciler.model.overview import TargetOverview


class Delivery(NamedTuple):
    """One subscription that delivers a code: which (`attempt`, empty if it is only planned), where, and how surely.

    `leaves`: the operator was asked (`requested`), or will be, to delete it. `sure` is false for a create of
    unknown outcome.
    """

    address: Address
    url: str
    attempt: str
    leaves: bool
    requested: bool
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
        """Whether they arrive twice, or may, before the plan is applied."""
        return sum(bool(delivery.attempt) for delivery in self.deliveries) > 1

    @property
    def leaving(self) -> tuple[str, ...]:
        """The attempts after whose deletion they arrive once; empty if that is not enough."""
        leaving = tuple(delivery.attempt for delivery in self.deliveries if delivery.leaves)
        return leaving if len(self.deliveries) - len(leaving) < 2 else ()

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
            requested=leaves and attempt.status is Status.AWAITING_REMOVAL,
            sure=not attempt.unresolved,
        )
        yield from ((code, known) for code in attempt.codes)
    for change in standing.plan.changes:
        if change.request is not None:
            planned = Delivery(change.address, change.request.url, "", leaves=False, requested=False, sure=True)
            yield from ((code, planned) for code in change.request.codes)
