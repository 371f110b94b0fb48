"""The targets that are played, and the variables that point at them."""

from __future__ import annotations

import pytest

from reconciler.errors import SettingsError
from reconciler.sandbox import Sandbox
from reconciler.sandbox.targets import DOCUMENTED_TARGETS, check_names, lay_out

ROOT = "http://127.0.0.1:8000"


def test_variables_of_every_target_and_of_the_sandbox_are_given() -> None:
    """Five variables for each of the four documented targets, and the sandbox's own URL last."""
    with Sandbox() as sandbox:
        names = [name for name, _ in sandbox.variables()]
        fields = ["CLIENT_ID", "CLIENT_SECRET", "AUTH_URL", "BASE_URL", "AUDIENCE_BASE"]
        places = ["EUROPE_STAGING", "EUROPE_PRODUCTION", "USA_STAGING", "USA_PRODUCTION"]

        assert [f"RECONCILER_{place}_{field}" for place in places for field in fields] == names[:-1]
        assert ("RECONCILER_SANDBOX_URL", sandbox.url) == sandbox.variables()[-1]


def test_variables_lead_to_one_base_url_each() -> None:
    """Every target has a base URL of its own below the sandbox's URL."""
    targets = lay_out(ROOT, DOCUMENTED_TARGETS)

    assert [f"{ROOT}/{name}/api" for name in DOCUMENTED_TARGETS] == [one.base_url for one in targets.values()]


def test_staging_targets_share_provider_audience_and_account() -> None:
    """What one identity provider issues for one staging target is good for the other."""
    targets = lay_out(ROOT, DOCUMENTED_TARGETS)
    europe, usa = targets["europe/staging"], targets["usa/staging"]

    assert europe.provider is usa.provider
    assert (europe.client_id, europe.client_secret) == (usa.client_id, usa.client_secret)
    assert f"{ROOT}/audience/staging/loan" == europe.audience("loan") == usa.audience("loan")


def test_production_targets_have_everything_of_their_own() -> None:
    """Three identity providers in all, with distinct addresses, audiences, keys and accounts."""
    targets = lay_out(ROOT, DOCUMENTED_TARGETS)
    providers = {one.provider.name: one.provider for one in targets.values()}

    assert list(providers) == ["staging", "europe/production", "usa/production"]
    assert len({one.auth_url for one in providers.values()}) == 3
    assert len({one.audience_base for one in providers.values()}) == 3
    assert len({one.key for one in providers.values()}) == 3
    assert len({one.client_id for one in targets.values()}) == 3


def test_credentials_given_are_used_and_shared() -> None:
    """Credentials given for one staging target serve the other too; one given for itself keeps its own."""
    targets = lay_out(ROOT, DOCUMENTED_TARGETS, {"usa/staging": ("partner", "s1"), "usa/production": ("live", "s2")})

    assert (targets["europe/staging"].client_id, targets["europe/staging"].client_secret) == ("partner", "s1")
    assert targets["usa/staging"].provider.clients == {"partner": "s1"}
    assert targets["usa/production"].provider.clients == {"live": "s2"}


def test_secrets_stay_out_of_reprs() -> None:
    """Neither the client secret nor the signing key shows in a repr."""
    target = lay_out(ROOT, ["europe/staging"], {"europe/staging": ("partner", "hush")})["europe/staging"]

    assert "hush" not in repr(target)
    assert repr(target.provider.key) not in repr(target)


def test_other_targets_can_be_played() -> None:
    """Any list of targets will do, a single one too."""
    with Sandbox(targets=["asia-2/test"]) as sandbox:
        assert sandbox.variables()[0][0] == "RECONCILER_ASIA_2_TEST_CLIENT_ID"
        assert len(sandbox.variables()) == 6


@pytest.mark.parametrize(
    ("names", "part"),
    [
        ([], "no target"),
        (["europe"], "region/environment"),
        (["Europe/staging"], "region/environment"),
        (["europe/staging/offers"], "region/environment"),
        (["a/b", "a/b"], "the same variables as a/b"),
        (["a-b/c", "a/b-c"], "the same variables as a-b/c"),
    ],
)
def test_impossible_targets_are_refused(names: list[str], part: str) -> None:
    """A malformed name, two with the same variables, or none at all: an error that says so."""
    with pytest.raises(SettingsError, match=part):
        check_names(names)
