"""Subscriptions that change names, in chains and in circles: whoever follows the plan's advice sends nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from support.value_scene import EUROPE, Scene, address_of, hooks

from reconciler.model.plan import SENDS, Action

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ["a", "b", "c", "d", "e", "f"]


def renamed(before: Sequence[str], after: Sequence[str]) -> Scene:
    """Each of the subscriptions `before` is in force, and is wanted under the name `after` it."""
    scene = Scene()
    for number, (name, wanted) in enumerate(zip(before, after, strict=True)):
        scene.hold(name, f"ONB1000{number}", hooks(str(number)))
        scene.want(wanted, f"ONB1000{number}", hooks(str(number)))
    return scene


def advice(scene: Scene) -> list[str]:
    """The commands that the plan names first, as they are pasted."""
    reasons = [reason for change in scene.changes() if change.action is Action.BLOCKED for reason in change.reasons]
    line = reasons[0].rpartition(": ")[2]
    return [command.removeprefix("reconciler state mv ") for command in line.split(" && ")]


def follow(scene: Scene) -> None:
    """Do what the plan says, to the letter."""
    for command in advice(scene):
        source, destination = command.split()
        assert [] == scene.records[EUROPE].at_address(address_of(destination))
        scene.move(source, destination)


def test_a_swap_at_one_url_is_no_surplus() -> None:
    """What another subscription wants is to be renamed: a plan must not advise to have it removed as well."""
    scene = Scene()
    for name, code, wanted in (("a", "ONB10001", "ONB10002"), ("b", "ONB10002", "ONB10001")):
        scene.hold(name, code, hooks("one"))
        scene.want(name, wanted, hooks("one"))
    assert () == scene.plan().targets[EUROPE].surplus


def test_swap() -> None:
    """Two names that change places go by way of a third, and both are told the same."""
    scene = renamed(["a", "b"], ["b", "a"])
    there = "europe/staging"
    commands = [f"{there}/a {there}/a-moving", f"{there}/b {there}/a", f"{there}/a-moving {there}/b"]
    assert commands == advice(scene)
    assert {1} == {len({change.reasons[0].rpartition(": ")[2] for change in scene.changes()})}
    assert "if these subscriptions were renamed, run: " in scene.changes()[0].reasons[0]
    follow(scene)
    assert [] == scene.changes()


def test_third_name_is_free() -> None:
    """The name on the way is one that nothing has, or had."""
    scene = renamed(["a", "b", "a-moving"], ["b", "a", "a-moving"])
    scene.remove(scene.hold("a-moving0", "ONB10009", hooks("nine")))
    assert "europe/staging/a europe/staging/a-moving1" == advice(scene)[0]


def test_chain() -> None:
    """A name that another one takes makes way first."""
    scene = renamed(["a", "b"], ["b", "c"])
    there = "europe/staging"
    assert [f"{there}/b {there}/c", f"{there}/a {there}/b"] == advice(scene)
    follow(scene)
    assert [] == scene.changes()


def test_a_name_that_stays_is_no_rename() -> None:
    """What a subscription still delivers under its own name keeps it there."""
    scene = Scene()
    scene.hold("a", "ONB10001 ONB10002", hooks("a"))
    scene.want("a", "ONB10001", hooks("a"))
    scene.want("b", "ONB10002", hooks("a"))
    assert "mv" not in scene.change().reasons[0]


def test_the_name_with_most_routes() -> None:
    """What is split over two names was renamed to the one with more of it, whichever comes first."""
    scene = Scene()
    scene.hold("old", "ONB10001 ONB10002 ONB10003", hooks("a"))
    scene.want("a-new", "ONB10001", hooks("a"))
    scene.want("b-new", "ONB10002 ONB10003", hooks("a"))
    first, second, _ = scene.changes()
    assert "mv" not in first.reasons[0]
    assert second.reasons[0].endswith("run: reconciler state mv europe/staging/old europe/staging/b-new")


def test_two_names_for_one() -> None:
    """Of two subscriptions that became one, only one is renamed."""
    scene = Scene()
    scene.hold("old-a", "ONB10001", hooks("a"))
    scene.hold("old-b", "ONB10002", hooks("a"))
    scene.want("new", "ONB10001 ONB10002", hooks("a"))
    assert ["europe/staging/old-a europe/staging/new"] == advice(scene)


def test_a_name_that_is_held_takes_no_other() -> None:
    """No rename is advised to a name under which something else is recorded."""
    scene = Scene()
    scene.hold("a", "ONB10001", hooks("a"))
    scene.hold("b", "ONB10002", hooks("b"))
    scene.want("b", "ONB10001", hooks("a"))
    blocked = next(change for change in scene.changes() if change.action is Action.BLOCKED)
    assert "mv" not in blocked.reasons[0]


def test_all_shared_codes_are_named() -> None:
    """The reason names each code that another name already delivers."""
    scene = Scene()
    scene.hold("old", "ONB10001 ONB10002", hooks("a"))
    scene.want("new", "ONB10001 ONB10002", hooks("a"))
    assert scene.changes()[0].reasons[0].startswith(f"ONB10001, ONB10002 to {hooks('a')} is already in force as ")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whoever_follows_the_advice_gets_there(data: st.DataObject) -> None:
    """Whatever becomes of the names, nothing is sent or retired on the way, and nothing is left in the end."""
    before = data.draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    after = data.draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=len(before), max_size=len(before)))
    scene = renamed(before, after)
    for _ in before:
        assert [] == [change for change in scene.changes() if change.action in SENDS]
        scene.apply()
        if scene.changes():
            follow(scene)
    assert [] == scene.changes()
    assert len(before) == scene.attempts
