"""One event code in two subscriptions of one service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.configs import assert_mistakes, load_files, marked_places, mistakes_in, write


def targets(one: str = "refuse", other: str = "refuse", other_base: str = "https://API.test:443/") -> str:
    """Two targets, of one service unless told otherwise."""
    return f"""\
targets:
  a/one: {{auth_url: https://login.test, base_url: https://api.test, overlap: {one}}}
  a/two: {{auth_url: https://login.test, base_url: "{other_base}", overlap: {other}}}
"""


WITHIN = """\
subscriptions:
  a/one:
    first: {eventCodes: [ONB10001, ONB10002, ONB10003], webhookUrl: https://hooks.test/1}
    ¦second: {eventCodes: [ONB10003, ONB10002], webhookUrl: https://hooks.test/1?2}
"""
ACROSS = """\
subscriptions:
  a/one:
    first: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/1}
  a/two:
    ¦first: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/2}
"""
ONE_URL = ACROSS.replace("test/2", "test:443/1")


def test_one_mistake_for_a_pair(tmp_path: Path) -> None:
    """A pair is reported once, with all its codes and both addresses, where the later one stands."""
    (mistake,) = assert_mistakes(tmp_path, WITHIN, "overlap", beside=targets())
    assert mistake.what.startswith("a/one/second and a/one/first have ")
    assert mistake.what.endswith(": ONB10002, ONB10003")
    assert mistake.steps[0].text.endswith("`overlap: allow` under a/one")


def test_targets_with_one_base_url_are_one_service(tmp_path: Path) -> None:
    """Host case, the default port and a trailing slash do not make another service."""
    (mistake,) = assert_mistakes(tmp_path, ACROSS, "overlap", beside=targets())
    assert mistake.what.endswith(": ONB10001")
    assert mistake.steps[0].text.endswith("`overlap: allow` under a/one, a/two")


def test_one_pattern_for_two_targets_of_one_service(tmp_path: Path) -> None:
    """One mapping that is wanted on two targets of one service overlaps with itself, and is reported."""
    text = 'subscriptions: {"a/*": {¦one: {eventCodes: [ONB10001], webhookUrl: "https://hooks.test/{environment}"}}}'
    assert_mistakes(tmp_path, text, "overlap", beside=targets())


@pytest.mark.parametrize("marked", [WITHIN, ACROSS])
def test_another_service_is_another_matter(tmp_path: Path, marked: str) -> None:
    """Where `overlap: allow` is said by every target concerned, or the services differ, codes may be shared."""
    text, _ = marked_places(marked)
    beside = targets("allow", "allow") if marked is WITHIN else targets(other_base="https://other.test")
    assert 2 == len(load_files(tmp_path, {"a.yaml": text, "b.yaml": beside}).subscriptions)


@pytest.mark.parametrize(("one", "other"), [("allow", "refuse"), ("refuse", "allow")])
def test_every_target_concerned_must_allow(tmp_path: Path, one: str, other: str) -> None:
    """One target's word is not enough for a pair across two."""
    assert_mistakes(tmp_path, ACROSS, "overlap", beside=targets(one, other))


@pytest.mark.parametrize("overlap", ["allow", "refuse"])
def test_one_route_twice_is_never_allowed(tmp_path: Path, overlap: str) -> None:
    """The same code to the same URL, however written, would be delivered twice: no word allows it."""
    (mistake,) = assert_mistakes(tmp_path, ONE_URL, "same-route", beside=targets(overlap, overlap))
    assert "allow" not in mistake.steps[0].text


def test_the_later_ones_are_reported(tmp_path: Path) -> None:
    """Files and lines, not names, say which is the first; each later one is reported against it."""
    files = {
        "a.yaml": "subscriptions:\n  a/one:\n"
        "    z: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/z}\n"
        "    y: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/y}\n",
        "b.yaml": "subscriptions:\n  a/one:\n    x: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/x}\n",
        "c.yaml": targets("refuse", "allow") + "subscriptions:\n"
        "  a/two: {w: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/w}}\n",
    }
    earlier = {"0.yaml": files["c.yaml"], "a.yaml": files["a.yaml"]}
    for name, given, expected in (("one", files, ["yz", "xz", "wz"]), ("other", earlier, ["zw", "yw"])):
        found = mistakes_in(write(tmp_path / name, given))
        assert expected == ["".join(re.findall(r"a/(?:one|two)/(\w)", each.what)) for each in found]


def test_both_reasons_are_reported(tmp_path: Path) -> None:
    """Where one target allows overlaps, the other target's codes still clash, and so does one URL."""
    text = """\
subscriptions:
  a/one:
    first: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/1}
  a/two:
    second: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/2}
    third: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/2}
"""
    mistakes = mistakes_in(write(tmp_path, {"a.yaml": text, "b.yaml": targets("refuse", "allow")}))
    pairs = [re.findall(r"a/\w+/(\w+)", mistake.what) for mistake in mistakes]
    assert [["second", "first"], ["third", "second"]] == pairs


def test_what_follows_a_target_with_a_mistake_is_judged(tmp_path: Path) -> None:
    """A target without a usable base URL, of which nobody knows the service, hides no overlap of others."""
    broken = "  a/broken: {auth_url: https://login.test, base_url: https://api.test/?x}\n"
    text = (
        WITHIN.replace("¦", "") + "  a/broken:\n    first: {eventCodes: [ONB10001], webhookUrl: https://hooks.test/3}\n"
    )
    found = mistakes_in(write(tmp_path, {"a.yaml": text, "b.yaml": targets() + broken}))
    assert ["a/one/second", "base_url"] == [mistake.what.split()[0] for mistake in found]


def test_one_mistake_for_all_targets(tmp_path: Path) -> None:
    """A pair of patterns that overlaps on three targets is one mistake, which says where else."""
    declared = ", ".join(f"a/{name}: {{auth_url: https://l.test, base_url: https://{name}.test}}" for name in "xyz")
    text = f"""\
targets: {{{declared}}}
subscriptions:
  "*/*":
    one: {{eventCodes: [ONB10001], webhookUrl: https://hooks.test/1}}
    ¦two: {{eventCodes: [ONB10001], webhookUrl: https://hooks.test/2}}
"""
    (mistake,) = assert_mistakes(tmp_path, text, "overlap", beside="")
    assert "(likewise on a/y, a/z)" in mistake.what


def test_templates_are_compared_as_they_are(tmp_path: Path) -> None:
    """Two subscriptions with one template deliver to one endpoint, though each attempt has a URL of its own."""
    text = ONE_URL.replace("/1", "/{attempt}").replace("webhookUrl: ", 'webhookUrl: "').replace("}}", '}"}')
    assert_mistakes(tmp_path, text, "same-route", beside=targets("allow", "allow"))


THREE = """\
targets: {a/zoo: {auth_url: https://login.test, base_url: https://other.test}}
subscriptions: {"a/*": {first: {eventCodes: [ONB10001], webhookUrl: "https://hooks.test/{environment}"}}}
"""


@pytest.mark.parametrize(("marked", "overridden", "advice"), [
    (ACROSS, "A_TWO", "correct RECONCILER_A_TWO_BASE_URL; or keep"), (WITHIN, "A_ONE", "keep"),
    (THREE, "A_ZOO", "correct RECONCILER_A_ZOO_BASE_URL; or keep"), (WITHIN.replace("a/one", '"a/*"'), "A_ONE", "keep"),
])  # fmt: skip
def test_a_variable_that_joins_two_services_is_named(tmp_path: Path, marked: str, overridden: str, advice: str) -> None:
    """An overridden `base_url` may be the cause of what two targets have in common, and no other variable."""
    beside = targets(other_base=f"https://{'api' if marked is THREE else 'other'}.test")
    config = write(tmp_path, {"a.yaml": marked.replace("¦", ""), "b.yaml": beside})
    names = f"RECONCILER_{overridden}_BASE_URL", "RECONCILER_A_ONE_AUTH_URL"
    (mistake,) = mistakes_in(config, dict.fromkeys(names, "https://api.test"))
    assert mistake.steps[0].text.startswith(advice)
    assert (marked is THREE) == mistake.what.endswith(" (likewise on a/zoo)")


def test_pairs_that_differ_are_reported_apart(tmp_path: Path) -> None:
    """Two places are one mistake for each list of codes, and for one URL as for two; each first place has its own."""
    service = "auth_url: https://l.test, base_url: https://{0}.test, vars: {{hooks: https://{0}.test}}"
    text = f"""\
targets: {{{", ".join(f"{name}/b: {{{service.format(name)}}}" for name in "wxyz")}}}
subscriptions:
  "*/*": {{one: {{eventCodes: [ONB10001, ONB10002], webhookUrl: "{{hooks}}"}}}}
  w/b: {{zero: {{eventCodes: [ONB10001], webhookUrl: "{{hooks}}"}}, one: null}}
  "*/b": {{¦¦¦¦two: {{webhookUrl: https://x.test}}}}
  "w/*": {{two: {{eventCodes: [ONB10001]}}}}
  "x/*": {{two: {{eventCodes: [ONB10001]}}}}
  "y/*": {{two: {{eventCodes: [ONB10001]}}}}
  "z/*": {{two: {{eventCodes: [ONB10002]}}}}
"""
    found = assert_mistakes(tmp_path, text, "overlap", "same-route", "overlap", "overlap", beside="")
    assert ["ONB10001"] * 3 + ["ONB10002"] == [each.what.rpartition(": ")[2] for each in found]
