"""What a plan and a status come to, for exit codes; and what the operator is told."""

from __future__ import annotations

import pytest
from support.scene import USA, Scene, hooks, target

from reconciler.model.plan import Applied, Verdict
from reconciler.planning.planner import verdict_of_plan
from reconciler.planning.status import removals, verdict_of_status
from reconciler.record.gates import Obstacle
from reconciler.reports.apply import apply_document
from reconciler.reports.document import Alert
from reconciler.reports.removals import removals_document


@pytest.fixture
def scene() -> Scene:
    """One subscription, as desired."""
    scene = Scene()
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.hold("offers", "ONB10011", hooks("offers"))
    return scene


def verdicts(scene: Scene, *patterns: str, now: float | None = None) -> tuple[Verdict, Verdict]:
    """Return what plan and status come to."""
    now = scene.now + 120 if now is None else now
    return verdict_of_plan(scene.plan(*patterns, now=now), now), verdict_of_status(scene.status(*patterns, now=now))


DIFFERS = {
    "a change": lambda scene: scene.want("more", "ONB10001", hooks("more")),
    "surplus": lambda scene: scene.hold("offers", "ONB10001", hooks("offers")),
    "delivered twice": lambda scene: scene.hold("offers", "ONB10011", hooks("offers")),
    "another service": lambda scene: scene.declare(target(base_url="https://other.example")),
    "a loss": lambda scene: scene.open_loss(),
    "a closed gate": lambda scene: setattr(scene, "obstacles", (Obstacle.NOT_FROM_HERE,)),
    "an undeclared target": lambda scene: scene.hold(f"{USA}/offers", "ONB10001", hooks("usa")),
}


@pytest.mark.parametrize("act", DIFFERS.values(), ids=DIFFERS)
def test_differs(scene: Scene, act: object) -> None:
    """What is in force is not what is desired, or nobody knows: 2."""
    assert (Verdict.DONE, Verdict.DONE) == verdicts(scene)
    act(scene)  # type: ignore[operator]
    assert (Verdict.CHANGES, Verdict.CHANGES) == verdicts(scene)


@pytest.mark.parametrize("act", DIFFERS.values(), ids=DIFFERS)
@pytest.mark.parametrize("lost", ["leads", "offers", f"{USA}/leads"])
@pytest.mark.parametrize("first", [True, False])
def test_differs_and_is_unresolved(scene: Scene, act: object, lost: str, first: bool) -> None:
    """Where something differs besides, an unknown create is still 3, in whatever order the two came about."""
    if first:
        scene.lose(lost, "ONB10001", hooks("leads"))
    act(scene)  # type: ignore[operator]
    if not first:
        scene.lose(lost, "ONB10001", hooks("leads"))
    assert (Verdict.UNRESOLVED, Verdict.UNRESOLVED) == verdicts(scene)


@pytest.mark.parametrize("by_plan", [True, False])
@pytest.mark.parametrize("asked", ["ONB10001", "ONB10001 ONB10002", "ONB10011", "ONB10001 ONB10011"])
def test_awaited(scene: Scene, asked: str, by_plan: bool) -> None:
    """A removal that the operator has been asked for is no change, be it of a subscription or of codes of it."""
    scene.request(scene.hold("old", asked, hooks("old")), by_plan=by_plan)
    scene.want("offers", "ONB10011 ONB10003", hooks("offers"))
    scene.request(scene.hold("offers", f"{asked} ONB10003", hooks("offers")), asked)
    assert (Verdict.DONE, Verdict.DONE) == verdicts(scene)


def test_unresolved(scene: Scene) -> None:
    """An unknown or overdue create among the selected addresses is 3; one in flight for plan alone."""
    scene.want("more", "ONB10001", hooks("more"))
    attempt = scene.attempt(scene.begin("more", "ONB10001", hooks("more")))
    assert (Verdict.UNRESOLVED, Verdict.CHANGES) == verdicts(scene, now=attempt.settled_by - 1)
    assert (Verdict.UNRESOLVED, Verdict.UNRESOLVED) == verdicts(scene)
    assert (Verdict.DONE, Verdict.DONE) == verdicts(scene, "*/*/offers")


# letters to the operator


@pytest.mark.parametrize("spelt", ["https://hooks.partner.example/offers", "HTTPS://HOOKS.partner.example:443/offers"])
def test_what_stays_at_the_url(scene: Scene, spelt: str) -> None:
    """It is what has a code that goes, and the same URL, however that is spelt."""
    scene.hold("more", "ONB10013", spelt)
    scene.hold("beside", "ONB10011", hooks("beside"))
    scene.request(scene.bring("twin", "ONB10011", spelt))
    (found,) = removals(scene.status())
    assert [(scene.attempts[0],)] == [awaiting.staying for awaiting in found.awaiting]


def test_kept_in_part(scene: Scene) -> None:
    """What was to be removed, and now is in part, is asked for once: the request says which codes to keep."""
    both = scene.hold("loans", "ONB10001 ONB10002", hooks("loans"))
    scene.request(both, by_plan=True)
    scene.cancel(both)
    scene.request(both, "ONB10001")
    (found,) = removals(scene.status())
    assert ((), [both]) == (found.cancelled, [awaiting.attempt.id for awaiting in found.awaiting])


def test_asked_for_what_is_desired(scene: Scene) -> None:
    """Before the message that asks to remove it, the list says what the plan says: it is desired, and may be kept."""
    scene.request(scene.attempts[0].id)
    status = scene.status()
    (change,) = status.plan.changes
    (warning,) = removals_document(removals(status), status.plan).alerts
    assert isinstance(warning, Alert)
    assert (change.reasons[0].what, (change.address,)) == (warning.what, warning.where)
    assert [step.command for step in change.reasons[0].steps] == [todo.commands[0] for todo in warning.todos]


@pytest.mark.parametrize("received", [True, False])
def test_unknown_in_one_voice(scene: Scene, received: bool) -> None:
    """Plan, apply and the list say the same of an unknown create, and advise against nothing that was received."""
    scene.want("leads", "ONB10001", hooks("leads"))
    lost = scene.lose("leads", "ONB10001", hooks("leads"))
    if received:
        scene.receive(hooks("leads"), "ONB10001")
    status = scene.status()
    (reason,) = status.plan.changes[0].reasons
    applied = Applied((), Verdict.UNRESOLVED, unresolved=(scene.attempt(lost),), left=status.plan)
    for document in (apply_document(applied), removals_document(removals(status), status.plan)):
        (alert,) = document.alerts
        assert isinstance(alert, Alert)
        assert (reason.what, [step.text for step in reason.steps]) == (
            alert.what, [todo.text[:1].lower() + todo.text[1:] for todo in alert.todos]
        )  # fmt: skip
        assert received is not ("--not-created" in str(alert.todos))
        assert "After" not in str(alert.todos)
