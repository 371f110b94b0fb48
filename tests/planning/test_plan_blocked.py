"""What stands in the way of a change, and what is said about it."""

from __future__ import annotations

import pytest
from support.value_scene import USA, Scene, actions, address_of, hooks, target

from reconciler.model.desired import Replace
from reconciler.model.plan import Action, Block


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record, and nothing wanted."""
    return Scene()


@pytest.mark.parametrize("wanted", [True, False])
def test_blocked_unknown(scene: Scene, *, wanted: bool) -> None:
    """An unknown outcome blocks its address, wanted or not, and says since when and by whom."""
    if wanted:
        scene.want("offers", "ONB10001", hooks("offers"))
    lost = scene.lose("offers", "ONB10001", hooks("offers"))
    change = scene.change()
    assert (Action.BLOCKED, Block.UNRESOLVED, None, (lost,)) == (
        change.action, change.block, change.request, change.concerns,
    )  # fmt: skip
    assert (
        (
            "a create started 2026-11-20T13:30:00Z by deployer on build-7 has an unknown outcome;"
            " check with the operator whether the subscription exists;"
            " if it does, run: reconciler state resolve europe/staging/offers --created;"
            " if it certainly does not, wait until 2027-01-15T08:01:00Z,"
            " then run: reconciler state resolve europe/staging/offers --not-created"
        ),
    ) == change.reasons


def test_blocked_in_flight(scene: Scene) -> None:
    """A call that may be in flight blocks, and says until when it may be."""
    scene.want("offers", "ONB10001", hooks("offers"))
    scene.begin("offers", "ONB10001", hooks("offers"))
    change = scene.change()
    assert Block.UNRESOLVED is change.block
    assert (
        (
            "a create started 2026-11-20T13:30:00Z by deployer on build-7 may be in flight until 2027-01-15T08:01:00Z;"
            " if it has no outcome after that, check with the operator whether the subscription exists;"
            " if it does, run: reconciler state resolve europe/staging/offers --created;"
            " if it certainly does not, run: reconciler state resolve europe/staging/offers --not-created"
        ),
    ) == change.reasons


def test_blocked_beside_live(scene: Scene) -> None:
    """An unknown extension blocks the whole address, and what is live stays."""
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.hold("offers", "ONB10001", hooks("offers"))
    scene.lose("offers", "ONB10002", hooks("offers"))
    assert [("offers", Action.BLOCKED)] == actions(scene.changes())


@pytest.mark.parametrize(("created", "action"), [(True, None), (False, Action.CREATE)])
def test_blocked_until_resolved(scene: Scene, *, created: bool, action: Action | None) -> None:
    """A person's word unblocks: created is as wanted, not created is created."""
    scene.want("offers", "ONB10001", hooks("offers"))
    scene.resolve(scene.lose("offers", "ONB10001", hooks("offers")), created=created)
    assert ([] if action is None else [action]) == [change.action for change in scene.changes()]


def test_blocked_elsewhere(scene: Scene) -> None:
    """A renamed subscription is not created: `state mv` is named, and the old name is kept until its codes are over."""
    held = scene.hold("before", "ONB10001", hooks("offers"))
    scene.want("after", "ONB10001", hooks("offers"))
    blocked, retire = scene.changes()
    assert (Action.BLOCKED, Block.ELSEWHERE, ()) == (blocked.action, blocked.block, blocked.concerns)
    assert (
        (
            f"ONB10001 to {hooks('offers')} is already in force as europe/staging/before (attempt {held}); if"
            " the subscription was renamed, run: reconciler state mv europe/staging/before europe/staging/after"
        ),
    ) == blocked.reasons
    assert (Action.RETIRE, (address_of("after"),)) == (retire.action, retire.depends_on)
    scene.move("before", "after")
    assert [] == scene.changes()


def test_blocked_elsewhere_with_attempts(scene: Scene) -> None:
    """An address that has attempts was not renamed: `state mv` would refuse, so `state retire` is named instead."""
    held = scene.hold("other", "ONB10001 ONB10002", hooks("offers"))
    scene.want("other", "ONB10002", hooks("offers"))
    scene.hold("offers", "ONB10003", hooks("offers"))
    scene.want("offers", "ONB10001 ONB10003", hooks("offers"))
    reason = scene.change().reasons[0]
    assert f"to have it removed first, run: reconciler state retire europe/staging/other --attempt {held}" in reason


def test_blocked_elsewhere_awaiting(scene: Scene) -> None:
    """What awaits removal under another address still delivers, so it still blocks."""
    scene.retire(scene.hold("before", "ONB10001", hooks("offers")))
    scene.want("after", "ONB10001", hooks("offers"))
    assert Block.ELSEWHERE is scene.change().block
    assert scene.change().reasons[0].endswith(" reconciler state mv europe/staging/before europe/staging/after")
    scene.move("before", "after")
    assert Action.RESTORE is scene.change().action


def test_blocked_elsewhere_asked_away(scene: Scene) -> None:
    """What a person asked to be removed is waited for, and not renamed."""
    held = scene.hold("before", "ONB10001", hooks("offers"))
    scene.ask_away(held)
    scene.want("after", "ONB10001", hooks("offers"))
    assert scene.change().reasons[0].endswith(_once_deleted("europe/staging/before", held))
    scene.remove(held)
    assert Action.CREATE is scene.change().action


def test_waits_for_what_is_restored(scene: Scene) -> None:
    """What the plan restores has to be retired before it can be removed."""
    scene.set_mode(Replace.WAIT)
    held = scene.hold("old", "ONB10001 ONB10002", hooks("old"))
    scene.retire(held)
    scene.want("old", "ONB10002", hooks("old"))
    scene.want("new", "ONB10001", hooks("new"))
    blocked, restore = scene.changes()
    assert (Block.WAITS, Action.RESTORE) == (blocked.block, restore.action)
    assert blocked.reasons[0].endswith(_retire_first("europe/staging/old", held))


def test_blocked_elsewhere_unresolved(scene: Scene) -> None:
    """What may be in force under another address blocks as unresolved does."""
    lost = scene.lose("before", "ONB10001", hooks("offers"))
    scene.want("after", "ONB10001", hooks("offers"))
    after, before = scene.changes()
    assert ((Block.UNRESOLVED, (lost,)), (Block.UNRESOLVED, (lost,))) == (
        (after.block, after.concerns), (before.block, before.concerns),
    )  # fmt: skip
    assert after.reasons[0].startswith("it may already be in force as europe/staging/before: a create started ")


def test_blocked_elsewhere_keeps_old(scene: Scene) -> None:
    """Where the create is blocked, the old URL is not retired."""
    scene.hold("offers", "ONB10001", hooks("old"))
    scene.hold("other", "ONB10001", hooks("new"))
    scene.want("offers", "ONB10001", hooks("new"))
    assert [("offers", Action.BLOCKED), ("other", Action.RETIRE)] == actions(scene.changes())


@pytest.fixture
def shared(scene: Scene) -> Scene:
    """A second target with the same base URL, but for its spelling."""
    scene.declare(target(USA, base_url="https://API.service.example:443/"))
    return scene


def test_shared_service(shared: Scene) -> None:
    """A route in force on another target of the service is not created here, and no `state mv` across is named."""
    held = shared.hold("usa/staging/offers", "ONB10001", hooks("offers"))
    shared.want("offers", "ONB10001", hooks("offers"))
    blocked = shared.changes()[0]
    assert (Action.BLOCKED, Block.ELSEWHERE) == (blocked.action, blocked.block)
    assert (
        (
            f"ONB10001 to {hooks('offers')} is already in force as usa/staging/offers (attempt {held}), another"
            " target of the same service; to have it removed first,"
            f" run: reconciler state retire usa/staging/offers --attempt {held}"
        ),
    ) == blocked.reasons


def test_shared_service_not_selected(shared: Scene) -> None:
    """A target that is not selected still counts, if it is the same service."""
    shared.hold("usa/staging/offers", "ONB10001", hooks("offers"))
    shared.want("offers", "ONB10001", hooks("offers"))
    assert [("offers", Action.BLOCKED)] == actions(shared.changes("europe/*"))


def test_shared_service_moving(shared: Scene) -> None:
    """A code that nobody wants on the other target any more hinders a `wait` here."""
    shared.set_mode(Replace.WAIT)
    shared.hold("usa/staging/offers", "ONB10001", hooks("usa"))
    shared.want("offers", "ONB10001", hooks("offers"))
    assert [("offers", Action.BLOCKED), ("offers", Action.RETIRE)] == actions(shared.changes())


def test_waits_for_another_target(shared: Scene) -> None:
    """What lives on another target of the service is not in this target's plan, so `state retire` is named."""
    shared.set_mode(Replace.WAIT)
    held = shared.hold("usa/staging/offers", "ONB10001", hooks("usa"))
    shared.want("offers", "ONB10001", hooks("offers"))
    (blocked,) = shared.changes("europe/*")
    assert blocked.reasons[0].endswith(f"); {_retire_first('usa/staging/offers', held)}")
    shared.retire(held)
    (blocked,) = shared.changes("europe/*")
    assert blocked.reasons[0].endswith(f"); {_once_deleted('usa/staging/offers', held)}")


def test_waits_for_what_is_not_selected(scene: Scene) -> None:
    """What would be retired by a plan for it, and is not selected, is not retired by this one."""
    scene.set_mode(Replace.WAIT)
    held = scene.hold("old", "ONB10001", hooks("old"))
    scene.want("new", "ONB10001", hooks("new"))
    (blocked,) = scene.changes("*/*/new")
    assert blocked.reasons[0].endswith(f"); {_retire_first('europe/staging/old', held)}")
    (blocked, _) = scene.changes()
    assert blocked.reasons[0].endswith("); apply requests its removal")
    scene.apply()
    (blocked,) = scene.changes()
    assert blocked.reasons[0].endswith(f"); {_once_deleted('europe/staging/old', held)}")


def test_waits_for_what_is_unresolved(scene: Scene) -> None:
    """What may be in force is to be settled, and neither retired nor removed."""
    scene.set_mode(Replace.WAIT)
    scene.lose("old", "ONB10001", hooks("old"))
    scene.want("new", "ONB10001", hooks("new"))
    (blocked, _) = scene.changes()
    assert "), whose create is unresolved: a create started " in blocked.reasons[0]
    assert blocked.reasons[0].endswith(": reconciler state resolve europe/staging/old --not-created")


def _once_deleted(address: str, attempt: str) -> str:
    return f"after the operator has deleted it, run: reconciler state removed {address} --attempt {attempt}"


def _retire_first(address: str, attempt: str) -> str:
    return f"to have it removed first, run: reconciler state retire {address} --attempt {attempt}"


def test_other_service(scene: Scene) -> None:
    """The same route at another service is another route."""
    scene.declare(target(USA, base_url="https://api.other.example"))
    scene.hold("usa/staging/offers", "ONB10001", hooks("offers"))
    scene.want("usa/staging/offers", "ONB10001", hooks("offers"))
    scene.want("offers", "ONB10001", hooks("offers"))
    assert Action.CREATE is scene.change().action


@pytest.mark.parametrize("other", [None, "https://api.other.example"])
def test_target_declared_no_more(scene: Scene, other: str | None) -> None:
    """What a record says of a service stays true, whether its target is no longer declared, or is elsewhere by now."""
    scene.declare(target(USA))
    scene.hold("usa/staging/offers", "ONB10001", hooks("offers"))
    if other is None:
        del scene.targets[USA]
    else:
        scene.targets[USA] = target(USA, base_url=other)
    scene.want("offers", "ONB10001", hooks("offers"))
    assert Block.ELSEWHERE is scene.changes("europe/*")[0].block


def test_blocked_whose_code_moves(scene: Scene) -> None:
    """An unknown outcome stays blocked, and waits for nothing, where another subscription now has its code."""
    scene.lose("a", "ONB10001", hooks("a"))
    scene.want("b", "ONB10001", hooks("b"))
    unresolved = scene.changes()[0]
    assert ("a", Block.UNRESOLVED, ()) == (unresolved.address.name, unresolved.block, unresolved.depends_on)
