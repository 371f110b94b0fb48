"""Settings come from three sources, of which the first counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.memory_project import desired_of
from support.refusals import raised

from reconciler.errors import SettingsError
from reconciler.operations.project import Flags, Project
from reconciler.operations.settings import SECRETS_DIR, Sources, hide_secrets

NAME = "RECONCILER_EUROPE_STAGING_CLIENT_ID"


@pytest.fixture
def everywhere(tmp_path: Path) -> dict[str, str]:
    """An environment in which NAME is set by every source, in its own words."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / NAME).write_text("of the directory\n")
    (tmp_path / ".env").write_text(f"{NAME}='of .env'\nRECONCILER_ELSE=1\n")
    return {NAME: "of the environment", SECRETS_DIR: "secrets"}


def test_setting_that_overrides_the_place_in_config_is_named(tmp_path: Path) -> None:
    """A variable with its source, else the flag; none if `state:` in config/ names the place."""
    (tmp_path / ".env").write_text("RECONCILER_STATE=old.jsonl\n")
    dotenv, environ = Sources({}, tmp_path), Sources({"RECONCILER_STATE": "old.jsonl"}, tmp_path)
    names = [Project(Flags(state="old.jsonl"), sources).named_by for sources in (dotenv, environ)]
    assert ["`RECONCILER_STATE` in .env", "`RECONCILER_STATE` in the environment"] == names
    assert Project(Flags(state="other.jsonl"), dotenv).named_by == "`--state`"
    assert Project(Flags(), Sources({}, tmp_path / "empty")).named_by == ""
    for flag, place, expected in ((None, "x.jsonl", "f" * 32), ("other.jsonl", "other.jsonl", "")):
        project = Project(Flags(state=flag), Sources({}, tmp_path / "empty"))
        project.__dict__["desired"] = desired_of(state="x.jsonl", record="f" * 32)
        assert (place, expected) == (project.place, project.journal.expected)
        assert ("`--state`" if flag else "", "") == (project.journal.named_by, project.journal_at("z").named_by)


def test_the_first_source_counts(tmp_path: Path, everywhere: dict[str, str]) -> None:
    """The environment, then the directory of secrets, then `.env`; an empty variable is an unset one."""
    assert Sources(everywhere, tmp_path).get(NAME) == "of the environment"
    everywhere[NAME], file = "", tmp_path / "secrets" / NAME
    first, second, none = ("of the directory", str(file)), ("of .env", ".env"), (None, "")
    for given, emptied, text in ((first, file, " \n"), (second, tmp_path / ".env", f"{NAME}=\n"), (none, file, "")):
        sources = Sources(everywhere, tmp_path)
        assert given == (sources.get(NAME), sources.source(NAME))
        emptied.write_text(text)


@pytest.mark.parametrize(("ci", "value"), [("true", None), ("1", None), ("", "of .env")])
@pytest.mark.usefixtures("everywhere")
def test_dotenv_is_not_read_in_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str, value: str | None) -> None:
    """A checkout must not choose the settings of a job; an empty `CI` is an unset one."""
    monkeypatch.setenv("CI", ci)
    assert bool(ci) == Project(Flags(), Sources({}, tmp_path)).in_ci
    assert value == Sources({"CI": ci}, tmp_path).get(NAME)


def test_secrets_leave_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No child process inherits them; a copy of it still has them, and does not show them."""
    kept = {"RECONCILER_A_B_CLIENT_ID": "x", "AWS_CLIENT_SECRET": "y", SECRETS_DIR: ""}
    environ = {"RECONCILER_A_B_CLIENT_SECRET": "hunter2", "RECONCILER_A_PRE_PROD_CLIENT_SECRET": "hunter3", **kept}
    sources = Sources(dict(environ), tmp_path)
    hide_secrets(environ)
    assert environ == kept
    assert sources.get("RECONCILER_A_B_CLIENT_SECRET") == "hunter2"
    assert "hunter2" not in repr(sources)
    monkeypatch.setenv("RECONCILER_A_B_CLIENT_SECRET", "hunter2")
    hide_secrets()
    assert "RECONCILER_A_B_CLIENT_SECRET" not in os.environ


@pytest.mark.parametrize(("text", "value"), [
    ("NAME=plain", "plain"), ("export NAME=exported", "exported"), ('NAME="two words"', "two words"),
    ("NAME='$HOME ${HOME}'", "$HOME ${HOME}"), ("NAME=$HOME", "$HOME"), ("\ufeffNAME=marked", "marked"),
    ("# NAME=comment\nNAME=after # a comment", "after"), ("NAME=first\nNAME=last\nNAME=", "last"), ("NAME", None),
])  # fmt: skip
def test_what_dotenv_may_hold(tmp_path: Path, text: str, value: str | None) -> None:
    """The usual syntax, in which nothing is substituted: a secret may hold any sign."""
    (tmp_path / ".env").write_text(text)
    assert value == Sources({}, tmp_path).get("NAME")


def test_a_line_that_cannot_be_read(tmp_path: Path) -> None:
    """It is an error that names the line and shows nothing of it."""
    (tmp_path / ".env").write_text("A=1\nB='hunter2\n")
    message = raised(SettingsError, Sources({}, tmp_path).get, "A")
    assert ("dotenv-line", ".env:2", False) == (message.name, message.where, "hunter2" in str(message))
    (tmp_path / "below/.env").mkdir(parents=True)  # a directory of this name is a virtual environment
    assert Sources({}, tmp_path / "below").get("A") is None


@pytest.mark.parametrize(("file", "make", "name"), [
    ("NAME", lambda path: path.write_bytes(b"hunter2\xff"), "setting-not-utf-8"),
    ("NAME", lambda path: path.write_bytes(b"x" * 65_537), "setting-too-large"),
    ("NAME", os.mkfifo, "setting-not-a-file"), ("NAME", Path.mkdir, "setting-not-a-file"),
    (".env", lambda path: path.symlink_to("x" * 300), "setting-unreadable"),
    (".env", lambda path: path.write_bytes(b"A=1\n" * 16_385), "setting-too-large"),
])  # fmt: skip
def test_a_file_that_cannot_be_used(tmp_path: Path, file: str, make: Callable[[Path], object], name: str) -> None:
    """It is an error that names the file, and never an unset variable; it shows nothing and does not block."""
    make(tmp_path / file)
    message = raised(SettingsError, Sources({SECRETS_DIR: str(tmp_path)}, tmp_path).get, "NAME")
    assert (name, str(tmp_path / file)) == (message.name, message.where)


def test_a_file_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that may not be read is an error too, for the next source does not count."""
    monkeypatch.setattr(Path, "open", Mock(side_effect=PermissionError(13, "Permission denied")))
    (tmp_path / "NAME").touch()
    sources = Sources({SECRETS_DIR: str(tmp_path)}, tmp_path)
    assert "setting-unreadable" == raised(SettingsError, sources.get, "NAME").name


@pytest.mark.parametrize("directory", ["none", "file", "file/below", "x" * 300])
def test_a_directory_that_cannot_be_used(tmp_path: Path, directory: str) -> None:
    """RECONCILER_SECRETS_DIR, which the error names, must be a directory whose files can be looked up."""
    (tmp_path / "file").touch()
    message = raised(SettingsError, Sources({SECRETS_DIR: directory}, tmp_path).get, "A")
    assert ("secrets-dir-unusable", True) == (message.name, SECRETS_DIR in message.what)


@pytest.mark.parametrize(("environ", "value"), [
    ({}, "2"), ({SECRETS_DIR: ""}, "2"), ({SECRETS_DIR: "first"}, "1"), ({"CI": "1"}, None),
    ({SECRETS_DIR: "first", "CI": "1"}, "1"),
])  # fmt: skip
def test_the_directory_may_be_named_in_dotenv(tmp_path: Path, environ: dict[str, str], value: str | None) -> None:
    """Relative to the working directory; if the environment names one too, that one counts."""
    (tmp_path / ".env").write_text(f"{SECRETS_DIR}=second\n")
    for directory, text in (("first", "1"), ("second", "2")):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "A").write_text(f"\ufeff{text}\n")
        (tmp_path / directory / SECRETS_DIR).write_text("third")
    sources = Sources(environ, tmp_path)
    named = environ.get(SECRETS_DIR) or (None if "CI" in environ else "second")
    assert (value, named) == (sources.get("A"), sources.get(SECRETS_DIR))


def test_ids_cannot_be_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id, which may become a part of a URL, is 128 bits of the system's randomness and nothing else."""
    assert 1_000 == len({Project.new_id() for _ in range(1_000)})
    monkeypatch.setattr(os, "urandom", lambda count: b"\xa5" * count)
    assert "a5" * 16 == Project.new_id()
