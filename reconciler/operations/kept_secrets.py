"""Which secrets a subscription's notifications may be signed with, from what the record keeps of it.

The create response is not documented. So any string in it may be the secret, but for those that the journal holds in
the clear; and there is what `secret set` keeps.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reconciler.errors import ReconcilerError, SettingsError, StateError
from reconciler.model.record import Status
from reconciler.state.private.responses import ENCRYPTED, decrypt, split_response

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from reconciler.model.address import Address
    from reconciler.model.record import Attempt, Record
    from reconciler.operations.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Recorded:
    """What may be the secret of one attempt; `problem` is why some of it could not be read."""

    attempt: Attempt
    secrets: frozenset[bytes] = field(repr=False)
    problem: ReconcilerError | None = None

    @property
    def path(self) -> str:
        """The path of its webhook URL, without the query."""
        return urlsplit(self.attempt.url).path or "/"


def read_identity(path: Path | None) -> list[str]:
    """The contents of an age identity file; nothing where none is named. Raises SettingsError."""
    if path is None:
        return []
    try:
        return [path.read_text(encoding="utf-8")]
    except (OSError, UnicodeDecodeError) as problem:
        what = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
    raise SettingsError(f"the identity cannot be read: {what}", where=f"--identity {path}")


def private_kind(kind: str, place: str) -> str:
    """The kind of the private file at a place: `file:` and digits name one of its own, and `file` names none.

    Each secret has its own: what was set on another machine since, or never got into the record, is not taken for it.
    """
    digits = place.removeprefix("file:")
    return kind if digits == place else f"{kind}-{digits}"


def with_response(workspace: Workspace, record: Record, attempt: Attempt) -> Attempt:
    """The attempt, with the response that lies here in a private file where the record names none. Raises StateError.

    A run keeps the file before it records the outcome; one that could not do that any more has left it.
    """
    if attempt.response:
        return attempt
    if workspace.responses.read(record.id, attempt.id, "response"):
        return replace(attempt, response="file")
    sealed = workspace.responses.read(record.id, attempt.id, ENCRYPTED)
    return replace(attempt, response=sealed[-1].decode(errors="replace")) if sealed else attempt


def secrets_of_all(workspace: Workspace, identities: list[str]) -> list[Recorded]:
    """The secrets of every recorded attempt that may deliver, on any target. Raises StateError."""
    found = []
    for record in workspace.records(workspace.store.targets()).values():
        delivering = [one for one in record.attempts.values() if one.status is not Status.GONE]
        found += [_secrets_of(workspace, record, one, identities) for one in delivering]
    return found


def secrets_of_address(workspace: Workspace, address: Address, identities: list[str]) -> set[bytes]:
    """The secrets of every attempt of an address, whatever became of it. Raises StateError where there is none."""
    record = workspace.read(address.target).record()
    attempts = [one for one in record.attempts.values() if one.address == address]
    found = [_secrets_of(workspace, record, one, identities) for one in attempts]
    secrets = {secret for one in found for secret in one.secrets}
    if secrets:
        return secrets
    problem = next((one.problem for one in found if one.problem), None)
    remedy = f"if you have it: reconciler secret set {address}"
    raise problem or StateError("no secret of it is recorded", where=address, remedy=remedy)


def _secrets_of(workspace: Workspace, record: Record, attempt: Attempt, identities: list[str]) -> Recorded:
    attempt = with_response(workspace, record, attempt)
    responses = _Kept(workspace, record, attempt, "response", [attempt.response] if attempt.response else [])
    others = _Kept(workspace, record, attempt, "secret", attempt.secrets)
    secrets = {secret for kept in responses.read(identities) for secret in _strings_of(kept, attempt)}
    secrets.update(others.read(identities))
    return Recorded(attempt, frozenset(secrets), responses.problem or others.problem)


class _Kept:
    """The responses, or the secrets, of one attempt, wherever they are; `problem` is why one could not be read."""

    def __init__(
        self, workspace: Workspace, record: Record, attempt: Attempt, kind: str, places: Iterable[str]
    ) -> None:
        self._workspace = workspace
        self._record = record
        self._attempt = attempt
        self._kind = kind
        self._places = list(dict.fromkeys(places))
        self.problem: ReconcilerError | None = None

    def read(self, identities: list[str]) -> list[bytes]:
        found = []
        for place in self._places:
            found += self._opened(place, identities) if place.startswith("age:") else self._private(place)
        return found

    def _opened(self, sealed: str, identities: list[str]) -> list[bytes]:
        try:
            return [decrypt(sealed, identities)]
        except StateError as problem:
            self.problem = StateError(problem.what, where=self._attempt.address, remedy=problem.remedy)
            return []

    def _private(self, place: str) -> list[bytes]:
        kind = private_kind(self._kind, place)
        kept = self._workspace.responses.read(self._record.id, self._attempt.id, kind)
        if not kept:
            did = "saved it" if self._kind == "secret" else "ran apply"
            self.problem = StateError(
                f"its secret is in a private file of another machine or user: the one that {did}",
                where=self._attempt.address,
                remedy="run this command there, or ask the operator for the secret and run: reconciler secret set"
                f" {self._attempt.address}",
            )
        return kept


def _strings_of(response: bytes, attempt: Attempt) -> set[bytes]:
    """The strings in the body of a response that the journal does not hold in the clear."""
    try:
        document = json.loads(split_response(response)[1])
    except (ValueError, RecursionError):
        return set()
    clear = {"", attempt.url, *attempt.codes, *(value for value in attempt.fields.values() if isinstance(value, str))}
    return {text.encode(errors="surrogatepass") for text in _strings(document) if text not in clear}


def _strings(document: object) -> Iterator[str]:
    waiting = [document]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case list() as items:
                waiting += items
            case dict() as fields:
                waiting += fields.values()
