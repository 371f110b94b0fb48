"""A project whose record is on a server: in an object store, or in a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from reconciler.model.address import TargetName
from reconciler.state.journal.chain import parse
from support.object_servers import S3_SECRET, s3_environment
from support.postgres import PASSWORD
from support.sandbox_project import HERE, SandboxProject, subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reconciler.model.record import Record
    from reconciler.state.stores.store import Store
    from support.object_servers import ObjectServer
    from support.postgres import Scene


@dataclass(frozen=True)
class RemoteStore:
    """A place for a record that no other test has: the server's port, and what leads to it."""

    port: int
    environment: Callable[[int], dict[str, str]]
    """The variables, by way of a port."""
    open: Callable[[], Store]
    """A handle on it without the program's command line."""
    writes: bytes
    """What a request that writes contains, and no other."""
    secret: str


def in_bucket(s3: ObjectServer) -> RemoteStore:
    """The place of an S3."""
    return RemoteStore(
        s3.port, lambda port: {**s3_environment(port), "RECONCILER_STATE": s3.spec}, s3.open, b"PUT ", S3_SECRET
    )


def in_table(scene: Scene) -> RemoteStore:
    """A table of its own."""
    return RemoteStore(
        scene.port, lambda port: {"RECONCILER_STATE": scene.spec(port=port)}, scene.open, b"INSERT INTO", PASSWORD
    )


@pytest.fixture(params=["s3", "postgres"])
def remote_store(request: pytest.FixtureRequest) -> RemoteStore:
    """A store of each kind."""
    if request.param == "s3":
        return in_bucket(request.getfixturevalue("s3"))
    return in_table(request.getfixturevalue("scene"))


class RemoteProject(SandboxProject):
    """A project with its record in `store`, reached by way of a port; so many subscriptions, sealed responses."""

    def __init__(self, path: Path, store: RemoteStore, count: int, port: int | None = None) -> None:
        super().__init__(path / "project", subscriptions(count))
        self.project.seal()
        self.project.environment |= store.environment(port or store.port)
        self._store = store.open()

    def record(self, target: str = HERE) -> Record:
        """See SandboxProject.record; read without the program's command line."""
        data = self._store.read(TargetName(target))
        assert data is not None
        return parse(data, TargetName(target), "the scene").record()
