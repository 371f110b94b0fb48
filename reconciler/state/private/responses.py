"""Create responses: they may contain a subscription's secret key, so they are encrypted, or private to their owner.

A response is stored as an HTTP message (`message/http`): status line, headers, a blank line, and as much of the body as
arrived, without a transfer coding. Earlier versions stored the body alone.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.disk.directories import private_directory
from reconciler.disk.durable import written_beside
from reconciler.disk.shared_sync import SharedSync
from reconciler.errors import SettingsError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyrage import x25519  # type: ignore[import-untyped]

    from reconciler.model.record import Record


ENCRYPTED = "sealed"
"""The kind of file with an encrypted response that the record does not contain yet."""

PRIVATE_KEY = re.compile(r"AGE-SECRET-KEY-\w*", re.IGNORECASE)
"""What an age private key looks like: wherever one is given by mistake, it must not be shown."""

_AGE = "age:"
_NAME = re.compile(r"[0-9a-z-]+")
_HEAD = re.compile(rb"HTTP/1\.[0-9] [0-9]{3}[ \r].*?\r\n\r\n", re.DOTALL)
_LONGEST = (1 << 20) + (1 << 17)  # bytes that are read of one response


def split_response(stored: bytes) -> tuple[bytes, bytes]:
    """The head of a stored response, including the blank line, and its body; an empty head if there is none."""
    head = _HEAD.match(stored)
    return (head[0], stored[head.end() :]) if head else (b"", stored)


def encrypt(recipients: Sequence[str], data: bytes) -> str:
    """`data` encrypted to the recipients (age public keys, `age1…`): `age:` and base64.

    Raises SettingsError for a recipient that is not an age public key.
    """
    import pyrage  # noqa: PLC0415 - nothing but create responses needs it

    keys = []
    for number, recipient in enumerate(recipients, 1):
        try:
            keys.append(pyrage.x25519.Recipient.from_str(recipient))
        except pyrage.RecipientError:
            raise SettingsError(  # the text is not echoed: it may be the private key by mistake
                f"recipient {number} is not an age public key",
                where="recipients",
                remedy="use the line that `age-keygen -y` prints (age1…)",
            ) from None
    if not keys:
        raise SettingsError("no recipients to encrypt to", where="recipients")
    return _AGE + b64encode(pyrage.encrypt(data, keys)).decode()


def is_encrypted(place: str) -> bool:
    """Whether a place that the journal names is the encrypted data itself, and not a private file."""
    return place.startswith(_AGE)


def decrypt(text: str, identities: Sequence[str]) -> bytes:
    """The data that `encrypt` encrypted; `identities` are the contents of identity files, with their comments.

    Raises StateError, which contains nothing of the identities or the data.
    """
    import pyrage  # noqa: PLC0415

    keys = parse_identities(identities)
    try:
        data: bytes = pyrage.decrypt(_unwrapped(text), keys)
    except pyrage.DecryptError:
        raise StateError(
            "no identity can decrypt this",
            remedy="use the identity of a recipient that was in config/ when it was encrypted",
        ) from None
    return data


def parse_identities(contents: Sequence[str]) -> list[x25519.Identity]:
    """The keys in the contents of identity files. Raises StateError if there is none, or a line is none."""
    keys = [key for number, content in enumerate(contents, 1) for key in _identities(content, number)]
    if not keys:
        raise StateError("no age identity", remedy="use --identity FILE")
    return keys


def _unwrapped(text: str) -> bytes:
    """The encrypted bytes in text that `encrypt` wrote."""
    try:
        encrypted = b64decode(text.removeprefix(_AGE), validate=True)
    except ValueError:
        encrypted = b""
    if not is_encrypted(text) or not encrypted:
        raise StateError("not an encrypted response or secret")
    return encrypted


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
            what = f"line {line_number} of identity file {number} is not an age identity"
            raise StateError(what, remedy="use a file that age-keygen wrote") from None
    return keys


def private_kind(kind: str, place: str) -> str:
    """The kind of the private file at a place: `file:` and digits name a file of one secret, `file` names the oldest.

    Each secret has its own: a secret that was set on another machine, or never recorded, is not taken for it.
    """
    digits = place.removeprefix("file:")
    return kind if digits == place else f"{kind}-{digits}"


class PrivateFiles:
    """Responses and secrets in files of mode 0600: `<directory>/<record id>/<attempt>.<kind>.<number>`.

    No file is overwritten: a second response of an attempt gets the next number.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._syncs: dict[str, SharedSync] = {}

    def check_writable(self, record_id: str, *, encrypted: bool = False) -> None:
        """Raises StateError if a response of a record could not be saved, SettingsError if others could write there.

        An encrypted response goes into the record as well, so the longest one need not fit on the disk.
        """
        Path(self.keep(record_id, "trial", "response", bytes(1 if encrypted else _LONGEST))).unlink(missing_ok=True)

    def keep(self, record_id: str, attempt: str, kind: str, data: bytes) -> str:
        """Save `data` durably, and return the path. Raises StateError and SettingsError as `check_writable` does."""
        stem = self._stem(record_id, attempt, kind)
        names = self._syncs.get(record_id) or self._syncs.setdefault(record_id, SharedSync(self._directory / record_id))
        try:
            private_directory(self._directory)
            private_directory(names.directory)
            with written_beside(Path(stem), data, 0o600) as beside:
                path = _link_free(beside, stem)
            names.wait()
        except OSError as problem:
            raise self._failed("save", problem) from problem
        return path

    def read(self, record_id: str, attempt: str, kind: str) -> list[bytes]:
        """The data saved, oldest first. Raises StateError."""
        stem = self._stem(record_id, attempt, kind)
        found: list[bytes] = []
        try:
            while True:
                found.append(Path(f"{stem}.{len(found) + 1}").read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return found
        except OSError as problem:
            raise self._failed("read", problem) from problem

    def may_have(self, record_id: str) -> bool:
        """Whether there is a directory for a record that can be read."""
        with suppress(OSError):
            return bool((self._directory / record_id).stat())
        return False

    def directories_with_responses(self, record_ids: Iterable[str]) -> list[Path]:
        """The directories of these records in which there is a response, sorted by name."""
        directories = [self._directory / record_id for record_id in sorted(record_ids) if _NAME.fullmatch(record_id)]
        return [directory for directory in directories if any(directory.glob("*.response.*"))]

    def forget_recorded(self, record: Record) -> None:
        """Delete the encrypted responses that the record, as it was read from its store, contains."""
        for path in self._directory.glob(f"{record.id}/*.{ENCRYPTED}.*"):
            attempt = record.attempts.get(path.name.partition(".")[0])
            with suppress(OSError):
                if attempt is not None and attempt.response and attempt.response.encode() == path.read_bytes():
                    path.unlink()

    def _stem(self, record_id: str, attempt: str, kind: str) -> str:
        """The path without its number. A name that comes from a journal must be checked before it names a file."""
        if not all(_NAME.fullmatch(part) for part in (record_id, attempt, kind)):
            raise StateError("the id of the record or attempt is not a valid file name", where=self._directory)
        return f"{self._directory}/{record_id}/{attempt}.{kind}"

    def _failed(self, verb: str, problem: OSError) -> StateError:
        return StateError(
            f"cannot {verb} a create response: {problem.strerror}",
            where=self._directory,
            remedy="check permissions and free space, or add `recipients` to encrypt responses into the record",
        )


def _link_free(beside: Path, stem: str) -> str:
    """Link a written file to the first number that is free."""
    number = 1
    while True:
        path = f"{stem}.{number}"
        try:
            os.link(beside, path)
        except FileExistsError:
            number += 1
        else:
            return path
