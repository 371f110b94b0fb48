"""Which attempts notifications speak for, and what that says of the status."""

from __future__ import annotations

import pytest
from support.scene import EUROPE, SERVICE, USA, Scene, hooks, target

from reconciler.model.status import Proof
from reconciler.planning.evidence import Observed, Sighting, match
from reconciler.planning.status import DOUBTED_FOR, SILENT_AFTER
from reconciler.record.facts import Received
from reconciler.values import stamp

LATER = "2026-11-20T14:00:00Z"
AMERICAN = "https://usa.service.example"
EU, US = "https://eu.partner.example/offers?v=1", "https://us.partner.example/offers?v=1"


@pytest.fixture
def scene() -> Scene:
    """Offers are live in Europe and in the USA, at the same path of two hosts."""
    scene = Scene({EUROPE: target(EUROPE), USA: target(USA, base_url=AMERICAN)})
    scene.hold("offers", "ONB10011 ONB10012", EU)
    scene.hold(f"{USA}/offers", "ONB10011", US)
    return scene


def observed(scene: Scene, *sightings: Sighting) -> list[Observed]:
    """Return what sightings speak for."""
    return [*match(scene.desired, scene.record, sightings).observed]


def test_known_already(scene: Scene) -> None:
    """What the record knows already is left out."""
    scene.receive(EU, "ONB10011", at=LATER)
    sighting = Sighting(LATER, "ONB10011", "/offers?v=1", EU)
    assert [] == observed(scene, sighting)
    assert 1 == len(observed(scene, sighting, Sighting("2026-11-20T15:00:00Z", "ONB10011", "/offers?v=1", EU)))


@pytest.mark.parametrize("is_gone", [True, False])
def test_recorded_url_is_no_tunnel(scene: Scene, *, is_gone: bool) -> None:
    """What arrived at the URL of one subscription says nothing of another at the same path."""
    if is_gone:
        scene.confirm(scene.attempts[1].id)
    found = match(scene.desired, scene.record, [Sighting(LATER, "ONB10012", "/offers?v=1", US)])
    assert ((), 1) == (found.observed, len(found.unexplained))


@pytest.mark.parametrize(("code", "path"), [("ONB10013", "/offers?v=1"), ("ONB10011", "/offers"), ("ONB10012", "/")])
def test_unexplained(scene: Scene, code: str, path: str) -> None:
    """What no recorded subscription explains is counted, by the URL or the path."""
    sightings = [Sighting(at, code, path, "http://[") for at in (LATER, "2026-11-20T13:00:00Z")]
    (found,) = match(scene.desired, scene.record, sightings).unexplained
    assert (code, "http://[", 2, LATER, (), False) == (
        found.code, found.where, found.count, found.last, found.ambiguous, found.unmanaged,
    )  # fmt: skip


def test_own_url(scene: Scene) -> None:
    """A URL with the id of an attempt speaks for that attempt, whatever the code and though it was not created."""
    lost = scene.lose("leads", "ONB10001", hooks("{attempt}"))
    scene.resolve(lost, created=False)
    url = scene.attempt(lost).url
    (found,) = observed(scene, Sighting(LATER, "ONB10099", f"/{lost}"))
    assert (url, "ONB10099") == (found.url, found.code)


@pytest.mark.parametrize("where", ["url", "path", "tunnel"])
@pytest.mark.parametrize("is_desired", [True, False])
@pytest.mark.parametrize("pattern", ["{}/in?v=2", f"{'cd' * 16}/{{}}", f"{{}}/in?v={'cd' * 16}", "{}/in?v={}"])
def test_unmanaged(scene: Scene, where: str, pattern: str, *, is_desired: bool) -> None:
    """A URL like that of an attempt which the record does not know belongs to a create of somebody else.

    Whatever else in it looks like an id.
    """
    template = "https://hooks.example/" + pattern.replace("{}", "{attempt}")
    if is_desired:
        scene.want("leads", "ONB10001", template)
    else:
        scene.hold("leads", "ONB10001", template)
    path = "/" + pattern.replace("{}", "ab" * 16)
    url = {"url": f"https://HOOKS.example{path}", "path": None, "tunnel": f"https://tunnel.example{path}"}[where]
    (found,) = match(scene.desired, scene.record, [Sighting(LATER, "ONB10001", path, url)]).unexplained
    assert found.unmanaged
    short = "/" + pattern.replace("{}", "short")
    (other,) = match(scene.desired, scene.record, [Sighting(LATER, "ONB10001", short)]).unexplained
    assert not other.unmanaged


# evidence and the status


def proofs(scene: Scene, now: float | None = None) -> list[tuple[str, dict[str, Proof]]]:
    """Return what was proven of each code of each attempt in Europe."""
    found = scene.status("europe/*", now=now).targets[0]
    return [
        (known.attempt.address.name, {code: evidence.proof for code, evidence in known.evidence.items()})
        for known in found.attempts
    ]


def test_proven(scene: Scene) -> None:
    """A route that was received is proven, silent after thirty days; the others were never seen."""
    scene.receive("https://EU.partner.example/offers?v=1", "ONB10011")
    received = scene.now - 1
    assert [("offers", {"ONB10011": Proof.PROVEN, "ONB10012": Proof.NEVER_SEEN})] == proofs(scene)
    for late, proof in ((0, Proof.PROVEN), (1, Proof.SILENT)):
        now = received + SILENT_AFTER.total_seconds() + late
        assert proof is proofs(scene, now)[0][1]["ONB10011"]


@pytest.mark.parametrize(("url", "at", "base_url"), [
    ("https://eu.partner.example/other", LATER, SERVICE), (EU, "2026-01-01T00:00:00Z", SERVICE), (EU, LATER, AMERICAN),
])  # fmt: skip
def test_proves_nothing(scene: Scene, url: str, at: str, base_url: str) -> None:
    """What came to another URL, before the create, or from another service, proves nothing."""
    scene.receive(url, "ONB10011", at=at, base_url=base_url)
    assert {Proof.NEVER_SEEN} == {*proofs(scene)[0][1].values()}


@pytest.mark.parametrize("url", [EU, EU.replace("https", "HTTPS"), EU.replace("/offers", ":443/offers")])
def test_evidence_beside_what_delivers(scene: Scene, url: str) -> None:
    """What an attempt in force delivers is evidence for it, and not for one of unknown outcome beside it."""
    scene.lose("offers", "ONB10011 ONB10013", url)
    scene.receive(EU, "ONB10011", "ONB10013")
    assert [
        ("offers", {"ONB10011": Proof.PROVEN, "ONB10012": Proof.NEVER_SEEN}),
        ("offers", {"ONB10011": Proof.NEVER_SEEN, "ONB10013": Proof.PROVEN}),
    ] == proofs(scene)


def test_span_from_before(scene: Scene) -> None:
    """Of notifications from before a create to after it, the last one alone is known to be its."""
    held = scene.attempts[0]
    scene.tell(
        Received(at=scene.at, base_url=SERVICE, url=EU, code="ONB10011", first="2026-01-01T00:00:00Z", last=scene.at)
    )
    assert {"ONB10011": (stamp(scene.now - 1),) * 2} == scene.record.received_by(held)


def test_plan_still_holds(scene: Scene) -> None:
    """Notifications change no digest: a plan that was approved before still holds."""
    scene.want("offers", "ONB10011 ONB10012 ONB10013", EU)
    before = scene.plan().digest
    scene.receive(EU, "ONB10011")
    assert before == scene.plan().digest


def test_cancelled_codes(scene: Scene) -> None:
    """Only the codes of the request that was cancelled are in doubt, whatever else arrives, or arrived before."""
    scene.receive(EU, "ONB10011")
    scene.request(scene.attempts[0].id, "ONB10011")
    scene.cancel(scene.attempts[0].id)
    last = scene.now - 1 + DOUBTED_FOR.total_seconds()
    scene.now += 60
    scene.receive(EU, "ONB10012")
    (found,) = scene.status("europe/*", now=last).targets[0].cancelled
    assert ["ONB10011"] == [*found.cancelled]
    scene.receive(EU, "ONB10011")
    assert () == scene.status("europe/*").targets[0].cancelled


def test_undeclared_target(scene: Scene) -> None:
    """A target that is not declared is listed while it has something, as far as it is selected."""
    del scene.targets[USA]
    europe, usa = scene.status().targets
    assert (EUROPE, True, USA, False) == (europe.name, europe.declared, usa.name, usa.declared)
    assert [USA] == [found.name for found in scene.status("usa/*").targets]
    scene.confirm(scene.attempts[1].id)
    assert [EUROPE] == [found.name for found in scene.status().targets]
