"""A place of each kind for the tests of stores, and an environment without anything of this machine."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest
from msgspec import Struct
from support import servers
from support.git_world import GitWorld

from reconciler.record.store import Store
from reconciler.stores.location import open_store

_FOREIGN = ("RECONCILER_", "GIT_", "AWS_", "AZURE_", "GOOGLE_", "PG", "XDG_")


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(_FOREIGN):
            monkeypatch.delenv(name)
    settings = tmp_path / "gitconfig"
    settings.write_text("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("HOME", str(tmp_path))


class Site(Struct):
    """A place that no other test uses."""

    place: str
    config: Path

    def open(self, machine: str = "") -> Store:
        """Return a store of its own for the place, as another process has it; or as another machine."""
        return open_store(self.place, self.config, self.config.parent / f"cache{machine}")


@pytest.fixture(scope="session")
def postgres_port(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The PostgreSQL of this run."""
    return servers.postgres(tmp_path_factory)


@pytest.fixture(scope="session")
def bouncer_port(tmp_path_factory: pytest.TempPathFactory, postgres_port: int) -> int:
    """The PgBouncer of this run."""
    return servers.bouncer(tmp_path_factory, postgres_port)


@pytest.fixture(scope="session")
def s3_port(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The S3 of this run."""
    return servers.ministack(tmp_path_factory)


@pytest.fixture(scope="session")
def azure_port(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The Azurite of this run."""
    return servers.azurite(tmp_path_factory)


@pytest.fixture(scope="session")
def git_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A remote and a checkout to copy."""
    return GitWorld.make_template(tmp_path_factory.mktemp("git"))


@pytest.fixture
def git_world(git_template: Path, tmp_path: Path) -> GitWorld:
    """A remote and a checkout of it."""
    return GitWorld(git_template, tmp_path)


def database_place(port: int) -> str:
    """Return a place for a table of its own."""
    return f"postgresql://app@127.0.0.1:{port}/postgres?sslmode=disable&table=t_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def s3(s3_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A prefix in a bucket of an S3."""
    for name, value in servers.s3_environment(s3_port).items():
        monkeypatch.setenv(name, value)
    return Site(f"s3://{servers.BUCKET}/{uuid.uuid4().hex}", tmp_path / "config")


@pytest.fixture
def azure(azure_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A prefix in a container of an Azurite."""
    for name, value in servers.azure_environment(azure_port).items():
        monkeypatch.setenv(name, value)
    return Site(f"az://{servers.BUCKET}/{uuid.uuid4().hex}", tmp_path / "config")


@pytest.fixture
def postgres(postgres_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A table of a PostgreSQL."""
    monkeypatch.setenv("PGPASSWORD", servers.PASSWORD)
    return Site(database_place(postgres_port), tmp_path / "config")


@pytest.fixture
def pgbouncer(postgres: Site, bouncer_port: int) -> Site:
    """A table of a PostgreSQL, through PgBouncer in transaction mode."""
    return Site(database_place(bouncer_port), postgres.config)


@pytest.fixture
def file(tmp_path: Path) -> Site:
    """A file."""
    return Site("state.jsonl", tmp_path / "config")


@pytest.fixture
def git(git_world: GitWorld) -> Site:
    """A branch of the remote of a checkout."""
    return Site("git:team/state", git_world.checkout / "config")


@pytest.fixture(params=["file", "git", "s3", "azure", "postgres", "pgbouncer"])
def site(request: pytest.FixtureRequest) -> Site:
    """A place of each kind, prepared."""
    site: Site = request.getfixturevalue(request.param)
    site.open().prepare()
    return site
