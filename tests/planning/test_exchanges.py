"""Two replacements that exchange URLs are warned of, since nothing else in a plan shows it."""

from __future__ import annotations

import pytest
from support.report_values import printed
from support.value_scene import EUROPE, Scene, hooks

from reconciler.model.plan import Action, Plan
from reconciler.model.record import Status
from reconciler.planning.exchanges import exchanges
from reconciler.reports.formats import PLAN

WARNING = "the URLs of europe/staging/loans and europe/staging/offers are exchanged; is that intended?"


def planned(loans: str, offers: str) -> Plan:
    """The plan for these new URLs of two subscriptions whose URLs have their names."""
    scene = Scene()
    for name, code, url in (("loans", "LOA10013", loans), ("offers", "ONB10011", offers)):
        scene.hold(name, code, hooks(name))
        scene.want(name, code, hooks(url))
    return scene.plan()


def test_both_are_warned_of() -> None:
    """At each of the two, in every format."""
    plan = planned("offers", "loans")
    assert [Action.REPLACE] * 2 == [change.action for change in plan.changes]
    assert [True, True] == [WARNING in change.warnings for change in plan.changes]
    assert 2 == printed(PLAN["text"](plan)).count(f"warning: {WARNING}")
    assert 2 == printed(PLAN["json"](plan)).count(WARNING)
    assert 2 == printed(PLAN["markdown"](plan)).count("are exchanged")


@pytest.mark.parametrize(("loans", "offers"), [("offers", "new"), ("new", "newer"), ("new", "new"), ("loans", "loans")])
def test_others_are_not(loans: str, offers: str) -> None:
    """A URL that is taken over, and new ones, are exchanged with none."""
    assert not any("exchanged" in warning for change in planned(loans, offers).changes for warning in change.warnings)


def want(scene: Scene, *, exchanged: bool) -> None:
    """Two subscriptions, each with the URL of its name, or with the other's."""
    for name, code, other in (("loans", "LOA10013", "offers"), ("offers", "ONB10011", "loans")):
        scene.want(name, code, hooks(other if exchanged else name))


@pytest.fixture
def exchanged() -> Scene:
    """An exchange that was applied."""
    scene = Scene()
    want(scene, exchanged=False)
    scene.apply()
    want(scene, exchanged=True)
    scene.apply()
    return scene


def remove_all(scene: Scene) -> None:
    """The operator deletes whatever awaits removal."""
    for attempt in scene.all_attempts():
        if attempt.status is Status.AWAITING_REMOVAL:
            scene.remove(attempt.id)


@pytest.mark.parametrize("removed", [False, True])
def test_an_exchange_that_is_put_back_is_not(exchanged: Scene, *, removed: bool) -> None:
    """Neither by the plan nor before the requests to delete are sent, also if the first ones are deleted by then."""
    assert 1 == len(exchanges(exchanged.records[EUROPE], ()))
    if removed:
        remove_all(exchanged)
    want(exchanged, exchanged=False)
    plan = exchanged.plan()
    assert {True: {Action.REPLACE}, False: {Action.RESTORE, Action.RETIRE}}[removed] == {
        change.action for change in plan.changes
    }
    assert not any(change.warnings and WARNING in change.warnings for change in plan.changes)
    exchanged.apply(plan)
    assert () == exchanges(exchanged.records[EUROPE], ())


def test_an_exchange_that_is_restored(exchanged: Scene) -> None:
    """Whoever exchanges the URLs once more is warned, though it takes no create."""
    remove_all(exchanged)
    want(exchanged, exchanged=False)
    exchanged.apply()
    want(exchanged, exchanged=True)
    plan = exchanged.plan()
    assert [Action.RETIRE] * 2 == [change.action for change in plan.changes if WARNING in change.warnings]
    assert {Action.RESTORE, Action.RETIRE} == {change.action for change in plan.changes}
    exchanged.apply(plan)
    assert 1 == len(exchanges(exchanged.records[EUROPE], ()))
