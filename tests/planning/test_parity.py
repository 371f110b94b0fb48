"""Parity of two targets: desired, in force, and the gate from one to the other."""

from __future__ import annotations

import pytest
from support.refusals import raised
from support.scene import EUROPE, USA, Scene, address_of, hooks, target

from reconciler.errors import SelectionError
from reconciler.model.address import TargetName
from reconciler.model.outcome import Outcome
from reconciler.model.status import Pairs, Parity, Side, Unpaired, View
from reconciler.planning.parity import parity

AMERICAN = "https://usa.service.example"


@pytest.fixture
def scene() -> Scene:
    """Two targets of two services, each with the same two subscriptions desired."""
    scene = Scene({EUROPE: target(EUROPE), USA: target(USA, base_url=AMERICAN)})
    for name in (EUROPE, USA):
        scene.want(f"{name}/offers", "ONB10011", hooks("offers"))
        scene.want(f"{name}/applications", "ONB10001 ONB10002", hooks("applications"))
    return scene


def pairs(scene: Scene, a: str = EUROPE, b: str = USA, **options: bool | float) -> Pairs:
    """Compare."""
    return parity(scene.desired, scene.record, a, b, now=scene.now, **options)  # type: ignore[arg-type]


def compared(scene: Scene, **options: bool | float) -> Parity:
    """Compare the two targets."""
    (found,) = pairs(scene, EUROPE, USA, **options).compared
    return found


def test_in_line(scene: Scene) -> None:
    """Nothing differs where both desire and have the same."""
    scene.apply()
    assert pairs(scene).in_line


def test_a_target_of_another_service_is_not_in_line(scene: Scene) -> None:
    """The record binds a target to another service or account than the settings name: said, and not in line."""
    scene.apply()
    scene.declare(target(USA, base_url="https://elsewhere.example"))
    for gate in (False, True):
        compared = pairs(scene, gate=gate)
        assert (False, [USA]) == (compared.in_line, [message.where for message in compared.foreign])


def test_codes_differ(scene: Scene) -> None:
    """Other codes are a difference, with both sides; so is a subscription that one lacks."""
    scene.want(f"{USA}/offers", "ONB10011 ONB10012", hooks("offers"))
    scene.drop(f"{EUROPE}/applications")
    applications, offers = compared(scene).differences
    assert ("applications", View.DESIRED, None) == (applications.name, applications.view, applications.a)
    expected = (Side(("ONB10011",), hooks("offers")), Side(("ONB10011", "ONB10012"), hooks("offers")))
    assert expected == (offers.a, offers.b)


def test_urls_as_written(scene: Scene) -> None:
    """What counts is the URL as written, not what it comes to."""
    for name, host in ((EUROPE, "eu"), (USA, "us")):
        scene.want(f"{name}/offers", "ONB10011", f"https://{host}.example/offers", "https://{region}.example/offers")
    assert compared(scene).in_line
    scene.want(f"{USA}/offers", "ONB10011", hooks("offers"), "{hooks}/offers")
    assert ["offers"] == [found.name for found in compared(scene).differences]


def test_in_force_differs(scene: Scene) -> None:
    """What is in force is compared too, with what is left to apply and what awaits removal."""
    scene.apply()
    held = scene.hold("old", "ONB10003", hooks("old"))
    (found,) = compared(scene).differences
    assert ("old", View.IN_FORCE, Side(("ONB10003",)), None) == (found.name, found.view, found.a, found.b)
    assert ((address_of("old"),), ()) == (compared(scene).unapplied, compared(scene).leaving)
    scene.request(held)
    assert ((), (address_of("old"),)) == (compared(scene).unapplied, compared(scene).leaving)
    scene.confirm(held)
    assert compared(scene).in_line


@pytest.mark.parametrize("declared", ["offers", "usa/staging/offers", "*/staging/offers", "europe/*/offers"])
def test_declared(scene: Scene, declared: str) -> None:
    """A declared difference is set aside, with its reason."""
    scene.drop(f"{USA}/offers")
    scene.ignore = (declared,)
    found = compared(scene)
    assert (True, ()) == (found.in_line, found.unused)
    assert [("offers", f"since {declared}")] == [(differs.name, why.reason) for differs, why in found.ignored]


def test_unused(scene: Scene) -> None:
    """A declaration that nothing needs is told, unless it is about other targets."""
    scene.ignore = ("offers", "usa/*/applications", "europe/production/offers")
    assert ["offers", "usa/*/applications"] == [found.address for found in compared(scene).unused]
    assert ["offers", "usa/*/applications"] == [found.address for found in pairs(scene).unused]
    assert () == pairs(scene, gate=True).unused


def test_gate_is_open(scene: Scene) -> None:
    """All that the second desires is live in the first, whatever else is."""
    scene.drop(f"{USA}/applications")
    scene.apply()
    assert pairs(scene, gate=True).in_line


@pytest.mark.parametrize(
    "happens", ["nothing", "unknown", "fewer codes", "another URL", "awaiting removal", "not desired"]
)
def test_gate_is_closed(scene: Scene, happens: str) -> None:
    """What is not live in the first, with every code and at the URL desired there, keeps the second back."""
    scene.drop(f"{USA}/applications")
    match happens:
        case "unknown":
            scene.lose("offers", "ONB10011", hooks("offers"))
        case "fewer codes":
            scene.want(f"{USA}/offers", "ONB10011 ONB10012", hooks("offers"))
            scene.hold("offers", "ONB10011", hooks("offers"))
        case "another URL":
            scene.hold("offers", "ONB10011", hooks("old"))
        case "awaiting removal":
            scene.request(scene.hold("offers", "ONB10011", hooks("offers")))
        case "not desired":
            scene.hold("offers", "ONB10011", hooks("offers"))
            scene.drop("offers")
    found = compared(scene, gate=True)
    assert [("offers", View.GATE)] == [(differs.name, differs.view) for differs in found.differences]
    assert (() if happens in ("fewer codes", "not desired") else (address_of("offers"),)) == found.unapplied


def test_proven(scene: Scene) -> None:
    """Each code must have been received in the first target, of the attempts in force, and for as long as said."""
    scene.drop(f"{USA}/applications")
    old = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.receive(hooks("offers"), "ONB10011")
    scene.confirm(old)
    scene.now += 10
    scene.apply(scene.plan("europe/*"))
    (found,) = compared(scene, gate=True, proven=True).differences
    assert (View.PROVEN, {"ONB10011": ""}) == (found.view, found.unproven)
    scene.now += 10
    scene.receive(hooks("offers"), "ONB10011")
    received = scene.at
    assert compared(scene, gate=True, proven=True).in_line
    scene.now += 60
    assert compared(scene, gate=True, proven=True, soak=60.0).in_line
    (found,) = compared(scene, gate=True, proven=True, soak=62.0).differences
    assert [True] == [at < received for at in found.unproven.values()]


def test_pairs(scene: Scene) -> None:
    """Patterns that differ in one segment name pairs; a target without a counterpart matters, but not at a gate."""
    for name in ("europe/production", "usa/sandbox"):
        scene.declare(target(TargetName(name), base_url=f"https://{name.replace('/', '.')}.example"))
    found = pairs(scene, "*/staging", "*/production")
    assert [(EUROPE, "europe/production")] == [(pair.a, pair.b) for pair in found.compared]
    assert [(USA, "usa/production", True)] == [(left.target, left.counterpart, left.matters) for left in found.unpaired]
    assert not pairs(scene, "*/staging", "*/production", gate=True).unpaired[0].matters
    assert pairs(scene, "*/production", "*/staging", gate=True).unpaired[0].matters


@pytest.mark.parametrize("matters", [True, False])
def test_what_keeps_pairs_from_being_in_line(matters: bool) -> None:
    """A target without a counterpart does only if that matters."""
    assert matters != Pairs((), unpaired=(Unpaired(EUROPE, USA, matters=matters),)).in_line


@pytest.mark.parametrize(("a", "b", "name"), [
    ("*/staging", "usa/*", "bad-pair"), ("*/staging", "*/staging", "bad-pair"), ("*", "*/staging", "bad-pair"),
    ("*/one", "*/two", "no-match"), (EUROPE, "usa/stagign", "no-match"),
])  # fmt: skip
def test_bad_pairs(scene: Scene, a: str, b: str, name: str) -> None:
    """Other patterns, and those that match nothing, are errors."""
    assert name == raised(SelectionError, pairs, scene, a, b).name


def test_failed_create_is_not_in_force(scene: Scene) -> None:
    """What was rejected is not compared."""
    scene.apply(become=lambda change: Outcome.REJECTED)
    assert pairs(scene).in_line


def test_targets_that_are_not_compared_count_for_nothing(scene: Scene) -> None:
    """Also where they are bound to another service than the settings'."""
    other = TargetName("asia/staging")
    scene.declare(target(other, base_url="https://asia.service.example"))
    scene.bring(f"{other}/offers", "ONB10001", hooks("asia"))
    assert pairs(scene).foreign == ()
    scene.declare(target(other, base_url="https://elsewhere.example"))
    assert pairs(scene).foreign == ()
    assert [other] == [message.where for message in pairs(scene, b=other).foreign]
