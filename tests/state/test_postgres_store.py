"""Journals in a database: the conformance suite, directly and behind a pooler, and what only a database does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.store_conformance import StoreConformance

from reconciler.state.stores.postgres.table import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.postgres import Scene, Server

    from reconciler.model.address import TargetName
    from reconciler.state.stores.store import Store


class TestPostgresStore(StoreConformance):
    """The store in a database is a store."""

    turns = 2

    @pytest.fixture
    def another_handle(self, scene: Scene) -> Callable[[], Store]:
        """Another connection to the same table."""
        scene.prepared()
        return scene.open

    def test_it_is_this_store(self, scene: Scene) -> None:
        """A URL names it, and its location has neither credentials nor parameters of the connection."""
        store = scene.open()
        assert isinstance(store, PostgresStore)
        assert f"postgresql://127.0.0.1:{scene.port}/journals?reconciler_schema={scene.schema}" == store.location
        assert store.path is None

    @pytest.fixture
    def spec(self, scene: Scene) -> str:
        """The URL, with the password in it."""
        return scene.spec()

    @pytest.fixture
    def spec_at(self) -> Callable[[Path], str]:
        """A database is no path."""
        pytest.skip("not on this machine")

    @pytest.fixture
    def locked_out(self) -> Iterator[Store]:
        """A table that somebody has locked is in test_postgres_failures."""
        pytest.skip("without a lock")

    @pytest.fixture
    def broken(self) -> Store:
        """A server that is away is in test_postgres_failures."""
        pytest.skip("tested elsewhere")

    @pytest.fixture
    def tear(self) -> Callable[[TargetName, bytes], None]:
        """A row is there or not."""
        pytest.skip("a transaction is never torn")


class TestBehindPgBouncer(TestPostgresStore):
    """So it is where each transaction may have another connection to the server."""

    @pytest.fixture
    def scene(self, postgres_server: Server, bouncer_port: int) -> Scene:
        """A schema, reached by the pooler."""
        return postgres_server.scene(bouncer_port)

    @pytest.mark.soak
    def test_racing_processes(self, store: Store, spec: str, tmp_path: Path) -> None:
        """As above; left out by default, since the threads of the other tests race as well."""
        super().test_racing_processes(store, spec, tmp_path)

    @pytest.mark.soak
    def test_contended_applies_share_the_work(self, another_handle: Callable[[], Store], tmp_path: Path) -> None:
        """As above."""
        super().test_contended_applies_share_the_work(another_handle, tmp_path)
