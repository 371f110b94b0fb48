"""Finds the secret of a subscription, or the create response that may contain it; stores one that came another way."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from secrets import token_hex

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import Refused, StateError
from reconciler.model.address import Address
from reconciler.model.entry import SecretSet
from reconciler.model.record import Attempt, Record
from reconciler.operations.attempts import live
from reconciler.operations.edit import now_by, pick, record_entries
from reconciler.operations.kept_secrets import read_identity, read_recorded, with_response
from reconciler.operations.sound_config import recipients_in_use
from reconciler.operations.workspace import Workspace
from reconciler.state.private.responses import encrypt, private_kind, split_response


class SecretReader(Struct, frozen=True):
    """Reads what is stored for an address; `attempt_id` chooses an attempt, `identity` is an age identity file."""

    workspace: Workspace
    address: Address
    attempt_id: str | None
    identity: Path | None

    def secret(self) -> bytes:
        """The secret that was set last, else the body of the create response. Raises StateError and Refused."""
        record, attempts = self._read_record()
        attempt = self._choose(attempts)
        if attempt.secrets:
            return self._read(record, attempt, "secret", attempt.secrets[-1])
        _, body = split_response(self._read(record, attempt, "response", attempt.response or ""))
        if not body:
            raise Refused(
                "the response has no body",
                where=attempt.address,
                remedy=f"to see its headers, run: reconciler secret show {attempt.address} --headers; or ask the"
                f" operator for the secret and run: reconciler secret set {attempt.address}",
            )
        return body

    def response(self) -> bytes:
        """The response to the create call, as it is stored. Raises StateError and Refused."""
        record, attempts = self._read_record()
        attempt = self._choose([replace(attempt, secrets=()) for attempt in attempts])
        return self._read(record, attempt, "response", attempt.response or "")

    def _read_record(self) -> tuple[Record, list[Attempt]]:
        record = self.workspace.read(self.address.target).record()
        attempts = [attempt for attempt in record.attempts.values() if attempt.address == self.address]
        return record, [with_response(self.workspace, record, attempt) for attempt in attempts]

    def _choose(self, attempts: list[Attempt]) -> Attempt:
        """The attempt that is meant. Raises Refused."""
        readable = [attempt for attempt in attempts if attempt.response or attempt.secrets]
        self._refuse_without_secret(attempts)
        current = live(readable) or [attempt for attempt in readable if attempt.in_force] or readable
        return pick(
            readable if self.attempt_id else current, self.attempt_id, self.address, "with a response or a secret"
        )

    def _refuse_without_secret(self, attempts: list[Attempt]) -> None:
        """Raises Refused if what is meant exists without a response or a secret. What awaits removal has another."""
        in_force = [attempt for attempt in attempts if attempt.in_force and self.attempt_id in (None, attempt.id)]
        meant = live(in_force) or in_force
        if meant and not any(attempt.response or attempt.secrets for attempt in meant):
            kind = "live attempt" if meant != in_force else "attempt"
            named = "" if self.attempt_id is None else f" --attempt {self.attempt_id}"
            raise Refused(
                f"no {kind} has a response or a secret",
                where=self.address,
                remedy=f"ask the operator for the secret, then run: reconciler secret set {self.address}{named}",
            )

    def _read(self, record: Record, attempt: Attempt, kind: str, location: str) -> bytes:
        """What was stored last at a location that an attempt names. Raises StateError."""
        found = read_recorded(self.workspace, record, attempt, kind, location, partial(read_identity, self.identity))
        if isinstance(found, StateError):
            raise found
        return found[-1]


def field_of(body: bytes, name: str) -> str:
    """One field of a JSON object, as text. Raises Refused if there is none of that name."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or name not in document:
        fields = ", ".join(document) if isinstance(document, dict) else ""
        raise Refused(
            "field not found in the response",
            where=f"--field {name}",
            remedy=f"available fields: {fields or 'none'}",
        )
    value = document[name]
    return value if isinstance(value, str) else json.dumps(value)


def store_secret(workspace: Workspace, address: Address, attempt_id: str | None, read: Callable[[], bytes]) -> None:
    """Store the secret that `read` gives, encrypted in the record or, without recipients, in a private file.

    Raises Refused if no attempt, or several, can be meant, and StateError.
    """
    workspace.within.refuse_others([address.target])
    recipients = recipients_in_use(workspace)
    secret = read()

    def draft(record: Record) -> list[SecretSet]:
        attempts = [attempt for attempt in record.at_address(address) if attempt.in_force or attempt.unresolved]
        attempt = pick(attempts, attempt_id, address, "in force")
        if recipients:
            location = encrypt(recipients, secret)
        else:
            location = f"file:{token_hex(4)}"
            path = workspace.responses.keep(record.id, attempt.id, private_kind("secret", location), secret)
            if workspace.in_ci:
                workspace.notices.warn(
                    f"{address}: its secret is stored only on this machine: {path}; add `recipients:` to config/ to"
                    " store secrets in the record, encrypted"
                )
        at, by = now_by(workspace)
        return [SecretSet(at=at, by=by, attempt=attempt.id, secret=location)]

    record_entries(workspace, address.target, draft, f"secret set for {address.name}")
