"""A record tells of the service it is bound to, whatever config/ says of its target by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from stranger import Partner

IN_FORCE = "is in force under europe/staging/offers (attempt "


@pytest.fixture
def applied(partner: Partner) -> Partner:
    """A partner with one subscription, that has the credentials for a target of another name as well."""
    partner.begin(offers=["ONB10011"])
    partner.step("apply", "--auto-approve")
    for name in ("ID", "SECRET"):
        partner.environment[f"RECONCILER_EU_STAGING_CLIENT_{name}"] = partner.environment[
            f"RECONCILER_EUROPE_STAGING_CLIENT_{name}"
        ]
    return partner


def rename(partner: Partner) -> None:
    """The target gets another name."""
    partner.write("config/all.yaml", partner.read("config/all.yaml").replace("europe/staging", "eu/staging"))
    partner.step("state", "init", "-t", "eu/staging")


@pytest.mark.parametrize("selected", [[], ["-t", "eu/staging"]])
def test_renamed_target(applied: Partner, selected: list[str]) -> None:
    """What was created under the old name is not created again, and can be given up there."""
    rename(applied)
    done = applied.run("apply", "--auto-approve", *selected)
    assert 1 == done.code
    assert IN_FORCE in done.out
    assert 1 == len(applied.service.creates)
    applied.step("state", "retire", "europe/staging/offers")
    applied.step("state", "removed", "europe/staging/offers")
    applied.step("apply", "--auto-approve", *selected)
    assert 2 == len(applied.service.creates)


def test_neighbour_that_moved_away(applied: Partner) -> None:
    """A target whose address is another by now has left behind what its record holds."""
    text = applied.read("config/all.yaml")
    target = text[text.index("  europe/staging:") : text.index("subscriptions:")].replace("europe/", "eu/")
    applied.write("config/more.yaml", f"targets:\n{target}")
    applied.write("config/all.yaml", text.replace("subscriptions:\n  europe/", "subscriptions:\n  eu/"))
    applied.step("state", "init", "-t", "eu/staging")
    applied.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "https://elsewhere.example"
    done = applied.run("plan", "-t", "eu/staging", "--detailed-exitcode")
    assert (2, True) == (done.code, IN_FORCE in done.out)


def test_neighbour_that_cannot_be_read(applied: Partner) -> None:
    """A record of nobody knows which service keeps nobody from working, and is warned of."""
    rename(applied)
    applied.journal.write_text("damaged")
    done = applied.succeed("plan", "-t", "eu/staging")
    assert "Warning: europe/staging: it cannot be told whether what its record holds stands in the way: " in done.err
    assert "1 to create" in done.out
