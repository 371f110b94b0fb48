"""Each row of the action table: what is desired, what is in force, and the change between the two."""

from __future__ import annotations

import pytest
from support.scene import EUROPE, FLIGHT, Scene, actions, address_of, hooks, names, warned

from reconciler.model.desired import Replace
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Block, Request, Surplus

OWN = hooks("{attempt}")


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record, and nothing desired."""
    return Scene()


def test_empty(scene: Scene) -> None:
    """Nothing desired and nothing recorded is nothing to do."""
    plan = scene.plan()
    assert ([], 0) == (plan.changes, plan.unchanged)


@pytest.mark.parametrize("url", [hooks("offers"), "https://HOOKS.partner.example:443/offers", OWN])
def test_unchanged(scene: Scene, url: str) -> None:
    """What is in force as desired is no change, and is counted; URLs compare as templates, in their normal form."""
    scene.want("offers", "ONB10011 LOA10013", url)
    scene.hold("offers", "LOA10013 ONB10011", OWN if url == OWN else hooks("offers"))
    plan = scene.plan()
    assert ([], 1) == (plan.changes, plan.unchanged)


def test_unchanged_import(scene: Scene) -> None:
    """What was imported is in force."""
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.bring("offers", "ONB10011", hooks("offers"))
    assert [] == scene.changes()


def test_create(scene: Scene) -> None:
    """Nothing in force: one create call with all that is desired."""
    scene.want("offers", "ONB10011 LOA10013", OWN)
    change = scene.change()
    request = Request(("LOA10013", "ONB10011"), OWN)
    assert (Action.CREATE, request, request, (), ()) == (
        change.action, change.request, change.after, change.before, change.concerns,
    )  # fmt: skip
    assert (["nothing-in-force"], 0) == (names(change), scene.plan().unchanged)


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.NOT_SENT])
def test_create_again(scene: Scene, outcome: Outcome) -> None:
    """What was certainly not created is created by the next apply."""
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.hear(scene.begin("offers", "ONB10011", hooks("offers")), outcome)
    assert Action.CREATE is scene.change().action


def test_create_after_removal(scene: Scene) -> None:
    """What the operator removed is gone, and is created if it is desired; of a part, just that part."""
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    held = scene.hold("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.confirm(held, "ONB10001")
    assert (Action.EXTEND, ("ONB10001",)) == (scene.change().action, scene.change().request.codes)  # type: ignore[union-attr]
    scene.confirm(held)
    assert Action.CREATE is scene.change().action


def test_extend(scene: Scene) -> None:
    """More codes at the same URL: one create call with only the missing ones, and a word about the second secret."""
    scene.want("offers", "ONB10001 ONB10002 ONB10003", OWN)
    held = scene.hold("offers", "ONB10002", OWN)
    change = scene.change()
    assert (Action.EXTEND, Request(("ONB10001", "ONB10003"), OWN)) == (change.action, change.request)
    assert Request(("ONB10001", "ONB10002", "ONB10003"), OWN) == change.after
    assert ((scene.attempt(held),), ()) == (change.before, change.concerns)
    assert (["new-codes"], ["second-secret"]) == (names(change), warned(change))


def test_extend_with_surplus(scene: Scene) -> None:
    """Codes changed at the same URL: the new ones are created, the old ones are surplus, nothing is removed."""
    scene.want("offers", "ONB10002 ONB10003", hooks("offers"))
    held = scene.hold("offers", "ONB10001 ONB10002", hooks("offers"))
    assert Request(("ONB10003",), hooks("offers")) == scene.change().request
    assert (Surplus(address_of("offers"), held, ("ONB10001",)),) == scene.plan().targets[EUROPE].surplus


def test_extend_beside_other_codes_awaiting(scene: Scene) -> None:
    """Other codes that await removal at the same URL do not block, whatever `replace` says."""
    scene.want("offers", "ONB10002", hooks("offers"))
    scene.request(scene.hold("offers", "ONB10001", hooks("offers")), by_plan=True)
    for mode in Replace:
        scene.set_mode(mode)
        assert Action.CREATE is scene.change().action
        assert ["second-secret"] == warned(scene.change())


def test_replace(scene: Scene) -> None:
    """Another URL: one create call with all desired codes, after which the removal of the old attempts is requested."""
    scene.want("offers", "ONB10001 ONB10002", hooks("new"))
    old = scene.hold("offers", "ONB10001 ONB10002", hooks("old"))
    change = scene.change()
    assert (Action.REPLACE, Request(("ONB10001", "ONB10002"), hooks("new")), (old,)) == (
        change.action, change.request, change.concerns,
    )  # fmt: skip
    assert (["url-changed"], ["both-deliver"]) == (names(change), warned(change))
    scene.apply()
    plan = scene.plan()
    assert ([], 1, (scene.attempt(old),)) == (plan.changes, plan.unchanged, plan.targets[EUROPE].awaiting_removal)


def test_replace_what_is_left(scene: Scene) -> None:
    """What is delivered to the new URL already is not requested again; once all is, the old one is removed."""
    scene.want("offers", "ONB10001 ONB10002", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    scene.hold("offers", "ONB10002", hooks("new"))
    change = scene.change()
    assert (Action.REPLACE, ("ONB10001",), (old,)) == (
        change.action, change.request and change.request.codes, change.concerns,
    )  # fmt: skip
    scene.hold("offers", "ONB10001", hooks("new"))
    change = scene.change()
    assert (Action.REMOVE, (old,), ["already-delivered"]) == (change.action, change.concerns, names(change))


def test_superseded_names_the_codes_that_the_new_url_does_not_deliver(scene: Scene) -> None:
    """Of two codes at the old URL, one is delivered at the new one, and the other is not desired."""
    scene.want("offers", "ONB10001", hooks("new"))
    scene.hold("offers", "ONB10001 ONB10002", hooks("old"))
    scene.hold("offers", "ONB10001", hooks("new"))
    (why,) = scene.change().reasons
    assert [False, True] == [f"{code} no longer in config/" in why.what for code in ("ONB10001", "ONB10002")]


def test_extend_and_remove(scene: Scene) -> None:
    """An old URL whose codes are delivered to the new one does not matter to one more code there: two changes."""
    scene.want("offers", "ONB10001 ONB10002", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    scene.hold("offers", "ONB10001", hooks("new"))
    extend, remove = scene.changes()
    assert (Action.EXTEND, ("ONB10002",)) == (extend.action, extend.request and extend.request.codes)
    assert (Action.REMOVE, (old,)) == (remove.action, remove.concerns)


def test_wait(scene: Scene) -> None:
    """`wait`: the old attempt's removal is requested first, and the create is blocked until it is confirmed."""
    scene.set_mode(Replace.WAIT)
    scene.want("offers", "ONB10001", hooks("new"))
    old = scene.hold("offers", "ONB10001", hooks("old"))
    blocked, remove = scene.changes()
    assert (Action.BLOCKED, Block.WAITS, None, (scene.attempt(old),)) == (
        blocked.action, blocked.block, blocked.request, blocked.blocking,
    )  # fmt: skip
    assert "apply requests its removal" in blocked.reasons[0].what
    assert (Action.REMOVE, (old,), ()) == (remove.action, remove.concerns, remove.depends_on)
    scene.apply()
    assert Block.WAITS is scene.change().block
    assert f"reconciler removal confirm europe/staging/offers --attempt {old}" in str(scene.change().reasons[0])
    scene.confirm(old)
    assert Action.CREATE is scene.change().action


def test_wait_extends(scene: Scene) -> None:
    """`wait` is about what goes: a code more at the same URL waits for nothing."""
    scene.set_mode(Replace.WAIT)
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.hold("offers", "ONB10001", hooks("offers"))
    assert Action.EXTEND is scene.change().action


def test_restore(scene: Scene) -> None:
    """Awaiting removal and desired again just as it is: no call, and the request to the operator is to be cancelled."""
    scene.want("offers", "ONB10001", hooks("offers"))
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.request(held, by_plan=True)
    change = scene.change()
    assert (Action.RESTORE, None, (held,)) == (change.action, change.request, change.concerns)
    assert (["desired-again"], ["cancel-removal"]) == (names(change), warned(change))
    scene.apply()
    assert [] == scene.changes()


def test_revert(scene: Scene) -> None:
    """A URL changed back: the first attempt is restored, the second is to be removed, nothing is sent."""
    first = scene.hold("offers", "ONB10001", hooks("first"))
    scene.want("offers", "ONB10001", hooks("second"))
    scene.apply()
    scene.want("offers", "ONB10001", hooks("first"))
    restore, remove = sorted(scene.changes(), key=lambda change: change.action, reverse=True)
    assert (Action.RESTORE, (first,)) == (restore.action, restore.concerns)
    assert (Action.REMOVE, (scene.attempts[1].id,)) == (remove.action, remove.concerns)


def test_restore_and_extend(scene: Scene) -> None:
    """Awaiting removal, and desired again with more: restored, and only what is missing is sent."""
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.request(held, by_plan=True)
    extend, restore = scene.changes()
    assert (Action.EXTEND, Request(("ONB10002",), hooks("offers"))) == (extend.action, extend.request)
    assert (Action.RESTORE, (held,)) == (restore.action, restore.concerns)


def test_restore_the_closest(scene: Scene) -> None:
    """Of two that deliver what is desired, the one with less beyond it comes back; a code too many is named."""
    scene.want("offers", "ONB10001", hooks("offers"))
    wide = scene.hold("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.request(wide, by_plan=True)
    assert "also-delivers" in warned(scene.change())
    exact = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.request(exact, by_plan=True)
    assert (Action.RESTORE, (exact,)) == (scene.change().action, scene.change().concerns)


def test_removal_on_purpose(scene: Scene) -> None:
    """What a person has asked to remove is neither restored nor created beside it: it is in force until it is gone."""
    scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    held = scene.hold("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.request(held, "ONB10002")
    assert (Block.WAITS, ["removal-requested"]) == (scene.change().block, names(scene.change()))
    scene.request(held)
    assert Block.WAITS is scene.change().block
    scene.cancel(held)
    assert [] == scene.changes()
    scene.request(held)
    scene.confirm(held)
    assert Action.CREATE is scene.change().action


def test_create_after_not_created(scene: Scene) -> None:
    """Nothing calls back what a person said; the plan says what follows if that was wrong, and only of that URL."""
    scene.want("offers", "ONB10001", hooks("offers"))
    lost = scene.lose("offers", "ONB10001", hooks("offers"))
    scene.resolve(lost, created=False)
    assert (Action.CREATE, ["declared-absent"]) == (scene.change().action, warned(scene.change()))
    assert f"attempt {lost} " in scene.change().warnings[0].what
    scene.want("offers", "ONB10001", hooks("elsewhere"))
    assert [] == warned(scene.change())


def test_remove(scene: Scene) -> None:
    """No longer desired: no call, what is live has to go; what awaits removal already is no change."""
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    change = scene.change()
    assert (Action.REMOVE, None, None, (held,)) == (change.action, change.request, change.after, change.concerns)
    assert (["not-desired"], ["still-delivers"]) == (names(change), warned(change))
    scene.apply()
    plan = scene.plan()
    assert ([], (scene.attempt(held),)) == (plan.changes, plan.targets[EUROPE].awaiting_removal)
    assert (scene.attempt(held),) == scene.status().targets[0].awaiting_removal


@pytest.fixture
def unknown(scene: Scene) -> Scene:
    """A create with an URL of its own whose outcome is unknown, on a target that sends those again."""
    scene.retry()
    scene.want("offers", "ONB10001 ONB10002", OWN)
    scene.lose("offers", "ONB10001 ONB10002", OWN)
    return scene


def test_retry(unknown: Scene) -> None:
    """An unknown create is sent again once it can no longer be in flight; the old one blocks no longer."""
    (lost,) = unknown.attempts
    change = unknown.change()
    assert (Action.RETRY, Request(("ONB10001", "ONB10002"), OWN), (lost.id,)) == (
        change.action, change.request, change.concerns,
    )  # fmt: skip
    assert Block.UNRESOLVED is unknown.plan(now=lost.settled_by - 1).changes[0].block
    unknown.apply()
    assert [] == unknown.changes()


def test_retry_overdue(scene: Scene) -> None:
    """A create without an outcome, past the time it is settled at, is sent again too."""
    scene.retry()
    scene.want("offers", "ONB10001", OWN)
    scene.begin("offers", "ONB10001", OWN)
    assert Action.RETRY is scene.change().action


@pytest.mark.parametrize("later", [9, -9])
def test_retry_of_several(unknown: Scene, later: float) -> None:
    """Of several unknown creates, by whichever clock, none is sent again while the call of any may be in flight."""
    unknown.now += later - FLIGHT
    unknown.begin("offers", "ONB10001", OWN)
    first, last = sorted(attempt.settled_by for attempt in unknown.attempts)
    early, late = (unknown.plan(now=now).changes for now in (last - 0.001, last))
    assert first < last
    assert [(Action.BLOCKED, Block.UNRESOLVED)] == [(change.action, change.block) for change in early]
    assert [(Action.RETRY, 2)] == [(change.action, len(change.concerns)) for change in late]


def test_retry_of_an_extension(scene: Scene) -> None:
    """Of what is sent again, codes that are live by now are left out; if none are missing, a person resolves it."""
    scene.retry()
    scene.want("offers", "ONB10001 ONB10002", OWN)
    scene.hold("offers", "ONB10001", OWN)
    scene.lose("offers", "ONB10002", OWN)
    assert (Action.RETRY, ("ONB10002",)) == (scene.change().action, scene.change().request.codes)  # type: ignore[union-attr]
    scene.want("offers", "ONB10001", OWN)
    assert Block.UNRESOLVED is scene.change().block


def test_three_retries(unknown: Scene) -> None:
    """After three retries a person must resolve what is left."""
    for _ in range(3):
        assert Action.RETRY is unknown.change().action
        unknown.apply(become=lambda change: Outcome.UNKNOWN)
    assert (Action.BLOCKED, Block.UNRESOLVED) == (unknown.change().action, unknown.change().block)


@pytest.mark.parametrize("why", ["wait", "shared URL", "other URL under wait"])
def test_no_retry(scene: Scene, why: str) -> None:
    """Nothing is sent again where the target waits, where the URL is shared, or beside another URL under `wait`."""
    scene.want("offers", "ONB10001", hooks("new/{attempt}") if why.startswith("other") else OWN)
    scene.lose("offers", "ONB10001", hooks("shared") if why == "shared URL" else OWN)
    if why != "wait":
        scene.retry()
    if why.startswith("other"):
        assert Action.RETRY is scene.change().action
        scene.set_mode(Replace.WAIT)
    assert Block.UNRESOLVED is scene.change().block


def test_retry_that_delivers_after_all(unknown: Scene) -> None:
    """Superseded and received while a later one is live: the next apply requests its removal, and it is no surplus."""
    (lost,) = unknown.attempts
    unknown.apply()
    unknown.receive(lost.url, "ONB10001")
    change = unknown.change()
    assert (Action.REMOVE, (lost.id,), ["superseded"]) == (change.action, change.concerns, names(change))
    assert () == unknown.plan().targets[EUROPE].surplus
    unknown.apply()
    assert [] == unknown.changes()


def test_retry_whose_successor_failed(unknown: Scene) -> None:
    """What was rejected takes the place of nothing: the unknown one is sent again, or proves itself."""
    (lost,) = unknown.attempts
    unknown.apply(become=lambda change: Outcome.REJECTED)
    assert (Action.RETRY, (lost.id,)) == (unknown.change().action, unknown.change().concerns)
    unknown.receive(lost.url, "ONB10002")
    assert [] == unknown.changes()


def test_retry_whose_successor_failed_is_not_forgotten(unknown: Scene) -> None:
    """Nor is it forgotten where its address is desired no more, under another name, or beside another URL."""
    unknown.apply(become=lambda change: Outcome.REJECTED)
    unknown.set_mode(Replace.WAIT)
    unknown.want("offers", "ONB10001", hooks("new/{attempt}"))
    assert Block.UNRESOLVED is unknown.change().block
    unknown.drop("offers")
    assert Block.UNRESOLVED is unknown.change().block
    unknown.want("loans", "ONB10001 ONB10002", OWN)
    assert [Block.UNRESOLVED] * 2 == [change.block for change in unknown.changes()]


def test_retry_whose_successor_was_removed(unknown: Scene) -> None:
    """Nor is it once what took its place is gone, whose removal says nothing of it."""
    unknown.apply()
    successor = unknown.attempts[-1].id
    unknown.drop("offers")
    unknown.apply()
    assert [] == unknown.changes()
    unknown.confirm(successor)
    assert Block.UNRESOLVED is unknown.change().block


def test_retry_heals_by_itself(unknown: Scene) -> None:
    """A notification at its own URL proves a create: there is nothing left to do."""
    (lost,) = unknown.attempts
    unknown.receive(lost.url, "ONB10001")
    assert [] == unknown.changes()


def test_one_removal(unknown: Scene) -> None:
    """What is superseded and what is at an old URL are removed by one change."""
    old = unknown.hold("offers", "ONB10001", hooks("old/{attempt}"))
    lost = unknown.attempts[0]
    unknown.apply()
    unknown.receive(lost.url, "ONB10001")
    (remove,) = unknown.changes()
    assert (Action.REMOVE, {old, lost.id}) == (remove.action, {*remove.concerns})
    assert [("offers", Action.REMOVE)] == actions(unknown.changes())
