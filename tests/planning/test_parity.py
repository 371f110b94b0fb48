"""Parity of two targets: desired, in force, and the gate from one to the other."""

from __future__ import annotations

import pytest
from support.scene import EUROPE, USA, Scene, address_of, hooks, target

from reconciler.model.outcome import Outcome
from reconciler.model.status import Pairs, Parity, Unpaired, View
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


@pytest.mark.parametrize("matters", [True, False])
def test_what_keeps_pairs_from_being_in_line(matters: bool) -> None:
    """A target without a counterpart does only if that matters."""
    assert matters != Pairs((), unpaired=(Unpaired(EUROPE, USA, matters=matters),)).in_line


def test_failed_create_is_not_in_force(scene: Scene) -> None:
    """What was rejected is not compared."""
    scene.apply(become=lambda change: Outcome.REJECTED)
    assert pairs(scene).in_line
