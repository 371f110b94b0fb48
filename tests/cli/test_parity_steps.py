"""What `parity` says to do next: each difference has the command that ends it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.project import Project

CONFIG = """\
targets:
  europe/staging: {auth_url: https://login.example, base_url: https://eu.example}
  usa/staging: {auth_url: https://login.example, base_url: https://us.example}
subscriptions:
  "*/*":
    offers: {eventCodes: [ONB10011], webhookUrl: "https://hooks.partner.example/{region}/offers"}
"""
PAIR = ("parity", "europe/staging", "usa/staging")
IGNORE = "If they are meant to differ"


@pytest.fixture
def pair(project: Project) -> Iterator[Project]:
    """Two targets that desire the same; neither has a record."""
    with Sandbox(targets=["europe/staging", "usa/staging"]) as sandbox:
        project.environment |= dict(sandbox.variables())
        project.write("config/all.yaml", CONFIG)
        yield project


def step(project: Project, words: str, *options: str, code: int = 2) -> list[str]:
    """The command that follows `words`, in text as in Markdown; its arguments."""
    shown = project.step(*PAIR, *options, code=code).out
    assert 1 == shown.count(words)
    _, _, rest = shown.partition(words)
    command = rest.partition("reconciler ")[2].splitlines()[0]
    markdown = project.step(*PAIR, *options, "--format", "markdown", code=code).out
    assert "**What to do**" in markdown
    return shlex.split(command)


def test_without_a_record(pair: Project) -> None:
    """What is not compared is named; with a record on both sides nothing is."""
    words = "compared: europe/staging, usa/staging have no state record; if they never had one, run:"
    assert ["state", "init", "-t", "europe/staging", "-t", "usa/staging"] == step(pair, words, code=0)
    pair.step("state", "init", "-t", "europe/staging")
    pair.step(*step(pair, "compared: usa/staging has no state record; if it never had one, run:", code=0))
    assert "europe/staging and usa/staging match.\n" == pair.step(*PAIR).out


def test_not_applied(pair: Project) -> None:
    """What one side has and the other only desires is to be applied, and not to be declared as meant."""
    pair.step("state", "init")
    pair.step("apply", "--auto-approve", "-t", "europe/*")
    assert IGNORE not in pair.step(*PAIR, code=2).out
    command = step(pair, "not applied on usa/staging: offers; run:")
    pair.step(*command, "--auto-approve")
    pair.step(*PAIR)


def test_awaiting_removal(pair: Project) -> None:
    """What only the operator can end is to be sent to the operator."""
    pair.step("state", "init")
    pair.step("apply", "--auto-approve")
    pair.write("config/all.yaml", CONFIG.replace("offers", "loans"))
    pair.step("apply", "--auto-approve")
    pair.step("state", "removed", "usa/staging/offers")
    assert IGNORE not in pair.step(*PAIR, code=2).out
    command = step(pair, "awaiting removal on europe/staging: offers; run:")
    assert "Please delete this webhook subscription of europe/staging" in pair.step(*command).out


def test_a_gate_before_the_apply(pair: Project) -> None:
    """What the first desires as well is to be applied there."""
    pair.step("state", "init")
    command = step(pair, "not applied on europe/staging: offers; run:", "--gate")
    assert IGNORE not in pair.step(*PAIR, "--gate", code=2).out
    pair.step(*command, "--auto-approve")
    pair.step(*PAIR, "--gate")


def test_a_gate_before_it_is_desired(pair: Project) -> None:
    """What the first does not desire so is to be defined there first, or declared as meant."""
    pair.write("config/more.yaml", "subscriptions: {usa/staging: {offers: {eventCodes: [ONB10011, ONB10001]}}}\n")
    pair.step("state", "init")
    words = "not desired on europe/staging as on usa/staging: offers; define it in config/, then run:"
    assert ["apply", "-t", "europe/staging"] == step(pair, words, "--gate")
    assert IGNORE in pair.step(*PAIR, "--gate", code=2).out


def test_not_proven(pair: Project) -> None:
    """Until notifications are recorded, or for as long as they are too recent."""
    pair.step("state", "init")
    pair.step("apply", "--auto-approve")
    words = "no notification recorded on europe/staging: offers; when they have been received, run:"
    assert ["state", "observe", "FILE"] == step(pair, words, "--proven")
