"""Tokens are few: one for each identity provider, client and audience, for a day of runs and for all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.desired_configs import EXAMPLE, write
from support.lending_service import AUDIENCE_BASE

from reconciler.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from support.lending_service import LendingService
    from support.partner import Partner
    from support.project import Project


def test_four_targets_in_three_runs_ask_for_three_tokens(project: Project) -> None:
    """Both staging targets share identity provider, client and audience."""
    write(project.path, EXAMPLE)
    with Sandbox() as sandbox:
        project.environment = dict(sandbox.variables())
        project.step("state", "init")
        project.step("apply", "--auto-approve", "-t", "*/staging")
        project.step("apply", "--auto-approve", "-t", "*/*/offers")
        project.step("apply", "--auto-approve")
        assert (8, 3) == (len(sandbox.world.commits), len(sandbox.world.tokens))


def test_concurrent_processes_ask_once_between_them(partner: Partner, lending_service: LendingService) -> None:
    """All of them print the one token."""
    partner.want(offers=["ONB10011"])
    processes = [partner.start_step("token", "-t", "europe/staging") for _ in range(4)]
    ended = [process.communicate(timeout=60) for process in processes]
    assert {b"token-number-1\n"} == {out for out, _ in ended}
    assert [b""] * 4 == [err for _, err in ended]
    assert len(lending_service.token_requests) == 1


def test_each_api_has_a_token_of_its_own(partner: Partner, lending_service: LendingService) -> None:
    """The API is named by the audience; without one it is that of the subscriptions."""
    partner.want(offers=["ONB10011"])
    for api in ("onboarding", "testsupport"):
        partner.step("token", "-t", "europe/staging", "--api", api)
    assert partner.step("token", "-t", "europe/staging").out == "token-number-3\n"
    audiences = [one.body["audience"] for one in lending_service.token_requests]
    assert [f"{AUDIENCE_BASE}/{api}" for api in ("onboarding", "testsupport", "notification")] == audiences


def test_the_cache_is_worthless_without_the_secret(partner: Partner, lending_service: LendingService) -> None:
    """Another secret finds nothing in it, and no file holds a token."""
    partner.want(offers=["ONB10011"])
    partner.step("token", "-t", "europe/staging", "--cache-dir", "cache")
    files = [path for path in (partner.path / "cache").rglob("*") if path.is_file()]
    assert {0o600} == {path.stat().st_mode & 0o777 for path in files}
    assert not any(b"token-number" in path.read_bytes() for path in files)
    partner.environment["RECONCILER_EUROPE_STAGING_CLIENT_SECRET"] = "another"
    assert partner.step("token", "-t", "europe/staging", "--cache-dir", "cache").out == "token-number-2\n"


def test_a_damaged_cache_is_a_miss(partner: Partner, lending_service: LendingService) -> None:
    """Never an error."""
    partner.want(offers=["ONB10011"])
    partner.step("token", "-t", "europe/staging", "--cache-dir", "cache")
    for path in (partner.path / "cache").rglob("*.token"):
        path.write_bytes(b"\x00rubbish")
    assert partner.step("token", "-t", "europe/staging", "--cache-dir", "cache").out == "token-number-2\n"
