"""The credentials of a target, from variables."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import pytest

from reconciler.errors import SettingsError
from reconciler.model.address import TargetName
from reconciler.operations.settings import credentials
from reconciler.operations.variables import Variables
from reconciler.service.credentials import Credentials

if TYPE_CHECKING:
    from pathlib import Path

TARGET = TargetName("new-zealand/staging")
ID, SECRET = "RECONCILER_NEW_ZEALAND_STAGING_CLIENT_ID", "RECONCILER_NEW_ZEALAND_STAGING_CLIENT_SECRET"
CONTROL = "contains control characters"


def read(tmp_path: Path, **environ: str) -> Credentials:
    """The credentials that an environment gives."""
    return credentials(TARGET, Variables(environ, tmp_path))


def test_credentials(tmp_path: Path) -> None:
    """Each comes from the variable of the target, stripped; inner spaces stay."""
    found = read(tmp_path, **{ID: " me ", SECRET: "a b\u00e9\n"})
    assert (found.client_id, found.client_secret) == ("me", "a b\u00e9")


def test_every_place_of_variables_counts(tmp_path: Path) -> None:
    """There is one truth about where variables come from."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / SECRET).write_text("from a file\n")
    (tmp_path / ".env").write_text(f"{ID}=from-dotenv\nRECONCILER_SECRETS_DIR=secrets\n")
    assert Credentials("from-dotenv", "from a file") == read(tmp_path)


def test_the_environment_of_the_process_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what `Variables` was given counts, and names are not matched loosely."""
    for name in (ID, SECRET, "CLIENT_ID", "CLIENT_SECRET", "client_id"):
        monkeypatch.setenv(name, "x")
    with pytest.raises(SettingsError):
        read(tmp_path, CLIENT_ID="x", CLIENT_SECRET="x")


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, f"{ID} is not set, {SECRET} is not set; "),
        ({ID: "me"}, f"{SECRET} is not set; "),
        ({ID: "", SECRET: "x"}, f"{ID} is not set; "),
        ({ID: " ", SECRET: "x"}, f"{ID} from the environment is blank; "),
        ({ID: "a\x00b", SECRET: "hunter2\x7f"},
         f"{ID} from the environment {CONTROL}, {SECRET} from the environment {CONTROL}; "),
    ],
)  # fmt: skip
def test_what_is_missing_or_unusable_is_named_at_once(tmp_path: Path, environ: dict[str, str], said: str) -> None:
    """All of it in one error, for the target, and never a value."""
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, **environ)
    assert str(caught.value).startswith(f"new-zealand/staging: {said}")
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_no_secret_in_a_repr(tmp_path: Path) -> None:
    """Credentials do not show theirs."""
    assert "hunter2" not in repr(read(tmp_path, **{ID: "me", SECRET: "hunter2"}))
