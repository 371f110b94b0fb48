"""Looks up settings in the environment, then in a directory of secrets, then in a `.env` file.

Every command loads this module, so it imports only the standard library, unless there is a `.env` to read.
"""

from __future__ import annotations

import os
import stat
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING

from reconciler.errors import Message, SettingsError, step
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from pathlib import Path

SECRETS_DIR = "RECONCILER_SECRETS_DIR"
DOTENV = ".env"

_FILE_LIMIT = 1 << 16


class Sources(Discreet, frozen=True, dict=True):
    """Looks up settings by variable name. An empty variable counts as unset, so the next source is tried.

    `environ` is a copy of the environment. `directory` is the working directory, which may hold a `.env`. The `.env` is
    not read if `CI` is set: a checkout must not choose the settings of a job.
    """

    unprinted = ("environ",)

    environ: Mapping[str, str]
    directory: Path

    def get(self, name: str) -> str | None:
        """Return the value of `name`, or None if it is unset. Raises SettingsError for an unusable file."""
        return self._find(name)[0]

    def source(self, name: str) -> str:
        """Return a description of the source of `name`, or "" if it is unset. Raises SettingsError, as `get` does."""
        return self._find(name)[1]

    def _find(self, name: str) -> tuple[str | None, str]:
        if value := self.environ.get(name):
            return value, "the environment"
        if self._secrets and name != SECRETS_DIR and (value := _text(self._secrets / name).strip()):
            return value, str(self._secrets / name)
        if value := self._dotenv.get(name):
            return value, DOTENV
        return None, ""

    @cached_property
    def _secrets(self) -> Path | None:
        directory = self.environ.get(SECRETS_DIR) or self._dotenv.get(SECRETS_DIR)
        if not directory:
            return None
        path = self.directory / directory
        if not os.path.isdir(path):  # noqa: PTH112 - also False if permission is denied
            what = f"{SECRETS_DIR} is not a directory, or cannot be read"
            raise _unusable("secrets-dir-unusable", what, path, "correct or unset it")
        return path

    @cached_property
    def _dotenv(self) -> dict[str, str]:
        path = self.directory / DOTENV
        if self.environ.get("CI") or not os.path.lexists(path):
            return {}
        from dotenv.parser import parse_stream  # noqa: PLC0415 - only if there is a file to read

        bindings = list(parse_stream(StringIO(_text(path, or_other=True))))
        for binding in bindings:
            if binding.error:
                where = f"{DOTENV}:{binding.original.line}"
                advice = "write NAME=value, with quotes around the whole value, or without quotes"
                raise _unusable("dotenv-line", "the line cannot be read", where, advice)
        return {binding.key: binding.value for binding in bindings if binding.key and binding.value}


def hide_secrets(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove the client secrets from the environment that child processes inherit. `Sources` reads an earlier copy."""
    for name in list(environ):
        if name.startswith("RECONCILER_") and name.endswith("_CLIENT_SECRET"):
            del environ[name]


def _text(path: Path, *, or_other: bool = False) -> str:
    """Return the text of a small file, or "" if it does not exist. Raises SettingsError.

    With `or_other`, also return "" if the path is not a regular file: `.env`, for example, may be the directory of a
    virtual environment.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            if or_other:
                return ""
            raise _unusable("setting-not-a-file", "not a regular file", path, "replace it with a file, or remove it")
        with path.open("rb") as file:
            content = file.read(_FILE_LIMIT + 1)
    except FileNotFoundError:
        return ""
    except OSError as problem:
        what = f"cannot be read: {problem.strerror}"
        raise _unusable("setting-unreadable", what, path, "correct its permissions, or remove it") from None
    if len(content) > _FILE_LIMIT:
        raise _unusable("setting-too-large", "larger than 64 KiB", path, "remove it: no setting is this long")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        position = problem.start
    # Outside of the handler: the decoding error contains the file's bytes.
    raise _unusable("setting-not-utf-8", f"not UTF-8 (byte {position})", path, "save it as UTF-8")


def _unusable(name: str, what: str, where: Path | str, advice: str) -> SettingsError:
    return SettingsError(Message(name, what, str(where), (step(advice),)))
