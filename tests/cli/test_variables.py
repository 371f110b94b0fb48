"""Where variables come from, and what is said of files that cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.errors import SettingsError
from reconciler.operations.variables import Variables

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "RECONCILER_EUROPE_STAGING_CLIENT_ID"


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A directory of secrets, empty."""
    path = tmp_path / "secrets"
    path.mkdir()
    return path


class TestLayers:
    """The environment, then the directory of secrets, then `.env`."""

    @pytest.mark.parametrize(
        ("environment", "file", "dotenv", "value", "source"),
        [
            ("e", "f", "d", "e", "the environment"),
            ("", "f", "d", "f", "{file}"),
            (None, "f", "d", "f", "{file}"),
            (None, None, "d", "d", ".env"),
            (None, " \n", "d", "d", ".env"),
            ("", "", "", None, None),
            (None, None, None, None, None),
        ],
    )
    def test_order(
        self, tmp_path: Path, secrets: Path, environment: str | None, file: str | None, dotenv: str | None,
        value: str | None, source: str | None,
    ) -> None:  # fmt: skip
        """The first place that sets a variable to something counts; an empty one sets nothing."""
        environ = {"RECONCILER_SECRETS_DIR": str(secrets)}
        if environment is not None:
            environ[NAME] = environment
        if file is not None:
            (secrets / NAME).write_text(file)
        if dotenv is not None:
            (tmp_path / ".env").write_text(f"{NAME}={dotenv}\n")
        variables = Variables(environ, tmp_path)
        expected = None if source is None else source.format(file=secrets / NAME)
        assert (value, expected) == (variables.get(NAME), variables.source(NAME))

    @pytest.mark.parametrize("ci", ["true", "false", "1"])
    def test_no_dotenv_in_ci(self, tmp_path: Path, ci: str) -> None:
        """What a checkout holds does not set a job's variables."""
        (tmp_path / ".env").write_text(f"{NAME}=d\n")
        assert Variables({"CI": ci}, tmp_path).get(NAME) is None

    def test_an_empty_ci_is_unset(self, tmp_path: Path) -> None:
        """As every empty variable is."""
        (tmp_path / ".env").write_text(f"{NAME}=d\n")
        assert Variables({"CI": ""}, tmp_path).get(NAME) == "d"

    def test_ci_in_dotenv_means_nothing(self, tmp_path: Path) -> None:
        """Only the environment says where the program runs."""
        (tmp_path / ".env").write_text(f"CI=true\n{NAME}=d\n")
        assert Variables({}, tmp_path).get(NAME) == "d"

    def test_dotenv_may_name_the_secrets(self, tmp_path: Path, secrets: Path) -> None:
        """A relative path is one from the working directory."""
        (secrets / NAME).write_text("f")
        (tmp_path / ".env").write_text("RECONCILER_SECRETS_DIR=secrets\n")
        assert Variables({}, tmp_path).get(NAME) == "f"

    def test_secrets_do_not_name_the_secrets(self, tmp_path: Path, secrets: Path) -> None:
        """The directory cannot point at another one."""
        (secrets / "RECONCILER_SECRETS_DIR").write_text("/elsewhere")
        variables = Variables({"RECONCILER_SECRETS_DIR": str(secrets)}, tmp_path)
        assert variables.get("RECONCILER_SECRETS_DIR") == str(secrets)

    def test_dotenv_is_taken_literally(self, tmp_path: Path) -> None:
        """Nothing is interpolated, and a name without a value is unset."""
        (tmp_path / ".env").write_text(f"A=x\n{NAME}='${{A}}$A'\nB\n", encoding="utf-8-sig")
        variables = Variables({}, tmp_path)
        assert (variables.get("A"), variables.get(NAME), variables.get("B")) == ("x", "${A}$A", None)

    def test_a_virtual_environment_called_dotenv_is_none_of_ours(self, tmp_path: Path) -> None:
        """A directory `.env` is left alone."""
        (tmp_path / ".env").mkdir()
        assert Variables({}, tmp_path).get(NAME) is None

    @pytest.mark.parametrize("content", ["value", "value\n", "value\r\n", "\ufeffvalue \n"])
    def test_a_secret_is_stripped(self, tmp_path: Path, secrets: Path, content: str) -> None:
        """Editors end files with a newline, and may begin them with a mark."""
        (secrets / NAME).write_text(content)
        assert Variables({"RECONCILER_SECRETS_DIR": str(secrets)}, tmp_path).get(NAME) == "value"

    def test_links_are_followed(self, tmp_path: Path, secrets: Path) -> None:
        """Mounted secrets are links."""
        (tmp_path / "data").write_text("v")
        (secrets / NAME).symlink_to(tmp_path / "data")
        assert Variables({"RECONCILER_SECRETS_DIR": str(secrets)}, tmp_path).get(NAME) == "v"


class TestMistakes:
    """Files that cannot be used are named, and not shown."""

    @pytest.mark.parametrize("make", [lambda path: None, Path.touch], ids=["absent", "file"])
    def test_no_directory(self, tmp_path: Path, make: Callable[[Path], None]) -> None:
        """A directory of secrets that is named has to be there."""
        make(tmp_path / "none")
        variables = Variables({"RECONCILER_SECRETS_DIR": "none"}, tmp_path)
        with pytest.raises(
            SettingsError, match=r"none: RECONCILER_SECRETS_DIR is not a directory; correct or unset it$"
        ):
            variables.get(NAME)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"hunter2\xff", r"is not UTF-8 \(byte 7\); save it as UTF-8$"),
            (b"hunter2" * 10_000, "is larger than 64 KiB; a variable this long is a mistake; remove it$"),
        ],
    )
    @pytest.mark.parametrize("place", ["secrets", "dotenv"])
    def test_unusable_content(self, tmp_path: Path, secrets: Path, content: bytes, words: str, place: str) -> None:
        """Neither the message nor the chain behind it holds what the file holds."""
        path = secrets / NAME if place == "secrets" else tmp_path / ".env"
        path.write_bytes(content)
        with pytest.raises(SettingsError, match=words) as caught:
            Variables({"RECONCILER_SECRETS_DIR": str(secrets)}, tmp_path).get(NAME)
        assert str(caught.value).startswith(f"{path}: ")
        assert "hunter2" not in str(caught.value)
        assert caught.value.__context__ is None

    def test_64_kib_are_allowed(self, tmp_path: Path, secrets: Path) -> None:
        """The limit itself is within it."""
        (secrets / NAME).write_bytes(b"x" * 65536)
        assert len(Variables({"RECONCILER_SECRETS_DIR": str(secrets)}, tmp_path).get(NAME) or "") == 65536

    @pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "pipe"])
    def test_no_regular_file(self, tmp_path: Path, secrets: Path, make: Callable[[Path], None]) -> None:
        """What is no file is not read, and does not hang the program."""
        make(secrets / NAME)
        with pytest.raises(SettingsError) as caught:
            Variables({"RECONCILER_SECRETS_DIR": str(secrets)}, tmp_path).get(NAME)
        told = f"{secrets / NAME}: is not a regular file; replace it with a file, or remove it"
        assert told == str(caught.value)

    def test_unreadable(self, tmp_path: Path, secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that may not be read is an error, not an unset variable."""

        def refuse(self: Path, mode: str) -> None:
            raise PermissionError(13, "Permission denied")

        (secrets / NAME).touch()
        monkeypatch.setattr(Path, "open", refuse)
        words = f"{NAME}: cannot be read: Permission denied; correct its permissions, or remove it$"
        with pytest.raises(SettingsError, match=words):
            Variables({"RECONCILER_SECRETS_DIR": str(secrets)}, tmp_path).get(NAME)


def test_the_environment_is_left_out_of_the_repr(tmp_path: Path) -> None:
    """It may hold secrets."""
    assert "hunter2" not in repr(Variables({NAME: "hunter2"}, tmp_path))


def test_nothing_is_loaded_without_a_dotenv(tmp_path: Path) -> None:
    """Where there is no `.env`, or CI is set, its library is not imported."""
    program = """
import sys
from pathlib import Path
from reconciler.operations.variables import Variables
here = Path(sys.argv[1])
assert Variables({}, here / "nowhere").get("A") is None
assert Variables({"CI": "1"}, here).get("A") is None
assert not {"dotenv", "pydantic", "httpx", "click"} & set(sys.modules)
assert Variables({}, here).get("A") == "x"
assert "dotenv" in sys.modules
"""
    (tmp_path / ".env").write_text("A=x\n")
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=60, env={})
