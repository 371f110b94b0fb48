"""The sandbox of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox that serves, and retries at once."""
    with Sandbox(retry_interval=0.05) as serving:
        yield serving
    assert serving.world.failures == []
