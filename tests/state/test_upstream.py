"""Files that lack entries of the branch they are shared by: nothing is created on them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from support.git_world import SOMEBODY, GitWorld, snapshot
from support.lending_service import CLIENT_SECRET

from reconciler.state.stores.git.upstream import difference

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.partner import Partner
    from support.project import Finished

PATH = "work/state/europe/staging.jsonl"


class Team:
    """Two people who share one record by git: `mine` stands in a directory of a clone, as `theirs` does in another."""

    def __init__(self, mine: Partner, world: GitWorld) -> None:
        self.world = world
        self.mine = mine
        self.clone, self.other = world.root / "mine", world.root / "theirs"
        self.git("clone", "--quiet", "--branch", "main", str(world.origin), str(self.clone), at=world.root)
        mine.path = self.clone / "work"
        mine.path.mkdir()
        mine.begin(first=["ONB10001"])
        self.git("add", ".")
        self.commit("Begin the record")
        self.git("push", "--quiet", "origin", "main")
        self.git("clone", "--quiet", "--branch", "main", str(world.origin), str(self.other), at=world.root)

    def git(self, *arguments: str, at: Path | None = None) -> str:
        """Run git in my clone, or elsewhere."""
        return self.world.git(*arguments, at=at or self.clone)

    def commit(self, message: str, at: Path | None = None) -> None:
        self.git(*SOMEBODY, "commit", "--quiet", "--all", "--message", message, at=at)

    def let_them_apply(self) -> None:
        """They apply in their clone, and push the record."""
        mine, self.mine.path = self.mine.path, self.other / "work"
        try:
            self.mine.environment["XDG_CACHE_HOME"] = str(self.world.root / "their-cache")
            self.mine.step("apply", "--auto-approve")
        finally:
            del self.mine.environment["XDG_CACHE_HOME"]
            self.mine.path = mine
        self.commit("Apply", at=self.other)
        self.git("push", "--quiet", at=self.other)

    def apply(self) -> Finished:
        """I apply."""
        return self.mine.step("apply", "--auto-approve", code=None)


@pytest.fixture
def team(partner: Partner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A record that two share; the desired state is not applied yet."""
    return Team(partner, GitWorld(tmp_path / "git", monkeypatch))


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path) -> None:
    (tmp_path / "git").mkdir()


def test_up_to_date(team: Team) -> None:
    """Where the upstream has nothing more, the creates are made, and no byte of the repository changes."""
    before = snapshot(team.clone / ".git")
    done = team.apply()
    assert (0, 1) == (done.code, len(team.mine.service.creates))
    assert before == snapshot(team.clone / ".git")


@pytest.mark.parametrize("seen", [False, True])
def test_behind(team: Team, seen: bool) -> None:
    """What somebody else has created and pushed is not created again: refused before any call, with what to run."""
    team.let_them_apply()
    if seen:
        team.git("fetch", "--quiet")
    before = snapshot(team.clone)
    done = team.apply()
    told = f"{team.clone}/{PATH}: this record is behind origin/main by 3 entries; run:\n    git -C {team.clone} pull\n"
    assert (1, 1) == (done.code, len(team.mine.service.creates))
    assert f"Error: {told}" in done.err
    assert before == snapshot(team.clone)
    team.git("pull", "--quiet")
    assert 0 == team.apply().code
    assert 1 == len(team.mine.service.creates)


def test_targets_of_one_branch(team: Team) -> None:
    """However many targets have creates to make, the remote is asked once, and fails once."""
    staging = team.mine.read("config/all.yaml")
    for name, code in (("production", "ONB10002"), ("trial", "ONB10003")):
        text = staging.replace("staging", name).replace("ONB10001", code)
        team.mine.write(f"config/{name}.yaml", text)
        for field in ("CLIENT_ID", "CLIENT_SECRET"):
            value = team.mine.environment[f"RECONCILER_EUROPE_STAGING_{field}"]
            team.mine.environment[f"RECONCILER_EUROPE_{name.upper()}_{field}"] = value
    team.mine.step("state", "init")
    team.git("add", ".")
    team.world.origin.rename(team.world.root / "gone.git")
    done = team.mine.run("apply", "--auto-approve")
    assert 1 == done.err.count("compared with the last fetched state of origin/main")


def test_broken_settings_outside_of_a_repository(team: Team) -> None:
    """Where there is no repository, git is not run."""
    leave_git(team)
    team.world.settings.write_text("[nonsense\n")
    assert 0 == team.apply().code


def test_broken_settings(team: Team) -> None:
    """Where git cannot tell what the upstream has, nothing is created, and the error names the file to correct."""
    team.world.settings.write_text("[nonsense\n")
    done = team.apply()
    assert (1, 0) == (done.code, len(team.mine.service.creates))
    assert f"bad config line 1 in file {team.world.settings}; correct that file" in done.err


def test_work_tree_of_another_user(team: Team) -> None:
    """Where git does not trust the work tree, as in many containers, a warning says how to have it compared."""
    team.mine.environment["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
    done = team.apply()
    assert 0 == done.code
    assert "not compared with an upstream branch: detected dubious ownership in repository at" in done.err
    assert f"git config --global --add safe.directory {team.clone}" in done.err


def test_both_ahead(team: Team) -> None:
    """Where both sides have entries of their own, the error gives the command that brings theirs beside ours."""
    team.let_them_apply()
    team.mine.want(first=["ONB10001"], second=["ONB10002"])
    team.mine.step("state", "import", "europe/staging/second")
    done = team.apply()
    assert (1, 1) == (done.code, len(team.mine.service.creates))
    told = "diverged: origin/main has 3 entries more, this record 1; to merge both, run:\n    "
    assert told in done.err
    command, _, rest = done.err.partition(told)[2].partition(" && reconciler state recover theirs.jsonl")
    assert "\n  then delete theirs.jsonl, which is not to be committed\n" == rest
    subprocess.run(["bash", "-c", command], cwd=team.mine.path, check=True, capture_output=True)
    assert (team.other / PATH).read_bytes() == (team.mine.path / "theirs.jsonl").read_bytes()


def test_ahead_only(team: Team) -> None:
    """Entries that were not pushed yet are in nobody's way."""
    team.mine.step("apply", "--auto-approve")
    team.mine.want(first=["ONB10001"], second=["ONB10002"])
    assert 0 == team.apply().code
    assert 2 == len(team.mine.service.creates)


@pytest.mark.parametrize("seen", [False, True])
def test_remote_out_of_reach(team: Team, seen: bool) -> None:
    """Without the remote there is a warning, and what was fetched last is what counts."""
    team.let_them_apply()
    if seen:
        team.git("fetch", "--quiet")
    team.world.origin.rename(team.world.root / "gone.git")
    done = team.apply()
    assert "Warning: " in done.err
    assert "the record was compared with the last fetched state of origin/main" in done.err
    assert ((1, 1) if seen else (0, 2)) == (done.code, len(team.mine.service.creates))
    assert seen == ("this record is behind origin/main by 3 entries" in done.err)


def lose_the_record(team: Team) -> None:
    """I apply and push; then the record is deleted in a commit of mine, and another machine begins a new one."""
    team.mine.step("apply", "--auto-approve")
    team.commit("Apply")
    team.git("push", "--quiet")
    team.git("rm", "--quiet", PATH)
    team.commit("Clean up")
    team.mine.environment["XDG_CACHE_HOME"] = str(team.world.root / "fresh-cache")
    team.mine.step("state", "init", "--force")


@pytest.mark.parametrize("ignored", [False, True])
def test_untracked(team: Team, ignored: bool) -> None:
    """What the upstream branch has counts for a new record too, which git does not track yet, or ignores."""
    lose_the_record(team)
    if ignored:
        (team.clone / ".gitignore").write_text("*.jsonl\n")
    done = team.apply()
    assert (1, 1) == (done.code, len(team.mine.service.creates))
    told = f"{PATH}: origin/main has another record here, with 4 entries, and this one, with 1 entry, does not list"
    assert told in done.err
    restore, accept = (rest.partition("\n")[0] for rest in done.err.split("run:\n    ")[1:])
    assert 0 == team.mine.shell(f"{restore} && ${accept} --force").code
    assert 0 == team.apply().code
    assert 1 == len(team.mine.service.creates)


def test_untracked_and_not_shared(team: Team) -> None:
    """A new record that the upstream branch does not have is in nobody's way; if git ignores it, no remote is asked."""
    state = team.mine.path / "other-state"
    team.mine.environment["RECONCILER_STATE"] = str(state)
    team.mine.step("state", "init", "--force")
    (team.clone / ".gitignore").write_text("other-state/\n")
    team.world.origin.rename(team.world.root / "gone.git")
    done = team.apply()
    assert 0 == done.code
    assert "last fetched" not in done.err


@pytest.mark.parametrize("committed", [False, True])
def test_pulled_and_older(team: Team, committed: bool) -> None:
    """Where the upstream branch is pulled, and an older copy was put over it, a pull changes nothing: it is merged."""
    older = (team.mine.path / "state/europe/staging.jsonl").read_bytes()
    team.let_them_apply()
    team.git("pull", "--quiet")
    (team.mine.path / "state/europe/staging.jsonl").write_bytes(older)
    if committed:
        team.commit("Put an older copy back")
    done = team.apply()
    assert (1, 1) == (done.code, len(team.mine.service.creates))
    assert f"{PATH}: this record lacks 3 entries of origin/main, though that is pulled: " in done.err
    assert "pull\n" not in done.err
    command, _, rest = done.err.partition(" run:\n    ")[2].partition("\n")
    assert "  then delete theirs.jsonl, which is not to be committed\n" == rest
    found = team.mine.run("doctor", "--format", "json").document["findings"]
    (told,) = [one for one in found if one["check"] == "git" and one["result"] != "ok"]
    assert "failed" == told["result"]
    assert command in told["remedy"]
    assert 0 == team.mine.shell(command.replace("&& reconciler", "&& $reconciler")).code
    assert 0 == team.apply().code
    assert 1 == len(team.mine.service.creates)


def follow_a_local_branch(team: Team) -> None:
    """A branch of my own follows another one of mine."""
    team.git("checkout", "--quiet", "-b", "work", "--track", "main")
    team.git("fetch", "--quiet", "origin")
    team.git("update-ref", "refs/heads/main", "origin/main")


def test_local_upstream(team: Team) -> None:
    """An upstream may be a branch of the same repository."""
    team.let_them_apply()
    follow_a_local_branch(team)
    done = team.apply()
    assert (1, 1) == (done.code, len(team.mine.service.creates))
    assert "this record is behind main by 3 entries" in done.err


def ignore_the_state(team: Team) -> None:
    """The record is none of git's business."""
    team.git("rm", "--quiet", "--cached", PATH)


def leave_the_branch(team: Team) -> None:
    """No branch is checked out."""
    team.git("checkout", "--quiet", "--detach")


def follow_nothing(team: Team) -> None:
    """The branch is nobody's but mine."""
    team.git("branch", "--unset-upstream")


def leave_git(team: Team) -> None:
    """A copy of the files, and no repository."""
    (team.clone / ".git").rename(team.world.root / "elsewhere")


def lose_git(team: Team) -> None:
    """git is not installed."""
    team.mine.environment["PATH"] = str(team.world.root)


def follow_what_is_not_there(team: Team) -> None:
    """The upstream branch is deleted, as after a merge."""
    team.git("push", "--quiet", "origin", "--delete", "main")


def follow_no_remote(team: Team) -> None:
    """The remote is not configured any more."""
    team.git("config", "--remove-section", "remote.origin")


@pytest.mark.parametrize(
    "leave",
    [
        ignore_the_state,
        leave_the_branch,
        follow_nothing,
        leave_git,
        lose_git,
        follow_what_is_not_there,
        follow_no_remote,
    ],
)
def test_nothing_to_compare_with(team: Team, leave: Callable[[Team], None]) -> None:
    """Where no upstream branch shares the record, nothing is looked at, and nothing is said."""
    leave(team)
    done = team.apply()
    assert (0, "") == (done.code, "\n".join(line for line in done.err.splitlines() if "Warning" in line))


def test_plan_does_not_run_git(team: Team) -> None:
    """A plan reads files, and asks no remote."""
    team.let_them_apply()
    team.world.script("git", f"touch {team.world.root}/ran")
    team.mine.environment["PATH"] = f"{team.world.root}:/usr/bin:/bin"
    team.mine.step("plan")
    assert not (team.world.root / "ran").exists()


def test_nothing_to_create(team: Team) -> None:
    """Where nothing is to be created, no remote is asked."""
    team.mine.step("apply", "--auto-approve")
    team.world.script("git", f"touch {team.world.root}/ran")
    team.mine.environment["PATH"] = f"{team.world.root}:/usr/bin:/bin"
    assert 0 == team.apply().code
    assert not (team.world.root / "ran").exists()


def test_password_of_the_remote(team: Team) -> None:
    """A password in the remote's URL is in no warning."""
    team.git("remote", "set-url", "origin", f"http://me:{CLIENT_SECRET}@127.0.0.1:9/a.git".replace("/hunter2", ""))
    done = team.apply()
    assert "compared with the last fetched state of" in done.err
    assert "hunter2" not in done.err + done.out


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (b"", b"", (0, 0)),
        (b"a\nb\n", b"a\nb\n", (0, 0)),
        (b"a\nb\n", b"a\nb\nc\nd\n", (0, 2)),
        (b"a\nb\nc\n", b"a\n", (2, 0)),
        (b"a\nb\nc\n", b"a\nx\n", (2, 1)),
        (b"a\n", b"b\n", (1, 1)),
        (b"a\ntorn", b"a\ntorn\n", (0, 1)),
        (b"a\ntorn", b"a\nother", (0, 0)),
        (b"", b"a\n", (0, 1)),
    ],
)
def test_difference(ours: bytes, theirs: bytes, expected: tuple[int, int]) -> None:
    """What is counted are the entries behind those that both begin with, and no torn ones."""
    assert expected == difference(ours, theirs)
