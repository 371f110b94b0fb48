"""Replacements that exchange URLs are warned of, since nothing else in a plan shows it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.report_values import printed
from support.value_scene import EUROPE, Scene, hooks, target

from reconciler.model.desired import Replace
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Plan
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


NAMES = {"loans": "LOA10013", "offers": "ONB10011", "deals": "ONB10001"}


def scene_of(*names: str, mode: Replace = Replace.OVERLAP) -> Scene:
    """Subscriptions in force, each at a URL with its own name."""
    scene = Scene()
    scene.declare(target(EUROPE, mode=mode))
    for name in names:
        scene.hold(name, NAMES[name], hooks(name))
        scene.want(name, NAMES[name], hooks(name))
    return scene


def want(scene: Scene, **urls: str) -> None:
    """Give subscriptions, name -> the end of the URL, other URLs."""
    for name, url in urls.items():
        scene.want(name, NAMES[name], hooks(url))


def exchanging(scene: Scene) -> list[tuple[str, Action]]:
    """The changes of the plan that are warned of."""
    changes = scene.plan().changes
    return [(one.address.name, one.action) for one in changes if any("are exchanged" in text for text in one.warnings)]


def names_of(scene: Scene) -> list[list[str]]:
    """The names whose URLs are exchanged, as far as the record and what is left to apply show it."""
    found = exchanges(scene.records[EUROPE].attempts.values(), scene.plan().changes)
    return [[address.name for address in addresses] for addresses in found]


def test_three_in_a_circle() -> None:
    """At each of them, in the plan and after the apply."""
    scene = scene_of(*NAMES)
    want(scene, loans="offers", offers="deals", deals="loans")
    names = "europe/staging/deals, europe/staging/loans and europe/staging/offers"
    warning = f"the URLs of {names} are exchanged; is that intended?"
    assert [warning] * 3 == [change.warnings[-1] for change in scene.changes()]
    scene.apply()
    assert [["deals", "loans", "offers"]] == names_of(scene)


def test_a_circle_beside_a_chain() -> None:
    """What moves to a URL that has become free is in no circle, though another may begin there."""
    scene = scene_of(*NAMES)
    want(scene, loans="offers", offers="deals", deals="new")
    assert [] == exchanging(scene)
    want(scene, loans="offers", offers="loans", deals="loans")
    assert [("loans", Action.REPLACE), ("offers", Action.REPLACE)] == exchanging(scene)


def test_where_removal_comes_first() -> None:
    """With `replace: wait` the removal of what may be the right ones is requested before anything replaces them."""
    scene = scene_of("loans", "offers", mode=Replace.WAIT)
    want(scene, loans="offers", offers="loans")
    assert [("loans", Action.RETIRE), ("offers", Action.RETIRE)] == exchanging(scene)
    scene.apply()
    assert [["loans", "offers"]] == names_of(scene)
    want(scene, loans="loans", offers="offers")
    assert [] == names_of(scene)


def test_the_second_half() -> None:
    """Where the other one was replaced before, and where a create turned out to have succeeded."""
    scene = scene_of("loans", "offers")
    want(scene, loans="offers", offers="loans")
    scene.apply(scene.plan("*/*/loans"))
    assert [("offers", Action.REPLACE)] == exchanging(scene)
    scene.apply(become=lambda _: Outcome.UNKNOWN)
    scene.resolve("a4", created=True)
    assert [("offers", Action.RETIRE)] == exchanging(scene)


def test_put_back_and_exchanged_again() -> None:
    """What the second exchange restores is where the URLs were exchanged to; putting them back is no exchange."""
    scene = scene_of("loans", "offers")
    want(scene, loans="offers", offers="loans")
    scene.apply()
    want(scene, loans="loans", offers="offers")
    assert ([], []) == (exchanging(scene), names_of(scene))
    scene.apply()
    want(scene, loans="offers", offers="loans")
    assert [("loans", Action.RETIRE), ("offers", Action.RETIRE)] == exchanging(scene)
    scene.apply()
    assert [["loans", "offers"]] == names_of(scene)


def test_what_was_put_back_and_created_again() -> None:
    """What replaces a subscription that was deleted is no exchange with what was to be deleted already."""
    scene = scene_of("loans", "offers")
    want(scene, loans="offers", offers="loans")
    scene.apply()
    want(scene, loans="loans", offers="offers")
    scene.apply()
    scene.remove("a1")
    scene.remove("a2")
    scene.apply()
    attempts = [one for one in scene.all_attempts() if one.in_force]
    later = [replace(one, since="2026-11-20T13:30:01Z") if one.id in ("a5", "a6") else one for one in attempts]
    assert () == exchanges(later, ())


def test_what_was_created_again_after_an_exchange() -> None:
    """Where a person had the new one replaced by another at the same URL, the old one is of an exchange still."""
    scene = scene_of("loans", "offers")
    want(scene, loans="offers", offers="loans")
    scene.apply()
    scene.ask_away("a3")
    scene.apply()
    attempts = [one for one in scene.all_attempts() if one.in_force]
    later = [replace(one, since="2026-11-20T13:30:01Z") if one.id == "a5" else one for one in attempts]
    assert 1 == len(exchanges(later, ()))


def test_what_is_put_back_after_the_first_ones_were_deleted() -> None:
    """It ends an exchange, by new creates, and is none; whoever exchanges the URLs once more is warned."""
    scene = scene_of("loans", "offers")
    want(scene, loans="offers", offers="loans")
    scene.apply()
    scene.remove("a1")
    scene.remove("a2")
    want(scene, loans="loans", offers="offers")
    assert [Action.REPLACE] * 2 == [change.action for change in scene.plan().changes]
    assert ([], []) == (exchanging(scene), names_of(scene))
    scene.apply()
    assert [] == names_of(scene)
    want(scene, loans="offers", offers="loans")
    assert [("loans", Action.RETIRE), ("offers", Action.RETIRE)] == exchanging(scene)
    scene.apply()
    assert [["loans", "offers"]] == names_of(scene)


def test_where_a_url_was_first_is_asked_of_the_two_that_are_exchanged() -> None:
    """What had another URL before both can be put back too."""
    scene = scene_of("loans", "offers")
    want(scene, loans="later")
    scene.apply()
    scene.remove("a1")
    want(scene, loans="offers", offers="later")
    assert [("loans", Action.REPLACE), ("offers", Action.REPLACE)] == exchanging(scene)
    scene.apply()
    scene.remove("a2")
    scene.remove("a3")
    want(scene, loans="later", offers="offers")
    assert [] == exchanging(scene)
