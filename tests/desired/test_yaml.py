"""YAML that is more, or less, than a tree of mappings, lists and text."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from support.configs import assert_mistakes, load_beside_targets, mistakes_in, write

from desired.mistaken import KEY
from reconciler.desired import nodes

BARE = """\
targets: {c/d: {auth_url: https://a.test, base_url: https://b.test}}
subscriptions: {c/d: {one: {eventCodes: [ONB10001]}, two: {eventCodes: [ONB10002], webhookUrl: "{hooks}"}}}
"""
PARSERS = {"CSafeLoader": yaml.CSafeLoader, "SafeLoader": yaml.SafeLoader}


@pytest.fixture(params=PARSERS, autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both of PyYAML's parsers: the second is what is left where the C library is missing."""
    monkeypatch.setattr(nodes, "Loader", PARSERS[request.param])
    return str(request.param)


@pytest.mark.parametrize(("marked", "names"), [
    ("parity: ¦&here {}", ["yaml-anchor"]), ("recipients: ¦*there", ["yaml-alias"]),
    ("recipients: [¦*there]", ["yaml-alias"]), ("parity: ¦!local {}", ["yaml-tag"]),
    ("parity: {ignore: ¦!!seq []}", ["yaml-tag"]), ("¦!!str parity: {}", ["yaml-tag"]),
    ("¦&a parity: {ignore: ¦&b []}", ["yaml-anchor", "yaml-anchor"]),
    ("parity: {ignore: ¦¦!x &b []}", ["yaml-anchor", "yaml-tag"]), ("¦<<: ¦*base", ["unknown-key", "yaml-alias"]),
    ("¦*all", ["yaml-alias"]), ("parity: {}\n¦---\nparity: {}", ["yaml-documents"]),
    ("parity: {¦x: 1}\n¦---\nparity: {}", ["unknown-key", "yaml-documents"]),
    ("parity: ¦[]\n¦parity: {}\n¦parity: {}", ["wrong-type", "duplicate-key", "duplicate-key"]),
    ("{¦[a, b]: c, ¦{d: e}: f, ¦*g : h}", ["key-not-text", "key-not-text", "yaml-alias"]),
    ("a:\n¦\tb: 1", ["yaml-syntax"]), ("a: 1\n¦<<<<<<< HEAD\nb: 2", ["git-conflict"]),
    ("a: 1\n¦>>>>>>>\nb", ["git-conflict"]),
    ("*¦/*:\n  one: 1", ["yaml-syntax"]), ("webhookUrl: {hooks}¦/one", ["yaml-syntax"]),
    ("parity: x¦: y", ["yaml-syntax"]), ('parity: "\n¦', ["yaml-syntax"]), ("parity: [x¦", ["yaml-syntax"]),
    ("parity: {}\nx: ä¦\x07", ["yaml-character"]), ("¦[parity]", ["file-not-mapping"]),
    ("¦parity", ["file-not-mapping"]), ("¦null", ["file-not-mapping"]),
])  # fmt: skip
def test_what_is_no_plain_tree_is_a_mistake(tmp_path: Path, marked: str, names: list[str]) -> None:
    """Each construct is reported where it stands, with what to do."""
    assert_mistakes(tmp_path, marked, *names)


def test_an_escape_beyond_unicode_is_a_mistake(tmp_path: Path) -> None:
    """Whatever the parser makes of it, an impossible character is reported and nothing else is raised."""
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": 'parity: "\\U00110000"'}))
    assert mistake.located.partition(".yaml:")[2].startswith("1:")


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_nesting_has_a_limit(tmp_path: Path, opening: str) -> None:
    """What goes deeper than 64 levels is given up where it does."""
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": opening * 900}))
    assert mistake.located.endswith(f":1:{nodes.DEPTH_LIMIT * len(opening) + 1}")
    assert "yaml-too-deep" == mistake.name


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_any_nesting_is_given_up_at_once(tmp_path: Path, opening: str) -> None:
    """Some versions of the parser give up a thousand levels themselves, before they say where the 65th begins."""
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": opening * 100_000}))
    assert mistake.name in {"yaml-too-deep", "yaml-syntax"}
    assert ".yaml:1:" in mistake.located


def test_a_file_may_hold_only_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of very many nodes is given up before they fill memory."""
    monkeypatch.setattr(nodes, "EVENT_LIMIT", 1000)
    undeclared = "subscriptions: {a/b: {}}"
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": "parity: [" + "a," * 1000 + "]", "b.yaml": undeclared}))
    assert "yaml-too-many-values" == mistake.name


@pytest.mark.parametrize("unread", [
    "targets:\n  a/b: [", "parity: {}\n---\ntargets: {}", "# \x07", "[targets]", "[" * 70, "target: {}", "targets: []",
    "targets: {A/b: {}}", "subscriptions: x",
])  # fmt: skip
def test_what_an_unread_part_may_hold_is_not_missed(tmp_path: Path, unread: str) -> None:
    """All else is reported, but nothing is called undeclared or incomplete that the unreadable part may hold."""
    others = "subscriptions:\n  a/b:\n    one: {webhookUrl: https://hooks.test}\n    two: {eventCodes: [x]}\n"
    found = mistakes_in(write(tmp_path, {"a.yaml": unread, "b.yaml": others, "c.yaml": BARE}))
    assert ["a.yaml", "b.yaml:4", "c.yaml"] == [
        each.located.rpartition("/")[2].rpartition(":")[0].removesuffix(":1").removesuffix(":2") for each in found
    ]


def test_columns_count_characters(tmp_path: Path) -> None:
    """Letters beyond ASCII, in front of a mistake, are one column each."""
    assert_mistakes(
        tmp_path, 'parity: {ignore: [{address: offers, reason: "ääää€𝄞"}, ¦{address: offers}]}', "missing-key",
    )  # fmt: skip


def test_directives_and_document_marks_are_taken(tmp_path: Path) -> None:
    """`%YAML`, `---` and `...` around the one document are no mistake."""
    assert len(load_beside_targets(tmp_path, "%YAML 1.1\n---\nparity: {}\n...\n").targets) == 3


@pytest.mark.parametrize(("text", "remedy"), [
    ("parity:\n\tignore: []\n", "use spaces to indent, not tabs"), ("subscriptions:\n  */*: {}\n", "quote the pattern"),
    ("parity: {ignore: [\n", "correct the YAML"), ("parity: x: y # *\tz\n", "correct the YAML"),
    ("state: [x]", "write a single value"), ("recipients: x", "write [one"), ("targets: []", "write `key: value`"),
    ("recipients: [age1x]", "use the public key"), (f"recipients: [{KEY[:-1]}q]", "its checksum does not match"),
])  # fmt: skip
def test_the_way_out(tmp_path: Path, text: str, remedy: str) -> None:
    """What people often get wrong has a remedy of its own."""
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": text}))
    assert mistake.steps[0].text.startswith(remedy)
