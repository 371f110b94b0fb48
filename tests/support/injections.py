"""Text that would act as more than text, and what is left of it once it was made harmless."""

from __future__ import annotations

import re
import unicodedata

INJECTIONS = {
    "terminal": "\x1b[2J\x1b]0;owned\x07\x9b31m\b\b",
    "lines": "one\n::error::pwned\r\n::stop-commands::pwned\r::add-mask::pwned",
    "separators": "one\u2028::error::pwned\u2029::error::pwned\x85::error::pwned\x0b::error::pwned\x0c::error::pwned",
    "bare command": "::add-mask::pwned",
    "old command": "one ##[stop-commands]pwned ##[add-mask]pwned",
    "bidi": "\u202egnp.exe\u2066\u200f\u061c",
    "invisible": "a\u200bb\u2060c\ufeffd\U000e0041\u00ad",
    "markdown": "[x](javascript:alert(1)) ![i](https://evil.example/i) | a | b | `c` **d** @everyone #1 <!-- e -->",
    "html": '<script>alert(1)</script><img src=x onerror="alert(1)">&lt;</code></details>',
}
"""What the service, or whoever may write a file, could say."""

EVERYTHING = " ".join(INJECTIONS.values())

_OURS = re.compile(r"::add-mask::[^\n]*|::error file=[^:,]*,line=\d+,col=\d+::[^\n]*")


def strange_characters(text: str) -> set[str]:
    """The characters of a text that could move a cursor, begin a line, or turn or hide what is read; but newlines."""
    return {one for one in text if one != "\n" and unicodedata.category(one) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}}


def foreign_commands(text: str, *, masks: bool = False) -> list[str]:
    """The lines that a runner of GitHub Actions takes for commands; but for our annotations, and masks if wanted.

    It takes `::command::` at the beginning of a line, blanks before it or not, and `##[command]` anywhere in one.
    """
    lines = re.split(r"\r\n|\n|\r", text)
    return [
        line
        for line in lines
        if line.lstrip().startswith("::") or "##[" in line
        if not (_OURS.fullmatch(line) and (masks or line.startswith("::error ")))
    ]


def assert_harmless(text: str) -> None:
    """No character of a text acts, and a runner of GitHub Actions sees no command in it."""
    assert set() == strange_characters(text), text
    assert [] == foreign_commands(text), text
