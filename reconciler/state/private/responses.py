"""Create responses: they may hold a subscription's secret key, so they are kept sealed, or private to their owner.

What is kept is an HTTP message (`message/http`): status line, headers, a blank line, and as much of the body as came,
without a transfer coding. Earlier versions kept the body alone.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.disk.directories import private_directory
from reconciler.disk.durable import sync_directory, written_beside
from reconciler.errors import SettingsError, StateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyrage import x25519  # type: ignore[import-untyped]

    from reconciler.model.record import Record


ENCRYPTED = "sealed"
"""The kind of file that holds a sealed response until the record does."""

_SEALED = "age:"
_NAME = re.compile(r"[0-9a-z-]+")
_HEAD = re.compile(rb"HTTP/1\.[0-9] [0-9]{3}[ \r].*?\r\n\r\n", re.DOTALL)
_ROOM = (1 << 20) + (1 << 17)  # bytes, as many as are read of one response


def split_response(kept: bytes) -> tuple[bytes, bytes]:
    """The head of a kept response, to the blank line and with it, and its body; an empty head where there is none."""
    head = _HEAD.match(kept)
    return (head[0], kept[head.end() :]) if head else (b"", kept)


def encrypt(recipients: Sequence[str], response: bytes) -> str:
    """`response`, readable by the recipients (age public keys, `age1…`) only: `age:` and base64.

    Raises SettingsError for a recipient that is none.
    """
    import pyrage  # noqa: PLC0415 - nothing but create responses needs it

    keys = []
    for number, recipient in enumerate(recipients, 1):
        try:
            keys.append(pyrage.x25519.Recipient.from_str(recipient))
        except pyrage.RecipientError:
            raise SettingsError(  # the text is not echoed: it may be the private key by mistake
                f"recipient {number} is no age public key",
                where="recipients",
                remedy="put the line that `age-keygen -y` prints, which begins with age1",
            ) from None
    if not keys:
        raise SettingsError("there is nobody to seal the response to", where="recipients")
    return _SEALED + b64encode(pyrage.encrypt(response, keys)).decode()


def decrypt(text: str, identities: Sequence[str]) -> bytes:
    """What `encrypt` sealed; `identities` are the contents of identity files, comments and all.

    Raises StateError, which tells nothing of the identities or the response.
    """
    import pyrage  # noqa: PLC0415

    keys = [key for number, content in enumerate(identities, 1) for key in _identities(content, number)]
    if not keys:
        raise StateError("no age identity is given", remedy="name the file that holds it with --identity")
    try:
        opened: bytes = pyrage.decrypt(_unwrapped(text), keys)
    except pyrage.DecryptError:
        raise StateError(
            "none of the identities opens this response",
            remedy="use the identity of one of the `recipients` at the time of the apply",
        ) from None
    return opened


def _unwrapped(text: str) -> bytes:
    """The bytes that `encrypt` put into text."""
    prefix, encoded = text[: len(_SEALED)], text[len(_SEALED) :]
    try:
        sealed = b64decode(encoded, validate=True)
    except ValueError:
        sealed = b""
    if prefix != _SEALED or not sealed:
        raise StateError("this is no sealed response")
    return sealed


def _identities(content: str, number: int) -> list[x25519.Identity]:
    """The keys in the `number`-th identity file."""
    import pyrage  # noqa: PLC0415

    keys = []
    for line_number, line in enumerate(content.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            keys.append(pyrage.x25519.Identity.from_str(line.strip()))
        except pyrage.IdentityError:
            what = f"line {line_number} of identity file {number} is no age identity"
            raise StateError(what, remedy="use a file that age-keygen wrote") from None
    return keys


class PrivateFiles:
    """Responses in files of mode 0600: `<directory>/<record id>/<attempt>.<kind>.<number>`.

    None is ever overwritten: a second response of an attempt gets the next number.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def check_writable(self, record_id: str, *, sealed: bool = False) -> None:
        """Raises StateError where a response could not be kept for a record, SettingsError where it would lie open.

        A sealed one goes into the record as well, so there need not be room for the longest.
        """
        Path(self.keep(record_id, "trial", "response", bytes(1 if sealed else _ROOM))).unlink(missing_ok=True)

    def keep(self, record_id: str, attempt: str, kind: str, data: bytes) -> str:
        """Write `data` durably, and give the path. Raises StateError and SettingsError as `check_writable` does."""
        stem = self._stem(record_id, attempt, kind)
        try:
            private_directory(self._directory)
            directory = private_directory(stem.parent)
            with written_beside(stem, data, 0o600) as beside:
                path = _link_free(beside, stem)
            sync_directory(directory)
        except OSError as problem:
            raise self._unusable("written", problem) from problem
        return str(path)

    def read(self, record_id: str, attempt: str, kind: str) -> list[bytes]:
        """What was kept, oldest first; nothing where nothing was. Raises StateError."""
        stem = self._stem(record_id, attempt, kind)
        kept: list[bytes] = []
        try:
            while True:
                kept.append(_numbered(stem, len(kept) + 1).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return kept
        except OSError as problem:
            raise self._unusable("read", problem) from problem

    def forget_recorded(self, record: Record) -> None:
        """Remove the sealed responses that the record, as it was read from its store, holds by now."""
        for path in self._directory.glob(f"{record.id}/*.{ENCRYPTED}.*"):
            attempt = record.attempts.get(path.name.partition(".")[0])
            with suppress(OSError):
                if attempt is not None and attempt.response and attempt.response.encode() == path.read_bytes():
                    path.unlink()

    def _stem(self, record_id: str, attempt: str, kind: str) -> Path:
        """The path without its number. What comes from a journal must be checked before it names a file."""
        if not all(_NAME.fullmatch(part) for part in (record_id, attempt, kind)):
            raise StateError("the record or the attempt has an id that is no name for a file", where=self._directory)
        return self._directory / record_id / f"{attempt}.{kind}"

    def _unusable(self, done: str, problem: OSError) -> StateError:
        return StateError(
            f"a create response cannot be {done} here: {problem.strerror}",
            where=self._directory,
            remedy="see to its permissions and the space left, or seal responses into the record with `recipients`",
        )


def _numbered(stem: Path, number: int) -> Path:
    return stem.with_name(f"{stem.name}.{number}")


def _link_free(beside: Path, stem: Path) -> Path:
    """Give a written file the first number that is free."""
    number = 1
    while True:
        path = _numbered(stem, number)
        try:
            os.link(beside, path)
        except FileExistsError:
            number += 1
        else:
            return path
