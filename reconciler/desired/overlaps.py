"""Whether two subscriptions of the same service have the same event code.

Targets with the same `base_url` are one service, so this is checked over all targets together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reconciler.desired.mistakes import Mistakes, listed
from reconciler.model.desired import Overlap, Subscription, Target
from reconciler.model.url import normal_url, service_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reconciler.desired.targets import Declared
    from reconciler.model.address import TargetName

RIVALS_LIMIT: Final = 10
"""How many others a subscription is reported against for one code: more mistakes would not help."""


def check(subscriptions: Iterable[Subscription], declared: Mapping[TargetName, Declared], mistakes: Mistakes) -> None:
    """Report each pair of subscriptions of one service that may not share a code, at the place of the later one.

    Where only variables make one service of two targets, those are reported, and not what follows from it.
    """
    targets = {name: found.target for name, found in declared.items() if found.target is not None}
    conflicts: dict[tuple[str, str], tuple[Subscription, Subscription, list[str]]] = {}
    for code, holders in _shared(subscriptions, targets):
        for first, later in _conflicting(holders, targets):
            conflict = conflicts.setdefault((first.address, later.address), (first, later, []))
            conflict[2].append(code)
    alike: dict[tuple[object, ...], list[tuple[Subscription, Subscription, list[str]]]] = {}
    for first, later, codes in conflicts.values():
        pair = {name: declared[name] for name in sorted({first.address.target, later.address.target})}
        if len(pair) > 1 and _differ_in_config(*pair.values()):
            _report_variables(pair, targets, mistakes)
            continue
        same_url = normal_url(first.url) == normal_url(later.url)
        alike.setdefault((first.place, later.place, same_url, *codes), []).append((first, later, codes))
    for pairs in alike.values():
        _report(pairs, mistakes)


def _differ_in_config(one: Declared, other: Declared) -> bool:
    """Whether two targets of one service would be of two if no variable overrode their addresses."""
    if one.written_base is None or other.written_base is None:
        return True
    return service_key(one.written_base) != service_key(other.written_base)


def _report_variables(
    pair: Mapping[TargetName, Declared], targets: Mapping[TargetName, Target], mistakes: Mistakes
) -> None:
    """Report the variables that make one service of two targets."""
    variables = {name: found.base_variable for name, found in pair.items() if found.base_variable}
    named, target = " and ".join(variables.values()), targets[max(variables)]
    if len(variables) > 1:
        what, remedy = f"{named} give {' and '.join(pair)} one service", "set each to the address of its own target"
    else:
        (other,) = pair.keys() - variables
        what, remedy = f"{named} gives {target.name} the service of {other}", f"set it to the address of {target.name}"
    mistakes.add(
        target.place, f"{what}, {target.base_url}, and both have the same event codes", f"{remedy}, or unset it"
    )


def _shared(
    subscriptions: Iterable[Subscription], targets: Mapping[TargetName, Target]
) -> list[tuple[str, list[Subscription]]]:
    """Each code that several subscriptions of the same service have, with these in the order of their places."""
    services = {name: service_key(target.base_url) for name, target in targets.items()}
    firsts: dict[str, dict[str, Subscription]] = {service: {} for service in services.values()}
    shared: dict[tuple[str, str], list[Subscription]] = {}
    for subscription in subscriptions:
        service = services.get(subscription.address.target)
        if service is None:
            continue
        holders = firsts[service]
        for code in subscription.codes:
            first = holders.setdefault(code, subscription)
            if first is not subscription:
                shared.setdefault((service, code), [first]).append(subscription)
    return [(code, sorted(holders, key=_place)) for (_, code), holders in shared.items()]


def _place(subscription: Subscription) -> tuple[object, str]:
    return subscription.place, subscription.address


def _conflicting(
    holders: list[Subscription], targets: Mapping[TargetName, Target]
) -> Iterator[tuple[Subscription, Subscription]]:
    """The pairs, among those that have one code, that may not: a target refuses it, or they have the same URL."""
    earlier: list[Subscription] = []
    refusing: list[Subscription] = []
    at_url: dict[str, Subscription] = {}
    for holder in holders:
        allows = targets[holder.address.target].overlap is Overlap.ALLOW
        rivals = (refusing if allows else earlier)[:RIVALS_LIMIT]
        twin = at_url.setdefault(normal_url(holder.url), holder)
        if twin is not holder and twin not in rivals:
            rivals.append(twin)
        yield from ((rival, holder) for rival in rivals)
        earlier.append(holder)
        if not allows:
            refusing.append(holder)


def _report(pairs: list[tuple[Subscription, Subscription, list[str]]], mistakes: Mistakes) -> None:
    """Report pairs that stand at the same places, on several targets perhaps, as one mistake."""
    first, later, codes = pairs[0]
    targets = {subscription.address.target for one, other, _ in pairs for subscription in (one, other)}
    others = targets - {first.address.target, later.address.target}
    likewise = f" (likewise on {listed(others)})" if others else ""
    if normal_url(first.url) == normal_url(later.url):
        what = f"{later.address} and {first.address} deliver the same event codes to the same URL: {listed(codes)}"
        remedy = "keep the codes in one of the two"
    else:
        what = f"{later.address} and {first.address}, of the same service, have the same event codes: {listed(codes)}"
        remedy = f"keep the codes in one of the two, or set `overlap: allow` under {listed(targets)}"
    mistakes.add(later.place, f"{what}{likewise}", remedy)
