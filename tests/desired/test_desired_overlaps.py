"""One event code in two subscriptions of one service."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support.desired_configs import assert_mistakes, load_files, marked_places, mistakes_in, no_override, write

from reconciler.desired import load
from reconciler.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def targets(one: str = "refuse", other: str = "refuse", other_base: str = "https://API.example:443/") -> str:
    """Two targets, of one service unless told otherwise."""
    return f"""\
targets:
  a/one: {{auth_url: https://login.example, base_url: https://api.example, overlap: {one}}}
  a/two: {{auth_url: https://login.example, base_url: "{other_base}", overlap: {other}}}
"""


WITHIN = """\
subscriptions:
  a/one:
    first: {eventCodes: [ONB10001, ONB10002, ONB10003], webhookUrl: https://hooks.example/1}
    ¦second: {eventCodes: [ONB10003, ONB10002], webhookUrl: https://hooks.example/2}
"""
ACROSS = """\
subscriptions:
  a/one:
    first: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/1}
  a/two:
    ¦first: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/2}
"""
ONE_URL = ACROSS.replace("example/2", "example:443/1")


def test_one_mistake_for_a_pair(tmp_path: Path) -> None:
    """A pair is reported once, with all its codes and both addresses, where the later one stands."""
    words = "a/one/second and a/one/first, of the same service, have the same event codes: ONB10002, ONB10003"
    assert_mistakes(tmp_path, WITHIN, words, beside=targets())


def test_targets_with_one_base_url_are_one_service(tmp_path: Path) -> None:
    """Host case, the default port and a trailing slash do not make another service."""
    assert_mistakes(tmp_path, ACROSS, "set `overlap: allow` under a/one, a/two", beside=targets())


def test_one_pattern_for_two_targets_of_one_service(tmp_path: Path) -> None:
    """One mapping that is wanted on two targets of one service overlaps with itself, and is reported."""
    text = 'subscriptions: {"a/*": {¦one: {eventCodes: [ONB10001], webhookUrl: "https://hooks.example/{environment}"}}}'
    assert_mistakes(tmp_path, text, "a/two/one and a/one/one, of the same service", beside=targets())


@pytest.mark.parametrize("marked", [WITHIN, ACROSS])
def test_another_service_is_another_matter(tmp_path: Path, marked: str) -> None:
    """Where `overlap: allow` is said by every target concerned, or the services differ, codes may be shared."""
    text, _ = marked_places(marked)
    beside = targets("allow", "allow") if marked is WITHIN else targets(other_base="https://other.example")
    assert 2 == len(load_files(tmp_path, {"a.yaml": text, "b.yaml": beside}).subscriptions)


@pytest.mark.parametrize(("one", "other"), [("allow", "refuse"), ("refuse", "allow")])
def test_every_target_concerned_must_allow(tmp_path: Path, one: str, other: str) -> None:
    """One target's word is not enough for a pair across two."""
    assert_mistakes(tmp_path, ACROSS, "have the same event codes: ONB10001", beside=targets(one, other))


@pytest.mark.parametrize("overlap", ["allow", "refuse"])
def test_one_route_twice_is_never_allowed(tmp_path: Path, overlap: str) -> None:
    """The same code to the same URL, however written, would be delivered twice: no word allows it."""
    words = "a/two/first and a/one/first deliver the same event codes to the same URL: ONB10001"
    assert_mistakes(tmp_path, ONE_URL, words, beside=targets(overlap, overlap))


def test_every_pair_is_reported(tmp_path: Path) -> None:
    """Three subscriptions of one code are three pairs."""
    wanted = "\n".join(f"    s{n}: {{eventCodes: [ONB10001], webhookUrl: https://hooks.example/{n}}}" for n in range(3))
    config = write(tmp_path, {"a.yaml": f"subscriptions:\n  a/one:\n{wanted}\n", "b.yaml": targets()})
    assert [(4, "s0"), (5, "s0"), (5, "s1")] == [
        (mistake.place.line, mistake.what.split()[2].rpartition("/")[2].rstrip(",")) for mistake in mistakes_in(config)
    ]


def test_the_later_one_is_reported(tmp_path: Path) -> None:
    """Files and lines say which of two is the later one, not their names."""
    files = {
        "a.yaml": "\n\n\n\nsubscriptions:\n  a/one:\n"
        "    z: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/z}\n"
        "    y: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/y}\n",
        "b.yaml": "subscriptions:\n  a/one:\n    x: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/x}\n",
        "c.yaml": targets(),
    }
    mistakes = mistakes_in(write(tmp_path, files))
    assert {(8, "y", "z"), (3, "x", "z"), (3, "x", "y")} == {
        (mistake.place.line, *re.findall(r"a/one/(\w)", mistake.what)) for mistake in mistakes
    }


def test_services_are_judged_apart(tmp_path: Path) -> None:
    """A code that is held twice at each of two services is two mistakes; no pair reaches across."""
    text = """\
subscriptions:
  a/one:
    first: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/1}
    ¦second: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/2}
  a/two:
    first: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/3}
    ¦second: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/4}
"""
    words = [f"a/{name}/second and a/{name}/first" for name in ("one", "two")]
    assert_mistakes(tmp_path, text, *words, beside=targets(other_base="https://other.example"))


def test_the_target_is_named_once(tmp_path: Path) -> None:
    """A pair on one target is allowed by one word."""
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": WITHIN.replace("¦", ""), "b.yaml": targets()}))
    assert str(mistake.remedy).endswith("`overlap: allow` under a/one")


def test_both_reasons_are_reported(tmp_path: Path) -> None:
    """Where one target allows overlaps, the other target's codes still clash, and so does one URL."""
    text = """\
subscriptions:
  a/one:
    first: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/1}
  a/two:
    second: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/2}
    third: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/2}
"""
    mistakes = mistakes_in(write(tmp_path, {"a.yaml": text, "b.yaml": targets("refuse", "allow")}))
    pairs = [re.findall(r"a/\w+/(\w+)", mistake.what) for mistake in mistakes]
    assert [["second", "first"], ["third", "first"], ["third", "second"]] == pairs


def test_a_crowd_is_reported_in_bounds(tmp_path: Path) -> None:
    """A thousand subscriptions of one code are counted, each with ten others, not all of the half million pairs."""
    wanted = "\n".join(
        f"    s{n}: {{eventCodes: [ONB10001], webhookUrl: https://hooks.example/{n}}}" for n in range(1000)
    )
    config = write(tmp_path, {"a.yaml": f"subscriptions:\n  a/one:\n{wanted}\n", "b.yaml": targets()})
    with pytest.raises(ConfigError, match=f"^{sum(min(n, 10) for n in range(1000))} mistakes in the configuration$"):
        load(config, no_override)
    assert {"s0", "s1"} < {
        word.rpartition("/")[2].rstrip(",") for one in mistakes_in(config) for word in one.what.split()
    }


def test_a_target_with_a_mistake_is_not_judged(tmp_path: Path) -> None:
    """Without a usable base URL there is no saying which service it is."""
    beside = targets(other_base="https://api.example/?x").replace("a/one", "c/one")
    text = ACROSS.replace("¦", "").replace("a/one", "c/one")
    config = write(tmp_path, {"a.yaml": text, "b.yaml": beside})
    assert ["base_url has a query, but paths are appended to it"] == [mistake.what for mistake in mistakes_in(config)]


def test_the_later_place_is_reported(tmp_path: Path) -> None:
    """The order is that of the places in the file, whatever the names are; and each code is named once."""
    text = ONE_URL.replace("¦first", "first").replace("  a/one:\n    first:", "  a/one:\n    ¦first:")
    one, other = text.removeprefix("subscriptions:\n").split("  a/two:\n")
    swapped = f"subscriptions:\n  a/two:\n{other}{one}"
    assert_mistakes(tmp_path, swapped, "a/one/first and a/two/first deliver", beside=targets())
    [mistake] = mistakes_in(write(tmp_path / "again", {"a.yaml": swapped.replace("¦", ""), "b.yaml": targets()}))
    assert mistake.what.endswith("to the same URL: ONB10001")


def test_what_follows_a_target_with_a_mistake_is_judged(tmp_path: Path) -> None:
    """A target without a usable base URL hides no overlap of those that come after it."""
    broken = "  a/broken: {auth_url: https://login.example, base_url: https://api.example/?x}\n"
    text = (
        WITHIN.replace("¦", "")
        + "  a/broken:\n    first: {eventCodes: [ONB10001], webhookUrl: https://hooks.example/3}\n"
    )
    found = mistakes_in(write(tmp_path, {"a.yaml": text, "b.yaml": targets() + broken}))
    assert ["a/one/second", "base_url"] == [mistake.what.split()[0] for mistake in found]


def test_two_services_are_judged_apart(tmp_path: Path) -> None:
    """One code in two subscriptions of each of two services makes a pair for each service, and none across."""
    text, _ = marked_places(WITHIN)
    config = write(
        tmp_path,
        {
            "a.yaml": text + text.replace("subscriptions:\n", "").replace("a/one", "a/two"),
            "b.yaml": targets(other_base="https://other.example"),
        },
    )
    assert [("a/one/second", "a/one/first,"), ("a/two/second", "a/two/first,")] == [
        (mistake.what.split()[0], mistake.what.split()[2]) for mistake in mistakes_in(config)
    ]
