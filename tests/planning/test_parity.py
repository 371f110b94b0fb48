"""Whether two targets are in line: desired, in force, and the gate from one to the other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.value_scene import EUROPE, PLACE, USA, Scene, hooks, target

from reconciler.model.desired import Desired, ParityException
from reconciler.model.parity import View
from reconciler.planning.parity import compare, gate


@pytest.fixture
def scene() -> Scene:
    """Two targets of two services, each with the same two subscriptions desired."""
    scene = Scene({EUROPE: target(EUROPE), USA: target(USA, base_url="https://usa.service.example")})
    for name in (EUROPE, USA):
        scene.want(f"{name}/offers", "ONB10011", hooks("offers"))
        scene.want(f"{name}/applications", "ONB10001 ONB10002", hooks("applications"))
    return scene


def declaring(desired: Desired, *addresses: str) -> Desired:
    """The same, with exceptions declared for addresses."""
    return replace(desired, parity_ignore=tuple(ParityException(one, f"since {one}", PLACE) for one in addresses))


def test_in_line(scene: Scene) -> None:
    """Nothing differs where both desire and have the same."""
    scene.apply()
    assert compare(scene.desired, scene.records, EUROPE, USA).in_line


def test_codes_differ(scene: Scene) -> None:
    """Other codes are a difference, with both sides."""
    scene.want(f"{USA}/offers", "ONB10011 ONB10012", hooks("offers"))
    (found,) = compare(scene.desired, {}, EUROPE, USA).differences
    assert ("offers", View.DESIRED) == (found.name, found.what)
    assert {"eventCodes": ["ONB10011"], "webhookUrl": hooks("offers")} == found.a
    assert {"eventCodes": ["ONB10011", "ONB10012"], "webhookUrl": hooks("offers")} == found.b


def test_urls_as_written(scene: Scene) -> None:
    """What counts is the URL as written, not what it comes to."""
    address = next(one for one in scene.wanted if one.startswith(USA) and one.name == "offers")
    scene.wanted[address] = replace(scene.wanted[address], url="https://other.example/offers")
    assert compare(scene.desired, {}, EUROPE, USA).in_line
    scene.wanted[address] = replace(scene.wanted[address], template="https://{region}.example/offers")
    assert ["offers"] == [one.name for one in compare(scene.desired, {}, EUROPE, USA).differences]


def test_missing(scene: Scene) -> None:
    """A subscription that only one has is a difference without the other side."""
    scene.drop(f"{USA}/offers")
    (found,) = compare(scene.desired, {}, EUROPE, USA).differences
    assert (None, True) == (found.b, found.a is not None)


def test_in_force_differs(scene: Scene) -> None:
    """What is in force counts where both have a record, and what awaits removal is in force."""
    scene.apply()
    only_one = {EUROPE: scene.records[EUROPE]}
    attempt = scene.hold(f"{EUROPE}/old", "ONB10003", hooks("old"))
    scene.retire(attempt)
    assert compare(scene.desired, only_one, EUROPE, USA).in_line
    (found,) = compare(scene.desired, scene.records, EUROPE, USA).differences
    assert ("old", View.IN_FORCE, {"eventCodes": ["ONB10003"]}, None) == (found.name, found.what, found.a, found.b)


def test_both_views_are_told(scene: Scene) -> None:
    """What differs as desired, and what differs in force, are told side by side."""
    scene.apply()
    scene.retire(scene.hold(f"{EUROPE}/old", "ONB10003", hooks("old")))
    scene.want(f"{USA}/offers", "ONB10011 ONB10012", hooks("offers"))
    found = compare(scene.desired, scene.records, EUROPE, USA).differences
    assert [("offers", View.DESIRED), ("old", View.IN_FORCE)] == [(one.name, one.what) for one in found]


def test_gone_is_not_in_force(scene: Scene) -> None:
    """What was removed differs in nothing."""
    scene.apply()
    scene.remove(scene.hold("deals", "ONB10003", hooks("deals")))
    assert compare(scene.desired, scene.records, EUROPE, USA).in_line


@pytest.mark.parametrize("declared", ["offers", "usa/staging/offers", "*/staging/offers", "europe/*/offers"])
def test_declared(scene: Scene, declared: str) -> None:
    """A declared difference is set aside, with its reason."""
    scene.drop(f"{USA}/offers")
    parity = compare(declaring(scene.desired, declared), {}, EUROPE, USA)
    assert parity.in_line
    assert [("offers", f"since {declared}")] == [(one.name, why.reason) for one, why in parity.ignored]
    assert () == parity.unused


def test_unused(scene: Scene) -> None:
    """A declaration that nothing needs is told, unless it is about other targets."""
    desired = declaring(scene.desired, "offers", "usa/*/applications", "europe/production/offers")
    assert ["offers", "usa/*/applications"] == [one.address for one in compare(desired, {}, EUROPE, USA).unused]


def test_gate_is_open(scene: Scene) -> None:
    """All that the second desires is in force in the first, whatever else is."""
    scene.drop(f"{USA}/applications")
    scene.apply()
    assert gate(scene.desired, scene.records, EUROPE, USA).in_line


@pytest.mark.parametrize("happens", ["nothing", "unknown", "fewer codes", "another URL", "retired", "no record"])
def test_gate_is_shut(scene: Scene, happens: str) -> None:
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
        case "retired":
            scene.retire(scene.hold("offers", "ONB10011", hooks("offers")))
        case _:
            pass
    records = {} if happens == "no record" else scene.records
    parity = gate(scene.desired, records, EUROPE, USA)
    assert [("offers", View.GATE)] == [(one.name, one.what) for one in parity.differences]
    (found,) = parity.differences
    there = {"eventCodes": ["ONB10011"], "webhookUrl": hooks("offers")} if happens == "fewer codes" else None
    codes = ["ONB10011", "ONB10012"] if happens == "fewer codes" else ["ONB10011"]
    assert (there, {"eventCodes": codes, "webhookUrl": hooks("offers")}) == (found.a, found.b)


def test_gate_wants_the_same_url_as_written(scene: Scene) -> None:
    """A URL that is written otherwise in the first is not what the second desires."""
    scene.apply()
    scene.want(f"{USA}/offers", "ONB10011", hooks("elsewhere"))
    assert ["offers"] == [one.name for one in gate(scene.desired, scene.records, EUROPE, USA).differences]


def test_gate_tells_nothing_unused(scene: Scene) -> None:
    """A gate looks at one side only, so it calls no declaration unused; it heeds them."""
    desired = declaring(scene.desired, "offers", "applications", "others")
    parity = gate(desired, scene.records, EUROPE, USA)
    assert (True, (), 2) == (parity.in_line, parity.unused, len(parity.ignored))
    assert (EUROPE, USA) == (parity.a, parity.b)
