"""Two replacements that exchange URLs are warned of, since nothing else in a plan shows it."""

from __future__ import annotations

import pytest
from support.report_values import printed
from support.value_scene import Scene, hooks

from reconciler.model.plan import Action, Plan
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
