"""Who runs a command, as the record and messages have it, and where that machine keeps things."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import Mock

import pytest

from reconciler.operations.project import Flags, Project
from reconciler.operations.settings import Sources
from reconciler.planning.reasons import who
from reconciler.record.gates import Note

NAMES = ("LOGNAME", "USER", "LNAME", "USERNAME")


def by(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Mapping[str, str]:
    """Return who runs a command with these variables."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return Project(Flags(), Sources({}, Path())).by()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("actions", ["false", "", "1"])
def test_a_user_with_a_name(monkeypatch: pytest.MonkeyPatch, name: str, actions: str) -> None:
    """Elsewhere than in Actions it is taken from any of the usual variables; the host is that of this machine."""
    given = {name: "ada", "HOSTNAME": "old", "GITHUB_ACTIONS": actions, "GITHUB_ACTOR": "somebody"}
    assert by(monkeypatch, **given) == {"user": "ada", "host": platform.node()}


def test_a_user_without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """As cron and containers have them, the system knows the name; or there is at least a number."""
    import pwd  # noqa: PLC0415 - to be replaced

    monkeypatch.setattr(pwd, "getpwuid", lambda _: ["of the system"])
    assert by(monkeypatch)["user"] == "of the system"
    for problem in (KeyError, OSError):
        monkeypatch.setattr(pwd, "getpwuid", Mock(side_effect=problem))
        assert by(monkeypatch)["user"] == f"uid {os.getuid()}"


@pytest.mark.parametrize(
    ("triggered_by", "words"), [("", "ann"), ("ann", "ann"), ("bob", "bob, rerunning a run of ann")]
)
def test_in_actions(monkeypatch: pytest.MonkeyPatch, triggered_by: str, words: str) -> None:
    """It is whose push or click began the run, and first whoever runs it again."""
    names = {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "ann", "GITHUB_TRIGGERING_ACTOR": triggered_by}
    run = by(monkeypatch, **names, GITHUB_RUN_ID="", GITHUB_SHA="")
    assert (words, all(run.values())) == (who(run), True)
    names |= {"GITHUB_SERVER_URL": "https://github.test", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7"}
    monkeypatch.delenv("GITHUB_RUN_ATTEMPT", raising=False)
    for attempt, given in ((1, {}), (2, {"GITHUB_RUN_ATTEMPT": "2"})):
        run = by(monkeypatch, **names, **given, GITHUB_SHA="abc")
        assert (f"https://github.test/o/r/actions/runs/7/attempts/{attempt}", "abc") == (run["url"], run["commit"])


@pytest.mark.parametrize("home", ["HOME", "XDG", "system"])
def test_directories_of_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    """Data and cache are where the XDG variables say, else below HOME, else below the home of the user."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "relative" if home == "HOME" else "")
    if home == "HOME":
        monkeypatch.setenv("HOME", str(tmp_path))
    if home == "XDG":
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / ".local/share"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    of_user = tmp_path if home == "system" else tmp_path / "of the user"
    monkeypatch.setattr("pwd.getpwuid", lambda _: type("User", (), {"pw_dir": str(of_user)}))
    project = Project(Flags(), Sources({}, tmp_path))
    assert project.data_directory == tmp_path / ".local/share/reconciler"
    assert project.cache_directory == tmp_path / ".cache/reconciler"
    assert Path.cwd() / "below" == Project(Flags(cache_dir="below"), project.sources).cache_directory
    project.notes.write(Note("r" * 32, (), "/place", 1, "a" * 64))
    assert [*(project.data_directory / "heads").iterdir()] != []
