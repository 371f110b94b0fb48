"""Which targets are the same service."""

from __future__ import annotations

from reconciler.mistake import Place
from reconciler.model.address import TargetName
from reconciler.model.desired import Desired, Overlap, Replace, Target

HERE = "https://api.example"
ELSEWHERE = "https://other.example"


def test_targets_of_a_service() -> None:
    """Those declared there, however the URL is written, and those whose records are bound to it, declared or not."""
    declared = {"a/declared": f"{HERE}:443/", "a/moved": ELSEWHERE, "a/other": ELSEWHERE, "a/came": HERE}
    bound = {"a/moved": HERE, "a/other": ELSEWHERE, "a/came": ELSEWHERE, "a/undeclared": "https://API.example"}
    place = Place("config/all.yaml", 1, 1)
    targets = {
        TargetName(name): Target(TargetName(name), HERE, url, HERE, Overlap.REFUSE, Replace.OVERLAP, place)
        for name, url in declared.items()
    }
    found = Desired(targets, {}).of_services([HERE], {TargetName(name): url for name, url in bound.items()})
    assert {"a/declared", "a/moved", "a/came", "a/undeclared"} == found
