"""From what the user calls a store to the store."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.git_world import GitWorld

from reconciler.errors import SettingsError
from reconciler.state.stores import location
from reconciler.state.stores.files import FileStore
from reconciler.state.stores.git.branch import GitStore

if TYPE_CHECKING:
    from support.project import Project

    from reconciler.state.stores.store import Store


def open_store(spec: str) -> Store:
    """The store, with a cache directory that is not there."""
    return location.open_store(spec, Path("cache"), os.environ)


EXAMPLE = (
    "use a directory (--state state, --state file:///srv/state), a git branch (--state git:BRANCH), an object store"
    " (--state s3://BUCKET/PREFIX) or a database (--state postgresql://HOST/DATABASE)"
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("state", "state"),
        ("./odd:name", "odd:name"),
        ("some/git:state", "some/git:state"),
        ("file:state", "state"),
        ("FILE:/srv/state", "/srv/state"),
        ("file:///srv/my%20state", "/srv/my state"),
        ("file://localhost/srv/state", "/srv/state"),
        ("file:///srv/%ff", "/srv/\udcff"),
        ("file:a%2Fb", "a%2Fb"),
    ],
)
def test_files(spec: str, expected: str) -> None:
    """A path and a file: URL name a directory."""
    store = open_store(spec)
    assert isinstance(store, FileStore)
    assert (expected, Path(expected).absolute()) == (store.location, store.path)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        *((spec, "the value is empty") for spec in ("", "  ", "file:", "file://")),
        ("file://server.example/state", "a file: URL cannot have a host"),
    ],
)
def test_nowhere(spec: str, told: str) -> None:
    """What names no directory of this machine is refused, with an example of what does."""
    with pytest.raises(SettingsError) as caught:
        open_store(spec)
    assert f"--state: {told}; {EXAMPLE}" == str(caught.value)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("state\n", "the value contains a line break; remove it"),
        ("a\rb", "the value contains a line break; remove it"),
        ("sta\tte", "the value contains the control character U+0009 at position 4; remove it"),
        ("file:\x1b[2J", "the value contains the control character U+001B at position 6; remove it"),
        ("git:st\x85ate", "the value contains a line break; remove it"),
        (
            "git+https://me:hunter2\x7f@git.example/a#b",
            "the value contains the control character U+007F at position 23; remove it",
        ),
        ("a\0b", "the value contains a NUL character; remove it"),
        ("file:///srv/%00", "the path contains a NUL character; remove %00"),
        ("file:///srv/a%0Ab", "the path contains a line break; remove %0A"),
        ("file:///srv/%1b", "the path contains the control character U+001B at position 6; remove %1B"),
        (
            "file:///a%2Fb",
            "the path contains an encoded slash, %2F, which could mean two directories or one name; write /",
        ),
        (
            "file:///a%2fb",
            "the path contains an encoded slash, %2F, which could mean two directories or one name; write /",
        ),
    ],
)
def test_control_characters(spec: str, told: str) -> None:
    """What no path and no URL should hold is named, without an echo of the rest, and nothing is opened."""
    with pytest.raises(SettingsError) as caught:
        open_store(spec)
    assert f"--state: {told}" == str(caught.value)


@pytest.mark.parametrize(
    "spec", ["a\nb", "file:///srv/%00", "file:///a%2Fb", "x" * 5000, "git:a\tb", "git+file:///%00#a"]
)
def test_strange_values_at_the_command_line(project: Project, spec: str) -> None:
    """Whatever the flag holds, the command ends with one error line, and no traceback."""
    project.declare({"first": (["ONB10001"], "https://hooks.partner.example/first")})
    done = project.run("status", "--state", spec)
    assert (1, "") == (done.code, done.out)
    assert [True] == [line.startswith("Error: ") for line in done.err.splitlines()]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("git:state", "git:state of /srv/origin.git"),
        ("GIT:state", "git:state of /srv/origin.git"),
        ("git+https://me:hunter2@git.example/a/b.git#state", "git+https://git.example/a/b.git#state"),
        ("git+ssh://git@git.example/a/b#state", "git+ssh://git.example/a/b#state"),
        ("git+file:///srv/a#x/y", "git+file:///srv/a#x/y"),
        ("git+/srv/a:b#state", "git+/srv/a:b#state"),
        ("git+/srv/a#state", "git+/srv/a#state"),
    ],
)
def test_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, expected: str) -> None:
    """A branch of the origin, or of a URL; credentials are no part of the location."""
    GitWorld(tmp_path, monkeypatch).git("remote", "set-url", "origin", "/srv/origin.git")
    store = open_store(spec)
    assert isinstance(store, GitStore)
    assert (expected, None) == (store.location, store.path)


@pytest.mark.parametrize(
    "spec", ["git+ssh://me:hunter2@git.example/a", "git+hunter2@git.example:a/b", "git:", "git+/a"]
)
def test_no_branch(spec: str) -> None:
    """What names no branch of a repository is refused, and nothing of its URL is echoed."""
    with pytest.raises(SettingsError, match="use git:BRANCH") as caught:
        open_store(spec)
    assert "hunter2" not in str(caught.value)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store whose library is not installed says how it is."""
    for name in [name for name in sys.modules if name.startswith("reconciler.state.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SettingsError) as caught:
        open_store("postgresql://me:hunter2@store.example/a")
    assert (
        "--state: postgresql: stores need psycopg, which is not installed; install reconciler with it; in its sources,"
        " run: pip install '.[postgres]'"
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("postgresql://me:hunter2@db.example/records", True),
        ("postgresql://me@db.example/records?sslmode=require&password=hunter2", True),
        ("postgresql://me@db.example/records?sslpassword=hunter2", True),
        ("postgresql://me@db.example/records?passfile=here", False),
        ("state?password=", False),
    ],
)
def test_holds_password(spec: str, expected: bool) -> None:
    """Wherever a URL has a password, it is noticed: it is then in no command that is to be pasted."""
    assert expected == location.holds_password(spec)


def test_unknown_scheme() -> None:
    """An unknown scheme is refused, with the known ones; never taken for a path."""
    with pytest.raises(
        SettingsError, match=r"--state: unknown store type gopher:; valid types: file:, git:, s3:, gs:, az:"
    ) as caught:
        open_store("gopher://me:hunter2@store.example")
    assert "hunter2" not in str(caught.value)
