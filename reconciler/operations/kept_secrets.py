"""The secrets that a subscription's notifications may be signed with, as far as they are recorded.

The create response is not documented. So any string in it may be the secret, except those that the journal contains
unencrypted; and there are the secrets that `secret set` saved.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit

from msgspec.structs import replace

from reconciler.errors import SettingsError, StateError
from reconciler.model.address import Address
from reconciler.model.record import Attempt, Record, Status
from reconciler.operations.workspace import Workspace
from reconciler.state.private.responses import (
    ENCRYPTED,
    PRIVATE_KEY,
    decrypt,
    is_encrypted,
    private_kind,
    split_response,
)
from reconciler.values import Discreet


class Recorded(Discreet, frozen=True):
    """The possible secrets of one attempt; `problem` is why some could not be read."""

    unprinted = ("secrets",)

    attempt: Attempt
    secrets: frozenset[bytes]
    problem: StateError | None

    @property
    def path(self) -> str:
        """The path of its webhook URL, without the query."""
        return urlsplit(self.attempt.url).path or "/"


def read_identity(path: Path | None) -> list[str]:
    """The contents of an age identity file, empty for None. Raises SettingsError."""
    if path is None:
        return []
    if PRIVATE_KEY.search(str(path)):
        raise SettingsError(
            "expected a file, got a private key, which every user of this machine can see in the process list",
            where="--identity",
            remedy="stop using this key, and create another with age-keygen",
        )
    try:
        return [path.read_text(encoding="utf-8")]
    except (OSError, UnicodeDecodeError) as problem:
        what = problem.strerror if isinstance(problem, OSError) else "not UTF-8"
    raise SettingsError(f"cannot read the identity file: {what}", where=f"--identity {path}")


def no_identity(workspace: Workspace, where: str | None = None) -> StateError:
    """The error for a missing --identity; names the files where `init` puts private keys.

    They are not read unless they are named: a secret is shown only if whoever runs the command means to decrypt it.
    """
    files = [quote(str(path)) for path in sorted((workspace.data_directory / "identities").glob("*.txt"))]
    remedy = f"use --identity {files[0] if len(files) == 1 else 'FILE'}"
    if len(files) > 1:
        remedy += f", one of {', '.join(files)}"
    return StateError("no age identity", where=where, remedy=remedy)


def with_response(workspace: Workspace, record: Record, attempt: Attempt) -> Attempt:
    """The attempt, with the response in a private file of this machine if the record names none. Raises StateError.

    A run saves the file before it records the outcome; a run that was killed in between has left it.
    """
    if attempt.response:
        return attempt
    if workspace.responses.read(record.id, attempt.id, "response"):
        return replace(attempt, response="file")
    encrypted = workspace.responses.read(record.id, attempt.id, ENCRYPTED)
    return replace(attempt, response=encrypted[-1].decode(errors="replace")) if encrypted else attempt


def read_recorded(
    workspace: Workspace,
    record: Record,
    attempt: Attempt,
    kind: str,
    place: str,
    identities: Callable[[], list[str]],
) -> list[bytes] | StateError:
    """The response or secret (`kind`) of an attempt at a place that the journal names, oldest first.

    If it cannot be decrypted or is on another machine, the error that says so. `identities` gives the contents of age
    identity files, and is called for encrypted data only. Raises StateError for a file that cannot be read, and what
    `identities` raises.
    """
    if is_encrypted(place):
        given = identities()
        if not given:
            return no_identity(workspace, attempt.address)
        return _decrypted(record, attempt, place, given)
    found = workspace.responses.read(record.id, attempt.id, private_kind(kind, place))
    if found:
        return found
    did = "saved it" if kind == "secret" else "ran apply"
    return StateError(
        f"its secret is in a private file of another machine or user: the one that {did}",
        where=attempt.address,
        remedy="run this command there, or ask the operator for the secret and run:"
        f" reconciler secret set {attempt.address}",
    )


def _decrypted(record: Record, attempt: Attempt, place: str, identities: list[str]) -> list[bytes] | StateError:
    """The data encrypted at a place, from the latest encryption of it that an identity opens."""
    problems = []
    for text in (*(sealing.text for sealing in reversed(record.sealings_of(attempt.id, place))), place):
        try:
            return [decrypt(text, identities)]
        except StateError as problem:
            problems.append(problem)
    return StateError(problems[-1].what, where=attempt.address, remedy=problems[-1].remedy)


def secrets_of_all(workspace: Workspace, identities: list[str]) -> list[Recorded]:
    """The secrets of every recorded attempt that may deliver, on any target. Raises StateError."""
    found = []
    for record in workspace.records(workspace.store.targets()).values():
        delivering = [attempt for attempt in record.attempts.values() if attempt.status is not Status.GONE]
        found += [_secrets_of(workspace, record, attempt, identities) for attempt in delivering]
    return found


def secrets_of_address(workspace: Workspace, address: Address, identities: list[str]) -> set[bytes]:
    """The secrets of every attempt of an address, whatever its outcome. Raises StateError if there is none."""
    record = workspace.read(address.target).record()
    attempts = [attempt for attempt in record.attempts.values() if attempt.address == address]
    found = [_secrets_of(workspace, record, attempt, identities) for attempt in attempts]
    secrets = {secret for recorded in found for secret in recorded.secrets}
    if secrets:
        return secrets
    problem = next((recorded.problem for recorded in found if recorded.problem), None)
    remedy = f"if you have it, run: reconciler secret set {address}"
    raise problem or StateError("no secret is recorded", where=address, remedy=remedy)


def _secrets_of(workspace: Workspace, record: Record, attempt: Attempt, identities: list[str]) -> Recorded:
    attempt = with_response(workspace, record, attempt)
    responses, problem = _read_all(workspace, record, attempt, "response", [attempt.response or ""], identities)
    others, other_problem = _read_all(workspace, record, attempt, "secret", attempt.secrets, identities)
    secrets = {secret for response in responses for secret in _strings_of(response, attempt)}
    return Recorded(attempt, frozenset(secrets.union(others)), problem or other_problem)


def _read_all(
    workspace: Workspace, record: Record, attempt: Attempt, kind: str, places: Iterable[str], identities: list[str]
) -> tuple[list[bytes], StateError | None]:
    """The data at all places, and the last error among them."""
    data, problem = list[bytes](), None
    for place in dict.fromkeys(filter(None, places)):
        found = read_recorded(workspace, record, attempt, kind, place, lambda: identities)
        if isinstance(found, StateError):
            problem = found
        else:
            data += found
    return data, problem


def _strings_of(response: bytes, attempt: Attempt) -> set[bytes]:
    """The strings in the body of a response that the journal does not contain unencrypted."""
    try:
        document = json.loads(split_response(response)[1])
    except (ValueError, RecursionError):
        return set()
    clear = {"", attempt.url, *attempt.codes, *attempt.fields.values()}
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
