"""Stores create responses, which may hold the only copy of a subscription's secret.

A response is kept as an HTTP message: status line, headers, a blank line, and the part of the body that arrived. With
recipients, it is encrypted to them (age) and stored in the record; without recipients, it is stored in a file of mode
0600 on this machine. An encrypted response is also written to disk before the outcome is recorded, so that nothing is
lost if the run is killed in between.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64decode, b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reconciler.disk import private_directory, replace_file, sync_directory
from reconciler.errors import Message, RecordError, Refused, SettingsError, Step, step
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reconciler.model.outcome import Answer

_AGE, _FILE = "age:", "file:"
_NAME = re.compile(r"[0-9a-z]+-(response|secret)-[0-9a-f]{8}")
_HEAD = re.compile(rb"HTTP/[0-9.]+ [0-9]{3}[ \r].*?\r\n\r\n", re.DOTALL)
_PRIVATE_KEY = re.compile(r"AGE-SECRET-KEY-\w*", re.IGNORECASE)
_LONGEST = (1 << 20) + (1 << 17)  # bytes of a response that are read


class Response(Discreet, frozen=True):
    """A create response: its head, including the blank line, and its body.

    A secret that was set by hand is stored as a body with an empty head.
    """

    unprinted = ("head", "body")

    head: bytes
    body: bytes

    @property
    def was_set_by_hand(self) -> bool:
        """True if the body is a secret that was set by hand."""
        return not self.head


class Responses:
    """Stores and opens responses and secrets. Only the owner can read `directory`, which is created if needed."""

    def __init__(self, directory: Path, recipients: Sequence[str] = ()) -> None:
        self._directory = directory
        self._recipients = tuple(recipients)

    def prepare(self) -> None:
        """Check, before the first intent, that responses can be kept. Raises SettingsError and RecordError."""
        if self._recipients:
            seal(b"", self._recipients)
            return
        name = _new_name("trial", "response")
        self._write(name, bytes(_LONGEST))
        (self._directory / name).unlink(missing_ok=True)

    def keep(self, attempt: str, answer: Answer) -> str:
        """Store the response to a create durably, and return the text to put in the record.

        Raises SettingsError and RecordError. An encrypted response is returned even if its file cannot be written.
        """
        name, data = _new_name(attempt, "response"), answer.head + answer.body
        if not self._recipients:
            self._write(name, data)
            return _FILE + name
        sealed = seal(data, self._recipients)
        with suppress(RecordError, SettingsError):
            self._write(name, sealed.encode())
        return sealed

    def text_of_secret(self, attempt: str, secret: bytes) -> str:
        """Return the text to record for a secret set by hand: the encrypted secret, or the name of a file for it."""
        return seal(secret, self._recipients) if self._recipients else _FILE + _new_name(attempt, "secret")

    def save_secret(self, text: str, secret: bytes) -> None:
        """Save a secret durably if `text` names a file. An encrypted secret needs no file. Raises RecordError."""
        if text.startswith(_FILE):
            self._write(text.removeprefix(_FILE), secret)

    def left(self, attempt: str) -> list[str]:
        """Return the texts of an attempt's responses that are kept on this machine, oldest first.

        The result includes the response of a run that was killed before it recorded the outcome.
        """
        return [self._text_of(path) for path in self._paths(attempt)]

    def forget_sealed(self, *attempts: str) -> None:
        """Delete the local copies of the attempts' encrypted responses, which the record now holds."""
        for path in self._paths(*attempts):
            if self._text_of(path).startswith(_AGE):
                path.unlink(missing_ok=True)

    def open(self, text: str, identity: Path | None) -> Response:
        """Return the response that `text`, which comes from the record, contains or names.

        `identity` is the age key file for decryption. Raises RecordError and SettingsError, whose messages show neither
        the data nor the identity.
        """
        data = _unseal(text, identity) if text.startswith(_AGE) else self._read(text.removeprefix(_FILE))
        head = _HEAD.match(data)
        return Response(head[0], data[head.end() :]) if head else Response(b"", data)

    def _write(self, name: str, data: bytes) -> None:
        try:
            private_directory(self._directory)
            replace_file(self._directory / name, data, 0o600)
            sync_directory(self._directory)
        except OSError as problem:
            what = f"cannot save a create response: {problem.strerror}"
            advice = step("check permissions and free space, or add `recipients` to config/ to encrypt responses")
            raise RecordError(Message("response-not-saved", what, str(self._directory), (advice,))) from None

    def _paths(self, *attempts: str) -> list[Path]:
        """Return the files with responses of these attempts, oldest first. The directory is read only once."""
        wanted, kept = {f"{attempt}-response" for attempt in attempts}, []
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            kept = [path for path in self._directory.iterdir() if path.name.rpartition("-")[0] in wanted]
        return sorted((path for path in kept if _NAME.fullmatch(path.name)), key=lambda path: path.stat().st_mtime_ns)

    def _text_of(self, path: Path) -> str:
        data = self._read(path.name)
        return data.decode("ascii") if data.startswith(_AGE.encode()) else _FILE + path.name

    def _read(self, name: str) -> bytes:
        known = _NAME.fullmatch(name) is not None  # the name comes from a record: it must not lead elsewhere
        try:
            if known:
                return (self._directory / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as problem:
            what = f"cannot read a create response: {problem.strerror}"
            raise RecordError(Message("response-unreadable", what, str(self._directory / name))) from None
        what = "kept in a private file of another machine or user: the one that ran `apply` or `secret set`"
        steps = (step("run this command there"), step("or ask the operator for the secret, and save it here"))
        raise RecordError(Message("response-elsewhere", what, name if known else "", steps))


def seal(data: bytes, recipients: Sequence[str]) -> str:
    """Return `data` as text, encrypted to the recipients (age public keys, `age1…`).

    Raises SettingsError for a recipient that is not an age public key.
    """
    import pyrage  # type: ignore[import-untyped]  # noqa: PLC0415 - only what seals and opens needs it

    keys = []
    for number, recipient in enumerate(recipients, 1):
        try:
            keys.append(pyrage.x25519.Recipient.from_str(recipient))
        except pyrage.RecipientError:  # the error's text is not shown: it may contain a private key
            what = f"recipient {number} is not an age public key"
            advice = step("use the line that `age-keygen -y` prints (age1…)")
            raise SettingsError(Message("bad-recipient", what, "recipients", (advice,))) from None
    return _AGE + b64encode(pyrage.encrypt(data, keys)).decode()


def _new_name(attempt: str, kind: str) -> str:
    return f"{attempt}-{kind}-{os.urandom(4).hex()}"


def field_of(body: bytes, name: str) -> str:
    """Return a field of a JSON object as text. Raises Refused if the field does not exist."""
    fields = fields_of(body)
    if name not in fields:
        available = step(f"available fields: {', '.join(fields) or 'none'}")
        raise Refused(Message("no-such-field", "field not found in the response", f"--field {name}", (available,)))
    value = fields[name]
    return value if isinstance(value, str) else json.dumps(value)


def fields_of(body: bytes) -> dict[str, Any]:
    """Return the fields of a JSON object, or no fields if the data is not a JSON object."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _unseal(text: str, identity: Path | None) -> bytes:
    import pyrage  # noqa: PLC0415 - only what seals and opens needs it

    keys = []
    for number, line in enumerate(_read_identity(identity).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                keys.append(pyrage.x25519.Identity.from_str(line.strip()))
            except pyrage.IdentityError:
                what = f"line {number} is not an age identity"
                raise _identity_error("bad-identity", what, f"--identity {identity}") from None
    try:
        data: bytes = pyrage.decrypt(b64decode(text.removeprefix(_AGE), validate=True), keys)
    except (pyrage.DecryptError, ValueError):
        what = "none of the identities can decrypt this response"
        advice = step("use the identity of a recipient that was in config/ when the response was encrypted")
        raise RecordError(Message("cannot-decrypt", what, f"--identity {identity}", (advice,))) from None
    return data


def _read_identity(path: Path | None) -> str:
    if path is None:
        raise _identity_error("no-identity", "the response is encrypted; no age identity was given", "--identity")
    if _PRIVATE_KEY.search(str(path)):
        what = "expected a file, got a private key, which every user of this machine can see in the process list"
        advice = step("stop using this key, and create another with age-keygen")
        raise SettingsError(Message("identity-in-the-open", what, "--identity", (advice,)))
    try:
        return path.read_text("utf-8")
    except OSError as problem:
        what = f"cannot read the identity file: {problem.strerror}"
    except UnicodeDecodeError:
        what = "the identity file is not UTF-8"
    raise _identity_error("identity-unreadable", what, f"--identity {path}")


def _identity_error(name: str, what: str, where: str) -> SettingsError:
    return SettingsError(
        Message(name, what, where, (Step("use --identity FILE; `init --age-key` printed the path of the private key"),))
    )
