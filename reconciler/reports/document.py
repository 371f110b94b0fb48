"""Defines a document: the content of a report, independent of its format.

The text of a document may come from other systems, so every serialiser escapes all text.
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
    """The kind of emphasis. Colour only repeats what a sign or a word already says."""

    PLAIN = "plain"
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    WARNING = "warning"
    ERROR = "error"
    FAINT = "faint"


class Heading(Struct, frozen=True):
    """The heading of the blocks that follow."""

    text: str
    tone: Tone = Tone.PLAIN


class Paragraph(Struct, frozen=True):
    """A paragraph of one or more sentences."""

    text: str
    tone: Tone = Tone.PLAIN


class Facts(Struct, frozen=True):
    """A list of names and their values."""

    rows: tuple[tuple[str, str], ...]


class Table(Struct, frozen=True):
    """A table: the column names and the rows of cells. `tones` is empty or holds one tone for each row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[Tone, ...] = ()


class Field(Struct, frozen=True):
    """A field that differs. A changed field has `before` and `after`; an added or removed field has only one."""

    name: str
    before: str = ""
    after: str = ""


class Changed(Struct, frozen=True):
    """A change to one subscription: the fields that differ, a note for each consequence, and the steps to take."""

    sign: str
    title: str
    action: str
    tone: Tone
    fields: tuple[Field, ...] = ()
    notes: tuple[Paragraph, ...] = ()
    todos: tuple[Todo, ...] = ()


class Todo(Struct, frozen=True):
    """A step to take: an imperative phrase and the commands to run. The commands have no global flags."""

    text: str = ""
    commands: tuple[tuple[str, ...], ...] = ()


class Commands(Struct, frozen=True):
    """A list of steps to take."""

    todos: tuple[Todo, ...]


class Alert(Struct, frozen=True):
    """A problem, the places where it occurs, and the steps to take. `label` precedes the text."""

    tone: Tone
    label: str
    what: str
    where: tuple[str, ...] = ()
    todos: tuple[Todo, ...] = ()


class Letter(Struct, frozen=True):
    """A message to send to somebody. Its lines are escaped but never reworded or wrapped."""

    title: str
    lines: tuple[str, ...]


class Details(Struct, frozen=True):
    """Details that few readers need. HTML and Markdown fold them; a terminal shows them only with `-v`."""

    title: str
    blocks: tuple[Block, ...]


Block = Heading | Paragraph | Facts | Table | Changed | Commands | Alert | Letter | Details


class Document(Struct, frozen=True):
    """A report.

    `kind` is the name of the report. `title` is the verdict with its counts, in one or two sentences. `facts` come
    first on a page; a terminal shows them only with `-v`. `alerts` precede the `body`. `summary` holds warnings and
    notes that follow the body. `next` holds the commands to run next.
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
    """Return an alert for each message; messages with the same text become one alert with several places."""
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
    """Return the steps as `Todo` values. The commands of steps with the same text are grouped."""
    commands: dict[str, dict[tuple[str, ...], None]] = {}
    for step in steps:
        commands.setdefault(step.text, {}).update({step.command: None} if step.command else {})
    return tuple(Todo(capital(text), tuple(group)) for text, group in commands.items())


def sentence(message: Message, flags: Sequence[str] = ()) -> str:
    """Return a message and its commands as one line, for JSON and logs."""
    head = f"{message.located}: {message.what}" if message.located else message.what
    steps = (
        " ".join(filter(None, (step.text, command_line(step.command, flags) if step.command else "")))
        for step in message.steps
    )
    return "; ".join([head, *steps])


def messages_document(messages: Iterable[Message], label: str = "Error") -> Document:
    """Return the document of errors or warnings."""
    return Document("messages", "", alerts=alerts(messages, label))
