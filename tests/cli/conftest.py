"""A command line in an empty directory, and one with a project and a sandbox of the service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import CommandLine

from reconciler.sandbox import Sandbox


@pytest.fixture
def reconciler(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """Return a command line in a directory with nothing in it."""
    directory = tmp_path / "project"
    directory.mkdir()
    return CommandLine(directory, capsys, monkeypatch)


@pytest.fixture
def project(reconciler: CommandLine) -> CommandLine:
    """Return a command line in a project with two subscriptions desired, without a record."""
    reconciler.write_config()
    return reconciler


@pytest.fixture
def sandbox(project: CommandLine, tmp_path: Path) -> Iterator[Sandbox]:
    """Serve a sandbox that the project's variables point at, with an empty record that is complete."""
    with Sandbox(0, ["europe/staging"], directory=tmp_path / "sandbox", retry_interval=0.05) as sandbox:
        for name, value in sandbox.variables():
            project.environment.setenv(name, value)
        project.fine("state", "init", "--complete", "--yes")
        yield sandbox


@pytest.fixture
def applied(project: CommandLine, sandbox: Sandbox) -> CommandLine:
    """Return a command line in a project that was applied to a sandbox."""
    project.fine("apply", "--auto-approve")
    return project
