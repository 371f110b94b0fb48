"""Every mistake that the grammar knows, at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.desired_configs import (
    TARGETS,
    assert_mistakes,
    load_beside_targets,
    marked_places,
    mistakes_in,
    no_override,
    write,
)
from support.mistaken_configs import (
    NAMES,
    OTHERS,
    SECTIONS,
    SUBSCRIPTIONS,
    TARGET_FIELDS,
    in_subscription,
    in_target,
)

from reconciler.desired import load, merging
from reconciler.desired.mistakes import shown
from reconciler.desired.templates import expand
from reconciler.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("marked", "words"), SECTIONS + NAMES + OTHERS)
def test_a_mistake_is_reported_at_its_place(tmp_path: Path, marked: str, words: str) -> None:
    """Where it stands, what is wrong, and what to do; and nothing else."""
    assert_mistakes(tmp_path, marked, words)


@pytest.mark.parametrize(("marked", "words"), SUBSCRIPTIONS)
def test_a_mistake_in_a_subscription(tmp_path: Path, marked: str, words: str) -> None:
    """What stands under a subscription's name."""
    assert_mistakes(tmp_path, in_subscription(marked), words)


@pytest.mark.parametrize(("marked", "words"), TARGET_FIELDS)
def test_a_mistake_in_a_target(tmp_path: Path, marked: str, words: str) -> None:
    """What stands under a target's name; a subscription that uses what is broken adds no mistake of its own."""
    assert_mistakes(tmp_path, in_target(marked), words)


def test_a_target_that_is_no_mapping_is_one_mistake(tmp_path: Path) -> None:
    """It is declared all the same, and what is wanted on it is not reported for that."""
    text = "targets: {a/b: ¦[]}\nsubscriptions: {a/b: {one: {eventCodes: [ONB10001], webhookUrl: '{hooks}'}}}"
    assert_mistakes(tmp_path, text, "a/b: expected a mapping, got a list")


def test_every_mistake_is_reported_in_one_run(tmp_path: Path) -> None:
    """All mistakes of all stages and files come together, sorted by place."""
    whole = [marked for marked, _ in OTHERS if not marked.startswith("recipients: [age1q")]
    config = write(tmp_path, {f"{n:02}.yaml": marked_places(marked)[0] for n, marked in enumerate(whole)})
    found = mistakes_in(config)
    assert found == sorted(found)
    assert {f"{n:02}.yaml" for n in range(len(whole))} <= {one.place.file.rpartition("/")[2] for one in found}


def test_mistakes_under_a_mistaken_name_are_reported_too(tmp_path: Path) -> None:
    """Who corrects the name has not to run it again for what stands under it; nothing is missing there twice."""
    text = TARGETS + "subscriptions: {europe/staging: {¦One: {¦eventCode: [], webhookUrl: ¦[]}, ¦Two: null}}"
    text, places = marked_places(text)
    found = mistakes_in(write(tmp_path, {"a.yaml": text}))
    assert places == [f"{one.place.line}:{one.place.column}" for one in found]
    assert ["expected a subscription name", "unknown key 'eventCode' in One"] == [
        one.what.partition(", got")[0].partition(" (did")[0] for one in found[:2]
    ]


def test_the_same_thing_twice_names_the_other_place(tmp_path: Path) -> None:
    """Targets, subscriptions of one pattern and the single sections may stand once in all files together."""
    first = """\
targets: {a/b: {auth_url: https://a.example, base_url: https://b.example}}
subscriptions: {"*/*": {one: null}}
verification: {header: X, algorithm: hmac-sha1}
"""
    again = first.replace("{a/b", "{¦a/b").replace("{one", "{¦one").replace("verification", "¦verification")
    text, places = marked_places(again)
    config = write(tmp_path, {"1.yaml": first, "2.yaml": text})
    others = ["1:11", "2:25", "3:1"]
    assert [
        (f"{config}/2.yaml:{place}", f"{config}/1.yaml:{other}") for place, other in zip(places, others, strict=True)
    ] == [(str(one.place), one.what.split()[-1]) for one in mistakes_in(config)]


def test_two_targets_with_variables_of_one_name(tmp_path: Path) -> None:
    """Their credentials could not be told apart; the later one is reported and names the first."""
    fields = "{auth_url: https://a.example, base_url: https://b.example}"
    text = f"targets:\n  west-eu/a: {fields}\n  ¦west/eu-a: {fields}\n"
    assert_mistakes(tmp_path, text, "west/eu-a and west-eu/a use the same environment variables (RECONCILER_WEST_EU_A_")


def test_an_undeclared_target_is_reported_in_every_file(tmp_path: Path) -> None:
    """A pattern may stand in several files, and each of them is to be mended."""
    config = write(
        tmp_path, {"1.yaml": "subscriptions: {a/b: {}}", "2.yaml": "subscriptions: {a/b: {}}", "3.yaml": TARGETS}
    )
    assert ["1.yaml", "2.yaml"] == [one.place.file.rpartition("/")[2] for one in mistakes_in(config)]


def test_a_configuration_error_says_how_many(tmp_path: Path) -> None:
    """The error itself counts its mistakes, and each of them reads place, what, remedy."""
    config = write(tmp_path, {"a.yaml": "x: 1\ny: 2\n"})
    with pytest.raises(ConfigError, match=r"^2 mistakes in the configuration$") as caught:
        load(config, no_override)
    assert str(caught.value.mistakes[0]).startswith(f"{config}/a.yaml:1:1: unknown key 'x' in a file; valid keys: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "'plain'"),
        ("a\nb\x1b[0m", "'a\\nb\\x1b[0m'"),
        ("x" * 61, "'" + "x" * 60 + "'…"),
        ("https://a.example/?key=value", "'https://a.example/?…'"),
        ("me:secret@a.example", "a value with an @"),
    ],
)
def test_values_are_shown_with_care(text: str, expected: str) -> None:
    """Escaped, cut, and without what may be a secret."""
    assert expected == shown(text)


def test_warnings_do_not_keep_a_configuration_from_loading(tmp_path: Path) -> None:
    """What is only doubtful stands in `warnings`, sorted."""
    text = "subscriptions: {europe/staging: {one: {eventCodes: [ABC00002, ABC00001], webhookUrl: https://x.example}}}"
    warnings = load_beside_targets(tmp_path, text).warnings
    assert ["ABC00002", "ABC00001"] == [warning.what.split()[2] for warning in warnings]
    assert all(warning.remedy for warning in warnings)


def test_two_mistakes_in_one_subscription(tmp_path: Path) -> None:
    """One does not hide another: a bad code, a bad URL, an unknown key, and a code that another one holds."""
    text = """\
subscriptions:
  europe/staging:
    one: {eventCodes: [ONB10001], webhookUrl: https://one.example/}
    ¦two: {eventCodes: [ONB10001, ¦onb1], webhookUrl: ¦ftp://two.example/, ¦webhook: x}
    ¦three: {eventCodes: [¦[]], ¦url: https://three.example/}
    ¦four: {webhookUrl: ¦not-a-url}
"""
    assert_mistakes(
        tmp_path, text, "have the same event codes: ONB10001", "not an event code: 'onb1'", "is neither https nor http",
        "unknown key 'webhook'", "missing webhookUrl", "expected text", "unknown key 'url'", "missing eventCodes",
        "is not an absolute URL",
    )  # fmt: skip


def test_a_url_is_judged_where_the_variables_are_mistaken(tmp_path: Path) -> None:
    """`vars` that cannot be read make any variable unknown, and no other mistake."""
    text = """\
targets:
  x/y: {auth_url: https://a.example, base_url: https://b.example, vars: ¦[]}
subscriptions:
  x/y:
    one: {eventCodes: [ONB10001], webhookUrl: "{hooks}/one"}
    two: {eventCodes: [ONB10002], webhookUrl: ¦ftp://two.example/}
"""
    assert_mistakes(tmp_path, text, "expected a mapping", "is neither https nor http")


def test_every_recipient_is_checked(tmp_path: Path) -> None:
    """One that is no text does not hide a mistake in the next."""
    assert_mistakes(tmp_path, "recipients: [¦~, ¦age1short]", "expected text, got no value", "not an age X25519")


def test_every_brace_is_checked(tmp_path: Path) -> None:
    """A single brace is a mistake, and a doubled one stands for itself, whether or not the other kind is there."""
    for url in ("https://x.example/}", "https://x.example/{"):
        text = f'subscriptions: {{europe/staging: {{one: {{eventCodes: [ONB10001], webhookUrl: ¦"{url}"}}}}}}'
        assert_mistakes(tmp_path, text, "unmatched brace")


@pytest.mark.parametrize(("template", "text"), [("a{{", "a{"), ("}}a", "}a"), ("{{v}}{v}", "{v}1"), ("{{}}", "{}")])
def test_doubled_braces(template: str, text: str) -> None:
    """A doubled brace stands for itself, alone or with others."""
    assert text == expand(template, {"v": "1"}, 10)


def test_a_long_template_is_broken_off() -> None:
    """A value put in often does not fill memory: at most one piece is put in beyond the limit."""
    assert "xxx" * 4 == expand("{v}" * 1000, {"v": "xxx"}, 9)


def test_too_many_routes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns that come to too many routes are one mistake, at the pattern with most subscriptions."""
    monkeypatch.setattr(merging, "ROUTE_LIMIT", 7)
    text = """\
subscriptions:
  "europe/*":
    one: {eventCodes: [ONB10001, ONB10004], webhookUrl: https://one.example/}
  ¦"*/staging":
    two: {eventCodes: [ONB10002], webhookUrl: https://two.example/}
    three: {eventCodes: [ONB10003], webhookUrl: https://three.example/}
"""
    more = "the configuration defines more than 7 routes; split it, with a separate state record for each part"
    assert_mistakes(tmp_path, text, more)
    monkeypatch.setattr(merging, "ROUTE_LIMIT", 8)
    load_beside_targets(tmp_path / "fewer", text.replace("¦", ""))


def test_very_many_mistakes_are_counted(tmp_path: Path) -> None:
    """Of one file the first hundred are told and the others counted; other files are told as ever."""
    config = write(tmp_path, {"a.yaml": "".join(f"key{n}: 1\n" for n in range(5000)), "b.yaml": "x: 1"})
    with pytest.raises(ConfigError, match=r"^5001 mistakes in the configuration$") as caught:
        load(config, no_override)
    *first, more, other = caught.value.mistakes
    assert [(n + 1, f"unknown key 'key{n}' in a file") for n in range(100)] == [
        (one.place.line, one.what.partition(" (")[0]) for one in first
    ]
    what = "4900 more mistakes not shown; fix the ones above first"
    assert f"{config}/a.yaml:101:1: {what}" == str(more)
    assert f"{config}/b.yaml" == other.place.file


def test_very_many_names_are_counted(tmp_path: Path) -> None:
    """A message lists twenty names at most."""
    fields = "{auth_url: https://a.example, base_url: https://b.example}"
    declared = "".join(f"  r{n:03}/e: {fields}\n" for n in range(100))
    [mistake] = mistakes_in(write(tmp_path, {"a.yaml": f"targets:\n{declared}subscriptions: {{x/y: {{}}}}"}))
    assert mistake.remedy.endswith("r018/e, r019/e, and 80 more")
