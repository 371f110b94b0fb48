"""Which subscriptions of a target were renamed in `config/`, and the commands that rename them in the record."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from reconciler.model.address import Address
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reconciler.model.desired import Desired, Subscription
    from reconciler.model.record import Attempt, Record

Route = tuple[str, str]


class Renames:
    """What is recorded under one name and wanted under another: nothing of it is wanted under its own name.

    Each name becomes one other, the one that shares most routes with it; so renames form chains and circles.
    """

    def __init__(self, desired: Desired, record: Record) -> None:
        self._wanted = {subscription.address: subscription for subscription in desired.of_target(record.target)}
        self._held = record.by_address()
        self._known = {*record.touched, *self._held, *self._wanted}
        self._becomes = _matched(self._wanted, self._held)
        self._was = {after: name for name, after in self._becomes.items()}

    def commands(self, source: Address, destination: Address) -> list[str]:
        """What renames `source` to `destination`, in order, with all that has to be renamed for that.

        Empty where it was not renamed so, or where what is recorded under a name in the chain has no other name.
        """
        if self._becomes.get(source) != destination:
            return []
        chain = self._chain(source)
        last = self._becomes[chain[-1]]
        if last == chain[0]:
            return _circle(chain, self._free(chain[0]))
        return [] if last in self._held else [_mv(name, self._becomes[name]) for name in reversed(chain)]

    def _chain(self, member: Address) -> list[Address]:
        """The names that change together with `member`, each followed by what it becomes; a circle from its least."""
        first, seen = member, {member}
        while (earlier := self._was.get(first)) is not None and earlier not in seen:
            first = earlier
            seen.add(first)
        chain = [first]
        while (later := self._becomes[chain[-1]]) in self._becomes and later != first:
            chain.append(later)
        start = chain.index(min(chain)) if later == first else 0
        return chain[start:] + chain[:start]

    def _free(self, address: Address) -> Address:
        """A name that nothing has, or had."""
        names = (Address(f"{address}-moving{number or ''}") for number in count())
        return next(name for name in names if name not in self._known)


def is_renamed_with_url(wanted: Subscription, source: Attempt) -> bool:
    """Whether `source` is what `wanted` would be under its name: only `{name}` makes their URLs differ."""
    if "{name}" not in wanted.template or source.address.target != wanted.address.target:
        return False
    url = wanted.url.replace(wanted.address.name, source.address.name)
    return normal_url(url) == normal_url(source.url) != normal_url(wanted.url)


def _matched(wanted: Mapping[Address, Subscription], held: Mapping[Address, list[Attempt]]) -> dict[Address, Address]:
    becomes: dict[Address, Address] = {}
    taken: set[Address] = set()
    for _, source, destination in sorted(_candidates(wanted, held)):
        if source not in becomes and destination not in taken:
            becomes[source] = destination
            taken.add(destination)
    return becomes


def _candidates(
    wanted: Mapping[Address, Subscription], held: Mapping[Address, list[Attempt]]
) -> Iterator[tuple[int, Address, Address]]:
    """Each name and another one that wants what is recorded under it; those that share most come first in order."""
    takers = {route: address for address, subscription in wanted.items() for route in _routes(subscription)}
    for source, attempts in held.items():
        taken = [takers[route] for attempt in attempts for route in attempt.routes if route in takers]
        if source not in taken:
            yield from ((-taken.count(destination), source, destination) for destination in {*taken})


def _routes(wanted: Subscription) -> Iterator[Route]:
    url = normal_url(wanted.url)
    return ((code, url) for code in wanted.codes)


def _circle(chain: list[Address], free: Address) -> list[str]:
    """The renames of a circle: its first goes by way of a free name, and comes in last."""
    later = [_mv(name, after) for name, after in zip(chain[1:], [*chain[2:], chain[0]], strict=True)]
    return [_mv(chain[0], free), *reversed(later), _mv(free, chain[1])]


def _mv(source: Address, destination: Address) -> str:
    return f"reconciler state mv {source} {destination}"
