"""Builds the document of `removal list`: the letters to each operator, and the commands that confirm removals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.errors import Message
from reconciler.record.gates import codes_to_name, settling
from reconciler.reports import document as doc
from reconciler.reports.apply import confirm_command, to_ask, unresolved_alerts
from reconciler.reports.document import alerts
from reconciler.reports.letters import Purpose, letter, letters_by_target
from reconciler.reports.plan import across_targets, surplus_messages
from reconciler.reports.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reconciler.model.plan import Plan
    from reconciler.model.record import Attempt
    from reconciler.model.status import Removals


def removals_document(removals: Sequence[Removals], plan: Plan | None = None, now: float = 0.0) -> doc.Document:
    """Return the document with the letters to each operator. `now` is in epoch seconds.

    With `plan`, the document also names surplus codes whose removal was not requested, and desired codes whose removal
    was requested.
    """
    awaited = sum(len(target.awaiting) for target in removals)
    duplicates = across_targets(plan, lambda target: target.duplicates) if plan else ()
    every = surplus_messages(plan, duplicates) if plan else ()
    surplus = [message for message in every if message.steps]  # the letters name the others
    reasons = ((change.address, reason) for change in (plan.changes if plan else ()) for reason in change.reasons)
    desired = [replace(reason, where=where) for where, reason in reasons if reason.name == "removal-requested"]
    kept = sum(len(target.restored) + len(target.cancelled) for target in removals)
    unknown = [attempt for target in removals for attempt in target.unknown if attempt.blocks]
    superseded = [attempt for target in removals for attempt in target.unknown if not attempt.blocks]
    words = [
        f"{counted(awaited, 'removal')} awaited" if awaited else "",
        f"{counted(kept, 'subscription')} to keep" if kept else "",
        counted(len(unknown), "unresolved create") if unknown else "",
        counted(len(superseded), "superseded create") if superseded else "",
    ]
    return doc.Document(
        "removals",
        f"{listed(filter(None, words))}." if any(words) else "Nothing awaits removal.",
        doc.Tone.WARNING if any(words) else doc.Tone.ADDED,
        alerts=(
            *unresolved_alerts(unknown, plan, "Warning", now),
            *alerts((_superseded_note(attempt, now) for attempt in superseded), "Note"),
            *alerts(desired, "Warning"),
        ),
        body=tuple(block for target in removals for block in _target_blocks(target, plan)),
        summary=alerts(surplus, "Warning"),
    )


def _superseded_note(attempt: Attempt, now: float) -> Message:
    what = "sent again, and may exist too; the message below asks the operator about it"
    return Message("superseded", what, f"{attempt.address} (attempt {attempt.id})", settling(attempt, now))


def letter_to_delete(target: Removals) -> tuple[str, ...]:
    """Return the letter about everything to be removed from a target, or () if there is nothing to remove."""
    if not target.awaiting:
        return ()
    staying = {attempt.id: attempt for awaiting in target.awaiting for attempt in awaiting.staying}
    return letter([awaiting.attempt for awaiting in target.awaiting], Purpose.DELETE, list(staying.values()))


def _target_blocks(target: Removals, plan: Plan | None) -> Iterator[doc.Block]:
    asked = to_ask(target.unknown, plan)
    if not (target.awaiting or target.restored or target.cancelled or asked):
        return
    yield doc.Heading(target.target)
    yield from letters_by_target((*target.restored, *target.cancelled), Purpose.KEEP)
    if target.restored:
        yield doc.Paragraph("The next apply records that these stay.", doc.Tone.FAINT)
    if target.awaiting:
        since = min(awaiting.since for awaiting in target.awaiting)
        yield doc.Letter(f"{Purpose.DELETE} (first requested {since})", letter_to_delete(target))
        yield doc.Commands((doc.Todo("Once the operator has removed them, run", tuple(_confirmations(target))),))
    yield from letters_by_target(asked, Purpose.ASK)


def _confirmations(target: Removals) -> Iterator[tuple[str, ...]]:
    """Return the commands that confirm removals: one for attempts removed entirely, and one for each set of codes."""
    groups: dict[tuple[str, ...], list[Attempt]] = {}
    for awaiting in target.awaiting:
        groups.setdefault(codes_to_name(awaiting.attempt, awaiting.codes), []).append(awaiting.attempt)
    return (confirm_command(attempts, codes) for codes, attempts in groups.items())
