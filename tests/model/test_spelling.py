"""What somebody may have meant."""

from __future__ import annotations

import pytest

from reconciler.model.spelling import suggestion

ADDRESSES = ("europe/staging/offers", "europe/staging/loans", "usa/staging/offers", "europe/staging")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("europe/stagign/offers", " (did you mean europe/staging/offers?)"),
        ("europe/staging/offer", " (did you mean europe/staging/offers?)"),
        ("europe/stagng", " (did you mean europe/staging?)"),
        ("europe/staging/x", ""),
        ("asia/staging/offers", ""),
        ("asia/*", ""),
    ],
)
def test_each_segment_is_compared(name: str, expected: str) -> None:
    """What all addresses begin with makes none like another."""
    assert expected == suggestion([name], ADDRESSES)


def test_the_most_alike_come_first() -> None:
    """Three at most."""
    assert " (did you mean abcde or abcd or abc?)" == suggestion(
        ["abcde"], ["abc", "abcd", "abcde", "ab", "abcx", "zz"]
    )
