"""`reconciler status`: which targets and attempts are among the results, and in which order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from support.value_scene import EUROPE, Scene, hooks

from reconciler.model.selection import Selection
from reconciler.planning.planner import make_plan
from reconciler.planning.status import status_of, status_of_undeclared
from reconciler.reports.wording import listed

if TYPE_CHECKING:
    from support.project import Project

CONFIG = """\
targets:
  europe/staging: {auth_url: https://login.service.example, base_url: https://api.service.example}
  usa/staging: {auth_url: https://login.service.example, base_url: https://api.usa.service.example}
subscriptions:
  "*/*":
    offers: {eventCodes: [ONB10011], webhookUrl: https://hooks.partner.example/offers}
"""


@pytest.fixture
def begun(project: Project) -> Project:
    """Two targets, one of which has a record."""
    project.write("config/all.yaml", CONFIG)
    project.step("state", "init", "-t", "europe/staging")
    project.step("state", "import", "europe/staging/offers")
    return project


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        (
            "text",
            "see A lost record in BAD_DAY.md); if it never had one, run:\n      reconciler state init -t usa/staging\n",
        ),
        (
            "markdown",
            "<code>usa/staging</code>: <code>no state record&#59; if it had one, restore it ",
        ),
        ("html", "no state record; if it had one, restore it (see A lost record in BAD_DAY.md); if it never had one,"),
    ],
)
def test_a_target_without_a_record(begun: Project, form: str, shown: str) -> None:
    """It is among the results, and does not stop the other."""
    done = begun.run_fork("status", "--format", form)
    assert 0 == done.code
    assert shown in done.out
    assert "europe/staging/offers" in done.out


def test_a_document_of_what_is_recorded(begun: Project) -> None:
    """In JSON a target has its record; one that has none is named on stderr."""
    done = begun.step("status", "--format", "json")
    assert ["europe/staging"] == list(done.document["targets"])
    assert "usa/staging" in done.err


def test_attempts_of_one_second() -> None:
    """They are in the order of the record, whatever their ids."""
    scene = Scene()
    ids = [scene.hold("offers", f"ONB100{number}", hooks("offers")) for number in range(10, 20)]
    record = scene.records[EUROPE]
    plan = make_plan(scene.desired, {EUROPE: record}, Selection.of(())).targets[EUROPE]
    now = datetime.now(UTC)
    assert ids != sorted(ids)
    assert ids == [known.attempt.id for known in status_of(record, plan, now).attempts]
    assert ids == [known.attempt.id for known in status_of_undeclared(record, now).attempts]
    assert ids == [attempt.id for attempt in listed([record])]
