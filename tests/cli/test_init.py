"""`init`: the files of a new project work as they are, and nothing is overwritten."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pytest
import yaml
from support.desired_configs import EXAMPLE, load_files
from support.notified import wait_until
from support.project import EXECUTABLE, end
from support.terminal import at_terminal

import reconciler
from reconciler.errors import SettingsError
from reconciler.operations.new_project import workflow as new_workflow
from reconciler.operations.new_project.config import ENVIRONMENTS, REGIONS, config_files
from reconciler.operations.new_project.ignored import gitignore
from reconciler.operations.new_project.project import KINDS, Choices
from reconciler.operations.new_project.workflow import BRANCH, WORKFLOW, published_at, workflow
from reconciler.state.private.responses import decrypt, encrypt

if TYPE_CHECKING:
    from support.project import Project

ROOT = Path(__file__).parents[2]
FILES = {".gitignore", "config/.schema.json", *(f"config/{name}" for name in EXAMPLE)}


def written(project: Project) -> set[str]:
    """The files below the project's directory."""
    files = (path for path in project.path.rglob("*") if not path.is_dir())
    return {str(path.relative_to(project.path)) for path in files if ".git" not in path.parts}


def blocks(out: str) -> list[str]:
    """The commands that a text shows, in the blocks in which they follow "run:"."""
    return [re.sub("^  ", "", block, flags=re.MULTILINE) for block in re.findall(r"run:\n((?:  .*\n)+)", out)]


def test_what_it_shows_can_be_pasted(project: Project) -> None:
    """In an empty directory without options: the files are valid, a rehearsal creates, and git sees what it should."""
    done = project.step("init", "my hooks")
    assert 80 >= max(len(line) for line in done.out.splitlines() if str(project.path) not in line)
    check, rehearse, real = blocks(done.out)
    path = f"PATH={EXECUTABLE.parent}:$PATH; set -e\n"
    rehearsed = project.shell(f"{path}{check}{rehearse.rstrip()} --auto-approve; git init -q; git add .; kill $!")
    assert 0 == rehearsed.code, rehearsed
    assert "The configuration is valid: 8 subscriptions on 4 targets." in rehearsed.out
    assert "8 created" in rehearsed.out
    assert "Serving at" not in rehearsed.err
    assert "reconciler doctor\n" in real  # fails until the placeholders are replaced
    real = real.replace("reconciler doctor\n", "")
    begun = project.shell(f"{path}cd 'my hooks'\n{real}git add .; git ls-files")
    assert 0 == begun.code, begun
    records = {f"state/{region}/{environment}.jsonl" for region in REGIONS for environment in ENVIRONMENTS}
    assert FILES | records == set(begun.out.splitlines()[-len(FILES | records) :])
    assert "Plan: 8 create calls (8 new)" in begun.out


@pytest.mark.parametrize("existing", [*sorted(FILES), "config/mine.yml", "config/more/mine.yaml"])
def test_nothing_is_overwritten(project: Project, existing: str) -> None:
    """A file that exists is named, as is one that would be read with the new ones; then nothing is written."""
    project.write(existing, "mine")
    done = project.step("init", "--age-key", code=1)
    assert f"{existing}: already exists; nothing was written" in done.err
    assert {existing} == written(project)
    assert "mine" == project.read(existing)
    assert not (project.path.parent / "home").exists()


def test_where_a_file_cannot_be_written_none_is_left(project: Project) -> None:
    """Nor a directory, nor a key."""
    project.write(".github", "a file where a directory is needed")
    done = project.step("init", "--github", "--age-key", code=1)
    assert ".github" in done.err
    assert {".github"} == written(project)
    assert not project.path.joinpath("config").exists()
    assert [] == [path for path in (project.path.parent / "home").rglob("*") if path.is_file()]


def test_a_key(project: Project) -> None:
    """The private key is in a private file, which is named and never shown; it opens what is encrypted."""
    done = project.step("init", "--age-key")
    (file,) = (path for path in (project.path.parent / "home").rglob("*") if path.is_file())
    assert str(file) in done.out
    assert (0o600, 0o700) == (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode))
    (secret,) = re.findall("AGE-SECRET-KEY-.*", file.read_text(encoding="utf-8"))
    assert secret not in done.out + done.err + "".join(map(project.read, written(project)))
    recipients = yaml.safe_load(project.read("config/targets.yaml"))["recipients"]
    assert b"response" == decrypt(encrypt(recipients, b"response"), [file.read_text(encoding="utf-8")])
    assert "The configuration is valid" in project.step("validate").out


def test_questions(project: Project) -> None:
    """At a terminal it asks; what is not valid is asked again, and nothing typed is the default."""
    answers = {
        "Regions [europe usa]: ": "Europe\n",
        "starting with a letter or digit\r\nRegions [europe usa]: ": "europe\n",
        "Environments [staging production]: ": "staging, production\n",
        "State record [state]: ": "git\n",
        "write ./git\r\nState record [state]: ": "git:records\n",
        "yes or no [yes]: ": "no\n",
        "workflow? yes or no [no]: ": "y\n",
    }
    done = at_terminal(project, "init", answers=answers)
    assert 0 == done.code, done
    assert "choose once.\n  state                  files here, to commit: one user on one machine\n" in done.out
    assert FILES | {WORKFLOW} == written(project)
    assert ["europe/staging", "europe/production"] == list(
        yaml.safe_load(project.read("config/targets.yaml"))["targets"]
    )
    assert "  export RECONCILER_STATE=git:records\n" in done.out
    assert "add an age public key" in done.out


def test_a_place_from_the_shell(project: Project) -> None:
    """A variable that may be left over is named beside the place that Enter takes; its password is not shown."""
    project.environment["RECONCILER_STATE"] = "records/7"
    answers = {"Regions [europe usa]: ": "\n", "Environments [staging production]: ": "\n"}
    asked = "State record [records/7, from RECONCILER_STATE in the environment]: "
    choices = {"responses? yes or no [no]: ": "maybe\n", "in brackets.\r\nCreate": "\n"}
    done = at_terminal(project, "init", answers={**answers, asked: "state\n", **choices})
    assert 0 == done.code, done
    assert "Expected yes or no, or Enter for the answer in brackets." in done.out
    assert 0 < done.out.index("Enter takes those in brackets.") < done.out.index("Regions [")


@pytest.mark.parametrize("place", ["sandbox-state/7", "/home/partner/hooks/sandbox-state/7"])
def test_the_record_of_a_sandbox_is_not_proposed(project: Project, place: str) -> None:
    """A shell that has just rehearsed proposes no place for the real record; it is used if it is named."""
    project.environment["RECONCILER_STATE"] = place
    told = (
        f"RECONCILER_STATE in the environment ({place}) is the place of a sandbox's record, so it is not proposed for"
        " that of the real service"
    )
    answers = {"Regions [europe usa]: ": "\n", "Environments [staging production]: ": "\n"}
    done = at_terminal(project, "init", answers={**answers, "State record [state]: ": "\n", "[no]: ": "no\n"})
    assert (0, True) == (done.code, told in " ".join(done.out.split())), done
    assert "do not list state/ here" in " ".join(project.read(".gitignore").split())
    done = project.step("init", "one", "--region", "europe")
    assert (f"{told}\n", False) == (done.err, place in done.out)
    done = project.step("init", "two", "--state", "sandbox-state/7")
    assert ("", True) == (done.err, "export RECONCILER_STATE=sandbox-state/7" in done.out)


def test_a_place_with_a_password_is_not_shown(project: Project) -> None:
    """The question says where the place comes from."""
    project.environment["RECONCILER_STATE"] = "git+https://user:passw0rd@host.example/repository#records"
    asked = "State record [the value, from RECONCILER_STATE in the environment]: "
    answers = {"Regions [europe usa]: ": "\n", "Environments [staging production]: ": "\n", asked: "\n"}
    done = at_terminal(project, "init", answers={**answers, "responses? yes or no [yes]: ": "no\n"})
    assert (0, False) == (done.code, "passw0rd" in done.out), done


def test_a_branch_outside_of_a_repository(project: Project) -> None:
    """It is told with the commands that make one; in a repository it is not."""
    advice = "git init && git remote add origin URL"
    assert advice in " ".join(project.step("init", "one", "--state", "git:records").err.split())
    subprocess.run(["git", "init", "-q"], cwd=project.path, check=True)
    assert advice not in " ".join(project.step("init", "two", "--state", "git:records").err.split())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (None, 1)])
def test_a_question_that_is_not_answered(project: Project, number: signal.Signals | None, code: int) -> None:
    """Ctrl-C, or the end of the input, in a question: nothing is written."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [EXECUTABLE, "init"],
        cwd=project.path, env=project.variables(), stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"\n\n")
    shown = b""
    while b"State record [state]: " not in shown:
        shown += os.read(ours, 4096)
    if number is None:
        os.write(ours, b"\x04")
    else:
        process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert (code, b"") == (process.returncode, out)
    assert set() == written(project)


def test_nothing_is_asked_where_nobody_would_see_it(project: Project) -> None:
    """At a terminal whose stderr goes elsewhere, a question would be waited at without a word."""
    done = at_terminal(project, "-c", f"{EXECUTABLE} init 2>errors", program="/bin/sh")
    assert (0, FILES | {"errors"}) == (done.code, written(project)), done
    assert "" == project.read("errors")


def test_an_option_is_an_answer(project: Project) -> None:
    """With any option but --age-key, nothing is asked, at a terminal too."""
    done = at_terminal(project, "init", "--region", "europe")
    assert (0, FILES) == (done.code, written(project)), done


def test_a_key_is_one_answer(project: Project) -> None:
    """With --age-key alone, only whether to make a key is not asked."""
    answers = {"Regions [europe usa]: ": "asia\n", "Environments [staging production]: ": "test\n", "[state]: ": "\n"}
    done = at_terminal(project, "init", "--age-key", answers=answers)
    assert (0, FILES) == (done.code, written(project)), done
    assert "Create an age key" not in done.out
    assert ["asia/test"] == list(yaml.safe_load(project.read("config/targets.yaml"))["targets"])
    assert "recipients:\n" in project.read("config/targets.yaml")


def test_nobody_is_asked_on_a_runner(project: Project) -> None:
    """Some give jobs a terminal, at which an answer would be waited for without end."""
    project.environment["CI"] = "true"
    done = at_terminal(project, "init", "--age-key")
    assert 0 == done.code
    assert "Regions" not in done.out


def test_what_no_key_means_is_said_before_it_is_asked(project: Project) -> None:
    """The answer decides where secrets are."""
    answers = {"Regions [europe usa]: ": "\n", "Environments [staging production]: ": "\n", "[state]: ": "\n"}
    answers |= {"Create an age key, to encrypt create responses? yes or no [no]: ": "\n"}
    done = at_terminal(project, "init", answers=answers)
    assert (0, FILES) == (done.code, written(project)), done
    assert 0 < done.out.index("private files on the machine that") < done.out.index("Create an age key")


@pytest.mark.parametrize("given", [["europe, america"], ["europe,america"], ["europe america,"], ["europe", "america"]])
def test_several_names(project: Project, given: list[str]) -> None:
    """With commas or spaces between them, or an option for each."""
    project.step("init", *(f"--region={text}" for text in given), "--environment", "test")
    targets = yaml.safe_load(project.read("config/targets.yaml"))["targets"]
    assert ["europe/test", "america/test"] == list(targets)


@pytest.mark.parametrize("kind", [*KINDS, "Git"])
def test_a_kind_of_store_is_no_place(project: Project, kind: str) -> None:
    """Its name alone is not taken for a directory; what is named instead is a store, and such a directory can be."""
    done = project.step("init", "--state", kind, code=1)
    text = " ".join(done.err.split())
    assert f"the state record: {kind} names only a kind of store; {KINDS[kind.lower()]}; " in text
    assert set() == written(project)
    project.step("init", "--state", f"./{kind}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--region", "Europe"], "--region Europe: not a valid name; use a-z, 0-9 and -"),
        (["--environment", ""], "--environment : not a valid name"),
        (
            ["--region", "a", "--region", "a-b", "--environment", "c", "--environment", "b-c"],
            "these names cannot be used together: targets a/b-c and a-b/c use the same environment variables",
        ),
        (["--state", "ftp:x"], "unknown store type ftp:"),
        (["--github", "--state", "state"], "a runner's disk is lost with the job"),
        (["--github", *(f"--environment={name}" for name in "abcde")], "the workflow has 4 stages at most"),
        (["--apply"], "--apply needs --github"),
    ],
)
def test_what_cannot_work(project: Project, arguments: list[str], words: str) -> None:
    """It is refused before anything is written."""
    done = project.step("init", *arguments, code=1)
    assert words in " ".join(done.err.split())
    assert set() == written(project)


def test_a_password_is_not_shown(project: Project) -> None:
    """The location of the record may hold one."""
    project.environment["RECONCILER_STATE"] = "git+https://user:passw0rd@host.example/repository#records"
    done = project.step("init")
    assert "passw0rd" not in done.out + done.err + "".join(map(project.read, written(project)))
    assert "RECONCILER_STATE=…" in done.out
    assert "passw0rd" not in repr(Choices(REGIONS, ENVIRONMENTS, project.environment["RECONCILER_STATE"]))


# The texts


def test_any_names_give_a_valid_configuration(tmp_path: Path) -> None:
    """Of one target, or of many."""
    for number, (regions, environments) in enumerate(((["asia"], ["test"]), (["a", "b-c"], ["production", "x"]))):
        desired = load_files(tmp_path / str(number), config_files(regions, environments))
        assert (len(regions) * len(environments), ()) == (len(desired.targets), desired.warnings)


def test_what_git_ignores(tmp_path: Path) -> None:
    """Credentials and what a rehearsal leaves; never the record, wherever it is among the files."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for record in (
        None,
        "state",
        "records/here",
        "sandbox-state",
        "sandbox-state/kept",
        "sandbox",
        "sandbox/kept",
        ".",
        ".env",
    ):
        (tmp_path / ".gitignore").write_text(gitignore(PurePosixPath(record) if record else None), encoding="utf-8")
        paths = [f"{record or 'state'}/europe/staging.jsonl", "config/targets.yaml", "sandbox.env"]
        done = subprocess.run(
            ["git", "check-ignore", *paths, *([] if record == ".env" else [".env"])],
            cwd=tmp_path, check=True, stdout=subprocess.PIPE,
        )  # fmt: skip
        expected = ["sandbox.env"] if record == ".env" else ["sandbox.env", ".env"]
        assert expected == done.stdout.decode().splitlines(), record


def test_git_sees_nothing_of_a_rehearsal(project: Project) -> None:
    """A sandbox that remembers, as its help starts it, and the demo: credentials are in what they write."""
    project.step("init", ".")
    serve = "reconciler sandbox serve --data sandbox --env-file .env"
    assert serve in project.step("sandbox", "serve", "--help").out
    process = project.start(*serve.split()[1:])
    try:
        wait_until(project.path.joinpath(".env").exists, lambda exists: exists or process.poll() is not None)
        project.step("demo")
        project.step("state", "init")
    finally:
        end(process, signal.SIGTERM)
    assert project.path.joinpath("sandbox", "sandbox.jsonl").exists()
    subprocess.run(["git", "init", "-q"], cwd=project.path, check=True)
    asked = ["git", "ls-files", "--others", "--exclude-standard"]
    seen = subprocess.run(asked, cwd=project.path, check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    records = {f"state/{region}/{environment}.jsonl" for region in REGIONS for environment in ENVIRONMENTS}
    assert FILES | records == set(seen)


def test_the_workflow_is_that_of_the_repository() -> None:
    """The package brings the example, which is the same for its stages and branch."""
    text = ROOT.joinpath(WORKFLOW).read_text(encoding="utf-8")
    assert text == workflow(ENVIRONMENTS, BRANCH)
    assert new_workflow._EXAMPLE.is_relative_to(Path(reconciler.__file__).parent)


def test_the_workflow_has_some_twenty_lines_and_no_region() -> None:
    """Whoever adds a region has nothing to edit in it."""
    text = ROOT.joinpath(WORKFLOW).read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if line and not line.startswith("#")]) <= 40
    assert not re.search(r"(?i)usa\b|EUROPE", text.replace("europe/staging/offers", ""))


def test_the_workflow_for_other_stages() -> None:
    """It has these stages in their order, and another branch."""
    text = workflow(["test", "staging", "live"], "git:records")
    for job in yaml.safe_load(text)["jobs"].values():
        assert {"stages": "test staging live", "state": "git:records"} == job["with"]


@pytest.mark.parametrize(
    ("origin", "published"),
    [
        (None, None),
        ('{"url": "file:///home/me/reconciler", "dir_info": {}}', None),
        ('{"url": "https://github.com/o/r.git", "vcs_info": {"vcs": "git"}}', None),
        ('{"url": "https://host.example/o/r.git", "vcs_info": {"commit_id": "abc"}}', None),
        ('{"url": "https://github.com/o/r.x.git", "vcs_info": {"commit_id": "abc"}}', ("o/r.x", "abc")),
        ('{"url": "ssh://git@github.com/o/r", "vcs_info": {"commit_id": "abc"}}', ("o/r", "abc")),
    ],
)
def test_the_workflow_is_that_of_the_commit_that_is_installed(
    origin: str | None, published: tuple[str, str] | None
) -> None:
    """If that is known; else that of its own repository."""
    assert published_at(origin) == published
    used = re.findall(r"\buses: (.*)", workflow(ENVIRONMENTS, BRANCH, published_at(origin)))
    before, after = (f"{published[0]}/", f"@{published[1]}") if published else ("$/", "")
    assert [f"{before}.github/workflows/{name}.yml{after}" for name in ("report", "reconcile")] == used


def test_the_workflow_can_be_made_that_of_a_commit(project: Project) -> None:
    """Where the commit is not known, the command that is shown names it, once it is filled in."""
    shown = project.step("init", "--github").out
    (command,) = re.findall(r"^  (sed .*)$", shown, re.MULTILINE)
    done = project.shell(command.replace("O/R", "o/r").replace("COMMIT", "abc"))
    assert 0 == done.code, done
    assert workflow(ENVIRONMENTS, BRANCH, ("o/r", "abc")) == project.read(str(WORKFLOW))


def test_an_enterprise_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation from the server that GH_HOST names knows its commit, too."""
    monkeypatch.setenv("GH_HOST", "host.example")
    origin = '{"url": "https://host.example/o/r.git", "vcs_info": {"commit_id": "abc"}}'
    assert ("o/r", "abc") == published_at(origin)


def test_the_workflow_refuses_other_stores() -> None:
    """It pushes to a branch of the repository."""
    with pytest.raises(SettingsError, match="on a branch"):
        workflow(ENVIRONMENTS, "git+https://host.example/x#y")
