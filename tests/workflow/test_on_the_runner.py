"""The workflows, their jobs run for real against the sandbox, with a bare repository as origin."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.forge import Forge

    from reconciler.sandbox import Sandbox

pytestmark = pytest.mark.timeout(300)  # each runs several workflows, which are bounded by themselves

OFFERS = """subscriptions:
  "*/*":
    offers:
      eventCodes: [ONB10011]
      webhookUrl: https://hooks.example.org/{region}/{environment}/offers
"""


def created(sandbox: Sandbox) -> dict[str, int]:
    """Return how many subscriptions each stage has at the service."""
    return dict(Counter(row.target.partition("/")[2] for row in sandbox.world.subscriptions()))


def test_from_a_pull_request_to_production(forge: Forge, sandbox: Sandbox) -> None:
    """A pull request gets a comment with the plan, and its merge applies all regions, staging before production."""
    forge.write("config/subscriptions.yaml", OFFERS)
    job = forge.review(1)
    print(job.log)
    assert 0 == job.code, job.log
    forge.merge(1)
    job = forge.run("push")
    print(job.log)
    assert 0 == job.code, job.log
    assert {"staging": 3, "production": 3} == created(sandbox)
