"""Whether two targets are in line: desired, in force, and the gate from one to the other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.value_scene import BY, EUROPE, PLACE, USA, Scene, address_of, hooks, target

from reconciler.errors import SelectionError
from reconciler.model.address import TargetName
from reconciler.model.desired import Desired, ParityException
from reconciler.model.entry import Observed
from reconciler.model.parity import View
from reconciler.planning.parity import compare, gate, pair_up


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


FIRST, SECOND, THIRD = "2026-11-20T14:00:00Z", "2026-11-21T14:00:00Z", "2026-11-22T14:00:00Z"
"""After all that has happened in a scene."""


def observe(scene: Scene, name: str, at: str, *codes: str, url: str | None = None) -> None:
    """Record that notifications were received."""
    received = dict.fromkeys(codes, at)
    seen = Observed(at=at, by=BY, address=address_of(name), url=url or hooks(name), received=received)
    scene._tell(EUROPE, seen)


def unproven(scene: Scene, observed_by: str) -> dict[str, dict[str, str | None]]:
    """What is not proven in europe/staging of what usa/staging desires, by name."""
    found = gate(scene.desired, scene.records, EUROPE, USA, observed_by).differences
    assert all(one.what is View.PROVEN for one in found)
    return {one.name: dict(one.unproven) for one in found}


def test_proven(scene: Scene) -> None:
    """Each code that is desired must have been observed; what is in force and was never heard of is named."""
    scene.apply()
    observe(scene, "offers", FIRST, "ONB10011")
    observe(scene, "applications", FIRST, "ONB10002")
    assert {"applications": {"ONB10001": None}} == unproven(scene, THIRD)
    observe(scene, "applications", SECOND, "ONB10001")
    assert {} == unproven(scene, THIRD)
    assert {"applications": {"ONB10001": SECOND}} == unproven(scene, FIRST)


def test_the_first_observation_counts(scene: Scene) -> None:
    """Later ones, in whatever order they were recorded, do not make it start anew."""
    scene.apply()
    for at in (SECOND, FIRST, THIRD):
        observe(scene, "offers", at, "ONB10011")
        observe(scene, "applications", at, "ONB10001", "ONB10002")
    assert {} == unproven(scene, FIRST)
    assert THIRD == max(scene.records[EUROPE].received.values())


def test_a_replaced_url_starts_anew(scene: Scene) -> None:
    """Notifications at the old URL say nothing about the new one."""
    scene.apply()
    observe(scene, "offers", FIRST, "ONB10011")
    observe(scene, "applications", FIRST, "ONB10001", "ONB10002")
    for target_name in (EUROPE, USA):
        scene.want(f"{target_name}/offers", "ONB10011", hooks("new"))
    scene.apply()
    assert {"offers": {"ONB10011": None}} == unproven(scene, THIRD)
    observe(scene, "offers", SECOND, "ONB10011", url=hooks("new"))
    assert {"offers": {"ONB10011": SECOND}} == unproven(scene, FIRST)
    assert {} == unproven(scene, SECOND)


def test_a_new_create_at_an_old_url_starts_anew(scene: Scene) -> None:
    """What an attempt that is gone has delivered there does not prove the one that came after it."""
    scene.apply()
    observe(scene, "offers", "2026-11-19T14:00:00Z", "ONB10011")  # before the attempt
    observe(scene, "applications", FIRST, "ONB10001", "ONB10002")
    assert {"offers": {"ONB10011": None}} == unproven(scene, THIRD)


def test_what_is_renamed_stays_proven(scene: Scene) -> None:
    """The subscription is the same, and its evidence goes with it."""
    scene.apply()
    observe(scene, "offers", FIRST, "ONB10011")
    observe(scene, "applications", FIRST, "ONB10001", "ONB10002")
    scene.move("offers", "deals")
    for target_name in (EUROPE, USA):
        scene.drop(f"{target_name}/offers")
        scene.want(f"{target_name}/deals", "ONB10011", hooks("offers"))
    assert {} == unproven(scene, FIRST)


def test_what_is_not_in_force_is_not_proven_either(scene: Scene) -> None:
    """It is said as at any gate, and once; a declared exception sets aside what is unproven too."""
    scene.apply()
    observe(scene, "applications", FIRST, "ONB10001", "ONB10002")
    scene.retire(next(one.id for one in scene.all_attempts() if one.address == f"{EUROPE}/offers"))
    (found,) = gate(scene.desired, scene.records, EUROPE, USA, THIRD).differences
    assert ("offers", View.GATE) == (found.name, found.what)
    declared = gate(declaring(scene.desired, "offers"), scene.records, EUROPE, USA, THIRD)
    assert declared.in_line


DECLARED = [TargetName(name) for name in ("asia/staging", "europe/production", "europe/staging", "usa/production")]


@pytest.mark.parametrize(
    ("a", "b", "pairs", "others"),
    [
        ("*/staging", "*/production", ["europe"], ["asia", "usa"]),
        ("e*/staging", "e*/production", ["europe"], []),
        ("asia/*", "usa/*", [], ["production", "staging"]),
    ],
)
def test_pairs(a: str, b: str, pairs: list[str], others: list[str]) -> None:
    """Targets pair by the segment that the patterns share; one without its counterpart is not lost."""
    found, left = pair_up(a, b, DECLARED)
    assert (pairs, others) == tuple([one.split("/")[a.endswith("*")] for one, _ in some] for some in (found, left))
    assert all(one.split("/")[not a.endswith("*")] == a.split("/")[not a.endswith("*")] for one, _ in found + left)
    assert all(two.split("/")[not a.endswith("*")] == b.split("/")[not a.endswith("*")] for _, two in found + left)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("*/staging", "*/staging"),
        ("*/staging", "europe/production"),
        ("*/*", "*/production"),
        ("*/staging", "*/prod*"),
        ("*", "*/production"),
        ("*/staging/offers", "*/production/offers"),
        ("*/nowhere", "*/never"),
    ],
)
def test_what_makes_no_pairs(a: str, b: str) -> None:
    """Patterns that differ elsewhere, or name nothing, are an error."""
    with pytest.raises(SelectionError):
        pair_up(a, b, DECLARED)
