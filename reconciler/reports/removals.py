"""The messages to the operators, one for each target, as a document that is ready to send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.reports.apply import unresolved_message
from reconciler.reports.document import Commands, Document, Heading, Letter, Paragraph, Todo, Tone
from reconciler.reports.letters import Purpose, letter, letters_by_target
from reconciler.reports.messages import alerts
from reconciler.reports.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reconciler.errors import Message
    from reconciler.model.status import Removals
    from reconciler.reports.document import Block


def removals_document(removals: Sequence[Removals], surplus: Iterable[Message] = ()) -> Document:
    """Return the document of what each operator is to remove, to keep, and to say; and surplus codes not asked for."""
    awaited = sum(len(target.awaiting) for target in removals)
    kept = sum(len(target.restored) + len(target.cancelled) for target in removals)
    unknown = sum(len(target.unknown) for target in removals)
    words = [
        f"{counted(awaited, 'removal')} awaited" if awaited else "",
        f"{counted(kept, 'subscription')} to keep" if kept else "",
        counted(unknown, "unresolved create") if unknown else "",
    ]
    return Document(
        "removals",
        f"{listed(filter(None, words))}." if any(words) else "Nothing awaits removal.",
        Tone.WARNING if any(words) else Tone.ADDED,
        alerts=alerts((unresolved_message(attempt) for target in removals for attempt in target.unknown), "Warning"),
        body=tuple(block for target in removals for block in _target(target)),
        summary=alerts(surplus, "Warning"),
    )


def letter_to_delete(target: Removals) -> tuple[str, ...]:
    """Return the message about all that is to be removed on a target; nothing if that is nothing."""
    if not target.awaiting:
        return ()
    staying = {attempt.id: attempt for awaiting in target.awaiting for attempt in awaiting.staying}
    return letter([awaiting.attempt for awaiting in target.awaiting], Purpose.DELETE, list(staying.values()))


def _target(target: Removals) -> Iterator[Block]:
    if not (target.awaiting or target.restored or target.cancelled or target.unknown):
        return
    yield Heading(target.target)
    yield from letters_by_target((*target.restored, *target.cancelled), Purpose.KEEP)
    if target.restored:
        yield Paragraph("The next apply records that these stay.", Tone.FAINT)
    if target.awaiting:
        since = min(awaiting.since for awaiting in target.awaiting)
        yield Letter(f"{Purpose.DELETE} (requested since {since})", letter_to_delete(target))
        commands = tuple(
            (
                "reconciler", "removal", "confirm", awaiting.attempt.address, "--attempt", awaiting.attempt.id,
                *(word for code in _some(awaiting.codes, awaiting.attempt.codes) for word in ("--code", code)),
            )
            for awaiting in target.awaiting
        )  # fmt: skip
        yield Commands((Todo("Once the operator has removed them, run", commands),))
    yield from letters_by_target(target.unknown, Purpose.ASK)


def _some(codes: Sequence[str], every: Sequence[str]) -> Sequence[str]:
    """Return codes, none if they are all."""
    return () if set(codes) >= set(every) else codes
