"""How patterns lie over one another, and where they may not differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.desired_configs import assert_mistakes, load_beside_targets

if TYPE_CHECKING:
    from pathlib import Path

ONE = '{eventCodes: [ONB10001], webhookUrl: "{hooks}/general"}'


def merged(tmp_path: Path, text: str) -> dict[str, tuple[str, str]]:
    """Address -> (codes, the URL's last segment)."""
    desired = load_beside_targets(tmp_path, "subscriptions:\n" + text)
    return {one.address: (" ".join(one.codes), one.url.rpartition("/")[2]) for one in desired.subscriptions.values()}


def test_the_particular_wins_field_by_field(tmp_path: Path) -> None:
    """Each rank replaces the fields it gives, lists whole, and leaves the others."""
    text = f"""\
  europe/staging: {{one: {{eventCodes: [LOA10003, LOA10002]}}}}
  "*/staging": {{one: {{webhookUrl: "{{hooks}}/staging"}}}}
  "europe/*": {{one: {{eventCodes: [LOA10001]}}}}
  "*/*": {{one: {ONE}}}
"""
    assert {
        "europe/production/one": ("LOA10001", "general"),
        "europe/staging/one": ("LOA10002 LOA10003", "staging"),
        "usa/staging/one": ("ONB10001", "staging"),
    } == merged(tmp_path, text)


def test_the_place_is_that_of_the_most_particular_mapping(tmp_path: Path) -> None:
    """A subscription stands where its most particular mapping has its name."""
    text = f"""\
subscriptions:
  "*/*": {{one: {ONE}}}
  "europe/*":
    one: {{webhookUrl: "{{hooks}}/europe"}}
"""
    desired = load_beside_targets(tmp_path, text)
    assert [(4, 5), (4, 5), (2, 11)] == [(one.place.line, one.place.column) for one in desired.subscriptions.values()]


def test_null_takes_a_subscription_away(tmp_path: Path) -> None:
    """`null` stands for the whole subscription on the targets of its pattern."""
    text = f'  "*/*": {{one: {ONE}}}\n  "*/staging": {{one: null}}\n'
    assert {"europe/production/one": ("ONB10001", "general")} == merged(tmp_path, text)


def test_a_mapping_over_null_starts_afresh(tmp_path: Path) -> None:
    """Over `null` nothing of what is more general still holds."""
    text = f"""\
  "*/*": {{one: {ONE}}}
  "*/staging": {{one: null}}
  europe/staging: {{one: {{eventCodes: [LOA10001], webhookUrl: "{{hooks}}/afresh"}}}}
"""
    assert {
        "europe/production/one": ("ONB10001", "general"),
        "europe/staging/one": ("LOA10001", "afresh"),
    } == merged(tmp_path, text)


def test_a_mapping_over_null_inherits_nothing(tmp_path: Path) -> None:
    """Over `null`, a mapping that gives one field lacks the other."""
    text = f"""\
subscriptions:
  "*/*": {{one: {ONE}}}
  "*/staging": {{one: null}}
  europe/staging: {{¦one: {{eventCodes: [LOA10001]}}}}
"""
    assert_mistakes(tmp_path, text, "europe/staging/one: missing webhookUrl")


def test_equal_values_of_one_rank_agree(tmp_path: Path) -> None:
    """Two patterns of one rank may say the same, codes in any order, or complete each other."""
    text = """\
  "europe/*": {one: {eventCodes: [ONB10001, ONB10002], webhookUrl: "{hooks}/same"}, two: null}
  "*/staging": {one: {eventCodes: [ONB10002, ONB10001]}, two: null}
  usa/staging: {one: {webhookUrl: "{hooks}/usa"}}
"""
    assert {
        "europe/production/one": ("ONB10001 ONB10002", "same"),
        "europe/staging/one": ("ONB10001 ONB10002", "same"),
        "usa/staging/one": ("ONB10001 ONB10002", "usa"),
    } == merged(tmp_path, text)


@pytest.mark.parametrize("over", ["", '  europe/staging: {one: {eventCodes: [LOA10009], webhookUrl: "{hooks}/x"}}\n'])
def test_different_values_of_one_rank_are_a_mistake(tmp_path: Path, over: str) -> None:
    """Each field that two patterns of one rank give differently is reported at the later one, naming the other."""
    text = f"""\
subscriptions:
  "europe/*":
    one: {{eventCodes: [ONB10001], webhookUrl: "{{hooks}}/1"}}
  "*/staging":
    one: {{eventCodes: ¦[ONB10002], webhookUrl: ¦"{{hooks}}/2"}}
{over}"""
    assert_mistakes(tmp_path, text, "tested.yaml:3:23", "tested.yaml:3:47")


def test_null_against_a_value_of_one_rank_is_a_mistake(tmp_path: Path) -> None:
    """One pattern wants it and another of the same rank does not."""
    text = """\
subscriptions:
  "*/staging":
    one: null
  "europe/*":
    ¦one: {eventCodes: [ONB10001], webhookUrl: "{hooks}/1"}
"""
    beside = "targets: {europe/staging: {auth_url: https://a.example, base_url: https://b.example, vars: {hooks: https://c.example}}}"
    assert_mistakes(tmp_path, text, "tested.yaml:3:5", beside=beside)


def test_a_broken_value_is_not_compared(tmp_path: Path) -> None:
    """A field with a mistake of its own is reported for that alone."""
    text = """\
subscriptions:
  "europe/*":
    one: {eventCodes: [¦ONB1], webhookUrl: "{hooks}/1"}
  "*/staging":
    one: {eventCodes: [ONB10002], webhookUrl: "{hooks}/1"}
"""
    assert_mistakes(tmp_path, text, "ONB1")


def test_a_field_is_reported_once_for_all_targets(tmp_path: Path) -> None:
    """A mistake in a value is one mistake, however many targets the value is merged into."""
    text = """\
subscriptions:
  "*/*":
    one: {eventCodes: [ONB10001], webhookUrl: ¦"{hoks}/1"}
    two: {eventCodes: [ONB10002], webhookUrl: ¦"ftp://{region}.example/"}
    ¦three: {webhookUrl: https://hooks.example}
"""
    beside = "targets: {europe/staging: {auth_url: https://a.example, base_url: https://b.example, vars: {hooks: x}}}"
    assert_mistakes(
        tmp_path, text, "did you mean 'hooks'?); available: environment, hooks, name, region",
        "neither https nor http", "missing eventCodes", beside=beside,
    )  # fmt: skip
    assert_mistakes(
        tmp_path / "more", text.replace("    ¦three: {webhookUrl: https://hooks.example}\n", ""), "hoks", "ftp"
    )


def test_a_template_that_is_overridden_is_not_expanded(tmp_path: Path) -> None:
    """A variable need be known only where the template is used."""
    text = """\
targets:
  bare/one: {auth_url: https://login.example, base_url: https://api.bare.example}
subscriptions:
  "*/*": {one: {eventCodes: [ONB10001], webhookUrl: "{hooks}/1"}}
  "bare/*": {one: {webhookUrl: "https://hooks.example/2"}}
"""
    assert "https://hooks.example/2" == load_beside_targets(tmp_path, text).subscriptions["bare/one/one"].url  # type: ignore[index]  # an Address is its text


def test_an_undeclared_target_is_a_mistake(tmp_path: Path) -> None:
    """A target that no one declared, and a pattern that matches none, say what is declared; at every file's key."""
    text = """\
subscriptions:
  ¦europe/stagin: {}
  ¦"asia/*": {one: null}
"""
    declared = "europe/production, europe/staging, usa/staging"
    assert_mistakes(tmp_path, text, "did you mean 'europe/staging'?", f"declared targets: {declared}")
