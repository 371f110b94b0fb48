"""A response that is shown once outlives the program that was shown it, sealed or not."""

from __future__ import annotations

import json
import shutil
import signal
from typing import TYPE_CHECKING

import pytest
from support.project import finish
from support.sandbox_pace import hold_creates
from support.sandbox_project import HERE, SandboxProject, subscriptions

if TYPE_CHECKING:
    from pathlib import Path

ADDRESS = f"{HERE}/s0"


def sealed_files(tmp_path: Path) -> list[Path]:
    """The sealed responses that lie on this disk."""
    return list((tmp_path / "home" / "data" / "reconciler" / "responses").glob("*/*.sealed.*"))


def test_a_sealed_response_survives_a_kill(tmp_path: Path) -> None:
    """Killed before its outcome is recorded: the secret is shown, and the create is proven to have happened."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        scene.project.seal()
        assert -signal.SIGKILL == scene.apply(failpoint="after-send:1:kill").code
        (kept,) = sealed_files(tmp_path)
        assert (0o600, "age:") == (kept.stat().st_mode & 0o777, kept.read_text(encoding="ascii")[:4])
        shown = scene.project.run("secret", "show", ADDRESS, "--identity", "key.txt")
        assert 0 == shown.code, shown
        assert json.loads(shown.out)
        refused = scene.project.run("state", "resolve", ADDRESS, "--not-created", "--force")
        assert 1 == refused.code, refused
        for command in ("plan", "apply"):
            told = scene.project.run(command).err
            assert f"so it was created; run:\n    reconciler state resolve {ADDRESS} --created\n" in told
        scene.project.step("state", "resolve", ADDRESS, "--created", "--force")
        assert shown.out == scene.project.step("secret", "show", ADDRESS, "--identity", "key.txt").out
        scene.assert_done()


def test_a_sealed_response_leaves_the_disk_once_it_is_recorded(tmp_path: Path) -> None:
    """As soon as the record holds it, the copy is removed; one that a run left behind, by the next run."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        scene.project.seal()
        assert -signal.SIGKILL == scene.apply(failpoint="after-append:2:kill").code
        assert 1 == len(sealed_files(tmp_path))
        scene.declare(subscriptions(2))
        scene.project.step("apply", "--auto-approve")
        assert [] == sealed_files(tmp_path)
        scene.project.step("secret", "show", ADDRESS, "--identity", "key.txt")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "Warning: an encrypted response could not be saved before it is recorded: "),
        (
            ("--log-format", "json"),
            '"level": "warning", "logger": "reconciler.applying", "message": "an encrypted response could not be saved',
        ),
    ],
    ids=["text", "json"],
)
def test_a_sealed_response_whose_place_is_gone_is_recorded(tmp_path: Path, flags: tuple[str, ...], told: str) -> None:
    """Where the place for it is gone once the answer arrives, that is told, and the record holds it all the same."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        scene.project.seal()
        answered = hold_creates(scene.sandbox)
        process = scene.start_apply(*flags)
        scene.wait_until_committed()
        responses = tmp_path / "home" / "data" / "reconciler" / "responses"
        shutil.rmtree(responses)
        responses.write_text("")
        answered.set()
        done = finish(process)
        assert 0 == done.code, done
        assert told in done.err
        responses.unlink()
        assert json.loads(scene.project.step("secret", "show", ADDRESS, "--identity", "key.txt").out)


def test_a_place_where_nothing_could_be_kept_is_found_out_before_the_first_intent(tmp_path: Path) -> None:
    """With recipients too: what cannot be saved to the record must have a place to go to."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        scene.project.seal()
        data = tmp_path / "home" / "data" / "reconciler"
        data.mkdir(parents=True, mode=0o700, exist_ok=True)
        (data / "unrecorded").write_text("")
        before = scene.journal().read_bytes()
        done = scene.apply()
        assert 1 == done.code, done
        assert "cannot save recovery files here: Not a directory; nothing was sent; " in done.err
        assert before == scene.journal().read_bytes()


def test_a_working_directory_that_is_deleted_loses_no_outcome(tmp_path: Path) -> None:
    """Places that are named by relative paths stay where they were as the apply began."""
    scene = SandboxProject(tmp_path / "project", subscriptions(1))
    scene.project.environment |= {"RECONCILER_STATE": "../record", "RECONCILER_CACHE_DIR": "../caches"}
    with scene:
        answered = hold_creates(scene.sandbox)
        process = scene.start_apply()
        scene.wait_until_committed()
        shutil.rmtree(scene.project.path)
        answered.set()
        done = finish(process)
        assert 0 == done.code, done
        journal = tmp_path / "record" / f"{HERE}.jsonl"
        assert '"outcome":"created"' in journal.read_text(encoding="utf-8").splitlines()[-1]
