"""The credentials of a target, from the sources of settings."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from support.memory_project import desired_of

from reconciler.errors import SettingsError
from reconciler.model.address import TargetName
from reconciler.operations.credentials import credentials_of
from reconciler.operations.project import Flags, Project
from reconciler.operations.settings import SECRETS_DIR, Sources

TARGET = TargetName("europe/pre-prod")
PREFIX = "RECONCILER_EUROPE_PRE_PROD_"


def test_from_every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variable from the first source that has it, without the white space around it, and from no other."""
    monkeypatch.setenv("CLIENT_ID", "foreign")
    monkeypatch.setenv(f"{PREFIX}CLIENT_ID", "foreign")
    (tmp_path / f"{PREFIX}CLIENT_SECRET").write_text(" hunter2 \n")
    sources = Sources({f"{PREFIX}CLIENT_ID": "\tclient-1\r\n", SECRETS_DIR: str(tmp_path)}, tmp_path)
    credentials = credentials_of(TARGET, sources)
    assert ("client-1", "hunter2") == (credentials.client_id, credentials.client_secret.get_secret_value())
    assert "hunter2" not in repr(credentials) + str(credentials)


def test_white_space_makes_no_other_account(tmp_path: Path) -> None:
    """The account that a target is bound to is that of the client id as it is sent, from any source."""
    accounts, name = [], f"{PREFIX}CLIENT_ID"
    (tmp_path / name).write_text("client-1")
    for environ in ({name: "client-1"}, {name: "\tclient-1\r\n"}, {SECRETS_DIR: str(tmp_path)}):
        project = Project(Flags(), Sources(environ, tmp_path))
        project.__dict__["desired"] = desired_of(targets={TARGET: "https://api.test"})
        accounts.append(project.accounts())
    assert accounts[0] == accounts[1] == accounts[2] != {}


@pytest.mark.parametrize(("secret", "name"), [
    ("", "credential-missing"), ("  ", "credential-invalid"), ("hunter2\x00", "credential-invalid"),
])  # fmt: skip
def test_each_mistake_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str, name: str) -> None:
    """One message for each variable, which says what to do and shows no value."""
    for field in ("CLIENT_ID", "CLIENT_SECRET"):
        monkeypatch.setenv(field, "foreign")
    for field, other in (("CLIENT_ID", "CLIENT_SECRET"), ("CLIENT_SECRET", "CLIENT_ID")):
        with pytest.raises(SettingsError) as caught:
            credentials_of(TARGET, Sources({f"{PREFIX}{field}": secret}, tmp_path))
        told = {message.where: (message.name, "(the environment)" in message.what) for message in caught.value.messages}
        assert told == {f"{PREFIX}{field}": (name, bool(secret)), f"{PREFIX}{other}": ("credential-missing", False)}
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))
