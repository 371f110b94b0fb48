"""A mistake in `config/` does not keep anybody from mending the record: what a command does not need cannot stop it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support.lending_service import refusal

if TYPE_CHECKING:
    from support.partner import Partner

OFFERS = "europe/staging/offers"
BROKEN = "subscriptions:\n  europe/staging:\n    deals: {eventCodes: ONB10001\n"
"""YAML that cannot be read."""
WARNING = "mistake in the configuration: using "

SEEN = {"at": "2026-11-20T13:30:00Z", "path": "/offers", "headers": {}, "body": '{"EventCode": "ONB10011"}'}


def break_config(partner: Partner) -> None:
    """Add a file that makes config/ unreadable as a whole."""
    partner.write("config/broken.yaml", BROKEN)
    assert 1 == partner.step("validate", code=None).code


@pytest.fixture
def held(partner: Partner) -> Partner:
    """A partner with one live subscription, and then a mistake in config/."""
    partner.begin(offers=["ONB10011"])
    partner.step("state", "import", "--all")
    partner.write("seen.jsonl", json.dumps(SEEN) + "\n")
    break_config(partner)
    return partner


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        (["state", "retire", OFFERS], ["retired"]),
        (["state", "removed", OFFERS, "--force"], ["removed"]),
        (["state", "mv", OFFERS, "europe/staging/deals"], ["moved"]),
        (["state", "mv", "*/staging/off*", "*/staging/on*"], ["moved"]),
        (["state", "observe", "seen.jsonl"], ["observed"]),
        (["state", "show", OFFERS], []),
        (["state", "history"], []),
        (["state", "list"], []),
        (["state", "verify"], []),
    ],
)
def test_what_needs_no_desired_state(held: Partner, command: list[str], kinds: list[str]) -> None:
    """Goes on: the record has all that it needs."""
    with held.appending(*kinds):
        held.step(*command)


@pytest.mark.parametrize("outcome", ["--created", "--not-created"])
def test_resolve(partner: Partner, outcome: str) -> None:
    """An unknown outcome can be settled meanwhile."""
    partner.begin(offers=["ONB10011"])
    partner.service.answer_next(refusal(500))
    partner.step("apply", "--auto-approve", code=3)
    break_config(partner)
    with partner.appending("resolved"):
        partner.step("state", "resolve", OFFERS, outcome, "--force")


def test_recover(held: Partner) -> None:
    """Another copy of the journal is taken in."""
    shutil.copy(held.journal, held.path / "copy.jsonl")
    assert "0 entries recovered" in held.step("state", "recover", "copy.jsonl").out


def test_copy(held: Partner) -> None:
    """The record moves to another store."""
    held.step("state", "copy", "state", "elsewhere")
    assert (held.path / "elsewhere/europe/staging.jsonl").exists()


def test_accept_rollback(held: Partner) -> None:
    """Of a record that is shorter than it was, with a warning: only the record counts."""
    lines = held.journal.read_text(encoding="utf-8").splitlines(keepends=True)
    held.journal.write_text("".join(lines[:-1]), encoding="utf-8")
    done = held.step("state", "accept-rollback", "-t", "europe/staging", "--force")
    assert "  europe/staging: accepted\n" == done.out
    assert f"1 {WARNING}the targets without mistakes; to list the mistakes, run: reconciler validate" in " ".join(
        done.err.split()
    )


@pytest.mark.parametrize("is_declared", [True, False])
def test_accept_the_loss(held: Partner, is_declared: bool) -> None:
    """Of a record that is gone, too: the service is that of config/, or where that cannot be read, of the lost one."""
    if not is_declared:
        held.write("config/all.yaml", BROKEN)
    held.journal.unlink()
    held.step("state", "accept-rollback", "-t", "europe/staging", "--force")
    assert held.service.base_url == held.entries[0]["base_url"]


def test_rebind(held: Partner) -> None:
    """To the address that a sound target has."""
    held.write("config/all.yaml", held.read("config/all.yaml").replace("base_url: http:", "base_url: https:"))
    with held.appending("bound"):
        done = held.step("state", "rebind", "-t", "europe/staging", "--force")
    assert WARNING in " ".join(done.err.split())


def test_secret_set_needs_the_recipients(held: Partner) -> None:
    """Which nobody can read: a secret is never stored unencrypted, or for fewer people, because of a typo."""
    with held.appending():
        done = held.step("secret", "set", OFFERS, code=1, stdin="secret")
    assert "Error: config/broken.yaml:4:1: YAML syntax: " in done.err


@pytest.mark.parametrize("command", [["secret", "set", OFFERS], ["secret", "reseal"]])
def test_recipients_of_the_environment(held: Partner, command: list[str]) -> None:
    """Where the environment names them, config/ is not needed."""
    held.environment["RECONCILER_RECIPIENTS"] = str(x25519.Identity.generate().to_public())
    done = held.step(*command, stdin="secret")
    assert f"{WARNING}the recipients in RECONCILER_RECIPIENTS" in " ".join(done.err.split())
    if "set" in command:
        assert not held.entries[-1]["secret"].startswith("file")


@pytest.mark.parametrize("command", ["state import --all", "state init", "plan", "apply --auto-approve"])
def test_what_needs_the_desired_state(held: Partner, command: str) -> None:
    """Stops, as before."""
    with held.appending():
        assert "Error: config/broken.yaml:4:1: YAML syntax: " in held.step(*command.split(), code=1).err
