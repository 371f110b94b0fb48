"""What approving a plan approves: the digest differs where something else would be done, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from support.scene import BY, EUROPE, START, USA, Scene, hooks, target

from reconciler.model.outcome import Outcome
from reconciler.record.facts import Begun


@pytest.fixture
def scene() -> Scene:
    """One subscription to create, one as desired; and a second target, of another service."""
    scene = Scene(recipients=("age1one", "age1two"))
    scene.declare(target(USA, base_url="https://api.usa.example"))
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.want("loans", "LOA10013", hooks("loans"))
    scene.hold("loans", "LOA10013", hooks("loans"))
    return scene


def redeclare(**fields: Any) -> Callable[[Scene], None]:
    """Return what names another address for europe/staging."""
    return lambda scene: scene.declare(replace(scene.targets[EUROPE], **fields))


def recipients(*keys: str) -> Callable[[Scene], None]:
    """Return what names other recipients."""
    return lambda scene: setattr(scene, "recipients", keys)


def reject_before(scene: Scene) -> None:
    """Let an earlier attempt at the same address come to nothing."""
    scene.hear(scene.begin("offers", "ONB10011", hooks("offers")), Outcome.REJECTED)


def other_record(scene: Scene) -> None:
    """Have the same history in another record."""
    scene.facts[0] = Begun(at=scene.at, by=BY, record="another")
    scene._folded = None


def fulfil_another(scene: Scene) -> None:
    """Desire one more, and have it."""
    scene.want("deals", "ONB10001", hooks("deals"))
    scene.hold("deals", "ONB10001", hooks("deals"))


def lose_another(scene: Scene) -> None:
    """Have an unknown outcome on another target."""
    scene.lose("usa/staging/offers", "ONB10001", hooks("usa"))


CHANGED: dict[str, Callable[[Scene], None]] = {
    "another code": lambda scene: scene.want("offers", "ONB10001", hooks("offers")),
    "another URL": lambda scene: scene.want("offers", "ONB10011", hooks("other")),
    "one change more": lambda scene: scene.drop("loans"), "one change less": lambda scene: scene.drop("offers"),
    "an earlier attempt": reject_before, "another record": other_record,
    "another base_url": redeclare(base_url="https://api.moved.example"),
    "another auth_url": redeclare(auth_url="https://login.moved.example"),
    "another audience_base": redeclare(audience_base="https://audience.example"),
    "another recipient": recipients("age1one", "age1three"), "no recipients": recipients(),
}  # fmt: skip

SAME: dict[str, Callable[[Scene], None]] = {
    "nothing": lambda scene: None, "time": lambda scene: setattr(scene, "now", scene.now + 1e6),
    "an unchanged address more": fulfil_another,
    "a notification": lambda scene: scene.receive(hooks("loans"), "LOA10013"), "another target": lose_another,
    "order of recipients": recipients("age1two", "age1one"),
}  # fmt: skip


def digests(scene: Scene) -> tuple[str, str, list[str]]:
    """Return the digests of the plan for europe/staging, of the target and of the changes."""
    plan = scene.plan("europe/*")
    return plan.digest, plan.targets[EUROPE].digest, [change.digest for change in plan.changes]


@pytest.mark.parametrize("act", CHANGED.values(), ids=CHANGED)
def test_changed(scene: Scene, act: Callable[[Scene], None]) -> None:
    """Something else would be done, on another record, elsewhere, or responses encrypted to others."""
    before = digests(scene)
    act(scene)
    after = digests(scene)
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert before[2] != after[2]


@pytest.mark.parametrize("act", SAME.values(), ids=SAME)
def test_same(scene: Scene, act: Callable[[Scene], None]) -> None:
    """The same would be done."""
    before = digests(scene)
    act(scene)
    assert before == digests(scene)
    assert all(digest.startswith("sha256:") and len(digest) == 71 for digest in (before[0], *before[2]))


def test_account(scene: Scene) -> None:
    """The account does not enter into it: a plan made without credentials can be approved."""
    plans = [scene.plan(accounts=accounts) for accounts in ({}, {EUROPE: "sha256:one"})]
    assert 1 == len({plan.digest for plan in plans})


def test_status_of_an_attempt(scene: Scene) -> None:
    """A notification at an attempt's own URL changes a digest if it changes its status, and so does an outcome."""
    pending = scene.begin("leads", "ONB10099", hooks("leads"))
    before = digests(scene)
    scene.hear(pending, Outcome.UNKNOWN)
    assert before != digests(scene)
    scene.want("offers", "ONB10011 ONB10012", hooks("{attempt}"))
    lost = scene.lose("offers", "ONB10011", hooks("{attempt}"))
    before = digests(scene)
    scene.receive(scene.attempt(lost).url, "ONB10011")
    assert before != digests(scene)
    before = digests(scene)
    scene.receive(scene.attempt(lost).url, "ONB10011")
    assert before == digests(scene)


def test_what_is_removed(scene: Scene) -> None:
    """Which of two attempts is to be removed matters, though address and action are the same."""
    for name in ("one", "two"):
        scene.hold("offers", "ONB10011", hooks(name))
    found = set()
    for name in ("one", "two"):
        scene.want("offers", "ONB10011", hooks(name))
        found.add(scene.change().digest)
    assert 2 == len(found)


def test_times_of_attempts() -> None:
    """Which of two attempts is older may come out otherwise after a merge: the same is done about them."""
    found = set()
    for times in ((0.0, 1000.0), (1000.0, 0.0)):
        scene = Scene()
        for name, after in zip(("one", "two"), times, strict=True):
            scene.now = START + after
            scene.hold("offers", "ONB10011", hooks(name))
        scene.want("offers", "ONB10011", hooks("three"))
        found.add(scene.change().digest)
    assert 1 == len(found)


def test_of_one_target(scene: Scene) -> None:
    """The digest of a target is the same whatever else is selected; that of a plan covers its targets."""
    whole, part = scene.plan(), scene.plan("europe/*")
    assert whole.targets[EUROPE].digest == part.targets[EUROPE].digest
    assert whole.digest != part.digest
