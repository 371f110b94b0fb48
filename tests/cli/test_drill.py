"""Drills: each is passed in the recommended way, with as many commands as it says, and by nothing less."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from support.project import EXECUTABLE, Finished

from reconciler.operations.drills.catalog import DRILLS

if TYPE_CHECKING:
    from pathlib import Path

P = "europe/production"
WAYS = {
    "lost-answer": f"operator | grep offers && reconciler state resolve {P}/offers --created",
    "killed-runner": f"""
        operator | grep offers && exit
        sleep 6
        reconciler state resolve {P}/offers --not-created --note 'the operator does not see it'
        reconciler apply --auto-approve""",
    "unrecorded-outcome": 'reconciler state recover "$XDG_DATA_HOME"/reconciler/unrecorded/*.jsonl',
    "full-disk": 'reconciler state recover "$XDG_DATA_HOME"/reconciler/unrecorded/*.jsonl',
    "restored-backup": f"reconciler state recover laptop/state/{P}.jsonl",
    "two-histories": f"""
        git pull --no-rebase
        git checkout --ours state
        git show MERGE_HEAD:state/{P}.jsonl >theirs.jsonl
        reconciler state recover theirs.jsonl
        rm theirs.jsonl
        git add state && git commit -q -m 'Merge the records' && git push""",
    "wrong-account": "cp vault.env .env; reconciler apply --auto-approve",
    "rotated-secret": "cp vault.env .env; reconciler apply --auto-approve",
    "lost-age-key": f"""
        reconciler init new-key --age-key --region europe
        grep -A 2 ^recipients new-key/config/targets.yaml >config/recipients.yaml
        for name in loans offers; do
          operator secret "$(operator | grep "$name" | cut -d ' ' -f 1)" | reconciler secret set {P}/"$name"
        done""",
    "swapped-url": """
        sed -i 's,/loans$,/new,; s,/offers$,/loans,; s,/new$,/offers,' config/config.yaml
        ids=$(operator | cut -d ' ' -f 1)
        reconciler apply --auto-approve
        for id in $ids; do operator delete "$id"; done
        reconciler removals | grep -o 'reconciler state removed .*' >asked.sh
        . ./asked.sh""",
    "wrong-one-deleted": f"""
        operator
        reconciler state removed {P}/loans --force
        operator delete "$(operator | grep offers | cut -d ' ' -f 1)"
        reconciler state removed {P}/offers --force
        reconciler apply --auto-approve""",
    "endpoint-down": """
        port=$(grep -o '127.0.0.1:[0-9]*/offers' config/config.yaml | grep -o ':[0-9]*' | tail -c +2)
        reconciler listen --port "$port" --record kept.jsonl &
        until [ -s kept.jsonl ]; do sleep 0.1; done
        kill %1; wait
        reconciler state observe kept.jsonl""",
}
"""What a person does who follows the pages and the messages, by drill."""


def drill(tmp_path: Path, *arguments: str, way: str = "", **variables: str) -> Finished:
    """Run a drill off a terminal, with the commands of the person on stdin."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path), **variables}
    command = [str(EXECUTABLE), "drill", *arguments]
    done = subprocess.run(
        command, input=way, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("name", DRILLS)
def test_each_drill_is_passed_in_the_recommended_way(tmp_path: Path, name: str) -> None:
    """With nothing twice, lost or left to be done, with as many commands as the drill says, and without a trace."""
    done = drill(tmp_path, name, "--retry-interval", "2", way=WAYS[name])
    assert 0 == done.code, done
    assert f"Drill {name}: passed." in done.out
    assert f"  commands: {DRILLS[name].commands}; the recommended way takes {DRILLS[name].commands}" in done.out
    assert not list(tmp_path.glob("reconciler-drill-*"))


SLOW = ("unrecorded-outcome", "full-disk")  # it takes the program seconds to give up its store


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak if name in SLOW else ()) for name in DRILLS]
)
def test_no_drill_is_passed_by_doing_nothing(tmp_path: Path, name: str) -> None:
    """Each begins with something that is wrong, and the score names it."""
    done = drill(tmp_path, name, "--retry-interval", "0")
    assert 1 == done.code, done
    assert f"Drill {name}: not passed." in done.out
    assert "  twice: nothing" in done.out
    assert "  to do: nothing" not in done.out or "  lost: nothing" not in done.out


def test_nothing_is_done_to_the_repository_of_the_user(tmp_path: Path) -> None:
    """Neither to one that a hook's variables name, nor by the hooks of the user's settings."""
    hooks, users = tmp_path / "hooks", tmp_path / "repository"
    hooks.mkdir()
    hooks.joinpath("pre-commit").write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n", encoding="utf-8")
    hooks.joinpath("pre-commit").chmod(0o755)
    tmp_path.joinpath(".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(users)], check=True)
    before = {path: path.read_bytes() for path in users.rglob("*") if path.is_file()}
    done = drill(tmp_path, "two-histories", way=WAYS["two-histories"], GIT_DIR=str(users / ".git"))
    assert "Drill two-histories: passed." in done.out
    assert before == {path: path.read_bytes() for path in users.rglob("*") if path.is_file()}
    assert not (tmp_path / "hook-ran").exists()


def test_what_exists_twice_is_found(tmp_path: Path) -> None:
    """Whoever takes a lost answer for a create that did not happen has two subscriptions, and the score says so."""
    way = f"reconciler state resolve {P}/offers --not-created --force; reconciler apply --auto-approve"
    done = drill(tmp_path, "lost-answer", way=way)
    assert 1 == done.code
    assert "  twice: 1\n    ONB10011 to https://hooks.partner.example/offers is delivered twice\n" in done.out


def test_the_wrong_account_is_found(tmp_path: Path) -> None:
    """Whoever binds the record to the other account has created, and not passed."""
    way = f"reconciler state rebind -t {P} --force; reconciler apply --auto-approve"
    done = drill(tmp_path, "wrong-account", way=way)
    assert 1 == done.code
    assert "the record was bound to the other account" in done.out


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
