"""What two runs are about when every order of their steps is explored."""

from __future__ import annotations

from reconciler.model.address import Address, TargetName
from reconciler.model.entry import AnyEntry, Imported
from reconciler.state.journal.chain import Journal, link, parse
from support.journal_samples import AT, BY, begun
from support.simulation.sim_configs import CODES, NAMES, URLS, desired_of, target_of
from support.simulation.sim_interleavings import Explorer
from support.simulation.sim_state import Part

HERE, THERE = TargetName("europe/staging"), TargetName("usa/staging")
SERVICE = "https://api.example"


def one_record(
    subscriptions: int = 2, *, faults: int = 1, parallelism: int = 1, people: bool = False, copies: bool = False
) -> Explorer:
    """Two runs of one configuration with so many subscriptions to create."""
    wanted = {Address.of(HERE, NAMES[number]): ((CODES[number],), URLS[number % 3]) for number in range(subscriptions)}
    part = Part(HERE, desired_of([target_of(HERE, SERVICE)], wanted))
    return Explorer(
        {HERE: journal_of(HERE)}, [part, part], faults=faults, parallelism=parallelism, people=people, copies=copies
    )


def copied_record() -> Explorer:
    """Two runs, and at some moment the record is closed to be copied to another store."""
    return one_record(1, faults=2, copies=True)


def changed_urls(*, faults: int = 1) -> Explorer:
    """Two runs that replace one subscription, and move the code of another: it is retired once that is created."""
    alpha, bravo, charlie = (Address.of(HERE, name) for name in NAMES[:3])
    old = [
        Imported(at=AT, by=BY, attempt="old1", address=alpha, codes=CODES[:1], url=URLS[0]),
        Imported(at=AT, by=BY, attempt="old2", address=bravo, codes=CODES[1:2], url=URLS[1]),
    ]
    wanted = {alpha: (CODES[:1], URLS[2]), charlie: (CODES[1:2], URLS[2])}
    part = Part(HERE, desired_of([target_of(HERE, SERVICE)], wanted))
    return Explorer({HERE: journal_of(HERE, *old)}, [part, part], faults=faults, parallelism=2)


def two_targets(*, faults: int = 1) -> Explorer:
    """Two targets of one service: one run has a route on the one, a run of a newer configuration on the other."""
    targets = [target_of(name, SERVICE) for name in (HERE, THERE)]
    parts = [
        Part(name, desired_of(targets, {Address.of(name, "alpha"): (CODES[:1], URLS[0])})) for name in (HERE, THERE)
    ]
    return Explorer({name: journal_of(name) for name in (HERE, THERE)}, parts, faults=faults, parallelism=1)


def journal_of(target: TargetName, *entries: AnyEntry) -> Journal:
    """A journal that was just begun, and these entries."""
    lines, _ = link(None, 0, [begun(target), *entries])
    return parse(lines, target, "simulated")
