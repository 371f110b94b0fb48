"""YAML that is more, or less, than a tree of mappings, lists and text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from support.desired_configs import assert_mistakes, load_beside_targets, mistakes_in, write

from reconciler.desired import nodes

if TYPE_CHECKING:
    from pathlib import Path

PARSERS = {"CSafeLoader": yaml.CSafeLoader, "SafeLoader": yaml.SafeLoader}


@pytest.fixture(params=PARSERS, autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both of PyYAML's parsers: the second is what is left where the C library is missing."""
    monkeypatch.setattr(nodes, "Loader", PARSERS[request.param])
    return str(request.param)


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("parity: ¦&here {}", ["YAML anchors are not supported; repeat the value"]),
        ("recipients: ¦*there", ["YAML aliases are not supported; repeat the value"]),
        ("recipients: [¦*there]", ["alias"]),
        ("parity: ¦!local {}", ["YAML tags are not supported; remove the tag"]),
        ("parity: {ignore: ¦!!seq []}", ["tag"]),
        ("¦!!str parity: {}", ["tag"]),
        ("¦&a parity: {ignore: ¦&b []}", ["anchor", "anchor"]),
        ("parity: {ignore: ¦¦!x &b []}", ["anchor", "tag"]),
        ("¦<<: ¦*base", ["unknown key '<<'", "alias"]),
        ("¦*all", ["alias"]),
        ("parity: {}\n¦---\nparity: {}", ["more than one YAML document; move this document to its own file"]),
        ("parity: {¦x: 1}\n¦---\nparity: {}", ["unknown key", "more than one YAML document"]),
        ("parity: {}\n¦parity: {ignore: []}", ["duplicate key 'parity': already defined at"]),
        ("{¦[a, b]: c, ¦{d: e}: f, ¦*g : h}", ["expected a text key", "expected a text key", "alias"]),
        ("a:\n¦\tb: 1", ["use spaces to indent"]),
        ("*¦/*:\n  one: 1", ['quote the pattern: "*/*"']),
        ("webhookUrl: {hooks}¦/one", ["quote text that contains"]),
        ("parity: x¦: y", ["mapping values are not allowed"]),
        ('parity: "\n¦', ["unexpected end"]),
        ("parity: {}\nx: ä¦\x07", ["a character that YAML does not allow"]),
        ("¦[parity]", ["expected a mapping; valid keys: parity"]),
        ("¦parity", ["expected a mapping; valid keys: parity"]),
        ("¦null", ["expected a mapping; valid keys: parity"]),
    ],
)
def test_what_is_no_plain_tree_is_a_mistake(tmp_path: Path, marked: str, words: list[str]) -> None:
    """Each construct is reported where it stands, with what to do."""
    assert_mistakes(tmp_path, marked, *words)


def test_an_escape_beyond_unicode_is_a_mistake(tmp_path: Path) -> None:
    """Whatever the parser makes of it, an impossible character is reported and nothing else is raised."""
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": 'parity: "\\U00110000"'}))
    assert mistake.place.line == 1


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_nesting_has_a_limit(tmp_path: Path, opening: str) -> None:
    """What goes deeper than 64 levels is given up where it does, at once."""
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": opening * 100_000}))
    assert (1, nodes.DEPTH_LIMIT * len(opening) + 1) == (mistake.place.line, mistake.place.column)
    assert "64 levels" in mistake.what


def test_a_file_may_hold_only_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of very many nodes is given up before they fill memory."""
    monkeypatch.setattr(nodes, "EVENT_LIMIT", 1000)
    (mistake,) = mistakes_in(write(tmp_path, {"a.yaml": "parity: [" + "a," * 1000 + "]"}))
    assert str(mistake).endswith("a.yaml:1:1: the file has too many values; split it into several files")


def test_a_syntax_error_hides_nothing_but_its_own_file(tmp_path: Path) -> None:
    """The other files are reported, but nothing is concluded from what the unreadable one may hold."""
    broken = "targets:\n  a/b: [¦"
    others = "subscriptions:\n  a/b:\n    one: {webhookUrl: https://hooks.example}\n    two: {eventCodes: [x]}\n"
    config = write(tmp_path, {"a.yaml": broken.replace("¦", ""), "b.yaml": others})
    assert [("a.yaml", 2), ("b.yaml", 4)] == [
        (mistake.place.file.rpartition("/")[2], mistake.place.line) for mistake in mistakes_in(config)
    ]


def test_a_field_that_an_unreadable_file_may_give_is_not_missed(tmp_path: Path) -> None:
    """A subscription is not called incomplete while a file cannot be read."""
    config = write(
        tmp_path,
        {
            "a.yaml": "targets: {a/b: {auth_url: https://a.example, base_url: https://b.example}}",
            "b.yaml": "subscriptions: {a/b: {one: {eventCodes: [ONB10001]}}}",
            "c.yaml": "[",
        },
    )
    (mistake,) = mistakes_in(config)
    assert mistake.place.file.endswith("c.yaml")


def test_columns_count_characters(tmp_path: Path) -> None:
    """Letters beyond ASCII, in front of a mistake, are one column each."""
    assert_mistakes(
        tmp_path,
        'parity: {ignore: [{address: offers, reason: "ääää€𝄞"}, ¦{address: offers}]}',
        "the exception is missing reason",
    )


def test_directives_and_document_marks_are_taken(tmp_path: Path) -> None:
    """`%YAML`, `---` and `...` around the one document are no mistake."""
    assert len(load_beside_targets(tmp_path, "%YAML 1.1\n---\nparity: {}\n...\n").targets) == 3
