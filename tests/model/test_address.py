"""Names, patterns, and what patterns select."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import raised

from reconciler.errors import SelectionError
from reconciler.model.address import (
    ADDRESS,
    NAME,
    TARGET,
    Address,
    Selection,
    TargetName,
    has_wildcard,
    matches,
    suggestion,
)

TARGETS = [*map(TargetName, ("eu/staging", "eu/prod", "us/staging", "us-a/prod"))]
ADDRESSES = [Address.of(*names) for names in product(TARGETS, ("offers", "loans", "a"))]
OVER = ("eu/prod", "eu/*", "us/s?aging", "us-[a]/prod", "*/prod", "us/staging", "[!u]*/*", "eu/pro")
GLOBS = [f"{over}{name}" for over in OVER for name in ("", "/offers", "/loans", "/[ol]*", "/*", "/offer")]
patterns = st.lists(st.sampled_from(GLOBS), max_size=5)


@settings(max_examples=200)
@given(patterns)
def test_selection(globs: list[str]) -> None:
    """It has what some pattern matches segment by segment, and names the patterns that match nothing, sorted."""

    def fits(glob: str, name: str) -> bool:
        pairs = [*zip(glob.split("/"), name.split("/"), strict=False)]
        return all(fnmatchcase(segment, each) for each, segment in pairs)

    selection = Selection.of(tuple(globs))
    for names, found in ((ADDRESSES, [*map(selection.has, ADDRESSES)]), (TARGETS, [*map(selection.touches, TARGETS)])):
        assert [any(fits(glob, each) for glob in globs) or not globs for each in names] == found
    known = [*TARGETS, *ADDRESSES]
    nothing = {glob for glob in globs if not any(fits(glob, n) for n in known if n.count("/") == glob.count("/"))}
    assert sorted(nothing) == selection.unmatched(TARGETS, ADDRESSES)
    assert tuple(sorted({*globs})) == selection.patterns


@pytest.mark.parametrize("pattern", ["", "eu", "eu/", "/staging", "eu//offers", "eu/staging/", "eu/staging/offers/x"])
def test_a_malformed_pattern_is_named_with_its_option(pattern: str) -> None:
    """It has neither two nor three segments, or an empty one."""
    message = raised(SelectionError, Selection.of, ("eu/staging", pattern))
    assert ("bad-pattern", f"-t {pattern}", 1) == (message.name, message.where, len(message.steps))


@pytest.mark.parametrize(
    ("name", "is_one"), [("a", True), ("1-b-", True), *((name, False) for name in ("-a", "", "A", "a_b", "a/", "é"))]
)
def test_spelling(name: str, is_one: bool) -> None:
    """A name begins with a letter or digit, and so does each segment of a target and an address."""
    assert [is_one] * 4 == [
        bool(kind.fullmatch(text))
        for kind, text in ((NAME, name), (TARGET, f"{name}/b"), (TARGET, f"b/{name}"), (ADDRESS, f"b/c/{name}"))
    ]


def test_parts() -> None:
    """A target has a region, an environment and a prefix for its variables; an address a target and a name."""
    address = Address("north-eu/pre-prod/new-offers")
    target = address.target
    assert ("north-eu/pre-prod", "new-offers") == (target, address.name)
    assert ("north-eu", "pre-prod", "RECONCILER_NORTH_EU_PRE_PROD_") == (
        target.region, target.environment, target.variable_prefix,
    )  # fmt: skip
    assert [False, True, False] == [matches(glob, "a/b/c") for glob in ("*/*", "*/*/*", "*/*/*/*")]
    assert [True, True, True, False] == [*map(has_wildcard, ("eu/*", "eu/stagin?", "eu/[ps]x", "eu/staging"))]


def test_misspelt_names_among_targets_and_addresses() -> None:
    """Each is compared with what has as many segments, by its worst segment; the best three are named."""
    known = [*ADDRESSES, *TARGETS, *ADDRESSES]
    for unknown, meant in (
        ("eu/staging/ofers", "eu/staging/offers"), ("eu/stagng/offers", "eu/staging/offers"),
        ("eu/stagng", "eu/staging"), ("eu/staging/lones", "eu/staging/loans"), ("eu/prod/offer", "eu/prod/offers"),
        ("eu/staging/b", ""), ("eu/staging/zzzz", ""), ("xx/staging/loans", ""), ("uss/staging", "us/staging"),
        ("staging", ""),
    ):  # fmt: skip
        assert f" (did you mean {meant}?)" * bool(meant) == suggestion([unknown], known)
    assert ["", ""] == [suggestion(["eu/staging"], known) for known in (ADDRESSES, [])]
    edge = [suggestion([name], ["abcde"]) for name in ("abcxy", "abwxy")]  # three letters of five, and two
    assert [" (did you mean abcde?)", ""] == edge
    similar = ["load", "loans", "lone", "loaned", "cast", "cart", "catch", "chat"]
    for names, best in ((["cat"], "cart or cast or chat"), (["hat", "loan"], "chat or loans or loaned")):
        assert f" (did you mean {best}?)" == suggestion(names, similar)
