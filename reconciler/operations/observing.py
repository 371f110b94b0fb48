"""`state observe`: turns captured notifications into a statement about the attempts that delivered them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import Message, step
from reconciler.model.url import normal_url
from reconciler.notifications.captured import read_captured
from reconciler.planning.evidence import Sighting, match
from reconciler.planning.reasons import who
from reconciler.record.attempt_rows import secret_step
from reconciler.record.facts import Received
from reconciler.record.fold import LATE_DELIVERY, repeated_until
from reconciler.record.statements import Observe
from reconciler.reports.words import counted
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reconciler.errors import Step
    from reconciler.model.record import Attempt, Record
    from reconciler.model.status import Unexplained
    from reconciler.notifications.captured import Captured
    from reconciler.operations.project import Project

_AHEAD = 300.0
"""The number of seconds by which a receiver's clock may be ahead of the clock of this machine."""


def observed(project: Project, file: str) -> Observe:
    """Return the statement that records the notifications of a capture file (`-`: stdin). Raises ReconcilerError.

    The messages of the statement report notifications that match nothing in force, and notifications that are ignored
    because they are unverified, have no code or are dated in the future. They also report attempts that exist although
    they are recorded as unknown, not created or removed.
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

    matches = match(project.desired, record, usable(read_captured(Path(file))))
    facts = tuple(
        Received(at="", base_url=each.base_url, url=each.url, code=each.code, first=each.first, last=each.last)
        for each in matches.observed
    )
    ignored = [Message(name, f"{count} ignored: {_REASONS[name]}", file) for name, count in left_out.items() if count]
    return Observe(facts, (*ignored, *map(_unexplained, matches.unexplained), *_learned(record, facts, project.now())))


_REASONS = {
    "notification-unverified": "no valid signature",
    "notification-without-code": "no event code",
    "notification-from-future": "dated in the future; check the clocks of both machines",
}


def _is_trusted(project: Project, notification: Captured) -> bool:
    """True if a notification is trusted: its signature is valid or, without `verification.enforce`, was not checked."""
    verification = project.desired.verification
    if verification is not None and verification.enforce:
        return notification.verified is True
    return notification.verified is not False


def _learned(record: Record, facts: Iterable[Received], now: float) -> Iterator[Message]:
    """Yield messages about attempts whose recorded state is corrected or put in doubt by a notification."""
    by_url: dict[str, list[Received]] = {}
    for fact in facts:
        by_url.setdefault(normal_url(fact.url), []).append(fact)
    for attempt in record.attempts.values():
        heard = by_url.get(normal_url(attempt.url), ()) if attempt.own_url else ()
        late = max((fact.last for fact in heard if fact.code not in attempt.codes), default="")
        if heard and attempt.absent and not attempt.received:
            what = f"{who(attempt.absent.by)} said at {attempt.absent.at} that attempt {attempt.id} was not created"
            what = f"{what}; a notification proves that it was"
            yield Message("not-created-overruled", what, attempt.address, _ask_for_secret(attempt, now))
        elif heard and attempt.unresolved:
            what = f"attempt {attempt.id}, whose outcome was unknown, was created: a notification proves it"
            yield Message("unknown-proven", what, attempt.address, _ask_for_secret(attempt, now))
        if attempt.removed and attempt.removed_codes and late > repeated_until(attempt.removed.at):
            what = f"attempt {attempt.id} is in force again: it delivered at {late}, after its removal was confirmed"
            yield Message("revived", what, attempt.address)
        elif attempt.removed and attempt.removed_codes and late >= attempt.removed.at:
            what = f"{_repeated(attempt, attempt.removed.at, late)}; only a later one proves that it exists"
            yield Message("notification-repeated", what, attempt.address)


def _ask_for_secret(attempt: Attempt, now: float) -> tuple[Step, ...]:
    """Return the step that gets the secret of a create whose answer was lost, or no step if no secret is needed."""
    if attempt.responses or attempt.secrets or attempt.superseded_by or attempt.in_flight(now):
        return ()
    return (secret_step(attempt),)


def _repeated(attempt: Attempt, removed: str, at: str) -> str:
    """Return a warning that a notification may repeat a delivery from before the removal."""
    start, end = (datetime.fromisoformat(text).astimezone(UTC) for text in (removed, at))
    late = f"a notification arrived {(end - start).seconds} s after the removal of attempt {attempt.id} was confirmed"
    return f"{late} (deliveries are repeated for {LATE_DELIVERY.seconds} s)"


def _unexplained(found: Unexplained) -> Message:
    last = f"{found.code} received {counted(found.count, 'time')}, last {found.last}"
    if found.ambiguous:
        return Message(
            "notification-ambiguous",
            f"{last}; it matches several subscriptions: {', '.join(found.ambiguous)}",
            found.where,
        )
    if found.unmanaged:
        what = f"{last}; its URL names an attempt that the record does not have"
        recover = step("if another copy of the record has that attempt, run", "reconciler", "state", "recover", "FILE")
        exists = step(
            "or record that it exists", "reconciler", "state", "import", "ADDRESS", "--url", "URL", "--attempt", "ID"
        )
        return Message("notification-unmanaged", what, found.where, (recover, exists))
    if found.removed is not None and found.removed.removed is not None:
        return _after_removal(found, last, found.removed, found.removed.removed.at)
    return Message("notification-unexplained", f"{last}; no recorded subscription matches it", found.where)


def _after_removal(found: Unexplained, last: str, attempt: Attempt, removed: str) -> Message:
    """Return the message about notifications from a removed attempt, with the steps to take if it still exists."""
    what = f"{last}; it matches attempt {attempt.id} of {attempt.address}, recorded as removed at {removed}"
    if found.last > repeated_until(removed):
        resolve = ("reconciler", "state", "resolve", attempt.address, "--created", "--attempt", attempt.id, "--force")
        return Message("notification-after-removal", what, found.where, (step("if it still exists, run", *resolve),))
    if found.last >= removed:
        what = f"{last}; {_repeated(attempt, removed, found.last)}"
    return Message("notification-repeated", what, found.where)
