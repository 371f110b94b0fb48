"""Drills: each is passed in the recommended way, with as many commands as it says, and by nothing less."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from support import warm
from support.project import EXECUTABLE, Finished, finish
from support.terminal import at_terminal

from reconciler.cli.main import cli
from reconciler.operations.drills.catalog import DRILLS
from reconciler.operations.drills.commands import CHANGING, LOOKING
from reconciler.operations.drills.drill import nothing_more
from reconciler.operations.drills.finding import PAGE, Section

if TYPE_CHECKING:
    from support.project import Project

ROOT = Path(__file__).parents[2]
P = "europe/production"
OFFERS = "$(operator | grep ONB10011 | cut -d ' ' -f 1)"
LOANS = "$(operator | grep LOA10013 | cut -d ' ' -f 1)"
FILLED = {
    "lost-answer": {"secret ID": f'secret "{OFFERS}"'},
    "killed-runner": {"operator": "operator | grep ONB10011 && exit", "# wait": "sleep 6 #"},
    "unrecorded-outcome": {"FILE": '"$XDG_DATA_HOME"/reconciler/unrecorded/*.jsonl'},
    "full-disk": {"FILE": '"$XDG_DATA_HOME"/reconciler/unrecorded/*.jsonl'},
    "lost-age-key": {
        "# delete": "sed -i '$d' config/targets.yaml #",
        f"ID | reconciler secret set {P}/loans": f'"{LOANS}" | reconciler secret set {P}/loans',
        f"ID | reconciler secret set {P}/offers": f'"{OFFERS}" | reconciler secret set {P}/offers',
    },
    "swapped-url": {
        "# exchange": "sed -i 's,/loans$,/new,; s,/offers$,/loans,; s,/new$,/offers,' config/subscriptions.yaml #",
        "operator delete ID ID": "operator delete $(operator | head -n 2 | cut -d ' ' -f 1)",
        f"reconciler state removed -t {P} --attempt ID --attempt ID":
            "reconciler removals | grep -o 'reconciler state removed .*' >asked; . ./asked",
    },
    "wrong-one-deleted": {"delete ID": f'delete "{OFFERS}"'},
    "endpoint-down": {
        "--port 8080": "--port $(grep -o '127.0.0.1:[0-9]*' config/subscriptions.yaml | tail -n 1 | cut -d : -f 2)",
        "--record notifications.jsonl":
            "--record notifications.jsonl & until [ -s notifications.jsonl ]; do sleep 0.1; done; kill %1; wait",
    },
}  # fmt: skip
"""What stands in the recommended way for what differs each time, and what it is in a script, by drill."""

FOR_REAL = ("lost-answer", "endpoint-down")
"""Drills whose recommended way is played without any stand-in: one of results, one of signals."""


def way_of(name: str) -> str:
    """The recommended way that the drill shows, as a script."""
    script = "".join(f"{line}\n" for line in DRILLS[name].way).replace("apply\n", "apply --auto-approve\n")
    for shown, run in FILLED.get(name, {}).items():
        assert shown in script, shown
        script = script.replace(shown, run)
    return script


WITH_STAND_IN = """
import sys
from reconciler.operations.drills.scene import Scene

started, python = Scene._start, sys.executable
sys.executable = {!r}

def start(scene, arguments, failpoint):
    scene._program = (python if "stop" in failpoint else sys.executable, "-m", "reconciler")
    try:
        return started(scene, arguments, failpoint)
    finally:
        del scene._program

Scene._program, Scene._start = (sys.executable, "-m", "reconciler"), start
"""
"""Has the commands of a drill run as forks (see `warm`), but for those that it stops in the middle, as their parent."""


def environment(tmp_path: Path, **variables: str) -> dict[str, str]:
    """The variables of a shell in which nothing of this program is set."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path), **variables}


def drill(tmp_path: Path, *arguments: str, way: str = "", **variables: str) -> Finished:
    """Run a drill off a terminal, with the commands of the person on stdin."""
    before = WITH_STAND_IN.format(str(warm.python()))
    started = warm.Started(["drill", *arguments], tmp_path, environment(tmp_path, **variables), way, before)
    return finish(started, timeout=120)


def drill_for_real(tmp_path: Path, *arguments: str, way: str = "") -> Finished:
    """As `drill`, with the executable, as are all commands in it."""
    done = subprocess.run(
        [EXECUTABLE, "drill", *arguments], input=way, cwd=tmp_path, env=environment(tmp_path), capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("name", DRILLS)
def test_each_drill_is_passed_in_the_recommended_way(tmp_path: Path, name: str) -> None:
    """With nothing twice, lost or left to be done, with as many commands as it says, and without a trace."""
    run = drill_for_real if name in FOR_REAL else drill
    done = run(tmp_path, name, "--retry-interval", "2", way=way_of(name))
    assert 0 == done.code, done
    assert f"Drill {name}: passed." in done.out
    enough = DRILLS[name].enough
    assert f"; {enough} {'is' if enough == 1 else 'are'} enough\n" in done.out
    assert (
        f" {enough} of them changed something" in done.out
        or "  1 reconciler command, which changed something; 1 is" in done.out
    )
    assert not list(tmp_path.glob("reconciler-drill-*"))


SLOW = ("unrecorded-outcome", "full-disk")  # it takes the program seconds to give up its store


def in_soak(*names: str) -> list[object]:
    """All drills, of which these are left to the long runs."""
    return [pytest.param(name, marks=pytest.mark.soak if name in names else ()) for name in DRILLS]


@pytest.mark.parametrize("name", in_soak(*DRILLS.keys() - {"lost-age-key"}))
def test_each_drill_begins_at_a_terminal(project: Project, name: str) -> None:
    """It says at once that it begins, comes to its prompt without a question, and ends with `exit`."""
    project.environment["TMPDIR"] = str(project.path)
    prompt = {f"drill:{name}$ ": "exit\n"}
    done = at_terminal(project, "drill", name, "--retry-interval", "0", answers=prompt)
    assert 1 == done.code, done
    assert done.out.startswith("Setting the scene…\n")
    assert f"Drill {name}: not passed." in done.out


def test_a_killed_command_leaves_a_terminal_to_type_at(project: Project) -> None:
    """Its progress may have hidden the cursor, and have stood on a line that had not ended."""
    project.environment["TMPDIR"] = str(project.path)
    done = at_terminal(project, "drill", "killed-runner", answers={"drill:killed-runner$ ": "exit\n"})
    assert "\x1b[?25h\n\nYou added `offers`." in done.out


@pytest.mark.parametrize("name", in_soak(*SLOW))
def test_no_drill_is_passed_by_doing_nothing(tmp_path: Path, name: str) -> None:
    """Each begins with something that is wrong, and the score names it; what is wanted is said before, the way after.

    The way is shown line by line, with the section of the page that explains it.
    """
    done = drill(tmp_path, name, "--retry-interval", "0")
    assert 1 == done.code, done
    assert done.out.startswith("Setting the scene…\n")
    besides = f", and {DRILLS[name].besides}" if DRILLS[name].besides else ""
    assert (
        f"the plan is empty, {'' if besides else 'and '}nothing awaits removal or is left over{besides}. Then"
        in done.out
    )
    assert f'The recommended way, as {PAGE} explains it in "{DRILLS[name].section}":\n' in done.out
    assert "".join(f"    {line}\n" for line in DRILLS[name].way) in done.out
    assert f"Drill {name}: not passed." in done.out
    assert "  twice: nothing" in done.out
    assert "  to do: nothing" not in done.out or "  lost: nothing" not in done.out
    assert f'      see .github/BAD_DAY.md, "{DRILLS[name].section}"\n' in done.out
    assert "  no reconciler command; " in done.out


def test_nothing_is_done_to_the_repository_of_the_user(tmp_path: Path) -> None:
    """Neither to one that a hook's variables name, nor by the hooks of the user's settings."""
    hooks, users = tmp_path / "hooks", tmp_path / "repository"
    hooks.mkdir()
    hooks.joinpath("pre-commit").write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n", encoding="utf-8")
    hooks.joinpath("pre-commit").chmod(0o755)
    tmp_path.joinpath(".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(users)], check=True)
    before = {path: path.read_bytes() for path in users.rglob("*") if path.is_file()}
    done = drill(tmp_path, "two-histories", way=way_of("two-histories"), GIT_DIR=str(users / ".git"))
    assert "Drill two-histories: passed." in done.out
    assert before == {path: path.read_bytes() for path in users.rglob("*") if path.is_file()}
    assert not (tmp_path / "hook-ran").exists()


def test_what_exists_twice_is_found(tmp_path: Path) -> None:
    """Whoever takes a lost answer for a create that did not happen has two subscriptions, and the score says so."""
    way = f"reconciler state resolve {P}/offers --not-created --force; reconciler apply --auto-approve"
    done = drill(tmp_path, "lost-answer", way=way)
    assert 1 == done.code
    assert (
        "  twice: 1\n    ONB10011 to https://hooks.partner.example/offers is delivered twice; the operator" in done.out
    )
    where = 'see .github/BAD_DAY.md, "A subscription that exists twice"'
    assert f" must delete one of the two: operator delete ID\n      {where}\n  lost: nothing\n" in done.out
    assert "To repeat the drill, run:\n    reconciler drill lost-answer\n" in done.out


def test_what_exists_twice_is_corrected(tmp_path: Path) -> None:
    """As the section of the page says: the one that is not recorded is deleted, by its id."""
    way = f"""
        reconciler state resolve {P}/offers --not-created --force
        reconciler apply --auto-approve
        kept=$(reconciler state show {P}/offers | grep subscriptionId: | cut -d : -f 2)
        operator delete "$(operator | grep ONB10011 | grep -v $kept | cut -d ' ' -f 1)\""""
    done = drill(tmp_path, "lost-answer", way=way)
    assert 0 == done.code, done


def test_a_block_that_is_no_unknown_outcome_is_left_to_the_plan(tmp_path: Path) -> None:
    """Whoever renames what is swapped has a plan that is blocked, and nothing that could be resolved."""
    way = f"""
        reconciler state mv {P}/loans {P}/third
        reconciler state mv {P}/offers {P}/loans
        reconciler state mv {P}/third {P}/offers"""
    done = drill(tmp_path, "swapped-url", way=way)
    assert 1 == done.code
    assert f"    the plan has a change: blocked {P}/loans\n      see `reconciler plan`\n" in done.out
    assert "An unknown outcome" not in done.out


def test_a_secret_that_was_not_imported_is_found(tmp_path: Path) -> None:
    """It is said where the page has secrets."""
    way = f"""
        reconciler state accept-rollback -t {P} --force
        reconciler state import --all --force"""
    done = drill(tmp_path, "restored-backup", way=way)
    assert 1 == done.code
    assert f"the copy of its record is `laptop/state/{P}.jsonl`" in done.out
    where = 'see .github/BAD_DAY.md, "A rotated secret"'
    assert f"  to do: 1\n    a secret of {P}/offers cannot be read here\n      {where}\n" in done.out


def test_the_wrong_account_is_found(tmp_path: Path) -> None:
    """Whoever binds the record to the other account has created, and not passed."""
    way = f"reconciler state rebind -t {P} --force; reconciler apply --auto-approve"
    done = drill(tmp_path, "wrong-account", way=way)
    assert 1 == done.code
    assert "the record was bound to the other account" in done.out


def test_what_is_created_at_the_wrong_account_is_found(tmp_path: Path) -> None:
    """Even if a record of its own is thrown away afterwards, and the right account has the same."""
    way = f"""
        reconciler --state other state init -t {P}
        sed -i 's/      webhookUrl.*loans/&-2/' config/subscriptions.yaml
        reconciler --state other apply --auto-approve
        sed -i 's/loans-2/loans/' config/subscriptions.yaml
        rm -r other
        {way_of("wrong-account")}"""
    done = drill(tmp_path, "wrong-account", way=way)
    assert 1 == done.code
    assert "ONB10011 to https://hooks.partner.example/offers was created at another account" in done.out
    assert "the record was bound to the other account" not in done.out


def test_only_what_changed_something_counts(tmp_path: Path) -> None:
    """Neither what only looks, nor what was refused."""
    way = f"""
        reconciler status
        reconciler --config config plan
        reconciler state removed {P}/loans
        reconciler state history {P} >seen.txt
        reconciler apply --help
        {way_of("wrong-one-deleted")}"""
    done = drill(tmp_path, "wrong-one-deleted", way=way)
    assert 0 == done.code, done
    assert '`reconciler state removed ADDRESS`; see .github/BAD_DAY.md, "The wrong one was deleted".' in done.out
    assert "  8 reconciler commands, 3 of them changed something; 3 are enough\n" in done.out


def test_each_that_is_checked_for_more_says_for_what() -> None:
    """Before the shell, beside what is wanted of all."""
    assert [] == [name for name, one in DRILLS.items() if (one.check is nothing_more) != (one.besides == "")]


def test_a_new_key_is_taken_as_on_the_page() -> None:
    """The files of the drill are those of a new project, so that what the page has can be pasted."""
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    commands = [line for line in DRILLS["lost-age-key"].way if "new-key/" in line or "init" in line]
    assert len(commands) == 2
    assert [] == [line for line in commands if f"\n$ {line}\n" not in page]


def test_who_sends_requests_finds_what_a_wrong_deletion_takes(project: Project) -> None:
    """Neither plan nor status can know of one, so that the help of what the operator was sent names the command."""
    (first, *_) = DRILLS["wrong-one-deleted"].way
    assert first == f"reconciler state removed {P}/loans --force"
    assert "`state removed --force`" in " ".join(project.step("removals", "--help").out.split())


def test_two_copies_are_merged_as_the_plan_says(tmp_path: Path) -> None:
    """The page and the recommended way have the commands that the plan prints."""
    done = drill(tmp_path, "two-histories", way="git pull --no-rebase; reconciler plan")
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    _, *commands = DRILLS["two-histories"].way[:4]
    assert f"\n    {' && '.join(commands)}\n".replace(">", "> ") in done.err
    assert [] == [line for line in commands if f"\n$ {line}\n" not in page]


def test_every_section_is_on_the_page() -> None:
    """A finding sends nobody to a section that does not exist."""
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert [] == [section for section in Section if f"\n## {section}\n" not in page]


def test_every_command_looks_or_changes() -> None:
    """A command that is in no table would not be counted."""
    paths = set(cli.paths(click.Context(cli)))
    groups = {path.rpartition(" ")[0] for path in paths}
    assert paths - groups == LOOKING | CHANGING
    assert not LOOKING & CHANGING


def test_a_secret_that_is_missing_is_found(tmp_path: Path) -> None:
    """The create is resolved, and nobody has asked for the secret that was in the lost answer."""
    done = drill(tmp_path, "lost-answer", way=f"reconciler state resolve {P}/offers --created")
    assert 1 == done.code
    assert f"  to do: 1\n    a secret of {P}/offers cannot be read here\n" in done.out


def test_a_secret_that_is_wrong_is_found(tmp_path: Path) -> None:
    """That of the other subscription, in the record of both."""
    way = way_of("lost-age-key").replace("LOA10013", "ONB10011")
    done = drill(tmp_path, "lost-age-key", way=way)
    assert 1 == done.code
    assert f"  to do: 1\n    a secret of {P}/loans is recorded, and is not the one that the operator has\n" in done.out


def test_a_recovery_file_that_was_not_recovered_is_found(tmp_path: Path) -> None:
    """Whoever deletes it and resolves by hand has a record that looks complete."""
    way = f"""
        rm "$XDG_DATA_HOME"/reconciler/unrecorded/*
        reconciler state resolve {P}/offers --created
        operator secret "{OFFERS}" | reconciler secret set {P}/offers"""
    done = drill(tmp_path, "full-disk", way=way)
    assert 1 == done.code
    assert "  lost: 1\n    the recovery file europe-production-" in done.out
    assert ".jsonl was deleted, and was not recovered\n" in done.out


def test_a_recovery_file_that_is_still_there_is_not_lost(tmp_path: Path) -> None:
    """Whoever resolves by hand can still recover it."""
    way = f"""
        reconciler state resolve {P}/offers --created
        operator secret "{OFFERS}" | reconciler secret set {P}/offers"""
    done = drill(tmp_path, "full-disk", way=way)
    assert 1 == done.code
    assert "  lost: nothing\n  to do: 1\n    the recovery file europe-production-" in done.out
    assert "it limits the size of files, as `ulimit -f` does" in done.out
    assert ".jsonl is not recovered\n" in done.out


@pytest.mark.parametrize(
    ("name", "line", "found"),
    [
        ("two-histories", "rm theirs.jsonl\n", "not committed, or left over: theirs.jsonl"),
        ("lost-age-key", "rm -r new-key\n", "new-key/ is left over; delete it"),
    ],
)
def test_what_is_left_over_is_found(tmp_path: Path, name: str, line: str, found: str) -> None:
    """What was needed on the way, and would be committed with the rest."""
    done = drill(tmp_path, name, way=way_of(name).replace(line, ""))
    assert 1 == done.code
    assert found in done.out


def test_a_copy_of_the_record_that_is_committed_is_found(tmp_path: Path) -> None:
    """`git add -A` takes it along, and nothing is left to commit."""
    way = way_of("two-histories").replace("rm theirs.jsonl\n", "").replace("add state", "add -A")
    done = drill(tmp_path, "two-histories", way=way)
    assert 1 == done.code
    assert "  to do: 1\n    theirs.jsonl, a copy of the record, is left over; delete it\n" in done.out


def test_a_lost_notification_is_found(tmp_path: Path) -> None:
    """After its last retry, even if a later one of the same subscription arrives and is recorded."""
    way = """
        attempts() {
            python3 -c '
        import json, os, urllib.request
        url = os.environ["RECONCILER_SANDBOX_URL"] + "/_sandbox/state"
        print(len(json.load(urllib.request.urlopen(url))["deliveries"]))'
        }
        until [ "$(attempts)" = 4 ]; do sleep 0.1; done
        port=$(grep -o '127.0.0.1:[0-9]*' config/subscriptions.yaml | tail -n 1 | cut -d : -f 2)
        reconciler listen --port "$port" --record kept.jsonl >said 2>&1 &
        until [ -s said ]; do sleep 0.1; done
        reconciler sandbox trigger ONB10011
        until [ -s kept.jsonl ]; do sleep 0.1; done
        kill %1; wait
        reconciler state observe kept.jsonl""".replace("\n        ", "\n")
    done = drill(tmp_path, "endpoint-down", "--retry-interval", "0", way=way)
    assert 1 == done.code
    assert "  lost: 1\n    the notification of ONB10011 for http://127.0.0.1:" in done.out
    assert ": it was lost after 3 retries; --retry-interval 60 leaves more time\n" in done.out
    assert "  to do: nothing\n" in done.out


@pytest.mark.parametrize("question", ["secret --help", "-h", "delete", "delete -x", "secret"])
def test_what_the_operator_does_not_understand(question: str) -> None:
    """The answer is what it can be asked."""
    command = [sys.executable, "-m", "reconciler.operations.drills.operator", "secrets.json", *question.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (1, "", True) == (done.returncode, done.stdout, done.stderr.startswith("usage: operator  "))


def test_what_still_runs_is_ended(tmp_path: Path) -> None:
    """A `listen` in the background would outlive the directory that it writes to."""
    way = """
        reconciler listen --record kept.jsonl >"$HOME"/said 2>&1 &
        echo $! >"$HOME"/process
        until [ -s "$HOME"/said ]; do sleep 0.1; done"""
    drill_for_real(tmp_path, "rotated-secret", way=way)
    with pytest.raises(ProcessLookupError):
        os.kill(int(tmp_path.joinpath("process").read_text(encoding="utf-8")), 0)


def test_the_drills_are_listed(tmp_path: Path) -> None:
    """With `--list`, and where none is named."""
    listed = drill(tmp_path, "--list")
    assert 0 == listed.code
    assert list(DRILLS) == [line.split()[0] for line in listed.out.splitlines()]
    assert listed.out == drill(tmp_path).out


def test_a_misspelt_drill_is_refused(tmp_path: Path) -> None:
    """The error says which may be meant."""
    refused = drill(tmp_path, "lost-anwser")
    assert 1 == refused.code
    assert "did you mean lost-answer" in refused.err
