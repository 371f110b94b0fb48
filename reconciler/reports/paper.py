"""A report in Markdown that neither its length nor what it quotes can break.

Text from elsewhere is put into a `<code>` element, with all but letters, digits, spaces, commas and slashes written as
entities: it cannot be markup, a link or a mention. A report has at most 65,000 bytes; lines that do not fit are counted
at its end.
"""

from collections.abc import Iterable

from reconciler.reports.visible import visible
from reconciler.reports.wording import counted

LIMIT = 65_000
"""Bytes that a report has at most; a comment may have 65,536 characters."""

_RESERVE = 400  # for the end of a report that was cut


def code(text: str) -> str:
    """`text` as inline code that is never markup, in whatever context."""
    escaped = "".join(
        char if char in " /," or (char.isascii() and char.isalnum()) else f"&#{ord(char)};" for char in visible(text)
    )
    return f"<code>{escaped}</code>"


class Paper:
    """A report of `parts` while it is written: lines that no longer fit are counted instead."""

    def __init__(self, *parts: str) -> None:
        self._parts = list(parts)
        self._left = LIMIT - _RESERVE - sum(len(part.encode()) for part in parts)
        self._left_out = 0

    def bullets(self, title: str, rows: Iterable[str]) -> None:
        """A list under a title; nothing if it is empty."""
        self.block(f"\n**{title}**\n\n", rows)

    def fold(self, title: str, rows: Iterable[str]) -> None:
        """A list that is folded away; nothing if it is empty."""
        self.block(f"\n<details><summary>{title}</summary>\n\n", rows, "\n</details>\n")

    def block(self, head: str, rows: Iterable[str], foot: str = "") -> None:
        """The first rows that fit, with what goes around them; nothing if there are none."""
        rows, fitting = list(rows), []
        left = self._left - len(head.encode()) - len(foot.encode())
        for row in rows:
            if len(row.encode()) > left:
                break
            left -= len(row.encode())
            fitting.append(row)
        if fitting:
            self._parts += [head, *fitting, foot]
            self._left = left
        self._left_out += len(rows) - len(fitting)

    def text(self, foot: str) -> str:
        note = (
            f"\n{counted(self._left_out, 'line')} omitted: the comment would be too long.\n" if self._left_out else ""
        )
        return "".join(self._parts) + note + foot
