"""Moments, and how far they are."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from reconciler.reports.times import with_distances

NOW = datetime(2026, 11, 22, 13, 58, 25, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in flight until 2026-11-22T14:00:00Z; if", "in flight until 2026-11-22T14:00:00Z, in 95 s; if"),
        ("retry after 2026-11-22T14:30:00Z", "retry after 2026-11-22T14:30:00Z, in 32 min"),
        ("wait until 2026-11-23T14:00:00Z, then", "wait until 2026-11-23T14:00:00Z, in 25 h, then"),
        ("until 2026-11-30T14:00:00Z", "until 2026-11-30T14:00:00Z, in 9 days"),
        ("in flight until 2026-11-22T13:58:25Z; if", "in flight until 2026-11-22T13:58:25Z (over); if"),
        ("not, wait until 2026-11-22T13:58:25Z, then run:", "not, run:"),
        ("not, wait until 2026-02-31T14:00:00Z, then run:", "not, wait until 2026-02-31T14:00:00Z, then run:"),
        ("a create started 2026-11-22T10:00:00Z by x", "a create started 2026-11-22T10:00:00Z (3 hours ago) by x"),
        ("until 2026-02-31T14:00:00Z", "until 2026-02-31T14:00:00Z"),
        ("last 2026-11-22T14:00:00Z", "last 2026-11-22T14:00:00Z"),
    ],
)
def test_how_far(text: str, expected: str) -> None:
    """A moment to wait for says how long, rounded up; one at which a create started, how long ago; no other does."""
    assert expected == with_distances(text, NOW)
