"""Which subscription explains a notification, and what that says of the record."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from support.value_scene import AT, BY, EUROPE, USA, Scene, address_of, hooks, target

from reconciler.model.entry import Observed
from reconciler.model.status import Proof
from reconciler.planning.evidence import Received, match_notifications
from reconciler.planning.status import SILENT_AFTER, status_of, status_of_undeclared

if TYPE_CHECKING:
    from collections.abc import Iterator

LATER = "2026-11-20T14:00:00Z"
NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def scene() -> Scene:
    """Offers are live in Europe and in the USA, at the same path of two hosts."""
    scene = Scene({EUROPE: target(EUROPE), USA: target(USA, base_url="https://usa.service.example")})
    scene.hold("offers", "ONB10011 ONB10012", "https://eu.partner.example/offers?v=1")
    scene.hold(f"{USA}/offers", "ONB10011", "https://us.partner.example/offers?v=1")
    return scene


def test_exact_url(scene: Scene) -> None:
    """A URL that is known tells which it is, whatever the case of its host."""
    found = match_notifications(
        scene.records.values(),
        [Received(LATER, "ONB10011", "/offers?v=1", "https://US.partner.example:443/offers?v=1")],
    )
    key = f"{USA}/offers", "https://us.partner.example/offers?v=1", "ONB10011"
    assert ({key: LATER}, ()) == (found.received, found.unexplained)


def test_path_alone(scene: Scene) -> None:
    """Behind a tunnel the path tells, where only one subscription with that code has it; the last time counts."""
    sightings = [Received(at, "ONB10012", "/offers?v=1", "https://a-tunnel.example/offers?v=1") for at in (LATER, AT)]
    found = match_notifications(scene.records.values(), sightings)
    assert [LATER] == list(found.received.values())


@pytest.mark.parametrize("elsewhere", ["of another", "of one that is gone"])
def test_url_that_is_recorded_is_no_tunnel(scene: Scene, elsewhere: str) -> None:
    """What arrived at the URL of one subscription proves nothing of another at the same path."""
    if elsewhere == "of one that is gone":
        (attempt,) = (attempt for attempt in scene.all_attempts() if attempt.address.target == USA)
        scene.remove(attempt.id)
    received = Received(LATER, "ONB10012", "/offers?v=1", "https://US.partner.example/offers?v=1")
    found = match_notifications(scene.records.values(), [received])
    assert ({}, 1) == (found.received, len(found.unexplained))


def test_ambiguous(scene: Scene) -> None:
    """Where several might be it, none is believed, and all are named."""
    (found,) = match_notifications(scene.records.values(), [Received(LATER, "ONB10011", "/offers?v=1")]).unexplained
    assert (f"{EUROPE}/offers", f"{USA}/offers") == found.ambiguous


@pytest.mark.parametrize(("code", "path"), [("ONB10013", "/offers?v=1"), ("ONB10011", "/offers"), ("ONB10012", "/")])
def test_unexplained(scene: Scene, code: str, path: str) -> None:
    """What no recorded subscription explains is counted."""
    sightings = [Received(at, code, path, "http://[") for at in (AT, LATER)]
    (found,) = match_notifications(scene.records.values(), sightings).unexplained
    assert (code, "http://[", 2, LATER, ()) == (found.code, found.where, found.count, found.last, found.ambiguous)
    (pathed,) = match_notifications(scene.records.values(), [Received(AT, code, path)]).unexplained
    assert path == pathed.where


def test_bare_host(scene: Scene) -> None:
    """A URL without a path is heard at the root, and one without a query at its path alone."""
    scene.hold("leads", "ONB10001", "https://bare.partner.example")
    scene.hold("deals", "ONB10002", "https://eu.partner.example/deals")
    sightings = [Received(LATER, "ONB10001", "/"), Received(LATER, "ONB10002", "/deals")]
    found = match_notifications(scene.records.values(), sightings)
    assert {"leads", "deals"} == {address.name for address, _, _ in found.received}


def test_gone_explains_nothing(scene: Scene) -> None:
    """What was removed should be silent: if it speaks, somebody should know."""
    for attempt in scene.all_attempts():
        scene.remove(attempt.id)
    assert 1 == len(
        match_notifications(scene.records.values(), [Received(LATER, "ONB10011", "/offers?v=1")]).unexplained
    )


def observe(scene: Scene, name: str, url: str, **received: str) -> None:
    """Note what was received at an address."""
    address = address_of(name)
    scene._tell(address.target, Observed(at=LATER, by=BY, address=address, url=url, received=received))


def standing(scene: Scene, now: datetime = NOW) -> dict[str, Proof]:
    """What was heard of each code in Europe."""
    plan = scene.plan().targets[EUROPE]
    found = status_of(scene.records[EUROPE], plan, now)
    return {code: heard.proof for one in found.attempts for code, heard in one.evidence.items()}


def test_proven(scene: Scene) -> None:
    """A route that was heard is proven, the others were never seen."""
    observe(scene, "offers", "https://EU.partner.example/offers?v=1", ONB10011=LATER)
    assert {"ONB10011": Proof.PROVEN, "ONB10012": Proof.NEVER_SEEN} == standing(scene)


@pytest.mark.parametrize(("seconds", "proof"), [(0, Proof.PROVEN), (1, Proof.SILENT)])
def test_silent(scene: Scene, seconds: int, proof: Proof) -> None:
    """A route that was not heard for thirty days is silent, to the second, in whatever zone it is asked."""
    observe(scene, "offers", "https://eu.partner.example/offers?v=1", ONB10011=LATER)
    now = datetime.fromisoformat(LATER) + SILENT_AFTER + timedelta(seconds=seconds)
    assert proof is standing(scene, now.astimezone(timezone(timedelta(hours=9))))["ONB10011"]


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine nine hours ahead of UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(("seconds", "proof"), [(0, Proof.PROVEN), (1, Proof.SILENT)])
def test_silent_wherever_the_machine_is(scene: Scene, zone: None, seconds: int, proof: Proof) -> None:
    """The zone of the machine does not matter."""
    observe(scene, "offers", "https://eu.partner.example/offers?v=1", ONB10011=LATER)
    now = datetime.fromisoformat(LATER) + SILENT_AFTER + timedelta(seconds=seconds)
    assert proof is standing(scene, now)["ONB10011"]


def test_as_it_began(scene: Scene) -> None:
    """What was received in the very second in which the subscription was created came of it."""
    observe(scene, "offers", "https://eu.partner.example/offers?v=1", ONB10011=AT)
    assert Proof.PROVEN is standing(scene)["ONB10011"]


def test_standing_of_a_target(scene: Scene) -> None:
    """It names the target and holds its plan."""
    plan = scene.plan().targets[EUROPE]
    found = status_of(scene.records[EUROPE], plan, NOW)
    assert (EUROPE, plan) == (found.name, found.plan)


@pytest.mark.parametrize(
    ("url", "at"),
    [("https://eu.partner.example/other", LATER), ("https://eu.partner.example/offers?v=1", "2026-01-01")],
)
def test_proves_nothing(scene: Scene, url: str, at: str) -> None:
    """What came to another URL, or before the subscription was created, proves nothing."""
    observe(scene, "offers", url, ONB10011=at)
    assert {Proof.NEVER_SEEN} == set(standing(scene).values())


def test_evidence_moves_and_never_ages(scene: Scene) -> None:
    """A rename takes the evidence along, and an earlier time changes nothing."""
    url = "https://eu.partner.example/offers?v=1"
    observe(scene, "offers", url, ONB10011=LATER)
    observe(scene, "offers", url, ONB10011=AT)
    scene.move("offers", "proposals")
    assert LATER == scene.records[EUROPE].received[address_of("proposals"), "ONB10011", url]


def test_plan_still_holds(scene: Scene) -> None:
    """Matches changes no digest: a plan that was approved before it still holds."""
    scene.want("offers", "ONB10011 ONB10012 ONB10013", "https://eu.partner.example/offers?v=1")
    before = scene.plan().digest
    observe(scene, "offers", "https://eu.partner.example/offers?v=1", ONB10011=LATER)
    assert before == scene.plan().digest


def test_unknown_that_has_spoken(scene: Scene) -> None:
    """An attempt whose outcome is unknown, and whose notifications arrive, has spoken."""
    scene.lose("leads", "ONB10001", hooks("leads"))
    observe(scene, "leads", hooks("leads"), ONB10001=LATER)
    found = status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW)
    assert {"leads": True, "offers": False} == {one.attempt.address.name: one.has_evidence for one in found.attempts}


def test_evidence_is_for_what_delivers(scene: Scene) -> None:
    """What an attempt in force delivers is evidence for it, and not for one of unknown outcome beside it."""
    url = "https://eu.partner.example/offers?v=1"
    scene.lose("offers", "ONB10011 ONB10013", url)
    observe(scene, "offers", url, ONB10011=LATER, ONB10013=LATER)
    live, unknown = status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW).attempts
    assert {"ONB10011": Proof.PROVEN, "ONB10012": Proof.NEVER_SEEN} == {
        code: evidence.proof for code, evidence in live.evidence.items()
    }
    assert {"ONB10011": Proof.NEVER_SEEN, "ONB10013": Proof.PROVEN} == {
        code: evidence.proof for code, evidence in unknown.evidence.items()
    }


def test_evidence_of_two_live(scene: Scene) -> None:
    """What either of two subscriptions of an address delivers is evidence for both."""
    url = "https://eu.partner.example/offers?v=1"
    scene.hold("offers", "ONB10011", url)
    observe(scene, "offers", url, ONB10011=LATER)
    found = status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW).attempts
    assert [True, True] == [observed.has_evidence for observed in found]


def test_evidence_of_two_unknown(scene: Scene) -> None:
    """What one of two attempts of unknown outcome may have delivered is evidence for both."""
    for _ in range(2):
        scene.lose("leads", "ONB10001", hooks("leads"))
    observe(scene, "leads", hooks("leads"), ONB10001=LATER)
    found = status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW).attempts
    assert [True, True, False] == [observed.has_evidence for observed in found]


def test_evidence_beside_another_address(scene: Scene) -> None:
    """What another address delivers is taken from nothing: its evidence has a key of its own."""
    url = "https://eu.partner.example/offers?v=1"
    scene.lose("leads", "ONB10011", url)
    observe(scene, "leads", url, ONB10011=LATER)
    leads, _ = status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW).attempts
    assert Proof.PROVEN is leads.evidence["ONB10011"].proof


def test_status_of_an_undeclared_target(scene: Scene) -> None:
    """No plan is left for a target that is not declared, but what awaits removal is named, in order."""
    for name in ("b", "a", "a", "gone"):
        scene.retire(scene.hold(name, "ONB10001", hooks(name)))
    scene.remove("a6")
    record = scene.records[EUROPE]
    found = status_of_undeclared(record, NOW)
    assert (["a4", "a5", "a3"], ["a", "a", "b", "offers"]) == (
        [attempt.id for attempt in found.plan.awaiting_removal],
        [observed.attempt.address.name for observed in found.attempts],
    )
    plan = found.plan
    assert (EUROPE, EUROPE, False) == (found.name, plan.name, found.declared)
    assert (record.head, record.entries, "") == (plan.head, plan.entries, plan.digest)
    assert ((), (), 0) == (plan.changes, plan.surplus, plan.unchanged)
