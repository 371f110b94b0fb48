"""`state observe`: captured notifications as a statement about the attempts at whose URLs they arrived."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import Message, step
from reconciler.model.url import normal_url
from reconciler.notifications.captured import read_captured
from reconciler.planning.evidence import Sighting, match
from reconciler.planning.reasons import who
from reconciler.record.facts import Received
from reconciler.record.statements import Observe
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.record import Record
    from reconciler.model.status import Unexplained
    from reconciler.notifications.captured import Captured
    from reconciler.operations.project import Project

_AHEAD = 300.0
"""Seconds by which the clock of a receiver may be ahead of this machine's."""


def observed(project: Project, file: str) -> Observe:
    """Return the statement that records what a capture file (`-`: standard input) tells. Raises ReconcilerError.

    Warnings tell which notifications match nothing, and which were left out: unverified, without a code, or from the
    future.
    """
    record = project.journal.read().record
    latest, left_out = stamp(project.now() + _AHEAD), dict.fromkeys(_REASONS, 0)

    def usable(captured: Iterator[Captured]) -> Iterator[Sighting]:
        for notification in captured:
            if not _is_trusted(project, notification):
                left_out["notification-unverified"] += 1
            elif not notification.code:
                left_out["notification-without-code"] += 1
            elif notification.at > latest:
                left_out["notification-from-future"] += 1
            else:
                yield Sighting(notification.at, notification.code, notification.path, notification.url)

    matches = match(project.desired, record, usable(read_captured(Path("/dev/stdin" if file == "-" else file))))
    facts = tuple(
        Received(at="", base_url=found.base_url, url=found.url, code=found.code, first=found.first, last=found.last)
        for found in matches.observed
    )
    ignored = [Message(name, f"{count} ignored: {_REASONS[name]}", file) for name, count in left_out.items() if count]
    overruled = _overruled(record, {normal_url(fact.url) for fact in facts})
    return Observe(facts, (*ignored, *map(_unexplained, matches.unexplained), *overruled))


_REASONS = {
    "notification-unverified": "no valid signature",
    "notification-without-code": "no event code",
    "notification-from-future": "dated in the future; check the clocks of both machines",
}


def _is_trusted(project: Project, notification: Captured) -> bool:
    """True if a notification counts: with `verification.enforce` its signature must be valid, and else not wrong."""
    verification = project.desired.verification
    if verification is not None and verification.enforce:
        return notification.verified is True
    return notification.verified is not False


def _overruled(record: Record, urls: set[str]) -> Iterator[Message]:
    """Yield a message for each attempt said to be not created whose own URL has received a notification."""
    for attempt in record.attempts.values():
        if attempt.absent and attempt.own_url and not attempt.received and normal_url(attempt.url) in urls:
            what = f"{who(attempt.absent.by)} said at {attempt.absent.at} that attempt {attempt.id} was not created"
            yield Message("not-created-overruled", f"{what}; a notification proves that it was", attempt.address)


def _unexplained(found: Unexplained) -> Message:
    last = f"{found.code} received {found.count} times, last {found.last}"
    if found.ambiguous:
        return Message(
            "notification-ambiguous",
            f"{last}: matches several subscriptions: {', '.join(found.ambiguous)}",
            found.where,
        )
    if found.unmanaged:
        what = f"{last}: an attempt that the record does not have"
        recover = step("if another copy of the record has it, run", "reconciler", "state", "recover", "FILE")
        exists = step(
            "or record that it exists", "reconciler", "state", "import", "ADDRESS", "--url", "URL", "--attempt", "ID"
        )
        return Message("notification-unmanaged", what, found.where, (recover, exists))
    return Message("notification-unexplained", f"{last}: no recorded subscription matches it", found.where)
