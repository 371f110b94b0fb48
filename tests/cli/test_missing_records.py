"""Targets without a record: all are named at once, with one command that initializes them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.project import Project

CONFIG = """\
targets:
  asia/staging: {auth_url: https://login.example, base_url: https://asia.example}
  europe/staging: {auth_url: https://login.example, base_url: https://eu.example}
  europe/production: {auth_url: https://login.example, base_url: https://eu-production.example}
subscriptions:
  "*/*":
    offers: {eventCodes: [ONB10011], webhookUrl: "https://hooks.partner.example/{region}/offers"}
"""
ALL = "no state record for asia/staging, europe/production, europe/staging; check --state; if they never had one, run:"


@pytest.fixture
def declared(project: Project) -> Project:
    """Three targets, none of which has a record."""
    project.write("config/all.yaml", CONFIG)
    return project


@pytest.mark.parametrize("command", [["plan"], ["apply", "--auto-approve"], ["status"], ["removals"]])
def test_all_are_named_once(declared: Project, command: list[str]) -> None:
    """One error names them all, and its command is all it takes."""
    refused = declared.step(*command, code=1).err
    assert f"Error: state: {ALL}\n    reconciler state init\n" == refused
    declared.step("state", "init")
    declared.step("plan")


def test_only_those_selected_are_initialized(declared: Project) -> None:
    """With `-t`, the command names the targets: others may be missing for another reason."""
    refused = declared.step("plan", "-t", "europe/*", code=1).err
    assert "no state record for europe/production, europe/staging; " in refused
    assert refused.endswith("run:\n    reconciler state init -t europe/production -t europe/staging\n")
    declared.step("state", "init", "-t", "europe/production", "-t", "europe/staging")
    assert (
        "if asia/staging never had one, run:\n    reconciler state init -t asia/staging"
        in declared.step("plan", code=1).err
    )


def test_the_other_targets_can_go_on(declared: Project) -> None:
    """With what the message names, whether the record never was or is lost; not at the same service."""
    declared.step("state", "init")
    (declared.path / "state/europe/staging.jsonl").unlink()
    refused = declared.step("plan", code=1).err
    assert (
        "Error: state: the state record of europe/staging is missing: it was last read here with 1 entry; until it is"
        " restored, nothing is created there; to continue with the other targets, use -t asia/staging -t"
        " europe/production; restore it (version control, a backup, another --state), or with a copy of it, such as a"
        " colleague's, run:\n    reconciler state recover COPY.jsonl\n"
    ) in refused
    declared.step("plan", "-t", "asia/staging", "-t", "europe/production")
    one_service = CONFIG.replace("https://asia.example}", "https://eu.example, overlap: allow}")
    one_service = one_service.replace("https://eu.example}", "https://eu.example, overlap: allow}")
    declared.write("config/all.yaml", one_service)
    assert "use -t europe/production; " in declared.step("plan", code=1).err


def test_what_is_selected_on_the_other_targets_can_go_on(declared: Project) -> None:
    """And nothing else: what was not selected is not to be created either."""
    deals = '{eventCodes: [ONB10012], webhookUrl: "https://hooks.partner.example/deals"}'
    declared.write("config/all.yaml", f"{CONFIG}  asia/staging:\n    deals: {deals}\n")
    declared.step("state", "init")
    (declared.path / "state/europe/staging.jsonl").unlink()
    selected = ["-t", "*/*/deal*", "-t", "*/staging/offers"]
    assert (
        "targets, use -t 'asia/staging/deal*' -t asia/staging/offers; " in declared.step("plan", *selected, code=1).err
    )
    declared.step("plan", "-t", "asia/staging/deal*", "-t", "asia/staging/offers")
    selected = ["-t", "*/*/offers", "-t", "europe/*"]
    refused = declared.step("plan", *selected, code=1).err
    assert "targets, use -t asia/staging/offers -t europe/production; " in refused


def test_the_other_targets_can_go_on_without_one_that_never_had_a_record(declared: Project) -> None:
    """With what the message names."""
    declared.step("state", "init", "-t", "europe/staging")
    refused = declared.step("plan", code=1).err
    assert (
        "no state record for asia/staging, europe/production; to continue with the other targets, use -t"
        " europe/staging; check --state; if they never had one, run:"
    ) in refused


def test_where_records_were_seen(declared: Project) -> None:
    """A mistyped --state is told from a target that never had a record."""
    declared.step("state", "init", "-t", "europe/*")
    refused = declared.step("plan", "--state", "mistyped", code=1).err
    for name in ("europe/staging", "europe/production"):
        assert f"a record of {name} with 1 entry was last seen at " in refused
    assert "a record of asia/staging" not in refused


def test_what_is_lost_comes_first(declared: Project) -> None:
    """A record that was here and is gone is not one that never was, and no command for the others hides it."""
    declared.step("state", "init", "-t", "europe/staging")
    (declared.path / "state/europe/staging.jsonl").unlink()
    refused = declared.step("plan", code=1).err
    assert "the state record of europe/staging is missing: it was last read here" in refused
    assert "no state record for" not in refused


def test_status_warns_of_all_at_once(declared: Project) -> None:
    """One warning names those without a record beside those that have one."""
    declared.step("state", "init", "-t", "asia/staging")
    warned = declared.step("status", "--format", "json").err
    assert 1 == warned.count("Warning: ")
    assert "no state record for europe/production, europe/staging; " in warned


def test_gates_of_several_pairs(declared: Project) -> None:
    """Each first target of a pair needs a record; those without one are named at once."""
    declared.write(
        "config/usa.yaml",
        "targets:\n"
        "  usa/staging: {auth_url: https://login.example, base_url: https://us.example}\n"
        "  usa/production: {auth_url: https://login.example, base_url: https://us-production.example}\n",
    )
    refused = declared.step("parity", "*/staging", "*/production", "--gate", code=1).err
    assert "no state record for europe/staging, usa/staging; " in refused
    assert refused.endswith("run:\n    reconciler state init -t europe/staging -t usa/staging\n")
