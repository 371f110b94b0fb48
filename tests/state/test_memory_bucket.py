"""The store in a bucket that keeps its promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.memory_bucket import MemoryBucket, bucket_store
from support.store_conformance import StoreConformance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reconciler.model.address import TargetName
    from reconciler.state.stores.store import Store


class TestInMemory(StoreConformance):
    """All that a store promises."""

    @pytest.fixture
    def bucket(self) -> MemoryBucket:
        """What all handles share."""
        return MemoryBucket()

    @pytest.fixture
    def another_handle(self, bucket: MemoryBucket) -> Callable[[], Store]:
        return lambda: bucket_store(lambda: bucket)

    @pytest.fixture
    def spec(self) -> str:
        pytest.skip("a bucket in the memory of this process")

    @pytest.fixture
    def spec_at(self) -> Callable[[Path], str]:
        pytest.skip("a bucket is not on this machine")

    @pytest.fixture
    def locked_out(self) -> Iterator[Store]:
        pytest.skip("a bucket has no lock")

    @pytest.fixture
    def tear(self) -> Callable[[TargetName, bytes], None]:
        pytest.skip("an object is written whole")
