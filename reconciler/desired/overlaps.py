"""Finds event codes that two subscriptions of one service have in common.

Targets with the same `base_url` are one service, so this is checked over all targets together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.desired.mistakes import Mistakes, listed
from reconciler.model.desired import Overlap, Subscription, Target
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reconciler.desired.targets import Declared
    from reconciler.model.address import TargetName

_Conflict = tuple[Subscription, Subscription, list[str]]


def check(subscriptions: Iterable[Subscription], declared: Mapping[TargetName, Declared], mistakes: Mistakes) -> None:
    """Report each pair of subscriptions of one service that may not share a code, at the place of the later one.

    If a variable overrides a `base_url`, it may have made one service of two, so the message names it.
    """
    targets = {name: each.target for name, each in declared.items() if each.target is not None}
    conflicts: dict[tuple[str, str], _Conflict] = {}
    for code, holders in _shared(subscriptions, targets):
        for first, later in _conflicting(holders, targets):
            conflicts.setdefault((first.address, later.address), (first, later, []))[2].append(code)
    alike: dict[tuple[object, ...], list[_Conflict]] = {}
    for first, later, codes in conflicts.values():
        same_url = normal_url(first.template) == normal_url(later.template)
        alike.setdefault((first.place, later.place, same_url, *codes), []).append((first, later, codes))
    for pairs in alike.values():
        _report(pairs, targets, mistakes)


def _shared(
    subscriptions: Iterable[Subscription], targets: Mapping[TargetName, Target]
) -> list[tuple[str, list[Subscription]]]:
    """Return each code that several subscriptions of a service have, with these in the order of their places."""
    services = {name: target.service for name, target in targets.items()}
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
    return [
        (code, sorted(holders, key=lambda holder: (holder.place, holder.address)))
        for (_, code), holders in shared.items()
    ]


def _conflicting(
    holders: list[Subscription], targets: Mapping[TargetName, Target]
) -> Iterator[tuple[Subscription, Subscription]]:
    """Yield each of the holders of one code that may not have it, after the first of those that it conflicts with.

    Two conflict if the target of either refuses overlaps, or if they have the same URL.
    """
    refusing: Subscription | None = None
    at_url: dict[str, Subscription] = {}
    for holder in holders:
        refuses = targets[holder.address.target].overlap is Overlap.REFUSE
        rival = at_url.setdefault(normal_url(holder.template), holder)
        if rival is holder:
            rival = holders[0] if refuses else refusing or holder
        if rival is not holder:
            yield rival, holder
        if refuses:
            refusing = refusing or holder


def _report(pairs: list[_Conflict], targets: Mapping[TargetName, Target], mistakes: Mistakes) -> None:
    """Report pairs that are at the same places, on several targets perhaps, as one mistake."""
    first, later, codes = pairs[0]
    concerned = {subscription.address.target for pair in pairs for subscription in pair[:2]}
    others = concerned - {first.address.target, later.address.target}
    likewise = f" (likewise on {listed(others)})" if others else ""
    if normal_url(first.template) == normal_url(later.template):
        name, remedy = "same-route", "keep the codes in one of the two"
        what = f"{later.address} and {first.address} deliver the same event codes to the same URL: {listed(codes)}"
    else:
        name, remedy = "overlap", f"keep the codes in one of the two, or set `overlap: allow` under {listed(concerned)}"
        what = f"{later.address} and {first.address}, of the same service, have the same event codes: {listed(codes)}"
    overridden = [each for each in concerned if "base_url" in targets[each].overridden]
    if len(concerned) > 1 and overridden:
        remedy += f"; or correct {listed(f'{each.variable_prefix}BASE_URL' for each in overridden)}"
    mistakes.add(name, later.place, f"{what}{likewise}", remedy)
