"""Each row of the action table: what is wanted, what is in force, and the change between the two."""

from __future__ import annotations

import pytest
from support.value_scene import EUROPE, Scene, actions, address_of, hooks

from reconciler.model.desired import Replace
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Block, Request, Surplus


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record, and nothing wanted."""
    return Scene()


def test_empty(scene: Scene) -> None:
    """Nothing wanted and nothing recorded is nothing to do."""
    plan = scene.plan()
    assert ([], 0) == (plan.changes, plan.unchanged)


def test_unchanged(scene: Scene) -> None:
    """What is in force as wanted is no change, and is counted."""
    scene.want("offers", "ONB10011 LOA10013", hooks("offers"))
    scene.hold("offers", "LOA10013 ONB10011", hooks("offers"))
    plan = scene.plan()
    assert ([], 1) == (plan.changes, plan.unchanged)


def test_unchanged_import(scene: Scene) -> None:
    """What was imported is in force."""
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.bring("offers", "ONB10011", hooks("offers"))
    assert [] == scene.changes()


def test_unchanged_spelling(scene: Scene) -> None:
    """A URL that differs in host case and default port only is the same."""
    scene.want("offers", "ONB10011", "https://HOOKS.partner.example:443/offers")
    scene.hold("offers", "ONB10011", hooks("offers"))
    assert [] == scene.changes()


# create


def test_create(scene: Scene) -> None:
    """Nothing in force: one create call with all that is wanted."""
    scene.want("offers", "ONB10011 LOA10013", hooks("offers"))
    change = scene.change()
    request = Request(("LOA10013", "ONB10011"), hooks("offers"))
    assert (Action.CREATE, request, request, (), ()) == (
        change.action, change.request, change.after, change.before, change.concerns,
    )  # fmt: skip
    assert (("no subscription in force",), 0) == (change.reasons, scene.plan().unchanged)


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.NOT_SENT])
def test_create_again(scene: Scene, outcome: Outcome) -> None:
    """What was certainly not created is created by the next apply."""
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.hear(scene.begin("offers", "ONB10011", hooks("offers")), outcome)
    assert Action.CREATE is scene.change().action


def test_create_after_removal(scene: Scene) -> None:
    """What the operator removed is gone, and is created if it is wanted."""
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.remove(scene.hold("offers", "ONB10011", hooks("offers")))
    assert Action.CREATE is scene.change().action


# extend


def test_extend(scene: Scene) -> None:
    """More codes at the same URL: one create call with only the missing ones, and a word about the second secret."""
    scene.want("offers", "ONB10001 ONB10002 ONB10003", hooks("offers"))
    held = scene.hold("offers", "ONB10002", hooks("offers"))
    change = scene.change()
    assert (Action.EXTEND, Request(("ONB10001", "ONB10003"), hooks("offers"))) == (change.action, change.request)
    assert Request(("ONB10001", "ONB10002", "ONB10003"), hooks("offers")) == change.after
    assert ((scene.attempt(held),), ()) == (change.before, change.concerns)
    assert ("new event codes: ONB10001, ONB10003",) == change.reasons
    assert (f"this endpoint must now accept two signing secrets: {hooks('offers')}",) == change.warnings


def test_extend_with_surplus(scene: Scene) -> None:
    """Codes changed at the same URL: the new ones are created, the old ones are surplus, nothing is retired."""
    scene.want("offers", "ONB10002 ONB10003", hooks("offers"))
    held = scene.hold("offers", "ONB10001 ONB10002", hooks("offers"))
    assert Request(("ONB10003",), hooks("offers")) == scene.change().request
    assert [Surplus(address_of("offers"), held, ("ONB10001",))] == scene.surplus()


def test_extend_beside_awaiting(scene: Scene) -> None:
    """What awaits removal at an old URL does not make a replacement of one more code at the new."""
    scene.want("offers", "ONB10001 ONB10002", hooks("new"))
    scene.retire(scene.hold("offers", "ONB10001", hooks("old")))
    scene.hold("offers", "ONB10001", hooks("new"))
    change = scene.change()
    assert (Action.EXTEND, Request(("ONB10002",), hooks("new"))) == (change.action, change.request)


def test_extend_beside_other_codes_awaiting(scene: Scene) -> None:
    """Other codes that await removal at the same URL stand in nobody's way, whatever `replace` says."""
    scene.want("offers", "ONB10002", hooks("offers"))
    scene.retire(scene.hold("offers", "ONB10001", hooks("offers")))
    for mode in Replace:
        scene.set_mode(mode)
        assert Action.EXTEND is scene.change().action


# replace


def test_replace(scene: Scene) -> None:
    """Another URL: one create call with all wanted codes, after which the old attempt is retired."""
    scene.want("offers", "ONB10001 ONB10002", hooks("new"))
    old = scene.hold("offers", "ONB10001 ONB10002", hooks("old"))
    change = scene.change()
    assert (Action.REPLACE, Request(("ONB10001", "ONB10002"), hooks("new"))) == (change.action, change.request)
    assert (old,) == change.concerns
    assert (f"the URL changed from {hooks('old')}",) == change.reasons
    scene.hold("offers", "ONB10002", hooks("older"))
    assert (f"the URL changed from {hooks('old')}, {hooks('older')}",) == scene.change().reasons
    assert ("both subscriptions deliver until the operator removes the old one",) == change.warnings


def test_replace_with_other_codes(scene: Scene) -> None:
    """URL and codes changed at once: still one replacement."""
    scene.want("offers", "ONB10002", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    change = scene.change()
    assert (Action.REPLACE, Request(("ONB10002",), hooks("new")), (old,)) == (
        change.action, change.request, change.concerns,
    )  # fmt: skip


def test_replace_what_is_left(scene: Scene) -> None:
    """What is delivered to the new URL already is not requested again."""
    scene.want("offers", "ONB10001 ONB10002", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    scene.hold("offers", "ONB10002", hooks("new"))
    change = scene.change()
    assert (Action.REPLACE, Request(("ONB10001",), hooks("new")), (old,)) == (
        change.action, change.request, change.concerns,
    )  # fmt: skip


def test_replace_finished(scene: Scene) -> None:
    """All is delivered to the new URL: what is live at the old one is retired."""
    scene.want("offers", "ONB10001", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    scene.hold("offers", "ONB10001", hooks("new"))
    change = scene.change()
    assert (Action.RETIRE, (old,)) == (change.action, change.concerns)
    assert (f"superseded: everything desired is delivered to {hooks('new')}",) == change.reasons


def test_extend_and_retire(scene: Scene) -> None:
    """An old URL whose codes are delivered to the new one has nothing to do with one more code there: two changes."""
    scene.want("offers", "ONB10001 ONB10002", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    scene.hold("offers", "ONB10001", hooks("new"))
    extend, retire = scene.changes()
    assert (Action.EXTEND, Request(("ONB10002",), hooks("new"))) == (extend.action, extend.request)
    assert (Action.RETIRE, (old,)) == (retire.action, retire.concerns)
    assert (f"superseded: already delivered to {hooks('new')}",) == retire.reasons


def test_replace_while_awaiting(scene: Scene) -> None:
    """What awaits removal on purpose, and is wanted in part, is created anew beside it; nothing more is retired."""
    scene.want("offers", "ONB10001", hooks("offers"))
    scene.ask_away(scene.hold("offers", "ONB10001 ONB10002", hooks("offers")))
    change = scene.change()
    assert (Action.REPLACE, Request(("ONB10001",), hooks("offers")), ()) == (
        change.action, change.request, change.concerns,
    )  # fmt: skip
    assert ("its current subscription awaits removal",) == change.reasons
    assert 2 == len(change.warnings)


def test_replaced_is_done(scene: Scene) -> None:
    """After a replacement there is nothing to do but to wait for the operator, and that is no change."""
    scene.want("offers", "ONB10001", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    scene.apply()
    plan = scene.plan()
    assert ([], 1) == (plan.changes, plan.unchanged)
    assert (scene.attempt(old),) == plan.targets[EUROPE].awaiting_removal


# replace by waiting


def test_wait(scene: Scene) -> None:
    """`wait`: the old attempt is retired first, and the create is blocked until it is removed."""
    scene.set_mode(Replace.WAIT)
    scene.want("offers", "ONB10001", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    blocked, retire = scene.changes()
    assert (Action.BLOCKED, Block.WAITS, None, (old,)) == (
        blocked.action, blocked.block, blocked.request, blocked.concerns,
    )  # fmt: skip
    assert (
        (
            f"replace: wait; waiting for the removal of europe/staging/offers (attempt {old}, {hooks('old')});"
            " apply requests its removal"
        ),
    ) == blocked.reasons
    assert (Action.RETIRE, (old,), ()) == (retire.action, retire.concerns, retire.depends_on)
    assert ("to be replaced after its removal",) == retire.reasons


def test_wait_waits(scene: Scene) -> None:
    """Retired and not yet removed: blocked; removed: created."""
    scene.set_mode(Replace.WAIT)
    scene.want("offers", "ONB10001", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    scene.apply()
    assert Block.WAITS is scene.change().block
    scene.remove(old)
    assert Action.CREATE is scene.change().action


def test_wait_with_other_codes(scene: Scene) -> None:
    """`wait` waits for the old URL's removal even where no code is left of it."""
    scene.set_mode(Replace.WAIT)
    scene.want("offers", "ONB10002", hooks("new"))
    scene.hold("offers", "ONB10001", hooks("old"))
    scene.apply()
    assert Block.WAITS is scene.change().block


def test_wait_while_awaiting(scene: Scene) -> None:
    """`wait`: what was retired on purpose is created anew only once it is removed."""
    scene.set_mode(Replace.WAIT)
    scene.want("offers", "ONB10001", hooks("offers"))
    scene.ask_away(scene.hold("offers", "ONB10001 ONB10002", hooks("offers")))
    assert [("offers", Action.BLOCKED)] == actions(scene.changes())


def test_wait_extends(scene: Scene) -> None:
    """`wait` is about what goes: a code more at the same URL waits for nothing."""
    scene.set_mode(Replace.WAIT)
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.hold("offers", "ONB10001", hooks("offers"))
    assert Action.EXTEND is scene.change().action


# restore


def test_restore(scene: Scene) -> None:
    """Awaiting removal and wanted again just as it is: no call, and the request to the operator is to be withdrawn."""
    scene.want("offers", "ONB10001", hooks("offers"))
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.retire(held)
    change = scene.change()
    assert (Action.RESTORE, None, (held,)) == (change.action, change.request, change.concerns)
    (warning,) = change.warnings
    assert warning.startswith(
        f"cancel the removal request for attempt {held} with the operator; if it is already deleted, "
    )
    assert warning.endswith(f": reconciler state removed {change.address} --attempt {held}")
    assert ("it awaits removal but is in config/ again",) == change.reasons


def test_restore_two(scene: Scene) -> None:
    """What awaits removal in two parts comes back whole, and both requests are to be withdrawn."""
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    for code in ("ONB10001", "ONB10002"):
        scene.retire(scene.hold("offers", code, hooks("offers")))
    assert [
        f"cancel the removal request for attempt {attempt} with the operator; if it is already deleted,"
        f" first run: reconciler state removed europe/staging/offers --attempt {attempt}"
        for attempt in ("a1", "a2")
    ] == [*scene.change().warnings]


def test_revert(scene: Scene) -> None:
    """A URL changed back: the first attempt is restored, the second retired, nothing is sent."""
    first = scene.hold("offers", "ONB10001", hooks("first"))
    scene.want("offers", "ONB10001", hooks("second"))
    scene.apply()
    scene.want("offers", "ONB10001", hooks("first"))
    restore, retire = scene.changes()
    assert (Action.RESTORE, (first,)) == (restore.action, restore.concerns)
    assert (Action.RETIRE, ("a2",)) == (retire.action, retire.concerns)


def test_restore_and_extend(scene: Scene) -> None:
    """Awaiting removal, and all of it wanted again with more: restored, and only what is missing is sent."""
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.retire(held)
    extend, restore = scene.changes()
    assert (Action.EXTEND, Request(("ONB10002",), hooks("offers"))) == (extend.action, extend.request)
    assert (Action.RESTORE, (held,)) == (restore.action, restore.concerns)


def test_restore_the_larger(scene: Scene) -> None:
    """Of two that await removal, the one that is wanted just as it is comes back."""
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.retire(scene.hold("offers", "ONB10001", hooks("offers")))
    whole = scene.hold("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.retire(whole)
    change = scene.change()
    assert (Action.RESTORE, (whole,)) == (change.action, change.concerns)


def test_restore_no_duplicate(scene: Scene) -> None:
    """What is live already is not restored a second time."""
    scene.want("offers", "ONB10001", hooks("offers"))
    scene.retire(scene.hold("offers", "ONB10001", hooks("offers")))
    scene.hold("offers", "ONB10001", hooks("offers"))
    assert [] == scene.changes()


def test_restore_in_part(scene: Scene) -> None:
    """A URL changed back with a code less: what still delivers is restored, and the code too many is surplus."""
    first = scene.hold("offers", "ONB10001 ONB10002", hooks("first"))
    scene.want("offers", "ONB10001 ONB10002", hooks("second"))
    scene.apply()
    scene.want("offers", "ONB10001", hooks("first"))
    restore, retire = scene.changes()
    assert (Action.RESTORE, (first,)) == (restore.action, restore.concerns)
    assert "it also delivers ONB10002 (not in config/)" in restore.warnings
    assert (Action.RETIRE, ("a2",)) == (retire.action, retire.concerns)
    scene.apply()
    assert ([], [Surplus(address_of("offers"), first, ("ONB10002",))]) == (scene.changes(), scene.surplus())


def test_restore_the_closest(scene: Scene) -> None:
    """Of two that deliver as much of what is wanted, the one with less beyond it comes back, and no other."""
    scene.want("offers", "ONB10001", hooks("offers"))
    scene.retire(scene.hold("offers", "ONB10001 ONB10002", hooks("offers")))
    exact = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.retire(exact)
    assert (Action.RESTORE, (exact,)) == (scene.change().action, scene.change().concerns)


def test_restore_of_what_delivers_more(scene: Scene) -> None:
    """What is restored delivers all its codes again; those that are not desired are named in order."""
    scene.want("offers", "ONB10001", hooks("offers"))
    scene.retire(scene.hold("offers", "ONB10003 ONB10001 ONB10002", hooks("offers")))
    assert "it also delivers ONB10002, ONB10003 (not in config/)" in scene.change().warnings


def test_restore_beside_what_is_live(scene: Scene) -> None:
    """A route that still delivers is not created again, though a code beside it is live a second time then."""
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.hold("offers", "ONB10001", hooks("offers"))
    held = scene.hold("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.retire(held)
    assert (Action.RESTORE, (held,)) == (scene.change().action, scene.change().concerns)
    assert "it also delivers ONB10001 (another subscription delivers it too)" in scene.change().warnings


def test_asked_away_stays_away(scene: Scene) -> None:
    """What a person asked to be removed is not restored: what is still wanted of it follows `replace`."""
    scene.want("offers", "ONB10001", hooks("offers"))
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.ask_away(held)
    assert (Action.REPLACE, Request(("ONB10001",), hooks("offers"))) == (scene.change().action, scene.change().request)
    scene.set_mode(Replace.WAIT)
    assert (Block.WAITS, (held,)) == (scene.change().block, scene.change().concerns)
    scene.remove(held)
    assert Action.CREATE is scene.change().action


def test_asked_away_after_a_plan_retired_it(scene: Scene) -> None:
    """A person's word counts, whichever came first; withdrawn, it is as if it had not been said."""
    scene.want("offers", "ONB10001", hooks("offers"))
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.retire(held)
    scene.ask_away(held)
    scene.retire(held)
    assert Action.REPLACE is scene.change().action
    scene.restore(held)
    assert [] == scene.changes()
    scene.retire(held)
    assert Action.RESTORE is scene.change().action


# retire


def test_retire(scene: Scene) -> None:
    """No longer wanted: no call, what is live has to go."""
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    change = scene.change()
    assert (Action.RETIRE, None, None, (held,)) == (change.action, change.request, change.after, change.concerns)
    assert ("no longer in config/",) == change.reasons


def test_retire_once(scene: Scene) -> None:
    """What awaits removal already is listed and is no change."""
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.retire(held)
    plan = scene.plan()
    assert ([], (scene.attempt(held),)) == (plan.changes, plan.targets[EUROPE].awaiting_removal)


def test_retire_the_live(scene: Scene) -> None:
    """Only what is live is retired, and what awaits removal beside it is shown as before."""
    gone = scene.hold("offers", "ONB10001", hooks("old"))
    scene.retire(gone)
    held = scene.hold("offers", "ONB10001", hooks("new"))
    change = scene.change()
    assert ((held,), {gone, held}) == (change.concerns, {one.id for one in change.before})


def test_removals_of_a_part(scene: Scene) -> None:
    """A narrowed plan names what awaits removal at its addresses only."""
    for name in ("a", "b"):
        scene.retire(scene.hold(name, "ONB10001", hooks(name)))
    narrowed, whole = scene.plan("europe/staging/a").targets[EUROPE], scene.plan().targets[EUROPE]
    assert (EUROPE, ["a"]) == (narrowed.name, [attempt.address.name for attempt in narrowed.awaiting_removal])
    assert ["a", "b"] == [attempt.address.name for attempt in whole.awaiting_removal]
