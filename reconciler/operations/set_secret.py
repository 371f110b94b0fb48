"""Stores a secret that was not in a create response."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

from reconciler.model.entry import SecretSet
from reconciler.operations.edit import now_by, pick, record_entries
from reconciler.state.private.responses import encrypt, private_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.model.address import Address
    from reconciler.model.record import Record
    from reconciler.operations.workspace import Workspace


def store_secret(workspace: Workspace, address: Address, attempt_id: str | None, read: Callable[[], bytes]) -> None:
    """Store the secret that `read` gives, encrypted in the record or, without recipients, in a private file.

    Raises Refused if no attempt, or several, can be meant, and StateError.
    """
    recipients = workspace.desired.recipients
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
