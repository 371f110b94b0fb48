"""`--format html`, as the installed executable prints it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.project import Project

OFFERS = {"offers": (["ONB10011"], "https://hooks.partner.example/offers")}


def test_a_plan_as_a_page(project: Project) -> None:
    """The document alone, with the plan that `--out` saves in it; warnings are on stderr."""
    project.declare(OFFERS)
    project.step("state", "init")
    page = project.run_raw("plan", "--format", "html", "--out", "plan.json").decode()
    assert page.startswith("<!DOCTYPE html>\n")
    assert page.endswith("</html>\n")
    (document,) = re.findall(r'<script type="application/json" id="plan">(.*?)</script>', page)
    assert json.loads(project.read("plan.json")) == json.loads(document)
    assert json.loads(document)["digest"] in page.partition("<main")[0]
    assert "https://api.service.example" in page


def test_a_page_beside_another_format(project: Project) -> None:
    """One run gives the plan in three forms, each as it would be alone."""
    project.declare(OFFERS)
    project.step("state", "init")
    alone = project.step("plan", "--format", "markdown").out
    assert alone == project.step("plan", "--format", "markdown", "--out", "plan.json", "--page", "plan.html").out
    (document,) = re.findall(r'<script type="application/json" id="plan">(.*?)</script>', project.read("plan.html"))
    assert json.loads(project.read("plan.json")) == json.loads(document)


def test_the_status_as_a_page(project: Project) -> None:
    """A target without a record is on the page, which does not look whole without it; the exit code stays."""
    project.declare(OFFERS)
    project.step("state", "init")
    project.step("state", "import", "--all")
    config = project.read("config/all.yaml")
    project.write("config/all.yaml", config.replace("subscriptions:", f"{SECOND}subscriptions:"))
    done = project.run_fork("status", "--format", "html", "--detailed-exitcode")
    assert 0 == done.code
    assert "usa/staging" in done.err
    assert "what exists on usa/staging: no usable record" in re.sub("<[^>]*>", "", done.out)
    assert "1 subscription in force on 1 target, 1 record not usable." in done.out


def test_an_address_alone(project: Project) -> None:
    """What is not selected is not on the page; the approval has the same selection."""
    project.declare({**OFFERS, "others": (["ONB10001"], "https://hooks.partner.example/others")})
    project.step("state", "init")
    page = project.step("plan", "--format", "html", "-t", "europe/staging/offers").out
    assert "reconciler apply -t europe/staging/offers --expect-digest sha256:" in page
    assert "europe/staging/others" not in page


SECOND = """\
  usa/staging:
    auth_url: https://login.service.example
    base_url: https://api.usa.service.example
    audience_base: https://api.usa.service.example
"""
