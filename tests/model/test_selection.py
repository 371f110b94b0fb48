"""What the patterns of `-t` select."""

from __future__ import annotations

import pytest

from reconciler.errors import SelectionError
from reconciler.model.address import Address, TargetName, matches
from reconciler.model.selection import Selection

OFFERS = Address("europe/staging/offers")
STAGING = TargetName("europe/staging")


@pytest.mark.parametrize(
    ("pattern", "has", "touches"),
    [
        ("europe/staging", True, True),
        ("europe/*", True, True),
        ("*/*", True, True),
        ("eur*/stag*", True, True),
        ("*/production", False, False),
        ("europe/staging/offers", True, True),
        ("*/staging/off*", True, True),
        ("*/*/loans", False, True),
        ("*/production/offers", False, False),
        ("EUROPE/*", False, False),
    ],
)
def test_pattern(pattern: str, *, has: bool, touches: bool) -> None:
    """One slash: targets. Two: addresses. `*` does not cross a slash."""
    selection = Selection.of((pattern,))
    assert (has, touches) == (selection.has(OFFERS), selection.touches(STAGING))


def test_everything() -> None:
    """No pattern selects everything."""
    selection = Selection.of(())
    assert (True, True, []) == (selection.has(OFFERS), selection.touches(STAGING), selection.unmatched([], []))


def test_sorted() -> None:
    """Patterns are sorted, and none is there twice."""
    assert ("*/b", "a/*") == Selection.of(("a/*", "*/b", "a/*")).patterns


@pytest.mark.parametrize("pattern", ["offers", "a/b/c/d", "a//b", "/a", "a/", "", "*"])
def test_malformed(pattern: str) -> None:
    """A pattern with other than one or two slashes, or with nothing between them, is an error that names it."""
    with pytest.raises(SelectionError) as caught:
        Selection.of((pattern,))
    assert f"-t {pattern}" == caught.value.where


def test_unmatched() -> None:
    """Patterns that match nothing known are named, targets against targets and addresses against addresses."""
    selection = Selection.of(("europe/*", "usa/*", "*/*/offers", "*/*/loans"))
    assert ["*/*/loans", "usa/*"] == selection.unmatched([STAGING], [OFFERS])


def test_each_pattern_matches_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many targets are named, a name is looked up; and a wildcard is matched once with each target."""
    compared: list[tuple[str, str]] = []

    def match(glob: str, name: str) -> bool:
        compared.append((glob, name))
        return matches(glob, name)

    monkeypatch.setattr("reconciler.model.selection.matches", match)
    targets = [TargetName(f"region{number}/staging") for number in range(100)]
    selection = Selection.of((*targets, "region7*/stag*"))
    for target in targets:
        assert all(selection.has(Address.of(target, name)) for name in ("offers", "loans", "leads"))
    assert [] == selection.unmatched(dict.fromkeys(targets), [])
    assert ("region7*/stag*", targets[0]) in compared
    assert len(compared) <= 2 * len(targets)


def test_left_out() -> None:
    """Of a target that is left out nothing is selected, with and without patterns; others stay as they are."""
    for patterns in ((), ("europe/*",), ("*/*/offers",)):
        selection = Selection(patterns, left_out=(STAGING,))
        assert (False, False) == (selection.has(OFFERS), selection.touches(STAGING))
        assert selection.touches(TargetName("europe/production"))
