"""Whether two subscriptions of one service would be told of one event.

Targets with the same `base_url` are one service, so this is judged over all of them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reconciler.desired.mistakes import Mistakes, listed
from reconciler.model.desired import Overlap, Subscription, Target
from reconciler.model.url import normal_url, service_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reconciler.model.address import TargetName

RIVALS_LIMIT: Final = 10
"""How many others a subscription is reported against for one code: beyond that, more mistakes help nobody."""


def check(subscriptions: Iterable[Subscription], targets: Mapping[TargetName, Target], mistakes: Mistakes) -> None:
    """Report each pair of subscriptions that hold a code of one service and may not, where the later one stands."""
    clashes: dict[tuple[str, str], tuple[Subscription, Subscription, list[str]]] = {}
    for code, holders in _shared(subscriptions, targets):
        for first, later in _clashing(holders, targets):
            clash = clashes.setdefault((first.address, later.address), (first, later, []))
            clash[2].append(code)
    for first, later, codes in clashes.values():
        _report(first, later, codes, mistakes)


def _shared(
    subscriptions: Iterable[Subscription], targets: Mapping[TargetName, Target]
) -> list[tuple[str, list[Subscription]]]:
    """Each code that several subscriptions of one service hold, with these in the order in which they stand."""
    services = {name: service_key(target.base_url) for name, target in targets.items()}
    firsts: dict[str, dict[str, Subscription]] = {service: {} for service in services.values()}
    shared: dict[tuple[str, str], list[Subscription]] = {}
    for one in subscriptions:
        service = services.get(one.address.target)
        if service is None:
            continue
        holders = firsts[service]
        for code in one.codes:
            first = holders.setdefault(code, one)
            if first is not one:
                shared.setdefault((service, code), [first]).append(one)
    return [(code, sorted(holders, key=_standing)) for (_, code), holders in shared.items()]


def _standing(one: Subscription) -> tuple[object, str]:
    return one.place, one.address


def _clashing(
    holders: list[Subscription], targets: Mapping[TargetName, Target]
) -> Iterator[tuple[Subscription, Subscription]]:
    """The pairs, among the holders of one code, that may not both hold it: by a target's word, or by one URL."""
    earlier: list[Subscription] = []
    refusing: list[Subscription] = []
    at_url: dict[str, Subscription] = {}
    for one in holders:
        allows = targets[one.address.target].overlap is Overlap.ALLOW
        rivals = (refusing if allows else earlier)[:RIVALS_LIMIT]
        twin = at_url.setdefault(normal_url(one.url), one)
        if twin is not one and twin not in rivals:
            rivals.append(twin)
        yield from ((rival, one) for rival in rivals)
        earlier.append(one)
        if not allows:
            refusing.append(one)


def _report(first: Subscription, later: Subscription, codes: list[str], mistakes: Mistakes) -> None:
    if normal_url(first.url) == normal_url(later.url):
        what = f"{later.address} and {first.address} deliver the same event codes to the same URL: {listed(codes)}"
        remedy = "keep the codes in one of the two"
    else:
        what = f"{later.address} and {first.address}, of the same service, have the same event codes: {listed(codes)}"
        concerned = listed({first.address.target, later.address.target})
        remedy = f"keep the codes in one of the two, or set `overlap: allow` under {concerned}"
    mistakes.add(later.place, what, remedy)
