"""What `git log` says of a record on a branch: which target, and what was done to it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.partner import Partner

OFFERS, DEALS = (f"europe/staging/{name}" for name in ("offers", "deals"))
HOOKS = "https://hooks.partner.example"
SIGHTING = {
    "at": "2026-01-01T00:00:00Z", "path": "/offers", "headers": {}, "body": json.dumps({"EventCode": "ONB10011"})
}  # fmt: skip


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., str]:
    """Runs git in the repository that holds the record; what it prints."""
    origin = tmp_path / "origin.git"
    origin.mkdir()

    def run(*arguments: str) -> str:
        command = ["git", "-C", str(origin), *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode()

    return run


@pytest.fixture
def title(partner: Partner, git: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """Has the partner's record on a branch of a new repository; what the last commit is called after a command."""
    git("init", "--quiet", "--bare")
    partner.environment["RECONCILER_STATE"] = f"git+file://{tmp_path}/origin.git#state"

    def title_after(*arguments: str, stdin: str = "") -> str:
        partner.step(*arguments, stdin=stdin)
        target, _, told = git("log", "-1", "--format=%s", "state").rstrip("\n").partition(": ")
        assert "europe/staging" == target
        return told

    return title_after


def test_of_every_edit(partner: Partner, title: Callable[..., str]) -> None:
    """Each edit of a record says in its title what it did, and to what."""
    partner.want(offers=["ONB10011"])
    assert "initialized" == title("state", "init")
    assert "imported" == title("state", "import", OFFERS)
    assert "observed" == title("state", "observe", str(partner.write("seen.jsonl", json.dumps(SIGHTING) + "\n")))
    assert "secret set for offers" == title("secret", "set", OFFERS, stdin="hunter2")
    assert f"retired {OFFERS}" == title("state", "retire", OFFERS)
    assert f"withdrawn {OFFERS}" == title("state", "retire", OFFERS, "--withdraw")
    assert "retired */staging" == title("state", "retire", "*/staging")
    assert "removed */staging" == title("state", "removed", "*/staging")
    partner.want(deals=["ONB10001"])
    partner.lose_answer("--unsealed")
    assert f"resolved {DEALS}" == title("state", "resolve", DEALS, "--created")
    assert "moved deals to offers" == title("state", "mv", DEALS, OFFERS)
    partner.declare({"offers": (["ONB10001"], f"{HOOKS}/deals")}, base_url="https://api.service.example")
    assert "rebound" == title("state", "rebind", "-t", "europe/staging", "--force")


def test_of_what_puts_a_record_right(partner: Partner, title: Callable[..., str], git: Callable[..., str]) -> None:
    """So does what accepts the loss of entries, and what gets them back."""
    partner.want(offers=["ONB10011"])
    title("state", "init")
    older = git("rev-parse", "state").strip()
    title("state", "import", OFFERS)
    copy = partner.write("copy.jsonl", git("show", "state:europe/staging.jsonl"))
    git("update-ref", "refs/heads/state", older)
    assert "rollback accepted" == title("state", "accept-rollback", "-t", "europe/staging", "--force")
    assert "joined" == title("state", "recover", str(copy))
