"""Renders a document as text for a terminal or a log: the subject first, the verdict and the next commands last.

Text wraps at the width of the terminal. Suggested commands stay on one line, however long they are.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct

from reconciler.reports import document as doc
from reconciler.reports.words import command_line, harmless_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_STYLES = {
    doc.Tone.PLAIN: "",
    doc.Tone.ADDED: "32",
    doc.Tone.CHANGED: "33",
    doc.Tone.REMOVED: "31",
    doc.Tone.WARNING: "33",
    doc.Tone.ERROR: "31;1",
    doc.Tone.FAINT: "2",
}
_BOLD = "1"
_GAP = "  "
_APART = (doc.Heading, doc.Table, doc.Letter, doc.Details)


class Layout(Struct, frozen=True):
    """The layout of the text. `flags` are the global flags; `width` is None if there is no terminal."""

    flags: tuple[str, ...] = ()
    width: int | None = None
    colour: bool = False
    verbose: bool = False


def render(document: doc.Document, layout: Layout = Layout()) -> str:  # noqa: B008 - frozen
    """Return a document as lines that each end with a newline, or "" for an empty document."""
    body = (block for block in document.body if layout.verbose or not isinstance(block, doc.Details))
    sections: list[Iterable[doc.Block]] = [document.alerts, body, document.summary]
    if document.title:
        sections.append((doc.Heading(document.title, document.tone),))
    sections.append((document.next,) if document.next else ())
    if layout.verbose:
        sections += [(doc.Facts(document.facts),), document.details]
    texts = ["".join(f"{line}\n" for line in _section(section, layout)) for section in sections]
    return "\n".join(filter(None, texts))


def _section(blocks: Iterable[doc.Block], layout: Layout) -> Iterator[str]:
    before: doc.Block | None = None
    for block in blocks:
        apart = isinstance(block, _APART) or isinstance(before, (doc.Table, doc.Letter, doc.Details))
        apart = apart or (isinstance(before, doc.Alert) and isinstance(block, doc.Paragraph))  # not one of its steps
        if before is not None and apart and not isinstance(before, doc.Heading):
            yield ""
        yield from _lines(block, layout)
        before = block


def _lines(block: doc.Block, layout: Layout) -> Iterator[str]:  # noqa: C901 - one case for each kind of block
    match block:
        case doc.Heading():
            yield from _wrapped(block.text, layout, style=f"{_STYLES[block.tone]};1".lstrip(";"))
        case doc.Paragraph():
            yield from _wrapped(block.text, layout, style=_STYLES[block.tone])
        case doc.Facts():
            widest = max((len(name) for name, _ in block.rows), default=0)
            for name, value in block.rows:
                yield from _wrapped(f"{name:<{widest}}  {value}", layout, style=_STYLES[doc.Tone.FAINT])
        case doc.Table():
            yield from _table(block, layout)
        case doc.Changed():
            yield from _changed(block, layout)
        case doc.Commands():
            yield from _todos(block.todos, layout, "")
        case doc.Alert():
            yield from _alert(block, layout)
        case doc.Letter():
            yield from _wrapped(f"{block.title}:", layout)
            yield from (harmless_line(f"    {line}").rstrip() for line in block.lines)
        case doc.Details():
            yield from _wrapped(block.title, layout, style=_BOLD)
            yield from (line for inner in block.blocks for line in _lines(inner, layout))
        case _:
            assert_never(block)


def _changed(change: doc.Changed, layout: Layout) -> Iterator[str]:
    style = _STYLES[change.tone]
    yield from _wrapped(f"{change.sign} {change.title}  {change.action}", layout, "  ", style)
    for field in change.fields:
        yield from _wrapped(field_text(field), layout, "      ", style)
    for note in change.notes:
        yield from _wrapped(note.text, layout, "      ", _STYLES[note.tone])
    yield from _todos(change.todos, layout, "      ")


def field_text(field: doc.Field) -> str:
    """Return one line of text that describes a field that differs."""
    if field.before and field.after:
        return f'{field.name}: "{field.before}" -> "{field.after}"'
    return f"{field.name}: + {field.after}" if field.after else f"{field.name}: - {field.before}"


def _alert(alert: doc.Alert, layout: Layout) -> Iterator[str]:
    where = f"{alert.where[0]}: " if len(alert.where) == 1 else ""
    first, *rest = _wrapped(f"{alert.label}: {where}{alert.what}", layout)
    label = len(alert.label) + 1
    yield _styled(first[:label], _STYLES[alert.tone], layout) + first[label:]
    yield from rest
    if len(alert.where) > 1:
        yield from (harmless_line(f"    {where}") for where in alert.where)
    yield from _todos(alert.todos, layout, "  ")


def _todos(todos: Sequence[doc.Todo], layout: Layout, indent: str) -> Iterator[str]:
    for todo in todos:
        if todo.text:
            first, *lines = todo.text.splitlines()
            yield from _wrapped(f"{first}{':' if todo.commands else ''}", layout, indent)
            yield from (harmless_line(f"{indent}  {line}") for line in lines)
        yield from (f"{indent}  {command_line(command, layout.flags)}" for command in todo.commands)


def _table(table: doc.Table, layout: Layout) -> Iterator[str]:
    rows = [tuple(map(visible, row)) for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.head, *rows, strict=True)]
    fitting = _fitting(widths, layout.width)
    tones = (_BOLD, *(_STYLES[tone] for tone in table.tones))
    for row, style in zip_longest((table.head, *rows), tones, fillvalue=""):
        yield _styled(harmless_line(_row(row[:fitting], widths)), style, layout)
        for name, cell in zip(table.head[fitting:], row[fitting:], strict=True):
            if cell and row is not table.head:
                yield from _wrapped(f"{name}: {cell}", layout, "    ")


def _row(cells: Iterable[str], widths: Iterable[int]) -> str:
    return _GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)).rstrip()


def _fitting(widths: Sequence[int], width: int | None) -> int:
    """Return the number of columns that fit side by side; at least one."""
    total = -len(_GAP)
    for number, column in enumerate(widths):
        total += len(_GAP) + column
        if width is not None and total > width:
            return max(number, 1)
    return len(widths)


def _wrapped(text: str, layout: Layout, indent: str = "", style: str = "") -> Iterator[str]:
    line = harmless_line(f"{indent}{text}")
    if layout.width is None or len(line) <= layout.width:
        yield _styled(line, style, layout)
        return
    from textwrap import wrap  # noqa: PLC0415 - only a line that is too long needs it

    for part in wrap(
        line.strip(),
        max(layout.width, 20),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield _styled(part, style, layout)


def _styled(text: str, style: str, layout: Layout) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if layout.colour and style and text else text
