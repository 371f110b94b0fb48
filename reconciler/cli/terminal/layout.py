"""What a terminal shows, fitted to its width: words wrap, rows are aligned, and what is to be pasted stays whole."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from reconciler.reports.line import Line, Row, Tone

_WHOLE = re.compile(r"`[^`]*`|-> \S+|\(attempt \S+\)|(?<![\w-])--?[a-z][a-z-]* (?:'[^']*'|[^\s-]\S*)")
_GAP = "  "


def wrapped(text: str, width: int, *, follows: bool = False) -> list[str]:
    """A line as lines of at most `width` columns; a word that is longer, such as a URL, stays whole.

    So does what stands between backquotes, an option with the word after it, and a line that is a command. What
    `follows` a command of its message is indented already.
    """
    bare = text.lstrip()
    if len(text) <= width or bare.startswith(("$ ", "reconciler ")):
        return [text]
    indent = " " * (len(text) - len(bare))
    # No line contains NUL, which `visible` escapes.
    whole = _WHOLE.sub(lambda found: found[0].replace(" ", "\0"), bare)
    lines = textwrap.wrap(
        whole,
        width,
        initial_indent=indent,
        subsequent_indent=indent if follows else f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        expand_tabs=False,
    )
    return [line.replace("\0", " ") for line in lines]


def aligned(lines: Sequence[Line], width: int) -> Iterator[Line]:
    """Lines with their rows aligned: all with the same head, which stands above the first of them."""
    tables: dict[tuple[str, ...], list[Row]] = {}
    for line in lines:
        if isinstance(line, Row):
            tables.setdefault(line.head, []).append(line)
    widths = {head: _widths([head, *(row.cells for row in rows)]) for head, rows in tables.items()}
    begun = set()
    for line in lines:
        if not isinstance(line, Row):
            yield line
            continue
        indent = line.text[: len(line.text) - len(line.text.lstrip())]
        fitting = _fitting(widths[line.head], width - len(indent))
        if line.head not in begun:
            begun.add(line.head)
            yield Line(indent + _joined(line.head[:fitting], widths[line.head]), Tone.HEADING)
        yield Line(indent + _joined(line.cells[:fitting], widths[line.head]), line.tone)
        if any(line.cells[fitting:]):
            yield Line(f"{indent}    {_GAP.join(filter(None, line.cells[fitting:]))}", line.tone)


def _widths(rows: Iterable[tuple[str, ...]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _fitting(widths: Sequence[int], width: int) -> int:
    """How many columns fit on a line, side by side; the first always has its place."""
    total = -len(_GAP)
    for number, column in enumerate(widths):
        total += len(_GAP) + column
        if total > width:
            return max(number, 1)
    return len(widths)


def _joined(cells: Iterable[str], widths: Iterable[int]) -> str:
    return _GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)).rstrip()
