"""A desired state in a line, plans for it and the ports of a run: the values that tests of an apply stand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.applying.driver import Inbox, Ports
from reconciler.errors import Message, Place
from reconciler.model.address import Address, Selection, TargetName
from reconciler.model.desired import Desired, Overlap, Replace, Subscription, Target, Unknown
from reconciler.model.plan import Plan
from reconciler.planning.planner import plan
from reconciler.record.facts import AnyFact
from reconciler.record.journal import Journal, Reading

NOWHERE = Place("config/all.yaml", 1, 1)


def target_of(
    name: str, base_url: str = "https://api.example", *, replace: str = "overlap", unknown: str = "wait"
) -> Target:
    """Return a declared target."""
    return Target(
        TargetName(name), "https://login.example", base_url, base_url, Overlap.ALLOW, Replace(replace),
        Unknown(unknown), NOWHERE,
    )  # fmt: skip


def desired_of(targets: list[Target], wanted: Mapping[str, tuple[tuple[str, ...], str]]) -> Desired:
    """Return a desired state; `wanted` has codes and a URL by address."""
    subscriptions = {
        Address(address): Subscription(Address(address), tuple(sorted(codes)), url, url, NOWHERE)
        for address, (codes, url) in sorted(wanted.items())
    }
    return Desired({target.name: target for target in targets}, subscriptions)


def plan_for(desired: Desired, reading: Reading, now: float, *patterns: str) -> Plan:
    """Return the plan on a record as it was read."""
    selection = Selection.of(patterns)
    return plan(desired, reading.record, reading.standing, selection, now=now, accounts={}, allow_empty=True)


def ports_of(
    journal: Journal, replan: Callable[[Reading], Plan], save: Callable[[list[AnyFact], str], Message], **others: Any
) -> Ports:
    """Return the ports of a run on a record; `others` are a clock, ids, and whatever else is not as here."""
    here: dict[str, Any] = {
        "read": journal.read, "extend": journal.extend, "catch_up": journal.catch_up, "replan": replan, "save": save,
        "callers": {}, "jitter": lambda: 0.5, "pause": lambda _: None, "observe": lambda _: None,
        "reach": lambda _: None, "by": {"user": "test"}, "account": lambda _: "account", "patience": 0.0,
    }  # fmt: skip
    return Ports(**{"inbox": Inbox(), **here, **others})
