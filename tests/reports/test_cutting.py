"""Markdown that is cut to a size keeps whole sections, and says how many it lacks and where they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.reports.cutting import cut, utf8_size

FIRST = "<!-- marker -->\n### Summary\n"
TABLE = "\n#### A table\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
LIST = "\n**A list**\n\n- one\n- two\n"
FENCE = "\n#### A fence\n\n```\n# no heading\n\n**no title**\n<details>\n```\n"
FOLD = "\n<details><summary>Folded</summary>\n\n#### In it\n\n- one\n\n</details>\n"
WHOLE = FIRST + TABLE + LIST + FENCE + FOLD


@pytest.mark.parametrize("size", [utf8_size, len])
@given(limit=st.integers(0, 600), blown=st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_it_fits_and_breaks_nothing(size: object, limit: int, blown: list[int]) -> None:
    """Whatever the limit: what is left of each section is all of it, or nothing."""
    assert callable(size)
    sections = [
        part.replace("one", "öne" * count) for part, count in zip((TABLE, LIST, FENCE, FOLD), blown, strict=True)
    ]
    text = FIRST + "".join(sections)
    shown = cut(text, limit, "see [the run](https://ci.example)", size)
    assert size(shown) <= max(limit, 0)
    rest = shown.partition("omitted: the text would be too long.")[0]
    for line in rest.splitlines()[:-1]:
        assert line in text.splitlines()
    assert shown.count("```") % 2 == 0
    assert shown.count("<details>") - shown.count("```") // 2 == shown.count("</details>")
    assert shown.count("| 1 | 2 |") == shown.count("| 3 | 4 |") == shown.count("|---|---|")


def test_what_fits_is_as_it_was() -> None:
    """To the last byte of the limit."""
    assert WHOLE == cut(WHOLE, utf8_size(WHOLE), "nowhere")
    assert WHOLE != cut(WHOLE, utf8_size(WHOLE) - 1, "nowhere")


def test_the_rest_is_counted_and_named() -> None:
    """A section too large is left out; those after it that fit are not."""
    text = FIRST + TABLE + LIST.replace("one", "one" * 200) + FOLD
    shown = cut(text, utf8_size(text) - 300, "see [the run](https://ci.example)")
    assert FOLD in shown
    assert TABLE.strip() in shown
    assert shown.endswith(
        "\n1 section omitted: the text would be too long. Complete: see [the run](https://ci.example)\n"
    )
