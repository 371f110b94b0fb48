"""What refuses a plan, and which targets and addresses a plan is about."""

from __future__ import annotations

import pytest
from support.value_scene import EUROPE, USA, Scene, address_of, hooks, target

from reconciler.errors import Refused, SelectionError
from reconciler.model.selection import Selection
from reconciler.planning.guard import refuse_emptied, refuse_too_many


@pytest.fixture
def scene() -> Scene:
    """Two targets of two services with one subscription each in force, and nothing wanted."""
    scene = Scene()
    scene.declare(target(USA, base_url="https://api.usa.example"))
    scene.hold("offers", "ONB10011", hooks("offers"))
    scene.hold("usa/staging/loans", "LOA10013", hooks("loans"))
    return scene


def refuse(scene: Scene, *patterns: str) -> None:
    """Judge what is desired against what is recorded."""
    refuse_emptied(scene.desired, scene.records, Selection.of(patterns))


# --allow-empty


def test_emptied(scene: Scene) -> None:
    """Nothing desired for a target with something in force is refused, and --allow-empty is named."""
    scene.want("usa/staging/loans", "LOA10013", hooks("loans"))
    with pytest.raises(Refused) as caught:
        refuse(scene)
    assert (
        f"{EUROPE}: config/ defines no subscription for this target, but 1 is in force;"
        " to remove all of them, use --allow-empty" == str(caught.value)
    )


def test_emptied_counts(scene: Scene) -> None:
    """It says how many there are."""
    scene.hold("deals", "ONB10001", hooks("deals"))
    with pytest.raises(Refused, match="but 2 are in force"):
        refuse(scene)


def test_not_emptied(scene: Scene) -> None:
    """One desired subscription is enough, whichever it is."""
    scene.want("other", "ONB10001", hooks("other"))
    scene.want("usa/staging/loans", "LOA10013", hooks("loans"))
    refuse(scene)


def test_emptied_not_selected(scene: Scene) -> None:
    """A target that is not selected is not judged."""
    scene.want("offers", "ONB10011", hooks("offers"))
    refuse(scene, "europe/*")
    with pytest.raises(Refused):
        refuse(scene, "*/*/loans")


def test_emptied_on_purpose(scene: Scene) -> None:
    """Once all of it awaits removal, there is nothing more to lose by accident."""
    scene.apply()
    refuse(scene)


def test_emptied_without_record(scene: Scene) -> None:
    """A target without a record has nothing in force."""
    records = {USA: scene.records[USA]}
    scene.want("usa/staging/loans", "LOA10013", hooks("loans"))
    refuse_emptied(scene.desired, records, Selection())


# --max-creates


@pytest.mark.parametrize("allowed", [None, 3, 4])
def test_creates_allowed(scene: Scene, allowed: int | None) -> None:
    """As many creates as allowed, or no limit at all, go through."""
    want_three_creates(scene)
    refuse_too_many(scene.plan(), allowed)


def test_too_many_creates(scene: Scene) -> None:
    """One create more than allowed is refused; whatever sends counts, and nothing else."""
    want_three_creates(scene)
    with pytest.raises(Refused) as caught:
        refuse_too_many(scene.plan(), 2)
    assert (
        "the plan has 3 create calls (1 new, 1 extended, 1 replaced); --max-creates allows 2;"
        " review the plan; creates cannot be undone" == str(caught.value)
    )


def test_too_many_by_one(scene: Scene) -> None:
    """None allowed, one planned."""
    scene.want("offers", "ONB10011 ONB10001", hooks("offers"))
    with pytest.raises(Refused, match=r"the plan has 1 create call \(1 extended\); --max-creates allows 0"):
        refuse_too_many(scene.plan(), 0)


def want_three_creates(scene: Scene) -> None:
    """A create, an extend and a replace, beside two retires, a restore and a blocked change."""
    scene.hold("moved", "ONB10001", hooks("old"))
    scene.want("moved", "ONB10001", hooks("new"))
    scene.want("offers", "ONB10011 ONB10003", hooks("offers"))
    scene.want("new", "ONB10002", hooks("new"))
    scene.retire(scene.hold("back", "LOA10001", hooks("back")))
    scene.want("back", "LOA10001", hooks("back"))
    scene.lose("lost", "LOA10002", hooks("lost"))
    scene.hold("gone", "LOA10003", hooks("gone"))
    assert 6 == len({change.action for change in scene.changes()})


# selection


def test_select_target(scene: Scene) -> None:
    """A glob over targets: those targets, and the patterns stand in the plan."""
    plan = scene.plan("europe/*")
    assert (("europe/*",), [EUROPE], [address_of("offers")]) == (
        plan.selection, [*plan.targets], [change.address for change in plan.changes],
    )  # fmt: skip


def test_select_address(scene: Scene) -> None:
    """A glob over addresses: nothing else of their targets is in the plan."""
    scene.hold("deals", "ONB10001", hooks("deals"))
    scene.want("as-wanted", "ONB10002", hooks("as-wanted"))
    scene.hold("as-wanted", "ONB10002", hooks("as-wanted"))
    plan = scene.plan("*/staging/deals")
    assert ([address_of("deals")], 0) == ([change.address for change in plan.changes], plan.unchanged)


def test_select_several(scene: Scene) -> None:
    """Patterns add up."""
    assert 2 == len(scene.changes("europe/*", "*/*/loans"))


def test_select_nothing(scene: Scene) -> None:
    """A pattern that matches nothing is an error that names it, and what there is."""
    with pytest.raises(SelectionError) as caught:
        scene.plan("europe/*", "asia/*", "*/*/ghost")
    declared = "declared targets: europe/staging, usa/staging"
    assert f"-t */*/ghost -t asia/*: matches no target or address; {declared}" == str(caught.value)


def test_select_among_none() -> None:
    """Where no target is declared, the error says so."""
    with pytest.raises(SelectionError, match="declared targets: none"):
        Scene({}).plan("europe/*")


def test_select_what_is_gone(scene: Scene) -> None:
    """An address that is only recorded can be selected, even where nothing is left of it."""
    scene.hold("deals", "ONB10001", hooks("deals"))
    scene.remove("a3")
    assert [] == scene.changes("*/*/deals")
