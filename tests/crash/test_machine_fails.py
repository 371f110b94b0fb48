"""The disk, the directories, the environment or the clock of the machine are not as they should be."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.sandbox_project import HERE, SandboxProject, confined, subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.project import Finished

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def without_home(*assignments: str) -> list[str]:
    """What to put before a command for an environment that names no home, but for the assignments."""
    return ["env", "-u", "HOME", "-u", "XDG_CACHE_HOME", "-u", "XDG_DATA_HOME", *assignments]


def nobody_known() -> list[str]:
    """What to put before a command for a user of whom the system knows nothing; skips where that cannot be had."""
    prefix = ["unshare", "--user", "--map-user=54321"]
    _skip_unless_possible(prefix)
    return prefix


def read_only(directory: Path) -> list[str]:
    """What to put before a command for a directory that cannot be written; skips where that cannot be had."""
    prefix = ["unshare", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, str(directory)]
    _skip_unless_possible(prefix)
    return prefix


def _skip_unless_possible(prefix: list[str]) -> None:
    try:
        subprocess.run([*prefix, "true"], capture_output=True, check=True, timeout=10)
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"this machine gives no namespaces: {problem}")


def assert_refused(done: Finished, *words: str) -> None:
    """Exit code 1, and one line of error with these words."""
    assert 1 == done.code, done
    errors = [line for line in done.err.splitlines() if line.startswith("Error: ")]
    assert [errors[0]] == errors, done
    assert all(word in errors[0] for word in words), errors[0]
    assert "Traceback" not in done.err
    assert "internal error" not in done.err


def create_some(scene: SandboxProject) -> None:
    """Have the journal be longer than what is kept of one attempt, and two more creates to make."""
    scene.project.seal()
    scene.project.step("apply", "--auto-approve")
    scene.declare(subscriptions(6))


def size_with_intent(path: Path) -> int:
    """How long a journal is once one more intent follows `create_some`."""
    with SandboxProject(path, subscriptions(4)) as scene:
        create_some(scene)
        scene.apply(failpoint="before-send:1:kill")
        return scene.journal().stat().st_size


@pytest.mark.parametrize("room", [0, 60], ids=["no room at all", "room for half a line"])
def test_a_disk_that_is_full_before_the_intent_sends_nothing(tmp_path: Path, room: int) -> None:
    """An intent that does not fit on the disk is never sent, and the journal is as it was."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        scene.project.seal()
        before = scene.journal().read_bytes()
        done = scene.run_under(confined("fsize", len(before) + room), "apply", "--auto-approve")
        assert 1 == done.code, done
        assert f"{scene.journal()}: cannot write the state record: File too large" in done.out
        assert before == scene.journal().read_bytes()
        assert 0 == scene.sandbox.world.requests["create", HERE]
        assert 0 == scene.recover()


def test_a_disk_that_is_full_before_the_outcome_keeps_it_elsewhere(tmp_path: Path) -> None:
    """An outcome that does not fit is kept in a private file that is named, and its address waits for a person."""
    size = size_with_intent(tmp_path / "before")
    with SandboxProject(tmp_path / "now", subscriptions(4)) as scene:
        create_some(scene)
        done = scene.run_under(confined("fsize", size + 300), "apply", "--auto-approve")
        assert 3 == done.code, done
        assert 5 == len(scene.sandbox.world.commits)
        (attempt,) = scene.unresolved()
        named = re.search(r"they are in (\S+\.jsonl)\.", done.err)
        assert named, done
        kept = Path(named[1])
        assert 0o600 == stat.S_IMODE(kept.stat().st_mode)
        intent, line = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
        assert (HERE, scene.record().id) == (line["target"], line["record"])
        assert ("intent", attempt.id) == (intent["entry"]["kind"], intent["entry"]["attempt"])
        assert (attempt.id, "created") == (line["entry"]["attempt"], line["entry"]["outcome"])
        again = scene.project.step("plan", "--detailed-exitcode", code=None)
        assert 3 == again.code
        assert attempt.address in again.out
        scene.project.step("state", "recover", kept)
        assert 0 == scene.recover()


def test_a_disk_without_room_for_a_response_is_found_out_before_the_intent(tmp_path: Path) -> None:
    """Responses that would not be sealed are to be kept: where there is no room for one, nothing is begun."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        before = scene.journal().read_bytes()
        done = scene.run_under(confined("fsize", 1 << 19), "apply", "--auto-approve")
        assert_refused(done, "cannot save a create response: File too large; nothing was sent")
        assert before == scene.journal().read_bytes()
        assert not scene.committed()


def test_a_record_that_cannot_be_written_sends_nothing(tmp_path: Path) -> None:
    """On a read-only file system plan goes on as ever, and apply sends nothing."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        prefix = read_only(tmp_path / "state")
        assert 2 == scene.run_under(prefix, "plan", "--detailed-exitcode").code
        done = scene.run_under(prefix, "apply", "--auto-approve")
        assert 1 == done.code
        assert "Read-only file system" in done.out
        assert 0 == scene.sandbox.world.requests["create", HERE]
        assert_refused(scene.run_under(prefix, "state", "import", f"{HERE}/s0"), "Read-only file system")
        assert 0 == scene.recover()


@pytest.mark.parametrize("place", ["state", f"state/{HERE.partition('/')[0]}", f"state/{HERE}.jsonl"])
def test_something_else_where_the_record_should_be_is_refused(tmp_path: Path, place: str) -> None:
    """A file in the place of a directory, or a directory in the place of a journal, is no missing record."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        path = tmp_path / place
        path.rename(tmp_path / "elsewhere")
        if place.endswith(".jsonl"):
            path.mkdir()
        else:
            path.write_text("this is no record\n", encoding="utf-8")
        for command in (("plan",), ("apply", "--auto-approve"), ("state", "init"), ("state", "verify")):
            assert_refused(scene.project.step(*command, code=None), place)
        assert 0 == scene.sandbox.world.requests["create", HERE]


def test_a_user_without_a_home_is_told_what_to_set(tmp_path: Path) -> None:
    """Where nothing says where the caches go, the line names the variables that do."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        prefix = [*nobody_known(), *without_home()]
        assert_refused(scene.run_under(prefix, "plan"), "no home directory", "XDG_CACHE_HOME")
        caches = f"RECONCILER_CACHE_DIR={tmp_path / 'caches'}"
        assert 0 == scene.run_under([*prefix, caches], "plan").code
        done = scene.run_under([*prefix, caches], "apply", "--auto-approve")
        assert_refused(done, "no home directory", "XDG_DATA_HOME")
        assert 0 == scene.sandbox.world.requests["create", HERE]
        done = scene.run_under([*prefix, caches, f"XDG_DATA_HOME={tmp_path / 'data'}"], "apply", "--auto-approve")
        assert 0 == done.code, done
        assert {"uid 54321"} == {attempt.by["user"] for attempt in scene.attempts()}


def test_an_empty_home_is_no_home(tmp_path: Path) -> None:
    """An empty variable is an unset one: nothing is put into the root directory."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        prefix = [*nobody_known(), *without_home("HOME=")]
        assert_refused(scene.run_under(prefix, "plan"), "no home directory", "XDG_CACHE_HOME")


def test_a_careless_umask_opens_nothing(tmp_path: Path) -> None:
    """With a umask of 0, what is private is its owner's only, and nobody else can write to anything."""
    with SandboxProject(tmp_path / "project", subscriptions(2)) as scene:
        (tmp_path / "project" / "state").rename(tmp_path / "old")
        prefix = confined("umask", 0)
        assert 0 == scene.run_under(prefix, "state", "init", "--force").code
        accepted = ("--accept-possible-duplicates", HERE)
        assert 0 == scene.run_under(prefix, "apply", "--auto-approve", *accepted).code
        for path in (tmp_path / "project" / "state").rglob("*"):
            assert 0 == path.stat().st_mode & 0o022, path
        private = [*(tmp_path / "home").rglob("reconciler/*"), *(tmp_path / "home").rglob("reconciler/**/*")]
        assert {".json", ".token", ".1"} <= {path.suffix for path in private}
        for path in private:
            assert 0 == path.stat().st_mode & 0o077, path
        scene.assert_done()


def link(path: Path) -> str:
    """Put a symbolic link in the place of a directory; what the refusal says of it."""
    path.rename(path.with_name("real"))
    path.symlink_to("real")
    return "symbolic link"


def open_to_all(path: Path) -> str:
    """Let everybody write to a directory; what the refusal says of it."""
    path.chmod(0o777)
    return "writable by other users (mode 0777)"


def give_away(path: Path) -> str:
    """Give a directory to another user; what the refusal says of it."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(path, 54321, -1)
    return "owned by another user"


@pytest.mark.parametrize(
    ("below", "spoil"),
    [("", link), ("", open_to_all), ("", give_away), ("heads", link), ("tokens", open_to_all), ("tokens", give_away)],
)
def test_a_cache_that_is_not_ones_own_is_refused(tmp_path: Path, below: str, spoil: Callable[[Path], str]) -> None:
    """A cache directory that others could put something into is refused, in a line, before anything is sent."""
    with SandboxProject(tmp_path / "project", subscriptions(1)) as scene:
        scene.project.step("apply", "--auto-approve")
        scene.declare(subscriptions(2))
        cache = tmp_path / "home" / "cache" / "reconciler"
        trouble = spoil(cache / below)
        assert_refused(scene.apply(), str(cache / below), trouble)
        assert 1 == scene.sandbox.world.requests["create", HERE]


CLOCK = """\
import time
real = time.time
time.time = lambda: real() + {offset}
"""


@pytest.mark.parametrize("years", [-20, 20])
def test_a_clock_that_is_years_off_creates_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, years: int
) -> None:
    """An intent from a machine whose clock is wrong blocks its address on every other, and the other way round."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(CLOCK.format(offset=years * 365 * 86400), encoding="utf-8")
    wrong = ["env", f"PYTHONPATH={os.pathsep.join(filter(None, [str(site), os.environ.get('PYTHONPATH')]))}"]
    with SandboxProject(tmp_path / "project", subscriptions(3)) as scene:
        ended = scene.run_under(wrong, "apply", "--auto-approve", "--parallelism", "1", failpoint="after-send:2:kill")
        assert -9 == ended.code
        scene.project.step("plan", "--detailed-exitcode", code=3)
        assert 3 == scene.run_under(wrong, "plan", "--detailed-exitcode").code
        assert 1 == scene.settle()
        assert 0 == scene.run_under(wrong, "apply", "--auto-approve").code
        assert 1 == len(scene.sandbox.world.tokens)
        scene.assert_done()
