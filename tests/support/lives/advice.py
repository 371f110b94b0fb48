"""What a person reads in the output of a command: commands to paste, letters to the operator, settings to change."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from support.command_line import Ran
from support.lives.world import Request

_COMMAND = re.compile(r"^\s+(?:\| )?(reconciler .*)$")
_WHEN = re.compile(r"\b(?:from|after) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)[,:]", re.IGNORECASE)
_PLACE = re.compile(r"set `state: (\S+)`")
_RECORD = re.compile(r"Add to config/: record: ([0-9a-f]{32})")
_REFERENCE = re.compile(r"our reference(?::)? ([0-9a-f]{32})")
_CODES = re.compile(r"event codes: (.*)$")


class Advice(Struct, frozen=True):
    """A command that a message named: its words without the program's name, and the sentence before it.

    `since` is from when it may be said, as the sentence has it.
    """

    words: tuple[str, ...]
    text: str
    since: float = 0.0

    @property
    def shape(self) -> str:
        """The command and its options, without their values."""
        return shape_of(self.words)


def shape_of(words: tuple[str, ...]) -> str:
    """Return a command and its options without their values, which are sorted, each once."""
    options = sorted({word for word in words if word.startswith("-")})
    plain: list[str] = []
    for word in words:
        if not re.fullmatch(r"[a-z][a-z-]*", word) or len(plain) == (2 if words[0] in GROUPS else 1):
            break
        plain.append(word)
    return " ".join([*plain, *options])


GROUPS = ("state", "removal", "secret", "sandbox", "signature", "lead")


def commands(ran: Ran) -> list[Advice]:
    """Return the commands that the output of a command names."""
    found, text = [], ""
    for line in (ran.out + "\n" + ran.err).splitlines():
        match = _COMMAND.match(line)
        if match:
            when = _WHEN.search(text)
            since = epoch(when[1]) if when else 0.0
            words = tuple(shlex.split(match[1])[1:])
            if words[:1] == ("--state",):  # a global flag: it may stand after the command as well
                words = (*words[2:], *words[:2])
            found.append(Advice(words, text, since))
        else:
            text = line.strip()
    return found


def places(ran: Ran) -> list[str]:
    """Return the places that the output says to set."""
    return _PLACE.findall(ran.out + ran.err)


def record(ran: Ran) -> str:
    """Return the id that the output says to add to the configuration, "" if it does not."""
    found = _RECORD.search(ran.out + ran.err)
    return found[1] if found else ""


def letters(ran: Ran) -> Iterator[tuple[str, Request]]:
    """Yield what the letters in the output ask the operator for: `delete` or `keep`, and what."""
    verb, codes = "", ()
    for line in ran.out.splitlines():
        if "Please delete" in line:
            verb = "delete"
        elif "Please keep " in line and "Please keep, though" not in line:
            verb = "keep"
        elif re.search(r"\bexist\?", line):
            verb = ""
        if match := _CODES.search(line):
            codes = tuple(match[1].split(", "))
        match = _REFERENCE.search(line)
        if match and verb and not line.strip().startswith("-"):
            yield verb, Request(match[1], codes)


def epoch(at: str) -> float:
    """Return a time as facts have it in epoch seconds."""
    return datetime.fromisoformat(at).timestamp()
