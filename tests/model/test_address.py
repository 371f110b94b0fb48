"""How targets and addresses are written."""

from __future__ import annotations

import pytest

from reconciler.model.address import ADDRESS, ADDRESS_PATTERN, NAME, TARGET, TARGET_PATTERN, matches


@pytest.mark.parametrize("segment", ["a", "0", "a-b", "west-eu", "9-"])
def test_segments(segment: str) -> None:
    """A segment starts with a letter or digit, and each name is made of one, two or three."""
    target = f"{segment}/{segment}"
    assert NAME.fullmatch(segment)
    assert TARGET.fullmatch(target)
    assert TARGET_PATTERN.fullmatch(target)
    assert ADDRESS.fullmatch(f"{target}/{segment}")
    assert ADDRESS_PATTERN.fullmatch(f"{target}/{segment}")


@pytest.mark.parametrize("segment", ["", "-a", "A", "a_b", "ä", "a\n", "a.b"])
def test_malformed_segments(segment: str) -> None:
    """Anything else is no segment, wherever it is."""
    assert not NAME.fullmatch(segment)
    for name, grammar in (("a/{}", TARGET), ("{}/*", TARGET_PATTERN), ("a/{}/a", ADDRESS), ("*/a/{}", ADDRESS_PATTERN)):
        assert not grammar.fullmatch(name.format(segment))


def test_patterns_stand_for_whole_segments() -> None:
    """In `config/`, `*` is a whole segment of a pattern and never a part of one, nor of a name."""
    assert TARGET_PATTERN.fullmatch("*/*")
    assert ADDRESS_PATTERN.fullmatch("*/staging/*")
    for grammar, text in ((TARGET_PATTERN, "a*/b"), (ADDRESS_PATTERN, "a/b/c*"), (TARGET, "*/b"), (ADDRESS, "a/b/*")):
        assert not grammar.fullmatch(text)


@pytest.mark.parametrize(
    ("glob", "name", "expected"),
    [
        ("*/b", "a/b", True),
        ("a*/b", "abc/b", True),
        ("*", "a/b", False),
        ("a/*", "a/b/c", False),
        ("a/*/c", "a/b/c", True),
        ("A/b", "a/b", False),
    ],
)
def test_globs(glob: str, name: str, *, expected: bool) -> None:
    """A glob matches as many segments as it has: `*` does not cross a slash."""
    assert expected == matches(glob, name)
