"""Tests that need a server of others: skipped without it, and failed where CI requires it."""

from __future__ import annotations

import pytest
from support import components


def test_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A component that is missing skips the test locally, and fails it where it is required; both name the remedy."""
    monkeypatch.setattr(components, "find", lambda name: None)
    for required, end in ((False, pytest.skip.Exception), (True, pytest.fail.Exception)):
        monkeypatch.setattr(components, "_REQUIRED", required)
        with pytest.raises(end, match=r"pgbouncer is not installed; .ci/components installs it"):
            components.component("pgbouncer")
