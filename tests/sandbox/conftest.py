"""The sandbox of the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reconciler.sandbox import Sandbox


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox that serves, and retries at once."""
    with Sandbox(retry_interval=0.05) as serving:
        yield serving
    assert serving.world.failures == []
