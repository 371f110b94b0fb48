"""`plan --skip-uninitialized`: targets that never had a record do not keep the others from being planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.project import Project

CONFIG = """\
targets:
  europe/staging:
    auth_url: https://login.service.test
    base_url: https://api.service.test
    audience_base: https://api.service.test
  latam/staging:
    auth_url: https://login.latam.test
    base_url: https://api.latam.test
    audience_base: https://api.latam.test
subscriptions:
  "*/*":
    offers:
      eventCodes: [ONB10011]
      webhookUrl: https://hooks.test/{region}/offers
"""


@pytest.fixture
def grown(project: Project) -> Project:
    """A project with a record of one of its two targets."""
    project.write("config/all.yaml", CONFIG)
    project.step("state", "init", "-t", "europe/staging")
    return project


@pytest.mark.parametrize(
    ("patterns", "planned"),
    [((), ["europe/staging"]), (("-t", "*/staging"), ["europe/staging"]), (("-t", "latam/staging/offers"), [])],
)
def test_the_others_are_planned(grown: Project, patterns: tuple[str, ...], planned: list[str]) -> None:
    """With a warning that names the target and what to do; where no other is selected, there are no changes."""
    done = grown.step("plan", *patterns, "--skip-uninitialized", "--format", "json")
    assert planned == [*done.document["targets"]]
    assert planned == [change["address"].removesuffix("/offers") for change in done.document["changes"]]
    assert "Warning: left out of the plan: state: no state record for latam/staging; check --state" in done.err


def test_without_the_option_it_is_an_error(grown: Project) -> None:
    """Only whoever says so gets a plan that lacks a target."""
    assert "no state record for latam/staging" in grown.step("plan", code=1).err


def test_a_lost_record_stays_an_error(grown: Project) -> None:
    """A record that was seen is not one that never was."""
    grown.step("state", "init", "-t", "latam/staging")
    (grown.path / "state/latam/staging.jsonl").unlink()
    assert "is missing" in grown.step("plan", "--skip-uninitialized", code=1).err


def test_a_store_without_any_record_stays_an_error(grown: Project) -> None:
    """It is probably the wrong one, or all of it is lost."""
    done = grown.step("plan", "--skip-uninitialized", "--state", "elsewhere", code=1)
    assert "no state record for europe/staging, latam/staging" in done.err
