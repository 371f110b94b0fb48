"""Messages as parts of a document: what is equal is told once, with all the places it was found at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.reports.document import Alert, Document, Todo, Tone
from reconciler.reports.escaping import command_line
from reconciler.reports.words import capital

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.errors import Message, Step


_TONES = {"Warning": Tone.WARNING, "Note": Tone.PLAIN, "Append": Tone.ADDED, "Blocked": Tone.PLAIN}


def alerts(messages: Iterable[Message], label: str = "Error") -> tuple[Alert, ...]:
    """Return an alert for each message; messages that say the same of several places are one."""
    groups: dict[tuple[str, str], list[Message]] = {}
    for message in messages:
        groups.setdefault((message.name, message.what), []).append(message)
    return tuple(
        Alert(
            _TONES.get(label, Tone.ERROR),
            label,
            what,
            tuple(dict.fromkeys(message.located for message in group if message.located)),
            todos(step for message in group for step in message.steps),
        )
        for (_, what), group in groups.items()
    )


def todos(steps: Iterable[Step]) -> tuple[Todo, ...]:
    """Return what to do: the commands of all steps with one text are together."""
    commands: dict[str, dict[tuple[str, ...], None]] = {}
    for step in steps:
        commands.setdefault(step.text, {}).update({step.command: None} if step.command else {})
    return tuple(Todo(capital(text), tuple(group)) for text, group in commands.items())


def sentence(message: Message, flags: Sequence[str] = ()) -> str:
    """Return a message on one line, with its commands to paste: for JSON, and for logs."""
    head = f"{message.located}: {message.what}" if message.located else message.what
    steps = (
        " ".join(filter(None, (step.text, command_line(step.command, flags) if step.command else "")))
        for step in message.steps
    )
    return "; ".join([head, *steps])


def messages_document(messages: Iterable[Message], label: str = "Error") -> Document:
    """Return the document of an error, or of warnings."""
    return Document("messages", "", alerts=alerts(messages, label))
