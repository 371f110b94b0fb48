"""Codes that move between subscriptions, codes too many, and codes delivered twice."""

from __future__ import annotations

import pytest
from support.scene import EUROPE, USA, Scene, actions, address_of, commands, hooks, target, warned

from reconciler.model.desired import Replace
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Block
from reconciler.model.record import Status
from reconciler.planning.status import removals
from reconciler.reports.plan import verdict
from reconciler.reports.removals import letter_to_delete

SPELLINGS = ["https://hooks.partner.example/", "HTTPS://HOOKS.partner.example:443/"]


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record, and nothing desired."""
    return Scene()


@pytest.mark.parametrize("held_at", SPELLINGS)
@pytest.mark.parametrize("wanted_at", SPELLINGS)
def test_import_under_another_name_is_not_removed_with_the_old_one(scene: Scene, held_at: str, wanted_at: str) -> None:
    """An import may be the very subscription that another address was created as: no removal of that is requested."""
    held = scene.hold("old", "ONB10001", f"{held_at}a")
    scene.bring("new", "ONB10001", hooks("a"))
    scene.want("new", "ONB10001", f"{wanted_at}a")
    assert [] == scene.changes()
    scene.want("old", "ONB10002", hooks("b"))
    scene.apply()
    assert Status.LIVE is scene.attempt(held).status
    scene.drop("new")
    assert {"new", "old"} == {change.address.name for change in scene.changes()}


def test_move_code_wait(scene: Scene) -> None:
    """`wait`: the old subscription is removed first, the new one is created once that is confirmed."""
    scene.set_mode(Replace.WAIT)
    held = scene.hold("old", "ONB10001", hooks("old"))
    scene.want("new", "ONB10001", hooks("new"))
    blocked, remove = scene.changes()
    assert (Block.WAITS, (scene.attempt(held),)) == (blocked.block, blocked.blocking)
    assert (Action.REMOVE, ()) == (remove.action, remove.depends_on)
    assert [] == commands(blocked)
    assert [f"reconciler removal request europe/staging/old --attempt {held}"] == commands(scene.change("*/*/new"))
    scene.apply()
    assert [f"reconciler removal confirm europe/staging/old --attempt {held}"] == commands(scene.change())
    scene.confirm(held)
    assert Action.CREATE is scene.change().action


def test_move_code_between_desired_wait(scene: Scene) -> None:
    """`wait`: a code too many of a desired subscription blocks until just that code is removed."""
    scene.set_mode(Replace.WAIT)
    held = scene.hold("old", "ONB10001 ONB10002 ONB10003", hooks("old"))
    scene.want("old", "ONB10002", hooks("old"))
    scene.want("new", "ONB10001", hooks("new"))
    words = f"europe/staging/old --attempt {held} --code ONB10001"
    assert [f"reconciler removal request {words}"] == commands(scene.change())
    scene.request(held, "ONB10001")
    assert [f"reconciler removal confirm {words}"] == commands(scene.change())
    scene.confirm(held, "ONB10001")
    assert [("new", Action.CREATE)] == actions(scene.changes())


def test_swap_codes_wait(scene: Scene) -> None:
    """Codes change places, `wait`: whoever does what is named gets there, and no route is created twice."""
    scene.set_mode(Replace.WAIT)
    a, b = scene.hold("a", "ONB10001", hooks("a")), scene.hold("b", "ONB10002", hooks("b"))
    scene.want("a", "ONB10002", hooks("a"))
    scene.want("b", "ONB10001", hooks("b"))
    for held in (a, b):
        assert any(
            f"request {scene.attempt(held).address}" in command for c in scene.changes() for command in commands(c)
        )
        scene.request(held)
        scene.confirm(held)
        scene.apply()
    assert [] == scene.changes()


def test_move_code_and_url(scene: Scene) -> None:
    """A URL changes and one code moves away: the old attempt goes only once both creates are done."""
    old = scene.hold("one", "ONB10001 ONB10002", hooks("old"))
    scene.want("one", "ONB10001", hooks("new"))
    scene.want("two", "ONB10002", hooks("two"))
    remove, replaced, create = sorted(scene.changes(), key=lambda change: (change.address, change.action != "remove"))
    assert (Action.REPLACE, (), Action.CREATE) == (replaced.action, replaced.concerns, create.action)
    assert (Action.REMOVE, (old,), (address_of("one"), address_of("two"))) == (
        remove.action, remove.concerns, remove.depends_on,
    )  # fmt: skip
    scene.apply(become=lambda change: Outcome.REJECTED if change.address.name == "two" else Outcome.CREATED)
    assert Status.LIVE is scene.attempt(old).status
    scene.apply()
    assert [] == scene.changes()


@pytest.mark.parametrize("mode", Replace)
@pytest.mark.parametrize("held_at", SPELLINGS)
@pytest.mark.parametrize("wanted_at", SPELLINGS)
def test_exchanged_urls(scene: Scene, mode: Replace, held_at: str, wanted_at: str) -> None:
    """Two subscriptions that exchange their URLs in one plan: each of the two asks if that is intended."""
    scene.set_mode(mode)
    for name, other, code in (("a", "b", "ONB10001"), ("b", "a", "ONB10002")):
        scene.hold(name, code, f"{held_at}{name}")
        scene.want(name, code, f"{wanted_at}{other}")
    warnings = [change for change in scene.changes() if "urls-exchanged" in warned(change)]
    assert ["a", "b"] == [change.address.name for change in warnings]
    scene.request(scene.attempts[0].id)
    assert not [change for change in scene.changes() if "urls-exchanged" in warned(change)]  # its old one is leaving
    scene.cancel(scene.attempts[0].id)
    scene.hold("a", "ONB10001", f"{wanted_at}b")
    assert not [change for change in scene.changes() if "urls-exchanged" in warned(change)]  # it has moved already
    scene.want("b", "ONB10002", hooks("c"))
    assert not [change for change in scene.changes() if "urls-exchanged" in warned(change)]


# surplus and duplicates


@pytest.mark.parametrize(("selected", "told"), [
    ((), {EUROPE, USA}), ((f"{EUROPE}/a", f"{USA}/c"), {EUROPE}), ((f"{EUROPE}/c", f"{USA}/b"), {USA}),
])  # fmt: skip
def test_delivered_twice_by_two_targets(scene: Scene, selected: tuple[str, ...], told: set[str]) -> None:
    """Told of each target whose own address is selected: of the others nothing was asked."""
    scene.declare(target(USA))
    for name in (f"{EUROPE}/a", f"{USA}/b"):
        scene.hold(name, "ONB10001", hooks("offers"))
        scene.want(f"{name[:-1]}c", "ONB10009", hooks("c"))
        scene.want(name, "ONB10001", hooks("offers"))
    planned = scene.plan(*selected).targets
    assert told == {name for name, found in planned.items() if found.duplicates}


def test_all_delivered_twice(scene: Scene) -> None:
    """Sixteen subscriptions that exist twice do not match; each letter keeps those that it does not ask to delete."""
    for name in (f"s{number:02}" for number in range(16)):
        scene.want(name, "ONB10001", hooks(name))
        scene.hold(name, "ONB10001", hooks(name))
        scene.request(scene.hold(name, "ONB10001", hooks(name)))
        scene.hold(name, "ONB10001", hooks(name))
    assert 16 == len(scene.plan().targets[EUROPE].duplicates)
    assert "Nothing to apply. 16 routes delivered twice" in verdict(scene.plan())
    (told,) = removals(scene.status())
    delete, keep = " ".join(letter_to_delete(told)).split("Please do not delete")
    for awaiting in told.awaiting:
        assert (True, False) == tuple(f"our reference: {awaiting.attempt.id}" in part for part in (delete, keep))
        assert (False, True) == tuple(awaiting.staying[0].id in part for part in (delete, keep))
