"""Where variables come from: the environment, a directory of secrets, a `.env` file, in this order.

Every command imports this, so it imports only the standard library, unless there is a `.env` to read.
"""

from __future__ import annotations

import stat
from contextlib import suppress
from functools import cached_property
from io import StringIO
from pathlib import Path  # noqa: TC003 - msgspec reads the types of fields
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reconciler.errors import SettingsError
from reconciler.values import Discreet

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator, Mapping

    from reconciler.model.address import TargetName

SECRETS_DIR = "RECONCILER_SECRETS_DIR"
DOTENV = ".env"
RECIPIENTS = "RECONCILER_RECIPIENTS"
"""The age public keys to encrypt responses to, separated by spaces or commas."""

SECRETS = frozenset(
    {
        "GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GOOGLE_BEARER_TOKEN",
        "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN", "AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET", "AWS_SSE_CUSTOMER_KEY_BASE64",
        "PGPASSWORD",
    }
)  # fmt: skip
"""The variables whose whole value is a secret, beside each target's `RECONCILER_…_CLIENT_SECRET`."""

_FILE_LIMIT = 1 << 16
_SHORTEST_SECRET = 8
_LONG_WORD = 16


class Variables(Discreet, frozen=True, dict=True):
    """Looks variables up by name. An empty one counts as unset: the next source is tried.

    `environ` is the environment; `directory` is the working directory, which may hold a `.env`. It is not read if
    `CI` is set: the contents of a checkout must not choose the settings of a job.
    """

    unprinted = ("environ",)

    environ: Mapping[str, str]
    directory: Path

    def get(self, name: str) -> str | None:
        """The value of `name`, None if it is unset. Raises SettingsError for a file that cannot be used."""
        value_and_source = self._find(name)
        return None if value_and_source is None else value_and_source[0]

    def override(self, target: TargetName, field: str) -> tuple[str, str] | None:
        """The value of a target's variable for `field`, and its name; None if it is unset. Raises SettingsError."""
        name = f"{target.variable_prefix}{field}"
        value = self.get(name)
        return None if value is None else (value, name)

    def source(self, name: str) -> str | None:
        """The source of `name`, in words for a message; None if it is unset. Raises SettingsError as `get` does."""
        value_and_source = self._find(name)
        return None if value_and_source is None else value_and_source[1]

    def from_outside(self, name: str) -> bool:
        """Whether `name` is set in the environment, or in a directory that it names, and not only by a `.env`.

        Raises SettingsError as `get` does.
        """
        if self.environ.get(name):
            return True
        return bool(self.environ.get(SECRETS_DIR)) and self.source(name) not in (None, DOTENV)

    def secrets(self) -> dict[str, str]:
        """The values of the variables that hold secrets, from every source, and the name of each: to find where one
        was pasted.

        Those that any text may contain are left out: short ones, and plain words. What cannot be read is left out
        too: to find secrets, a command must not need them.
        """
        found = {}
        with suppress(SettingsError, OSError):
            for name in sorted({*self.environ, *self._dotenv, *self._names_in_directory()}):
                if name in SECRETS or (name.startswith("RECONCILER_") and name.endswith("_CLIENT_SECRET")):
                    found.update(dict.fromkeys(self._values(name), name))
        state = self.environ.get("RECONCILER_STATE", "")
        with suppress(ValueError):
            found[urlsplit(state).password or ""] = "RECONCILER_STATE"
        return {value: name for value, name in found.items() if _is_distinctive(value)}

    def _names_in_directory(self) -> list[str]:
        return [] if self._secrets is None else [path.name for path in self._secrets.iterdir()]

    def _values(self, name: str) -> Iterator[str]:
        """What each source has for `name`, though another comes first. Raises nothing."""
        yield (self.environ.get(name) or "").strip()
        yield (self._dotenv.get(name) or "").strip()
        if self._secrets is not None:
            with suppress(SettingsError):
                yield (_text(self._secrets / name) or "").strip()

    def _find(self, name: str) -> tuple[str, str] | None:
        if value := self.environ.get(name):
            return value, "the environment"
        if self._secrets is not None and name != SECRETS_DIR:
            path = self._secrets / name
            if value := (_text(path) or "").strip():
                return value, str(path)
        if value := self._dotenv.get(name):
            return value, DOTENV
        return None

    @cached_property
    def _secrets(self) -> Path | None:
        """The directory in RECONCILER_SECRETS_DIR, which is not itself read from a file in there."""
        directory = self.environ.get(SECRETS_DIR) or self._dotenv.get(SECRETS_DIR)
        if not directory:
            return None
        path = self.directory / directory
        if not path.is_dir():
            raise SettingsError(f"{SECRETS_DIR} is not a directory", where=path, remedy="correct or unset it")
        return path

    @cached_property
    def _dotenv(self) -> Mapping[str, str | None]:
        path = self.directory / DOTENV
        if self.environ.get("CI") or not path.is_file():  # a directory of this name is a virtual environment
            return {}
        import logging  # noqa: PLC0415  needed only if there is a file to read

        from dotenv import dotenv_values  # noqa: PLC0415  the same

        logging.getLogger("dotenv.main").addFilter(_in_our_words)
        return dotenv_values(stream=StringIO(_text(path)), interpolate=False)


def _is_distinctive(secret: str) -> bool:
    """Whether a text that contains it was not written by chance. What is not printable no target takes for one."""
    are_words = secret.islower() and secret.replace("-", "").replace("_", "").isalpha()
    return secret.isprintable() and len(secret) >= (_LONG_WORD if are_words else _SHORTEST_SECRET)


def _in_our_words(record: logging.LogRecord) -> bool:
    """What python-dotenv says of a line that it cannot read: a place, and what to do."""
    line = record.args[-1] if isinstance(record.args, tuple) and record.args else "?"
    expected = "expected NAME=value, with quotes around all of the value or none"
    record.msg = f"{DOTENV}:{line}: not read: {expected}; correct it"
    record.args = None
    return True


def number_of(text: str, kind: type[int | float], flag: str, most: int) -> float:
    """The number that a flag, or the variable of that name, says. Raises SettingsError."""
    try:
        number = kind(text)
    except ValueError:
        number = 0
    if not 0 < number <= most:
        expected = f"a whole number from 1 to {most}" if kind is int else f"a number above 0 and at most {most}"
        raise SettingsError(f"expected {expected}", where=f"{flag} or RECONCILER_{flag.removeprefix('--').upper()}")
    return number


def _text(path: Path) -> str | None:
    """The text of a small file; None if it does not exist. Raises SettingsError."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise SettingsError("is not a regular file", where=path, remedy="replace it with a file, or remove it")
        with path.open("rb") as file:
            content = file.read(_FILE_LIMIT + 1)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise SettingsError(
            f"cannot be read: {problem.strerror}", where=path, remedy="correct its permissions, or remove it"
        ) from None
    if len(content) > _FILE_LIMIT:
        raise SettingsError("is larger than 64 KiB", where=path, remedy="a variable this long is a mistake; remove it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        fault = f"is not UTF-8 (byte {problem.start})"
    # Outside of the handler, since the decoding error holds the file's bytes.
    raise SettingsError(fault, where=path, remedy="save it as UTF-8")
