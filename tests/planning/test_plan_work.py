"""What a plan of many targets costs: counted, since a time would depend on the machine."""

from __future__ import annotations

from collections import UserDict
from typing import TYPE_CHECKING, TypeVar

import pytest
from msgspec.structs import replace
from support.value_scene import Scene, hooks, target

from reconciler.model.address import TargetName
from reconciler.model.desired import Overlap
from reconciler.model.selection import Selection
from reconciler.planning.guard import refuse_emptied
from reconciler.planning.planner import make_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

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
