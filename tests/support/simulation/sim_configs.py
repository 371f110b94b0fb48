"""Desired states as people write and edit them, always such that `validate` would pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reconciler.mistake import Place
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Desired, Overlap, Replace, Subscription, Target
from reconciler.model.selection import Selection
from reconciler.planning.planner import Planner

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from reconciler.model.plan import Change
    from reconciler.model.record import Record

CODES = ("ONB10001", "ONB10002", "ONB10003", "ONB10011", "LOA10013", "LOA10014")
NAMES = ("alpha", "bravo", "charlie", "delta")
URLS = ("https://hooks.example/one", "https://hooks.example/two", "https://hooks.example/three")
_PLACE = Place("config.yaml", 1, 1)


def desired_of(targets: Sequence[Target], wanted: Mapping[Address, tuple[tuple[str, ...], str]]) -> Desired:
    """A desired state of these targets, and of subscriptions given as codes and URL."""
    subscriptions = {
        address: Subscription(address, tuple(sorted(codes)), url, url, _PLACE)
        for address, (codes, url) in sorted(wanted.items())
    }
    return Desired({target.name: target for target in targets}, subscriptions)


def target_of(name: str, base_url: str, replace: Replace = Replace.OVERLAP) -> Target:
    """A target without anything in particular."""
    return Target(TargetName(name), "https://login.example", base_url, base_url, Overlap.REFUSE, replace, _PLACE)


def changes_of_target(name: TargetName, desired: Desired, records: Mapping[TargetName, Record]) -> Sequence[Change]:
    """What is planned for one target from these records."""
    planner = Planner(desired, Selection())
    planner.use(records)
    return planner.plan(name).changes


@dataclass
class Config:
    """A configuration that is edited. `holders` says which address has which code of which service."""

    targets: list[Target]
    urls: dict[Address, str] = field(default_factory=dict)
    holders: dict[tuple[str, str], Address] = field(default_factory=dict)

    @classmethod
    def draw(cls, rng: random.Random, targets: list[Target]) -> Config:
        """A first configuration."""
        config = cls(targets)
        names = NAMES[: rng.randint(1, len(NAMES))]
        for service in sorted({target.base_url for target in targets}):
            for code in CODES[: rng.randint(1, len(CODES))]:
                config.give(service, code, config.draw_address(rng, service, names), rng)
        return config

    def draw_address(self, rng: random.Random, service: str, names: Sequence[str] = NAMES) -> Address:
        target = rng.choice([target for target in self.targets if target.base_url == service])
        return Address.of(target.name, rng.choice(names))

    def give(self, service: str, code: str, address: Address, rng: random.Random) -> None:
        """Let `address`, and no other of the service, hold the code."""
        self.holders[service, code] = address
        self.urls.setdefault(address, rng.choice(URLS))

    def edit(self, rng: random.Random) -> None:
        """What somebody commits: another URL, a code more, less or elsewhere, a way of replacing."""
        if len(self.targets) == 2 and rng.random() < 0.3:
            self.carry_over(*rng.choice(sorted(self.holders) or [("", "")]))
        service, code = rng.choice(sorted(self.holders) or [(self.targets[0].base_url, CODES[0])])
        match rng.randrange(6):
            case 0 if self.urls:
                self.urls[rng.choice(sorted(self.urls))] = rng.choice(URLS)
            case 1:
                self.holders.pop((service, code), None)
            case 2:
                index = rng.randrange(len(self.targets))
                target = self.targets[index]
                mode = rng.choice((Replace.OVERLAP, Replace.OVERLAP, Replace.WAIT))
                self.targets[index] = target_of(target.name, target.base_url, mode)
            case _:
                self.give(service, rng.choice(CODES), self.draw_address(rng, service), rng)

    def carry_over(self, service: str, code: str) -> None:
        """Let the other target of the service have the code, at the same URL."""
        address = self.holders.get((service, code))
        others = [
            one.name for one in self.targets if one.base_url == service and address and one.name != address.target
        ]
        if address and others:
            there = Address.of(others[0], address.name)
            self.holders[service, code] = there
            self.urls[there] = self.urls[address]

    def rename(self, source: Address, address: Address) -> None:
        """Call a subscription by another name, as one does before `state mv`."""
        self.urls[address] = self.urls.pop(source)
        for key, holder in self.holders.items():
            if holder == source:
                self.holders[key] = address

    def desired(self) -> Desired:
        """The configuration as the planner takes it."""
        wanted: dict[Address, tuple[tuple[str, ...], str]] = {}
        for (_, code), address in sorted(self.holders.items()):
            codes, _ = wanted.get(address, ((), ""))
            wanted[address] = ((*codes, code), self.urls[address])
        return desired_of(self.targets, wanted)
