"""One life: what machines, people and places do under a seed, and the end, when faults stop and advice is followed."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path
from random import Random

import pyrage  # type: ignore[import-untyped]

from support.lives import acts, claims
from support.lives.end import end
from support.lives.machine import Machine, Machines
from support.lives.person import People
from support.lives.world import ONE, TWO, Wanted, World
from support.simulation.world import Violation

MOVES = 45
KINDS = {
    "file": "state.jsonl", "git": "git:records", "s3": "s3://bucket/records",
    "postgresql": "postgresql://db.test/records",
}  # fmt: skip
RECIPIENT = str(pyrage.x25519.Identity.generate().to_public())
CODES = ("ONB10001", "ONB10002", "LOA10013")


class Life:
    """A project with two machines. Each move has chance of its own, so that one can be left out."""

    def __init__(self, seed: int, root: Path, profile: acts.Profile | None) -> None:
        self.seed = seed
        rng = Random(f"{seed}/beginning")
        self.world = World(rng)
        self.machines = Machines(self.world, root, RECIPIENT)
        self.people = People(self.world)
        self.kind = rng.choice(list(KINDS))
        in_ci = self.kind != "file" and rng.random() < 0.3
        self.state = KINDS[self.kind]
        self.serial = 0
        self.all = [
            Machine(self.machines, "one", timeout=rng.choice((30, 300))),
            Machine(self.machines, "two", ci=in_ci, timeout=rng.choice((30, 300))),
        ]
        targets = {"europe/staging": ONE}
        if rng.random() < 0.4:
            targets["usa/staging"] = rng.choice((ONE, TWO))
        self.own_urls = rng.random() < 0.25
        self.wanted = Wanted(targets, {}, retries=self.own_urls and rng.random() < 0.6)
        for target in targets:
            for _ in range(rng.randint(1, 2)):
                self.add(rng, target)
        self.machines.urls = lambda: {url for _, url in self.wanted.subscriptions.values()}
        self.profile = profile or acts.PROFILES[seed % len(acts.PROFILES)]
        self.world.slow = self.profile.slow
        for machine in self.all:
            machine.write_config(self.copy_of_wanted(), self.state)

    def add(self, rng: Random, target: str) -> None:
        """Want one more subscription."""
        self.serial += 1
        codes = tuple(sorted(rng.sample(CODES, rng.randint(1, 2))))
        self.wanted.subscriptions[f"{target}/s{self.serial}"] = (codes, self.url())

    def copy_of_wanted(self) -> Wanted:
        """Return what everybody wants now, as a machine gets it."""
        wanted = self.wanted
        return Wanted(dict(wanted.targets), dict(wanted.subscriptions), wanted.record, wanted.retries)

    def url(self) -> str:
        """Return a URL that nothing has had."""
        self.serial += 1
        return f"https://h.test/{self.serial}" + ("/{attempt}" if self.own_urls else "")

    def move(self, rng: Random, besides: Machine | None = None) -> None:
        """Do one thing; `besides`: while a command runs on this machine."""
        machine = rng.choice([machine for machine in self.all if machine is not besides])
        possible = self.profile.acts if besides is None else self.profile.meanwhile
        names, weights = zip(*possible.items(), strict=True)
        act = rng.choices(names, weights)[0]
        act(self, machine, rng)

    def interrupt(self, machine: Machine) -> None:
        """Perhaps let others do things at a durable step of a command on a machine."""
        rng = self.world.rng
        if self.machines.depth == 1 and self.world.happens(self.profile.odds):
            for _ in range(rng.randint(1, 4)):
                self.move(rng, machine)


def live(seed: int, leaving_out: Collection[int] = (), profile: acts.Profile | None = None) -> Life:
    """Live a life to its end. Raises Violation, with the trace as a note."""
    with tempfile.TemporaryDirectory() as folder:
        life = Life(seed, Path(folder), profile)
        with life.machines.doubled():
            try:
                life.machines.meanwhile = life.interrupt
                for number in range(MOVES):
                    if number not in leaving_out:
                        life.world.rng = rng = Random(f"{seed}/{number}")
                        life.world.pause(rng.choice((0.0, 1.0, 5.0, 60.0, 120.0, 500.0)))
                        life.move(rng)
                life.world.rng = Random(f"{seed}/end")
                end(life)
            except Violation as problem:
                problem.add_note("\n".join(life.world.trace))
                raise
    return life


def shortest(seed: int) -> tuple[list[int], Violation | None]:
    """Return the moves that a failing life can do without, and how it fails then."""
    without: list[int] = []
    failed: Violation | None = None
    for number in [-1, *reversed(range(MOVES))]:
        try:
            live(seed, [*without, number])
        except Violation as problem:
            if failed is None or problem.promise is failed.promise:
                failed = problem
                without.append(number)
        if failed is None:
            break
    return without, failed


__all__ = ["Life", "claims", "live", "shortest"]
