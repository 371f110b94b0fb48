"""How patterns lie over one another, and where they may not differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.configs import assert_mistakes, load_beside_targets, load_files, mistakes_in, write

from reconciler.model.address import Address
from reconciler.model.desired import Unknown

ONE = Address("a/b/one")
GENERAL = '{eventCodes: [ONB10001], webhookUrl: "{hooks}/general"}'


def merged(tmp_path: Path, text: str) -> dict[str, tuple[str, str]]:
    """Address -> (codes, the URL's last segment)."""
    desired = load_beside_targets(tmp_path, "subscriptions:\n" + text)
    return {
        one.address: (" ".join(one.codes), one.template.rpartition("/")[2]) for one in desired.subscriptions.values()
    }


def test_the_particular_wins_field_by_field(tmp_path: Path) -> None:
    """Each rank replaces the fields it gives, lists whole, and leaves the others."""
    text = f"""\
  europe/staging: {{one: {{eventCodes: [LOA10003, LOA10002]}}}}
  "*/staging": {{one: {{webhookUrl: "{{hooks}}/staging"}}}}
  "europe/*": {{one: {{eventCodes: [LOA10001]}}}}
  "*/*": {{one: {GENERAL}}}
"""
    assert {
        "europe/production/one": ("LOA10001", "general"),
        "europe/staging/one": ("LOA10002 LOA10003", "staging"),
        "usa/staging/one": ("ONB10001", "staging"),
    } == merged(tmp_path, text)


def test_the_place_is_that_of_the_most_particular_mapping(tmp_path: Path) -> None:
    """A subscription stands where its most particular mapping has its name."""
    text = f'subscriptions:\n  "*/*": {{one: {GENERAL}}}\n  "europe/*":\n    one: {{webhookUrl: "{{hooks}}/europe"}}\n'
    desired = load_beside_targets(tmp_path, text)
    assert [(4, 5), (4, 5), (2, 11)] == [(one.place.line, one.place.column) for one in desired.subscriptions.values()]


def test_null_takes_a_subscription_away(tmp_path: Path) -> None:
    """`null` stands for the whole subscription on the targets of its pattern; over it, a mapping starts afresh."""
    text = f"""\
  "*/*": {{one: {GENERAL}}}
  "*/staging": {{one: null}}
  europe/staging: {{one: {{eventCodes: [LOA10001], webhookUrl: "{{hooks}}/afresh"}}}}
"""
    assert {"europe/production/one": ("ONB10001", "general"), "europe/staging/one": ("LOA10001", "afresh")} == merged(
        tmp_path, text
    )


def test_equal_values_of_one_rank_agree(tmp_path: Path) -> None:
    """Two patterns of one rank may say the same, codes in any order, or complete each other."""
    text = """\
  "europe/*":
    {one: {eventCodes: [ONB10001, ONB10002], webhookUrl: "{hooks}/same"}, two: null, three: {eventCodes: [ONB10003]}}
  "*/staging": {one: {eventCodes: [ONB10002, ONB10001]}, two: null, three: {webhookUrl: "{hooks}/three"}}
  usa/staging: {one: {webhookUrl: "{hooks}/usa"}, three: null}
  europe/production: {three: null}
"""
    assert {
        "europe/production/one": ("ONB10001 ONB10002", "same"),
        "europe/staging/one": ("ONB10001 ONB10002", "same"),
        "europe/staging/three": ("ONB10003", "three"),
        "usa/staging/one": ("ONB10001 ONB10002", "usa"),
    } == merged(tmp_path, text)


@pytest.mark.parametrize("over", ["", '  europe/staging: {one: {eventCodes: [LOA10009], webhookUrl: "{hooks}/x"}}\n'])
def test_different_values_of_one_rank_are_a_mistake(tmp_path: Path, over: str) -> None:
    """Each field that two patterns of one rank give differently is reported at the later one, naming the other."""
    text = f"""\
subscriptions:
  "europe/*":
    one: {{eventCodes: [ONB10001, ONB10003], webhookUrl: "{{hooks}}/1"}}
  "usa/*": {{one: {{webhookUrl: "{{hooks}}/1"}}}}
  "*/staging":
    one: {{eventCodes: ¦[ONB10001, ONB10002], webhookUrl: ¦¦"{{hooks}}/2"}}
{over}"""
    assert_mistakes(tmp_path, text, "rank-conflict", "rank-conflict", "rank-conflict")


def test_null_against_a_value_of_one_rank_is_a_mistake(tmp_path: Path) -> None:
    """One pattern wants it and another of the same rank, in an earlier file, does not."""
    text = "subscriptions: {a/*: {one: {eventCodes: [ONB10001], webhookUrl: https://c.test}}}\n"
    text += "targets: {a/b: {auth_url: https://a.test, base_url: https://b.test}}"
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": 'subscriptions:\n  "*/b": {one: null}\n', "b.yaml": text}))
    assert ("null-conflict", True) == (mistake.name, mistake.located.endswith("b.yaml:1:23"))
    assert "a.yaml:2:11" in mistake.what


def test_a_template_that_is_overridden_is_not_expanded(tmp_path: Path) -> None:
    """A variable need be known only where the template is used."""
    text = """\
targets:
  bare/one: {auth_url: https://login.test, base_url: https://api.bare.test}
subscriptions:
  "*/*": {one: {eventCodes: [ONB10001], webhookUrl: "{hooks}/1"}}
  "bare/*": {one: {webhookUrl: "https://hooks.test/2"}}
"""
    assert "https://hooks.test/2" == load_beside_targets(tmp_path, text).subscriptions[Address("bare/one/one")].template


ROUTED = """\
targets:
  a/b: {auth_url: https://login.test, base_url: https://api.test, unknown: retry}
subscriptions:
  a/b:
    one: {eventCodes: [ONB10001], webhookUrl: "https://hooks.test/{name}/{attempt}"}
    two: {eventCodes: [ONB10002], webhookUrl: "https://hooks.test/{name}?id={attempt}"}
"""


def test_the_attempt_is_left_for_the_create(tmp_path: Path) -> None:
    """Everything but `{attempt}` is substituted; with it in every URL, `unknown: retry` is allowed."""
    desired = load_files(tmp_path, {"a.yaml": ROUTED})
    assert [Unknown.RETRY] == [target.unknown for target in desired.targets.values()]
    assert [
        ("https://hooks.test/one/{attempt}", "https://hooks.test/{name}/{attempt}"),
        ("https://hooks.test/two?id={attempt}", "https://hooks.test/{name}?id={attempt}"),
    ] == [(each.template, each.written) for each in desired.subscriptions.values()]


def test_retry_names_the_subscriptions_that_lack_the_attempt(tmp_path: Path) -> None:
    """One URL without `{attempt}` makes `unknown: retry` a mistake, at its value."""
    text = ROUTED.replace("?id={attempt}", "").replace("retry", "¦retry")
    (mistake,) = assert_mistakes(tmp_path, text, "retry-without-attempt")
    assert mistake.what.endswith("it is missing in a/b/two")


def test_the_attempt_beside_braces_is_the_attempt(tmp_path: Path) -> None:
    """Literal braces may surround the variable."""
    text = ROUTED.replace("/{attempt}", "/{{{attempt}}}")
    assert "https://hooks.test/one/{{attempt}}" == load_files(tmp_path, {"a.yaml": text}).subscriptions[ONE].template


def test_the_attempt_must_not_come_from_a_variable(tmp_path: Path) -> None:
    """A variable's value is text: `{attempt}` in it would be filled by accident."""
    text = """\
targets: {a/b: {auth_url: https://l.test, base_url: https://b.test, vars: {hooks: "https://h.test/{attempt}"}}}
subscriptions: {a/b: {one: {eventCodes: [ONB10001], webhookUrl: ¦"{hooks}"}}}
"""
    (mistake,) = assert_mistakes(tmp_path, text, "literal-attempt")
    assert "%7Battempt%7D" in mistake.steps[0].text
