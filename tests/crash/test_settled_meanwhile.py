"""An apply that was held up: what others settled and did meanwhile is looked at before anything is sent."""

from __future__ import annotations

import signal
import time
from threading import Event
from typing import TYPE_CHECKING

import pytest
from support.project import finish
from support.sandbox_project import HERE, SandboxProject, subscriptions
from support.stopped_process import wait_until_stopped

from reconciler.model.outcome import Outcome
from reconciler.sandbox.exchange import Response

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.sandbox.exchange import Request


def settle_and_apply(scene: SandboxProject) -> None:
    """A person settles what another run has begun, against the advice to wait, and a second apply creates it."""
    scene.project.step("state", "resolve", f"{HERE}/s0", "--not-created", "--force")
    scene.project.step("apply", "--auto-approve")


def refuse_first(scene: SandboxProject, refusal: Response) -> tuple[Event, Event]:
    """Have the first create refused, once the second event is set; the first event tells that it arrived."""
    handle, arrived, settled = scene.sandbox._server.handle, Event(), Event()

    def handle_or_refuse(request: Request) -> Response:
        if not request.path.endswith("/webhooksubscription") or arrived.is_set():
            return handle(request)
        arrived.set()
        settled.wait(30)
        return refusal

    scene.sandbox._server.handle = handle_or_refuse
    return arrived, settled


def test_an_apply_that_was_stopped_before_its_call_does_not_send_what_was_settled(tmp_path: Path) -> None:
    """A process that is stopped, or a machine that sleeps, just before the first byte reads the record again."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        process = scene.start_apply(failpoint="before-send:1:stop,freshness=0.1")
        wait_until_stopped(process.pid)
        settle_and_apply(scene)
        time.sleep(0.1)  # as long as the record counts as read just now, which no command of people is quick enough for
        process.send_signal(signal.SIGCONT)
        done = finish(process)
        assert 1 == done.code, done
        assert "already resolved by another run" in done.out
        assert 1 == scene.sandbox.world.requests["create", HERE]
        scene.assert_done()


@pytest.mark.parametrize(
    "refusal",
    [Response(429, headers=(("Retry-After", "0"),)), Response(401)],
    ids=["429", "401"],
)
def test_what_was_settled_before_a_repeat_is_not_sent_again(tmp_path: Path, refusal: Response) -> None:
    """A call that is to be repeated is not, where a person settled it and another run created it meanwhile."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        arrived, settled = refuse_first(scene, refusal)
        process = scene.start_apply()
        assert arrived.wait(30)
        settle_and_apply(scene)
        settled.set()
        done = finish(process)
        assert 1 == done.code, done
        assert f"HTTP {refusal.status}" in done.out
        assert "not retried: already resolved by another run" in done.out
        scene.assert_done()


def test_what_the_service_has_refused_is_not_corrected_to_created(tmp_path: Path) -> None:
    """An outcome that came after a person's word is certain: no other word is taken then."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        scene.sandbox.world.fail_next("422", count=1)
        process = scene.start_apply(failpoint="after-send:1:stop")
        wait_until_stopped(process.pid)
        (attempt,) = scene.unresolved()
        scene.project.step("state", "resolve", attempt.address, "--not-created", "--force")
        process.send_signal(signal.SIGCONT)
        finish(process)
        assert [Outcome.REJECTED] == [attempt.outcome for attempt in scene.attempts()]
        scene.project.step("state", "resolve", attempt.address, "--created", "--attempt", attempt.id, "--force", code=1)
