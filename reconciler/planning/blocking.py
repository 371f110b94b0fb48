"""Finds the gates that are closed for a whole record or target, and blocks changes because of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.model.plan import Action, Block
from reconciler.planning import reasons

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reconciler.errors import Message
    from reconciler.model.address import TargetName
    from reconciler.model.desired import Target
    from reconciler.model.plan import Change
    from reconciler.model.record import Record
    from reconciler.record.gates import Standing


def foreign(target: Target, record: Record, account: str | None) -> tuple[Message, ...]:
    """Return messages if the record binds a target to another service or account; they block its creates."""
    service = record.service_of(target.base_url)
    others = [url for url in record.base_urls.get(target.name, ()) if record.service_of(url) != service]
    accounts = record.accounts.get(target.name)
    messages = []
    if others:
        messages.append(reasons.other_service(target, ", ".join(others)))
    if account and accounts and account not in accounts:
        messages.append(reasons.other_account(target, accounts, account))
    return tuple(messages)


def blocked(
    change: Change,
    record: Record,
    standing: Standing,
    gates: Sequence[Message],
    strange: Mapping[TargetName, tuple[Message, ...]],
    now: float,
) -> Change:
    """Return the change itself or, if a gate is closed, a copy whose action is BLOCKED.

    `gates` are the messages about the record, and `strange` the messages about each target. A create that waits for a
    removal is blocked too, because the removal without the create would leave a gap.
    """
    creates = change.request is not None or change.block is Block.WAITS
    if gates and (creates or (change.block is None and not standing.first_gate_open)):
        block, messages = Block.GATE, gates
    elif creates and strange.get(change.address.target):
        block, messages = Block.FOREIGN, strange[change.address.target]
    else:
        return change
    why = (*change.reasons, *(replace(message, steps=()) for message in messages))
    closed = replace(
        change, action=Action.BLOCKED, request=None, concerns=(), block=block, blocking=(), reasons=why, warnings=()
    )
    if change.action is not Action.RETRY:
        return closed
    retried = [record.attempts[attempt] for attempt in change.concerns]
    resolve = (reasons.unresolved(attempt, record.received_by(attempt), now) for attempt in retried)
    return replace(closed, block=Block.UNRESOLVED, blocking=tuple(retried), reasons=(*resolve, *closed.reasons))


def without_commands(change: Change) -> Change:
    """Return a change without the commands in its reasons, because all are refused while the first gate is closed."""
    return replace(change, reasons=tuple(replace(reason, steps=()) for reason in change.reasons))
