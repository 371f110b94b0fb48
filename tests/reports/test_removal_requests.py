"""The request to the operator, in every format: it names what is known of a subscription, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from html import unescape
from typing import TYPE_CHECKING

import pytest
from support.report_values import printed
from support.value_scene import AT, EUROPE, Scene, hooks

from reconciler.model.outcome import Outcome
from reconciler.model.result import Applied, Verdict
from reconciler.planning.status import status_of
from reconciler.reports.formats import APPLIED, STATUS
from reconciler.reports.letters import removal_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.model.record import Attempt

REQUEST = f"Please delete the webhook subscription of europe/staging that delivers ONB10001 to {hooks('offers')}, "
NOW = datetime(2026, 11, 22, tzinfo=UTC)


def imported(scene: Scene) -> str:
    """Nobody knows when it was created, by whom, nor what id the service gave it."""
    return scene.bring("offers", "ONB10001", hooks("offers"))


def answered(scene: Scene) -> str:
    """The service said that it was created."""
    return scene.hold("offers", "ONB10001", hooks("offers"))


def unanswered(scene: Scene) -> str:
    """The answer was lost, and a person says that it was created."""
    attempt = scene.lose("offers", "ONB10001", hooks("offers"))
    scene.resolve(attempt, created=True)
    return attempt


KNOWN: dict[Callable[[Scene], str], str] = {
    imported: f"imported on {AT}, date of creation unknown.",
    answered: f"created {AT}.",
    unanswered: f"create sent {AT}, answer lost.",
}


def _applied(scene: Scene, attempt: Attempt) -> list[str]:
    applied = Applied((), (attempt,), Verdict.DONE)
    return [printed(render(applied)) for render in APPLIED.values()]


def _stands(scene: Scene, attempt: Attempt) -> list[str]:
    stands = [status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], NOW)]
    return [printed(render(stands)) for render in STATUS.values()]


@pytest.mark.parametrize("report", [_applied, _stands], ids=["apply", "status"])
@pytest.mark.parametrize(("begin", "known"), KNOWN.items(), ids=[begin.__name__ for begin in KNOWN])
def test_what_is_known(
    begin: Callable[[Scene], str], known: str, report: Callable[[Scene, Attempt], list[str]]
) -> None:
    """No date and no id that nobody knows, in any format."""
    scene = Scene()
    attempt = begin(scene)
    scene.retire(attempt)
    for text in report(scene, scene.attempt(attempt)):
        assert REQUEST + known in unescape(text)


def test_id() -> None:
    """The ids that the service gave are named, in order, and nothing else that it said."""
    scene = Scene()
    attempt = scene.lose("offers", "ONB10001", hooks("offers"))
    scene.hear(attempt, Outcome.CREATED, {"subscriptionId": "sub-1", "ID": "7", "state": "new"})
    scene.retire(attempt)
    assert f"{REQUEST}created {AT} (ID 7, subscriptionId sub-1)." in _applied(scene, scene.attempt(attempt))[0]


def test_several_codes() -> None:
    """The request lists the codes, so that the operator can find the subscription."""
    scene = Scene()
    attempt = scene.attempt(scene.hold("offers", "ONB10001 LOA10013", hooks("offers")))
    assert f"that delivers LOA10013, ONB10001 to {hooks('offers')}, " in removal_request(attempt)
