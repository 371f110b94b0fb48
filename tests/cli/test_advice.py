"""What a plan advises, followed to the letter with a truthful operator: nothing exists twice, nothing is missing."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
from support.lending_service import refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.partner import Partner

THERE = "europe/staging"
HOOKS = "https://hooks.partner.example"
USA = """\
targets:
  usa/staging:
    auth_url: {service.auth_url}
    base_url: {service.base_url}/
subscriptions:
  usa/staging:
    a:
      eventCodes: [ONB10001]
      webhookUrl: {url}
"""
COMMANDS = re.compile(r"reconciler (state .+)$", re.MULTILINE)


def want(partner: Partner, **subscriptions: tuple[list[str], str]) -> None:
    """Declare subscriptions, name -> codes and path, where what is replaced is waited for."""
    partner.declare({name: (codes, f"{HOOKS}/{path}") for name, (codes, path) in subscriptions.items()})
    text = partner.read("config/all.yaml").replace("    base_url:", "    replace: wait\n    base_url:")
    partner.write("config/all.yaml", text)


def hold(partner: Partner, **subscriptions: tuple[list[str], str]) -> None:
    """Subscriptions that are in force."""
    want(partner, **subscriptions)
    partner.step("state", "init")
    partner.step("apply", "--auto-approve")


def lost(partner: Partner) -> None:
    """The answer to a create was lost."""
    want(partner, a=(["ONB10001"], "a"))
    partner.step("state", "init")
    partner.service.answer_next(refusal(500))
    partner.step("apply", "--auto-approve", code=3)


def in_flight(partner: Partner) -> None:
    """A run died once its intent was durable."""
    want(partner, a=(["ONB10001"], "a"))
    partner.step("state", "init")
    partner.environment["RECONCILER_TEST_FAILPOINT"] = "after-append:1:kill"
    partner.step("apply", "--auto-approve", code=-9)
    del partner.environment["RECONCILER_TEST_FAILPOINT"]


def renamed(partner: Partner) -> None:
    """It has another name by now, and a code more."""
    hold(partner, a=(["ONB10001"], "a"))
    want(partner, b=(["ONB10001", "ONB10002"], "a"))


def swapped(partner: Partner) -> None:
    """Two have changed names."""
    hold(partner, a=(["ONB10001"], "a"), b=(["ONB10002"], "b"))
    want(partner, a=(["ONB10002"], "b"), b=(["ONB10001"], "a"))


def in_part_elsewhere(partner: Partner) -> None:
    """Another one wants a code of it at the same URL."""
    hold(partner, a=(["ONB10001", "ONB10002"], "a"))
    want(partner, a=(["ONB10001"], "a"), b=(["ONB10002"], "a"))


def moved_code(partner: Partner) -> None:
    """A code moves to another one, and nothing is retired by a plan."""
    hold(partner, a=(["ONB10001", "ONB10002"], "a"), b=(["ONB10003"], "b"))
    want(partner, a=(["ONB10001"], "a"), b=(["ONB10002", "ONB10003"], "b"))


def surplus(partner: Partner) -> None:
    """A code less is wanted."""
    hold(partner, a=(["ONB10001", "ONB10002"], "a"))
    want(partner, a=(["ONB10001"], "a"))


def new_url(partner: Partner) -> None:
    """Its URL has changed."""
    hold(partner, a=(["ONB10001"], "a"))
    want(partner, a=(["ONB10001"], "b"))


def asked_away(partner: Partner) -> None:
    """A person has asked for its removal, and it is wanted still."""
    hold(partner, a=(["ONB10001"], "a"))
    partner.step("state", "retire", f"{THERE}/a")


def asked_away_and_renamed(partner: Partner) -> None:
    """A person has asked for its removal, and it is wanted under another name."""
    asked_away(partner)
    want(partner, b=(["ONB10001"], "a"))


def changed_back(partner: Partner) -> None:
    """Its URL was changed and is changed back, with a code less."""
    hold(partner, a=(["ONB10001", "ONB10002"], "a"))
    want(partner, a=(["ONB10001", "ONB10002"], "b"))
    partner.step("apply", "--auto-approve")
    want(partner, a=(["ONB10001"], "a"))


def moved_to_another_target(partner: Partner) -> None:
    """Another target of the same service wants it."""
    hold(partner, a=(["ONB10001"], "a"), c=(["ONB10003"], "c"))
    want(partner, c=(["ONB10003"], "c"))
    partner.write("config/usa.yaml", USA.format(service=partner.service, url=f"{HOOKS}/a"))
    partner.environment |= {
        f"RECONCILER_USA_STAGING_{field}": partner.environment[f"RECONCILER_EUROPE_STAGING_{field}"]
        for field in ("CLIENT_ID", "CLIENT_SECRET")
    }
    partner.step("state", "init", "-t", "usa/*")


class World:
    """The service and its operator, who deletes what is asked for and then says so."""

    def __init__(self, partner: Partner) -> None:
        self._partner = partner
        self.removed: list[tuple[str, str]] = []

    def exist(self) -> list[tuple[str, str]]:
        """The routes that deliver."""
        made = [(code, body["webhookUrl"]) for body in self._partner.service.bodies for code in body["eventCodes"]]
        for route in self.removed:
            made.remove(route)
        return made

    def follow(self, command: str) -> None:
        """Do what a plan says, as somebody who has asked the operator does."""
        for single in command.removeprefix("state ").split(" && reconciler state "):
            words = shlex.split(single)
            if words[0] == "resolve":
                words = [*words[:2], "--created" if self._partner.service.bodies else "--not-created", "--force"]
            if words[0] == "removed":
                self._delete(words[words.index("--attempt") + 1])
            self._partner.step("state", *words)

    def _delete(self, attempt: str) -> None:
        (intent,) = [one for one in self._partner.entries if one["kind"] == "intent" and one["attempt"] == attempt]
        self.removed += [(code, intent["webhookUrl"]) for code in intent["eventCodes"]]


SCENES = [
    lost, in_flight, renamed, swapped, in_part_elsewhere, moved_code, surplus, new_url, asked_away,
    asked_away_and_renamed, changed_back, moved_to_another_target,
]  # fmt: skip


@pytest.mark.parametrize("begin", SCENES, ids=[begin.__name__ for begin in SCENES])
def test_followed_to_the_letter(partner: Partner, begin: Callable[[Partner], None]) -> None:
    """In the end the plan is empty and advises nothing; on the way no route existed twice."""
    begin(partner)
    world = World(partner)
    for _ in range(12):
        shown = partner.step("plan").out
        advice = COMMANDS.findall(shown)
        if advice:
            world.follow(advice[0])
        elif "\nNo changes. " in shown:
            break
        partner.step("apply", "--auto-approve", code=None)
        assert len(set(world.exist())) == len(world.exist())
    assert (True, []) == ("\nNo changes. " in shown, advice)
    wanted = {
        (code, found["webhookUrl"])
        for found in partner.step("state", "list", "--format", "json").document
        for code in found["eventCodes"]
    }
    assert wanted == {*world.exist()}
