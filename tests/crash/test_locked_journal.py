"""A process that was stopped while it had the journal locked: an apply neither hangs nor loses an outcome."""

from __future__ import annotations

import re
import signal
import time
from typing import TYPE_CHECKING

import pytest
from support.project import end, finish
from support.sandbox_pace import hold_creates
from support.sandbox_project import HERE, SandboxProject, subscriptions
from support.stopped_process import held_by_a_stopped_process

if TYPE_CHECKING:
    from pathlib import Path


def wait_briefly(scene: SandboxProject) -> None:
    """Have commands give up a lock after a fifth of a second."""
    scene.project.before_steps = "import reconciler.state.stores.files as files\nfiles._PATIENCE = 0.2\n"


def test_a_journal_locked_before_the_intent_sends_nothing(tmp_path: Path) -> None:
    """Without an intent there is no call, and the message names the file and the process."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        wait_briefly(scene)
        with held_by_a_stopped_process(scene.journal()) as pid:
            done = scene.run_apply()
        assert 1 == done.code, done
        assert f"{scene.journal()}: cannot write the state record: locked by process {pid} (python" in done.out
        assert 0 == scene.sandbox.world.requests["create", HERE]
        assert 0 == scene.recover()


def test_a_journal_locked_before_the_outcome_keeps_it_elsewhere(tmp_path: Path) -> None:
    """An outcome that cannot be appended is kept in a private file that is named, and recovered from it."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        wait_briefly(scene)
        released = hold_creates(scene.sandbox)
        applying = scene.start_apply()
        scene.wait_until_committed()
        with held_by_a_stopped_process(scene.journal()) as pid:
            released.set()
            done = finish(applying)
        assert 3 == done.code, done
        assert f"locked by process {pid} (python" in done.err
        kept = re.search(r"(\S+\.jsonl)\.", done.err.partition("they are in ")[2])
        assert kept, done
        scene.project.step("state", "recover", kept[1])
        assert 0 == scene.recover()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_ends_the_wait(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """The first waits for what is under way, the second does not wait for the lock, and nothing is lost."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        released = hold_creates(scene.sandbox)
        applying = scene.start_apply()
        scene.wait_until_committed()
        with held_by_a_stopped_process(scene.journal()):
            released.set()
            applying.send_signal(number)
            time.sleep(0.5)
            done = end(applying, number)
        assert code == done.code, done
        kept = re.search(r"(\S+\.jsonl)\.", done.err.partition("they are in ")[2])
        assert kept, done
        scene.project.step("state", "recover", kept[1])
        assert 0 == scene.recover()
