"""Places of every kind for the tests that kill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.git_world import GitWorld
from support.machines import Places

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def git_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A remote to copy."""
    return GitWorld.make_template(tmp_path_factory.mktemp("git"))


@pytest.fixture
def places(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, git_template: Path) -> Places:
    """Makes places that no other test uses."""
    return Places(tmp_path_factory, tmp_path / "repositories", git_template)
