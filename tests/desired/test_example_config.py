"""The example that `init` writes, and the one at the top of the project, which is to be edited."""

from __future__ import annotations

from pathlib import Path

from support.desired_configs import EXAMPLE, load_files, no_override

from reconciler.desired import load

EDITABLE = Path(__file__).parents[2] / "config"
TARGETS = ["europe/production", "europe/staging", "usa/production", "usa/staging"]


def test_the_configuration_at_the_top_is_sound() -> None:
    """It has no mistakes, whatever a partner made of it."""
    assert load(EDITABLE, no_override).targets


def test_the_example_is_sound(tmp_path: Path) -> None:
    """It declares the four documented targets, two subscriptions on each, without a warning."""
    desired = load_files(tmp_path, EXAMPLE)
    assert list(desired.targets) == TARGETS
    assert [f"{target}/{name}" for target in TARGETS for name in ("applications", "offers")] == list(
        desired.subscriptions
    )
    assert desired.warnings == ()


def test_the_example_shares_in_staging_what_is_shared(tmp_path: Path) -> None:
    """Staging has one identity provider and one audience base (SERVICE.md, sections 4.1 and 5)."""
    targets = {str(name): target for name, target in load_files(tmp_path, EXAMPLE).targets.items()}
    europe, usa = targets["europe/staging"], targets["usa/staging"]
    assert (europe.auth_url, europe.audience_base) == (usa.auth_url, usa.audience_base)
    assert europe.base_url != usa.base_url


def test_the_example_wants_the_documented_codes(tmp_path: Path) -> None:
    """The codes are those that are known (SERVICE.md, section 6)."""
    wanted = {str(address): one.codes for address, one in load_files(tmp_path, EXAMPLE).subscriptions.items()}
    codes = ("LOA10013", "ONB10001", "ONB10002", "ONB10003", "ONB10004")
    assert (codes, ("ONB10011",)) == (wanted["usa/production/applications"], wanted["usa/production/offers"])
