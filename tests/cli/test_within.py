"""`--within`: whoever approved a change of one environment's records has approved no other's."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from click import Context

from reconciler.cli.secret import command as secret_group
from reconciler.cli.state import command as state_group

if TYPE_CHECKING:
    from support.partner import Partner

OFFERS = "europe/staging/offers"
OTHER = "usa/production/offers"

READING = {"state list", "state show", "state history", "state verify", "secret show"}

SEEN = {"at": "2026-11-20T13:30:00Z", "path": "/offers", "headers": {}, "body": '{"EventCode": "ONB10011"}'}

COMMANDS = {
    "state init": ["-t", "europe/*"],
    "state import": [OFFERS],
    "state observe": ["seen.jsonl"],
    "state recover": ["copy.jsonl"],
    "state resolve": [OFFERS, "--created"],
    "state retire": [OFFERS],
    "state removed": [OFFERS, "--force"],
    "state mv": [OFFERS, "europe/staging/deals"],
    "state copy": ["state", "elsewhere"],
    "state rebind": ["--force"],
    "state accept-rollback": ["-t", "europe/staging", "--force"],
    "secret set": [OFFERS],
    "secret reseal": [],
}
"""Every command that changes the record of europe/staging."""


@pytest.fixture
def held(partner: Partner) -> Partner:
    """A partner with one live subscription in europe/staging, and the files that commands take."""
    partner.begin(offers=["ONB10011"])
    partner.seal()
    partner.step("state", "import", "--all")
    partner.write("seen.jsonl", json.dumps(SEEN) + "\n")
    shutil.copy(partner.journal, partner.path / "copy.jsonl")
    return partner


def declare_another(partner: Partner) -> None:
    """Declare usa/production, import the same subscription there, and keep its journal from changing."""
    partner.write(
        "config/usa.yaml",
        f"targets:\n  usa/production:\n    auth_url: {partner.service.auth_url}\n"
        f"    base_url: {partner.service.base_url}/usa\nsubscriptions:\n  usa/production:\n    offers:\n"
        "      eventCodes: [ONB10011]\n      webhookUrl: https://hooks.partner.example/usa\n",
    )
    partner.step("state", "init", "-t", "usa/*")
    partner.step("state", "import", OTHER)
    partner.write("seen.jsonl", "".join(json.dumps({**SEEN, "path": path}) + "\n" for path in ("/offers", "/usa")))


def test_every_command_that_changes_the_record_takes_it() -> None:
    """No command that appends is forgotten, and one that only reads has no such option."""
    groups = {"state": state_group, "secret": secret_group}
    for prefix, group in groups.items():
        context = Context(group, info_name=prefix)
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            assert found is not None
            takes = any(param.name == "within" for param in found.params)
            assert takes == (f"{prefix} {name}" not in READING), name
            assert takes == (f"{prefix} {name}" in COMMANDS), name


@pytest.mark.parametrize("command", COMMANDS)
def test_another_environment(held: Partner, command: str) -> None:
    """Refused before anything, whatever else it would say: nothing is appended or asked."""
    with held.appending():
        done = held.step(*command.split(), *COMMANDS[command], "--within", "*/production", code=1, stdin="secret")
    assert (
        "Error: --within */production: this would change the record of europe/staging, outside of the pattern; nothing"
        " was changed; select less, or run this where changes of these targets are approved\n"
    ) in done.err
    assert "" == done.out
    assert not (held.path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        ("state observe", ["observed"]),
        ("state retire", ["retired"]),
        ("state mv", ["moved"]),
        ("secret set", ["secret"]),
        ("state removed", ["removed"]),
    ],
)
@pytest.mark.parametrize("pattern", ["*/staging", "europe/staging"])
def test_the_same_environment(held: Partner, command: str, kinds: list[str], pattern: str) -> None:
    """What is within goes on as without."""
    with held.appending(*kinds):
        held.step(*command.split(), *COMMANDS[command], "--within", pattern, stdin="secret")


@pytest.mark.parametrize(
    "arguments",
    [
        ["state", "retire", "*/*/offers"],
        ["state", "removed", "-t", "europe/*", "-t", "usa/*"],
        ["state", "mv", "*/*/offers", "*/*/deals"],
        ["state", "resolve", "*/*", "--created"],
        ["state", "import", "--all"],
        ["state", "observe", "seen.jsonl"],
    ],
)
def test_patterns_of_several_targets(held: Partner, arguments: list[str]) -> None:
    """A pattern that goes beyond is refused as a whole: nothing within is changed either."""
    declare_another(held)
    other = held.read("state/usa/production.jsonl")
    with held.appending():
        done = held.step(*arguments, "--within", "*/staging", code=1)
    assert "Error: --within */staging: this would change the record of usa/production" in done.err
    assert other == held.read("state/usa/production.jsonl")


@pytest.mark.parametrize("pattern", ["", "*", "europe/staging/offers", "/staging"])
def test_what_is_no_pattern(held: Partner, pattern: str) -> None:
    """An empty variable must not allow everything."""
    with held.appending():
        done = held.step("state", "retire", OFFERS, "--within", pattern, code=1)
    assert f"Error: --within {pattern!r}: expected a pattern region/environment; " in done.err
