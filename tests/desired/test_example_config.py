"""The example that the package brings, and the one at the top of the project, which is to be edited."""

from __future__ import annotations

import tomllib
from pathlib import Path

from support.desired_configs import no_override

import reconciler
from reconciler.cli.demo import EXAMPLE
from reconciler.desired import load

EDITABLE = Path(__file__).parents[2] / "config"
TARGETS = ["europe/production", "europe/staging", "usa/production", "usa/staging"]


def test_the_configuration_at_the_top_is_sound() -> None:
    """It has no mistakes, whatever a partner made of it."""
    assert load(EDITABLE, no_override).targets


def test_the_example_comes_with_the_package() -> None:
    """What a partner writes into `config/` does not get into it."""
    assert EXAMPLE.resolve().is_relative_to(Path(reconciler.__file__).resolve().parent)
    project = tomllib.loads((EDITABLE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert {"packages": ["reconciler"]} == project["tool"]["hatch"]["build"]["targets"]["wheel"]


def test_the_example_is_sound() -> None:
    """It declares the four documented targets, two subscriptions on each, without a warning."""
    desired = load(EXAMPLE, no_override)
    assert list(desired.targets) == TARGETS
    assert [f"{target}/{name}" for target in TARGETS for name in ("applications", "offers")] == list(
        desired.subscriptions
    )
    assert desired.warnings == ()


def test_the_example_shares_in_staging_what_is_shared() -> None:
    """Staging has one identity provider and one audience base (SERVICE.md, sections 4.1 and 5)."""
    targets = {str(name): target for name, target in load(EXAMPLE, no_override).targets.items()}
    europe, usa = targets["europe/staging"], targets["usa/staging"]
    assert (europe.auth_url, europe.audience_base) == (usa.auth_url, usa.audience_base)
    assert europe.base_url != usa.base_url


def test_the_example_wants_the_documented_codes() -> None:
    """The codes are those that are known (SERVICE.md, section 6)."""
    wanted = {str(address): one.codes for address, one in load(EXAMPLE, no_override).subscriptions.items()}
    codes = ("LOA10013", "ONB10001", "ONB10002", "ONB10003", "ONB10004")
    assert (codes, ("ONB10011",)) == (wanted["usa/production/applications"], wanted["usa/production/offers"])
