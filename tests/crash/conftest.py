"""A project at a place of any kind, for the tests that kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.git_world import GitWorld
from support.machines import Machine, Partner, Places


@pytest.fixture(scope="session")
def git_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A remote to copy."""
    return GitWorld.make_template(tmp_path_factory.mktemp("git"))


@pytest.fixture
def places(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, git_template: Path) -> Places:
    """Makes places that no other test uses."""
    return Places(tmp_path_factory, tmp_path / "repositories", git_template)


@pytest.fixture
def kind() -> str:
    """The kind of the project's place, where a test says none."""
    return "file"


@pytest.fixture
def seals() -> bool:
    """Whether the project has recipients, where a test does not say."""
    return True


@pytest.fixture
def partner(tmp_path: Path, places: Places, kind: str, seals: bool) -> Iterator[Partner]:
    """A project of one target."""
    with Partner(tmp_path / "p", places.make(kind), seals=seals) as partner:
        yield partner


@pytest.fixture
def machine(partner: Partner) -> Machine:
    """A machine that has begun the record, of a project with one subscription."""
    return partner.first(1)
