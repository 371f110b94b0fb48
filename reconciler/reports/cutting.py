"""Cuts Markdown to a size by leaving out whole sections: no line, table, fence or folded part is cut in two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMENT_LIMIT = 65_536
"""Characters that a comment or the text of an issue may have."""
SUMMARY_LIMIT = 1 << 20
"""Bytes that the summary of a step may have."""

_FENCES = ("```", "~~~")


def utf8_size(text: str) -> int:
    """Its size as UTF-8, in bytes."""
    return len(text.encode(errors="surrogatepass"))


def cut(text: str, limit: int, whole: str, size: Callable[[str], int] = utf8_size) -> str:
    """`text`, or as many of its sections as fit into `limit`, and how many are left out; `whole` says where all is.

    A section begins with a heading, a title in bold or a folded part. `size` measures it in what the limit is in. A
    limit too small for even that note gives nothing.
    """
    if size(text) <= limit:
        return text
    sections = list(_sections(text))
    note = "\n{} omitted: the text would be too long. Complete: {}\n"
    left = limit - size(note.format(counted(len(sections), "section"), whole))
    fitting = []
    for section in sections:
        if size(section) <= left:
            fitting.append(section)
            left -= size(section)
    shown = "".join(fitting) + note.format(counted(len(sections) - len(fitting), "section"), whole)
    return shown if size(shown) <= limit else ""


def _sections(text: str) -> Iterator[str]:
    section: list[str] = []
    fence, folds = "", 0
    for line in text.splitlines(keepends=True):
        begins = line.startswith(("#", "**")) or (line.startswith("<details>") and not folds)
        if begins and not fence and not folds and section:
            yield "".join(section)
            section = []
        section.append(line)
        if line.startswith(_FENCES):
            fence = "" if line[:3] == fence else fence or line[:3]
        if not fence:
            folds = max(0, folds + line.count("<details>") - line.count("</details>"))
    if section:
        yield "".join(section)
