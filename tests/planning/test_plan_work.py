"""What plans and reports of much cost: counted, since a time would depend on the machine."""

from __future__ import annotations

from collections import UserDict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import pytest
from msgspec.structs import replace
from support.value_scene import Scene, hooks, target

from reconciler.model.address import TargetName
from reconciler.model.desired import Overlap
from reconciler.model.plan import TargetPlan
from reconciler.model.selection import Selection
from reconciler.planning.evidence import Received, match_notifications
from reconciler.planning.guard import refuse_emptied
from reconciler.planning.planner import make_plan
from reconciler.planning.status import status_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.record import Attempt, Record

Key = TypeVar("Key")
Value = TypeVar("Value")


class Watched(UserDict[Key, Value]):
    """A dictionary that counts how often all of it is gone through."""

    passes = 0

    def __iter__(self) -> Iterator[Key]:
        self.passes += 1
        return super().__iter__()


def passes_of_a_plan(count: int, *patterns: str) -> tuple[int, int]:
    """How often a plan goes through all that is desired, and at most through the attempts of one record.

    Each target of one service has a subscription that exists, and one that is to be created.
    """
    scene = Scene()
    names = [TargetName(f"region{number}/staging") for number in range(count)]
    for name in names:
        scene.declare(target(name, overlap=Overlap.ALLOW))
        scene.hold(f"{name}/offers", "ONB10011", hooks(f"{name}/offers"))
        scene.want(f"{name}/offers", "ONB10011", hooks(f"{name}/offers"))
        scene.want(f"{name}/loans", "LOA10013", hooks(f"{name}/loans"))
    desired = replace(scene.desired, subscriptions=Watched(scene.desired.subscriptions))
    records = {name: replace(record, attempts=Watched(record.attempts)) for name, record in scene.records.items()}
    selection = Selection.of(patterns)
    plan = make_plan(desired, records, selection)
    refuse_emptied(desired, records, selection)
    assert len(plan.changes) == (len(patterns) or count)
    attempts = [record.attempts.passes for record in records.values() if isinstance(record.attempts, Watched)]
    assert isinstance(desired.subscriptions, Watched)
    return desired.subscriptions.passes, max(attempts)


@pytest.mark.parametrize("patterns", [(), ("region1/staging",), ("region1/staging", "region2/staging")])
def test_passes_do_not_grow_with_targets(patterns: tuple[str, ...]) -> None:
    """What is desired and recorded is gone through as often for thirty targets as for three."""
    assert passes_of_a_plan(3, *patterns) == passes_of_a_plan(30, *patterns)


def record_of(count: int) -> tuple[Record, Watched[str, Attempt]]:
    """The record of a target with so many subscriptions, and its attempts."""
    scene = Scene()
    for number in range(count):
        scene.hold(f"offers{number}", "ONB10011", hooks(f"offers{number}"))
    (record,) = scene.records.values()
    attempts = Watched(record.attempts)
    return replace(record, attempts=attempts), attempts


def passes_of_a_status(count: int) -> int:
    """How often a status goes through the attempts of a record."""
    record, attempts = record_of(count)
    plan = TargetPlan(record.target, "", record.head, record.entries, (), (), (), 0)
    assert count == len(status_of(record, plan, datetime.now(UTC)).attempts)
    return attempts.passes


def test_a_status_does_not_grow_with_subscriptions() -> None:
    """The attempts of an address are not looked for among all."""
    assert passes_of_a_status(3) == passes_of_a_status(30)


def passes_of_notifications(count: int) -> int:
    """How often matching so many notifications goes through the attempts of a record."""
    record, attempts = record_of(30)
    notifications = [
        Received("2026-11-20T13:31:00Z", "ONB10011", f"/offers{number}", hooks(f"offers{number}"))
        for number in range(count)
    ]
    assert count == len(match_notifications([record], notifications).received)
    return attempts.passes


def test_a_match_does_not_grow_with_notifications() -> None:
    """Each is looked up."""
    assert passes_of_notifications(3) == passes_of_notifications(30)
