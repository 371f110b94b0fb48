"""A report as a document: what is said, before anything decides how it looks.

Text in it may come from elsewhere: each serialiser escapes all of it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.reports.words import capital, command_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.errors import Message, Step


class Tone(StrEnum):
    """The kind of emphasis. Colour only repeats what a sign or a word says."""

    PLAIN = "plain"
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    WARNING = "warning"
    ERROR = "error"
    FAINT = "faint"


class Heading(Struct, frozen=True):
    """The heading of what follows."""

    text: str
    tone: Tone = Tone.PLAIN


class Paragraph(Struct, frozen=True):
    """One or a few sentences."""

    text: str
    tone: Tone = Tone.PLAIN


class Facts(Struct, frozen=True):
    """Names with their values."""

    rows: tuple[tuple[str, str], ...]


class Table(Struct, frozen=True):
    """Rows of cells under the names of the columns. `tones`: one for each row, or none at all."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[Tone, ...] = ()


class Field(Struct, frozen=True):
    """The difference of one field: `before` and `after` for a changed value, else only one of the two."""

    name: str
    before: str = ""
    after: str = ""


class Changed(Struct, frozen=True):
    """A change of one thing: the fields that differ, a line for each consequence, and the steps to take."""

    sign: str
    title: str
    action: str
    tone: Tone
    fields: tuple[Field, ...] = ()
    notes: tuple[Paragraph, ...] = ()
    todos: tuple[Todo, ...] = ()


class Todo(Struct, frozen=True):
    """Something to do: a phrase in the imperative, and the commands to paste for it, without the global flags."""

    text: str = ""
    commands: tuple[tuple[str, ...], ...] = ()


class Commands(Struct, frozen=True):
    """The steps to take."""

    todos: tuple[Todo, ...]


class Alert(Struct, frozen=True):
    """A problem, its places (several if it is the same) and the steps to take; `label` comes first."""

    tone: Tone
    label: str
    what: str
    where: tuple[str, ...] = ()
    todos: tuple[Todo, ...] = ()


class Letter(Struct, frozen=True):
    """A message to send to somebody, ready to be copied. No line of it is changed but to escape it."""

    title: str
    lines: tuple[str, ...]


class Details(Struct, frozen=True):
    """Details that few readers need: folded where a format can fold; on a terminal only shown if more is asked for."""

    title: str
    blocks: tuple[Block, ...]


Block = Heading | Paragraph | Facts | Table | Changed | Commands | Alert | Letter | Details


class Document(Struct, frozen=True):
    """A report. `kind` names it; `title` is its verdict with the counts, one sentence or two.

    `facts` are what a reader checks first: a page shows them at the top, a terminal only if more is asked for.
    `alerts` come before the `body`, `summary` says what else to know, `next` is what to do now.
    """

    kind: str
    title: str
    tone: Tone = Tone.PLAIN
    facts: tuple[tuple[str, str], ...] = ()
    alerts: tuple[Block, ...] = ()
    body: tuple[Block, ...] = ()
    summary: tuple[Block, ...] = ()
    next: Commands | None = None
    details: tuple[Details, ...] = ()


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
    """Return the steps as todos, with the commands of equal steps together."""
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
