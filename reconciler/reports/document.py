"""A report as a document: what is said, before anything decides how it looks.

Text in it may come from elsewhere: each serialiser escapes all of it.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Tone(StrEnum):
    """How something is meant. Colour only repeats what a sign or a word says."""

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
    """How one field differs: `before` and `after` if it is another value, else only one of the two."""

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
