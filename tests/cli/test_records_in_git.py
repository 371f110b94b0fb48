"""A record in files that is missing or older, and that git has: what brings it back is named, and works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.git_world import SOMEBODY, GitWorld, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.partner import Partner
    from support.project import Finished

PATH = "work dir/state/europe/staging.jsonl"
NEVER = "if europe/staging never had one"


class Kept:
    """A partner whose applied record was committed and pushed from a directory of a clone."""

    def __init__(self, partner: Partner, world: GitWorld) -> None:
        self.world = world
        self.partner = partner
        self.clone = world.root / "clone"
        self.git("clone", "--quiet", "--branch", "main", str(world.origin), str(self.clone), at=world.root)
        partner.path = self.clone / "work dir"
        partner.path.mkdir()
        partner.begin(first=["ONB10001"])
        self.git("add", ".")
        self.commit("Begin")
        self.begun = partner.journal.read_bytes()
        partner.step("apply", "--auto-approve")
        self.commit("Apply")
        self.git("push", "--quiet")
        self.whole = partner.journal.read_bytes()

    def git(self, *arguments: str, at: Path | None = None) -> str:
        return self.world.git(*arguments, at=at or self.clone).strip()

    def commit(self, message: str) -> None:
        self.git(*SOMEBODY, "commit", "--quiet", "--all", "--message", message)

    def forget(self) -> None:
        """From here on it is another machine, which remembers no head."""
        self.partner.environment["XDG_CACHE_HOME"] = str(self.world.root / "fresh-cache")

    def refused(self, *arguments: str) -> tuple[Finished, str]:
        """A command that fails, and the first command that it names."""
        done = self.partner.step(*arguments, code=1)
        return done, done.err.partition("run:\n    ")[2].partition("\n")[0]

    def follow(self, command: str) -> Finished:
        """Run the command that was named, as a user pastes it."""
        done = self.partner.shell(command.replace("&& reconciler", "&& $reconciler"))
        assert 0 == done.code, done
        return done


@pytest.fixture
def kept(partner: Partner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """An applied record that git has, in a directory whose name wants quoting."""
    (tmp_path / "git").mkdir()
    return Kept(partner, GitWorld(tmp_path / "git", monkeypatch))


def delete(kept: Kept) -> str:
    """The file is gone; the index has it."""
    kept.partner.journal.unlink()
    return ""


def delete_the_directory(kept: Kept) -> str:
    """The file is gone with the directories it was in."""
    kept.partner.journal.unlink()
    kept.partner.journal.parent.rmdir()
    kept.partner.journal.parent.parent.rmdir()
    return ""


def stage_the_deletion(kept: Kept) -> str:
    """HEAD has it."""
    kept.git("rm", "--quiet", PATH)
    return " --source=HEAD --staged --worktree"


def commit_the_deletion(kept: Kept) -> str:
    """The upstream branch has it."""
    stage_the_deletion(kept)
    kept.commit("Clean up")
    return " --source=origin/main --staged --worktree"


def push_the_deletion(kept: Kept) -> str:
    """Only the history has it, below commits that are about other things."""
    commit = kept.git("rev-parse", "--short", "HEAD")
    commit_the_deletion(kept)
    kept.git(*SOMEBODY, "commit", "--quiet", "--allow-empty", "--message", "Something else")
    kept.git("push", "--quiet")
    return f" --source={commit} --staged --worktree"


LOSSES = [delete, delete_the_directory, stage_the_deletion, commit_the_deletion, push_the_deletion]


@pytest.mark.parametrize("lose", LOSSES)
def test_no_second_record(kept: Kept, lose: Callable[[Kept], str]) -> None:
    """`state init` begins no new record where git has one, and names the command that puts it back."""
    options = lose(kept)
    kept.forget()
    before = snapshot(kept.clone)
    done, command = kept.refused("state", "init")
    assert (
        "no new record is initialized where git has one: that of europe/staging with 4 entries; restore it, or"
        in done.err
    )
    assert f"git -C {kept.clone} restore{options} -- '{PATH}'" == command
    assert "run:\n    reconciler state init -t europe/staging --force\n" in done.err
    assert before == snapshot(kept.clone)
    kept.follow(command)
    assert kept.whole == kept.partner.journal.read_bytes()
    assert [] == kept.partner.planned()


def test_a_new_one_on_purpose(kept: Kept) -> None:
    """With --force, a new record is begun."""
    push_the_deletion(kept)
    kept.forget()
    kept.partner.step("state", "init", "--force")
    assert ["begun"] == kept.partner.kinds


def another_service(kept: Kept) -> None:
    """What git has is the record of another service, such as a sandbox."""
    kept.partner.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "https://api.service.example"


def ignore_it(kept: Kept) -> None:
    """The record is none of git's business any more."""
    (kept.clone / ".gitignore").write_text("state/\n")


def lose_git(kept: Kept) -> None:
    """git is not installed."""
    kept.partner.environment["PATH"] = str(kept.world.root)


def leave_git(kept: Kept) -> None:
    """A copy of the files, and no repository."""
    (kept.clone / ".git").rename(kept.world.root / "elsewhere")


def break_git(kept: Kept) -> None:
    """A repository that git cannot read."""
    (kept.clone / ".git" / "HEAD").write_text("nonsense\n")


@pytest.mark.parametrize("leave", [another_service, ignore_it, lose_git, leave_git, break_git])
def test_nothing_to_put_back(kept: Kept, leave: Callable[[Kept], None]) -> None:
    """Where git has no record of this service, or cannot tell, a new one is begun, and nothing is said of git."""
    push_the_deletion(kept)
    kept.forget()
    leave(kept)
    assert "git" not in kept.partner.step("state", "init").err


@pytest.mark.parametrize(
    "command", [["plan"], ["apply", "--auto-approve"], ["status"], ["state", "import", "europe/staging/first"]]
)
def test_missing(kept: Kept, command: list[str]) -> None:
    """Where a record is missing that this machine never saw, what git has comes before `state init`."""
    push_the_deletion(kept)
    kept.forget()
    done, restore = kept.refused(*command)
    assert "git has that of europe/staging with 4 entries; to restore what it has, run:" in done.err
    assert done.err.index(restore) < done.err.index(NEVER)
    kept.follow(restore)
    assert [] == kept.partner.planned()


def test_doctor_on_a_missing_one(kept: Kept) -> None:
    """`doctor` names the same command."""
    push_the_deletion(kept)
    kept.forget()
    _, restore = kept.refused("plan")
    assert " restore --source=" in restore
    found = kept.partner.step("doctor", "--format", "json", code=1).document["findings"]
    assert restore in next(one["remedy"] for one in found if one["check"] == "record")


def test_other_targets_cost_nothing(kept: Kept) -> None:
    """A plan runs git for no target that it does not have to tell of."""
    staging = kept.partner.read("config/all.yaml")
    kept.partner.write("config/other.yaml", staging.replace("staging", "production").replace("ONB10001", "ONB10002"))
    kept.world.script("git", f"touch '{kept.world.root}/ran'")
    kept.partner.environment["PATH"] = f"{kept.world.root}:/usr/bin:/bin"
    kept.partner.step("plan", "-t", "europe/staging")
    assert not (kept.world.root / "ran").exists()


@pytest.mark.parametrize("lose", LOSSES)
def test_lost(kept: Kept, lose: Callable[[Kept], str]) -> None:
    """Where this machine has seen the record, the version with what it has seen is named, by `state recover` too."""
    lose(kept)
    for command in (["plan"], ["state", "init"], ["state", "recover", "-t", "europe/staging"]):
        done, restore = kept.refused(*command)
        assert "git has it; to restore it, run:\n" in done.err
    kept.follow(restore)
    assert [] == kept.partner.planned()


def put_back_an_older_one(kept: Kept) -> None:
    """HEAD has the newer one."""
    kept.partner.journal.write_bytes(kept.begun)


def commit_an_older_one(kept: Kept) -> None:
    """The upstream branch has the newer one."""
    put_back_an_older_one(kept)
    kept.commit("Restore a backup")


def push_an_older_one(kept: Kept) -> None:
    """Only the history has the newer one."""
    commit_an_older_one(kept)
    kept.git("push", "--quiet")


@pytest.mark.parametrize("roll_back", [put_back_an_older_one, commit_an_older_one, push_an_older_one])
def test_rolled_back(kept: Kept, roll_back: Callable[[Kept], None]) -> None:
    """Where an older record was put back, it is said from where in git the newer entries are to be had."""
    roll_back(kept)
    for command in (["plan"], ["state", "recover", "-t", "europe/staging"]):
        done, recover = kept.refused(*command)
        assert "git has what is missing; to add it, run:\n" in done.err
    kept.follow(recover)
    assert [] == kept.partner.planned()
    assert 0 == kept.partner.step("state", "recover", "-t", "europe/staging").code


def test_nowhere(kept: Kept) -> None:
    """What neither this machine nor git has is not "nothing to recover"."""
    leave_git(kept)
    put_back_an_older_one(kept)
    done, command = kept.refused("state", "recover", "-t", "europe/staging")
    assert "was rolled back, and this machine has no copy of it: it was last seen with 4 entries" in done.err
    assert "reconciler state recover COPY.jsonl" == command
    assert "Nothing to recover" not in done.out
    kept.partner.journal.unlink()
    done, command = kept.refused("state", "recover", "-t", "europe/staging")
    assert "the record of europe/staging is missing, and this machine has no copy of it" in done.err
