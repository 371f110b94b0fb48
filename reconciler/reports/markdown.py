"""Renders a document as Markdown, for comments on pull requests and job summaries.

Words that are not plain English become `<code>` elements in which special characters are written as entities, so that
text from other systems never becomes markup, a link or a mention. Commands are in fenced blocks. A document that
exceeds the size limit of a job summary is truncated; its first line then says so, and says that the plan cannot be
approved.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, assert_never

from reconciler.reports import document as doc
from reconciler.reports.words import command_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


LIMIT = 1024 * 1024
"""The size limit of one step's job summary, in bytes."""

_CUT = "**This report is too long to be shown in full, so it cannot be reviewed, and the plan cannot be approved.**\n"
_PLAIN = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*|[0-9]+")
_AROUND = re.compile(r"""([("']*)(.*?)([,;:.!?)"']*)""", re.DOTALL)
_ORDINAL = re.compile(r"[0-9]+[.)]+")


def render(document: doc.Document, flags: Sequence[str] = ()) -> str:
    """Return a document as Markdown. `flags` are the global flags of the current command."""
    parts = [f"<!-- reconciler:{document.kind} -->\n### {prose(document.title)}\n"]
    blocks: tuple[doc.Block, ...] = (*document.alerts, *document.body, *document.summary)
    if document.next:
        blocks = (*blocks, document.next)
    parts += _blocks((*blocks, doc.Facts(document.facts), *document.details), flags)
    text = "\n".join(parts)
    if len(text.encode()) <= LIMIT:
        return text
    kept, left = [_CUT], LIMIT - len(_CUT.encode())
    for part in parts:
        left -= len(part.encode()) + 1
        if left < 0:
            break
        kept.append(part)
    return "\n".join(kept)


def code(text: str) -> str:
    """Return `text` as inline code that Markdown never interprets, in any context."""
    escaped = "".join(
        char if char in " /," or (char.isascii() and char.isalnum()) else f"&#{ord(char)};" for char in visible(text)
    )
    return f"<code>{escaped}</code>" if escaped else ""


def prose(text: str) -> str:
    """Return a sentence in which every word that is not plain English is formatted as inline code."""
    first, *rest = text.split() or [""]
    begun = code(first) if _ORDINAL.fullmatch(first) else _word(first)  # else it would begin a list
    return " ".join((begun, *map(_word, rest)))


def _word(word: str) -> str:
    match = _AROUND.fullmatch(word)
    if match is None or not match[2]:
        return code(word)
    return f"{match[1]}{match[2] if _PLAIN.fullmatch(match[2]) else code(match[2])}{match[3]}"


def _blocks(blocks: Iterable[doc.Block], flags: Sequence[str]) -> Iterator[str]:
    for kind, group in groupby(blocks, type):
        if kind is doc.Changed:
            yield from _changes([block for block in group if isinstance(block, doc.Changed)], flags)
        else:
            yield from (text for block in group for text in _block(block, flags))


def _changes(changes: Sequence[doc.Changed], flags: Sequence[str]) -> Iterator[str]:
    rows = ["| | address | action | field | old | new |", "|---|---|---|---|---|---|"]
    for change in changes:
        named = f"| {change.sign} | {code(change.title)} | {change.action} |"
        for field in change.fields or (doc.Field(""),):
            rows.append(f"{named} {field.name} | {code(field.before)} | {code(field.after)} |")
            named = "| | | |"
    yield "".join(f"{row}\n" for row in rows)
    if notes := [(change, note) for change in changes for note in change.notes]:
        yield "".join(f"- {code(change.title)}: {prose(note.text)}\n" for change, note in notes)
    for change in changes:
        yield from _todos([doc.Todo(f"{change.title}: {todo.text}", todo.commands) for todo in change.todos], flags)


def _block(block: doc.Block, flags: Sequence[str]) -> Iterator[str]:
    match block:
        case doc.Heading():
            yield f"#### {prose(block.text)}\n"
        case doc.Paragraph():
            yield f"{prose(block.text)}\n"
        case doc.Facts():
            yield "".join(f"- {prose(name)}: {code(value)}\n" for name, value in block.rows)
        case doc.Table():
            rows = [block.head, ("---",) * len(block.head), *(tuple(map(code, row)) for row in block.rows)]
            yield "".join(f"| {' | '.join(row)} |\n" for row in rows)
        case doc.Changed():
            yield from _changes([block], flags)
        case doc.Commands():
            yield from _todos(block.todos, flags)
        case doc.Alert():
            where = f" {', '.join(map(code, block.where))}:" if block.where else ""
            yield f"**{block.label}:**{where} {prose(block.what)}\n"
            yield from _todos(block.todos, flags)
        case doc.Letter():
            yield f"{prose(block.title)}:\n\n{_fenced(map(visible, block.lines), 'text')}"
        case doc.Details():
            inner = "\n".join(_blocks(block.blocks, flags))
            yield f"<details><summary>{prose(block.title)}</summary>\n\n{inner}\n</details>\n"
        case _:
            assert_never(block)


def _todos(todos: Iterable[doc.Todo], flags: Sequence[str]) -> Iterator[str]:
    for todo in todos:
        if todo.text:
            yield f"{prose(todo.text)}{':' if todo.commands else ''}\n"
        if todo.commands:
            yield _fenced((command_line(command, flags) for command in todo.commands), "sh")


def _fenced(lines: Iterable[str], language: str) -> str:
    text = "\n".join(lines)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}\n"
