"""The tone of each line: what a terminal draws attention to, by colour."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from support.value_scene import AT, BY, EUROPE, USA, Scene, address_of, hooks, target

from reconciler.mistake import Place
from reconciler.model.desired import ParityException
from reconciler.model.entry import Observed
from reconciler.model.parity import Difference, Parity, View
from reconciler.model.plan import Action
from reconciler.model.result import Applied, Done, Result, Verdict
from reconciler.model.status import TargetStatus, Unexplained
from reconciler.planning.evidence import Matches
from reconciler.planning.status import status_of
from reconciler.reports.attempts import attempt_text, unresolved_text
from reconciler.reports.line import Tone
from reconciler.reports.parity import parity_text
from reconciler.reports.text import applied_text, observed_text, plan_text, status_text

if TYPE_CHECKING:
    from reconciler.reports.line import Line

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def scene() -> Scene:
    """One target whose record has a route of each kind: surplus, awaiting removal, in flight."""
    scene = Scene()
    scene.hold("offers", "ONB10011 ONB10012", hooks("offers"))
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.retire(scene.hold("gone", "ONB10001 ONB10004", hooks("gone")))
    scene.want("flying", "ONB10002", hooks("flying"))
    scene.begin("flying", "ONB10002", hooks("flying"))
    observed = Observed(at=AT, by=BY, address=address_of("offers"), url=hooks("offers"), received={"ONB10011": AT})
    scene._tell(EUROPE, observed)
    return scene


def tones(lines: list[Line]) -> list[tuple[str, str]]:
    """The first two words of each line, and its tone; a line that is empty is only that."""
    return [(" ".join(line.text.split()[:2]), line.tone) for line in lines]


def test_plan(scene: Scene) -> None:
    """A change has the tone of its action; why it is made is faint, what it leaves behind a warning."""
    scene.want("added", "ONB10005", hooks("added"))
    scene.hold("changed", "ONB10006", hooks("changed"))
    scene.want("changed", "ONB10006 ONB10007", hooks("changed"))
    assert tones(plan_text(scene.plan())) == [
        ("europe/staging", Tone.HEADING),
        ("at https://api.service.example,", Tone.FAINT),
        ("+ europe/staging/added", Tone.ADDED),
        ("eventCodes: ONB10005", Tone.PLAIN),
        ("webhookUrl: https://hooks.partner.example/added", Tone.PLAIN),
        ("~ europe/staging/changed", Tone.CHANGED),
        ("sends ONB10007", Tone.CHANGED),
        ("then delivers", Tone.CHANGED),
        ("warning: this", Tone.WARNING),
        ("! europe/staging/flying", Tone.ERROR),
        ("a create", Tone.FAINT),
        ("Ask the", Tone.HEADING),
        ("Does a", Tone.PLAIN),
        ("warning: europe/staging/offers", Tone.WARNING),
        ("awaiting removal:", Tone.FAINT),
        ("", Tone.PLAIN),
        ("Plan: 2", Tone.HEADING),
        ("1 subscription", Tone.WARNING),
        ("1 subscription", Tone.WARNING),
        ("Responses are", Tone.FAINT),
        (f"Digest: {scene.plan().digest}", Tone.FAINT),
    ]


def test_awaiting_removal(scene: Scene) -> None:
    """What awaits removal is named with all its codes."""
    line = f"  awaiting removal: europe/staging/gone (attempt a2), ONB10001, ONB10004 to {hooks('gone')}"
    assert line in [line.text for line in plan_text(scene.plan())]


def test_surplus_codes(scene: Scene) -> None:
    """Surplus codes are listed."""
    scene.hold("more", "ONB10006 ONB10007 ONB10008", hooks("more"))
    scene.want("more", "ONB10006", hooks("more"))
    assert "delivers surplus event codes ONB10007, ONB10008 (attempt a4);" in str(plan_text(scene.plan()))


def test_status(scene: Scene) -> None:
    """Each target is a heading with an empty line before the next; what waits for a person draws attention."""
    scene.declare(target(USA, base_url="https://api.usa.example"))
    plans = scene.plan().targets
    standings = [status_of(scene.records[name], plans[name], NOW) for name in (EUROPE, USA)]
    lines = status_text(standings)
    assert "" in [line.text for line in lines]
    assert tones(lines) == [
        ("europe/staging", Tone.HEADING),
        ("europe/staging/flying unknown", Tone.ERROR),
        ("ONB10002 never", Tone.PLAIN),
        ("its call", Tone.WARNING),
        ("Ask the", Tone.HEADING),
        ("Does a", Tone.PLAIN),
        ("europe/staging/gone awaiting", Tone.FAINT),
        ("ONB10001 never", Tone.PLAIN),
        ("ONB10004 never", Tone.PLAIN),
        ("europe/staging/offers live", Tone.PLAIN),
        ("ONB10011 proven,", Tone.ADDED),
        ("ONB10012 never", Tone.PLAIN),
        ("warning: europe/staging/offers", Tone.WARNING),
        ("Send to", Tone.HEADING),
        ("Please delete", Tone.PLAIN),
        ("after it", Tone.FAINT),
        ("1 pending", Tone.WARNING),
        ("", Tone.PLAIN),
        ("usa/staging", Tone.HEADING),
        ("up to", Tone.ADDED),
    ]


def test_status_of_a_target_that_is_not_declared() -> None:
    """A record whose target is in no file of `config/` is a warning, and is not called up to date."""
    scene = Scene()
    standing = status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW)
    (_, line) = status_text([TargetStatus(standing.name, standing.attempts, standing.plan, declared=False)])
    assert ("  not declared in config/: not managed", Tone.WARNING) == (line.text, line.tone)


def test_applied(scene: Scene) -> None:
    """An unknown outcome is an error in both of its places; the counts are a heading."""
    results = (
        Result(address_of("flying"), Action.CREATE, Done.UNKNOWN, 502, "a3"),
        Result(address_of("gone"), Action.RETIRE, Done.RETIRED),
    )
    assert tones(applied_text(Applied(results, (scene.attempt("a2"),), Verdict.UNRESOLVED))) == [
        ("+ europe/staging/flying", Tone.ERROR),
        ("- europe/staging/gone", Tone.REMOVED),
        ("", Tone.PLAIN),
        ("europe/staging/flying: outcome", Tone.ERROR),
        ("", Tone.PLAIN),
        ("Send to", Tone.HEADING),
        ("Please delete", Tone.PLAIN),
        ("after it", Tone.FAINT),
        ("", Tone.PLAIN),
        ("Applied: 1", Tone.HEADING),
    ]


def test_parity() -> None:
    """A difference is a change; a declared exception is faint."""
    a, b = {"eventCodes": ["ONB10001"]}, {"eventCodes": ["ONB10002"]}
    exception = ParityException("*/*/loans", "not sold there", Place("config/all.yaml", 1, 1))
    parity = Parity(
        EUROPE,
        USA,
        (Difference("offers", View.DESIRED, a, b),),
        ((Difference("loans", View.DESIRED, a, None), exception),),
        (),
    )
    assert tones(parity_text(parity)) == [
        ("~ offers", Tone.CHANGED),
        ("- eventCodes:", Tone.CHANGED),
        ("+ eventCodes:", Tone.CHANGED),
        ("loans desired,", Tone.FAINT),
        ("", Tone.PLAIN),
        ("If they", Tone.FAINT),
        ("parity:", Tone.FAINT),
        ("ignore:", Tone.FAINT),
        ("- address:", Tone.FAINT),
        ("reason: say", Tone.FAINT),
        ("", Tone.PLAIN),
        ("europe/staging and", Tone.HEADING),
    ]


def test_notifications() -> None:
    """A subscription that the record does not have is an error; a notification that fits several is a warning."""
    evidence = Matches(
        {(address_of("offers"), hooks("offers"), "ONB10011"): AT},
        (
            Unexplained("ONB10001", "/a", 2, AT, (address_of("one"), address_of("two"))),
            Unexplained("ONB10002", "/b", 1, AT),
        ),
    )
    assert [Tone.ADDED, Tone.WARNING, Tone.ERROR] == [line.tone for line in observed_text(evidence)]


def test_attempts(scene: Scene) -> None:
    """An attempt is a heading over its rows."""
    for lines in (attempt_text([scene.attempt("a3")]), unresolved_text(scene.attempt("a3"), NOW, {}, None)):
        assert [Tone.HEADING, *[Tone.PLAIN] * (len(lines) - 1)] == [line.tone for line in lines]
