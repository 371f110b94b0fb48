"""Journals in object stores: what every store must do, on servers that speak as the real ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.memory_bucket import MemoryBucket, bucket_store
from support.store_conformance import StoreConformance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.object_servers import ObjectServer

    from reconciler.model.address import TargetName
    from reconciler.state.stores.objects.objects import BucketStore
    from reconciler.state.stores.store import Store


class BucketConformance(StoreConformance):
    """What a bucket has in common with no other store."""

    @pytest.fixture
    def spec_at(self) -> Callable[[Path], str]:
        """A bucket is not on this machine."""
        pytest.skip("a bucket is not on this machine")

    @pytest.fixture
    def locked_out(self) -> Iterator[Store]:
        """Nothing is ever locked."""
        pytest.skip("a bucket has no lock")

    @pytest.fixture
    def broken(self) -> Store:
        """A server that is away is in test_bucket_failures."""
        pytest.skip("tested elsewhere")

    @pytest.fixture
    def tear(self) -> Callable[[TargetName, bytes], None]:
        """An object is written whole, or damaged."""
        pytest.skip("an object is written whole")


class TestInMemory(BucketConformance):
    """The bucket of the tests, which broken ones are made from."""

    @pytest.fixture
    def another_handle(self) -> Callable[[], BucketStore]:
        bucket = MemoryBucket()
        return lambda: bucket_store(lambda: bucket)

    @pytest.fixture
    def spec(self) -> str:
        pytest.skip("a bucket in the memory of this process")


class OnServer(BucketConformance):
    """A real server, which is the fixture `server`."""

    @pytest.fixture
    def another_handle(self, server: ObjectServer) -> Callable[[], Store]:
        return server.open

    @pytest.fixture
    def spec(self, server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> str:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        return server.spec

    def test_it_is_trusted(self, server: ObjectServer) -> None:
        """It passes the test that `state init` does."""
        store = server.open()
        store.prepare()
        assert [] == store.targets()


class TestS3(OnServer):
    """S3, by ministack."""

    @pytest.fixture
    def server(self, s3: ObjectServer) -> ObjectServer:
        return s3

    @pytest.mark.soak
    def test_contended_applies_share_the_work(self, another_handle: Callable[[], Store], tmp_path: Path) -> None:
        """By default with the bucket in memory only, which the same code of the program works with."""
        super().test_contended_applies_share_the_work(another_handle, tmp_path)


class TestAzure(OnServer):
    """Azure Blob Storage, by Azurite. What takes long runs by default with S3 only: the program does the same."""

    @pytest.fixture
    def server(self, azure: ObjectServer) -> ObjectServer:
        return azure

    @pytest.mark.soak
    def test_racing_processes(self, store: Store, spec: str, tmp_path: Path) -> None:
        super().test_racing_processes(store, spec, tmp_path)

    @pytest.mark.soak
    def test_nobody_loses_an_entry(self, store: Store, another_handle: Callable[[], Store]) -> None:
        super().test_nobody_loses_an_entry(store, another_handle)

    @pytest.mark.soak
    def test_reading_while_appending(self, store: Store, another_handle: Callable[[], Store]) -> None:
        super().test_reading_while_appending(store, another_handle)

    @pytest.mark.soak
    def test_contended_applies_share_the_work(self, another_handle: Callable[[], Store], tmp_path: Path) -> None:
        super().test_contended_applies_share_the_work(another_handle, tmp_path)
