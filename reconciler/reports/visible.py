"""Text from elsewhere, made harmless for people."""

from __future__ import annotations


def visible(text: str) -> str:
    """`text` with every character that could move a cursor, start a line or turn the reading direction spelt out.

    So is `##[`: wherever it stands in a line, a runner of GitHub Actions takes what follows for a command.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return text.replace("##[", r"##\[")


def harmless_line(text: str) -> str:
    """`text` as a line that acts as nothing: a runner takes two colons at its beginning, behind blanks too, for one."""
    shown = visible(text)
    return f"| {shown}" if shown.lstrip().startswith("::") else shown
