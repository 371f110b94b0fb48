"""Whole plans, statuses, letters and comparisons of the lives in `transcripts.txt`, without their prose.

A line that is not indented does something, or asks; the indented lines below it are what comes of it.
`PYTHONPATH=tests python -m planning.test_transcripts` writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from support.scene import EUROPE, FLIGHT, START, Scene, hooks, target

from reconciler.errors import Message, ReconcilerError, step
from reconciler.model.address import TargetName
from reconciler.model.desired import Overlap, Replace, Target, Unknown
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Verdict
from reconciler.model.record import Attempt
from reconciler.planning.evidence import Sighting, match
from reconciler.planning.parity import parity
from reconciler.planning.planner import verdict_of_plan
from reconciler.planning.status import removals, verdict_of_status
from reconciler.record.gates import Obstacle

TRANSCRIPTS = Path(__file__).with_name("transcripts.txt")
LIVES = {life.partition("\n")[0]: life for life in TRANSCRIPTS.read_text(encoding="utf-8").split("== ")[1:]}
KINDS: dict[str, Any] = {"overlap": Overlap, "mode": Replace, "unknown": Unknown}
LEFT_OUT = {"digest", "head", "place", "record", "entries", "selection", "plan"}
FACT = re.compile(
    r"[A-Z]{3}[0-9]{5}|[0-9a-f]{32}|https?://[^ ,;)]+|\d{4}-\d\d-\d\dT[\d:]+Z|[\w*?-]+(?:/[\w*?-]+)+"
    r"|sha256:\w+|RECONCILER_\w+"
)


class Life:
    """A scene that words act on, with names for its attempts."""

    def __init__(self) -> None:
        self.scene, self.names, self.accounts = Scene(), dict[str, str](), dict[TargetName, str]()

    def act(self, line: str) -> Iterator[str]:
        """Do what a line says; yield what comes of it."""
        name, _, what = line.rpartition(" = ")
        verb, *words = (self.names.get(word, _meant(word)) for word in what.split())
        options = dict(word.split("=", 1) for word in words if re.match(r"\w+=", word))
        words = [word for word in words if not re.match(r"\w+=", word)]
        if verb.startswith(">"):
            try:
                yield from map(self.plain, getattr(self, verb[1:])(*words, **options))
            except ReconcilerError as problem:
                yield from map(self.plain, dump(problem.messages))
        elif hasattr(self, verb):
            getattr(self, verb)(*words, **options)
        else:
            values = {key: _value(_meant(text) if text.startswith("now") else text) for key, text in options.items()}
            found = getattr(self.scene, verb)(*map(_value, words), **values)
            self.names |= {f"${name}": found} if name else {}
        new = (attempt.id for attempt in self.scene.attempts if attempt.id not in self.names.values())
        self.names |= {f"${len(self.names) + number}": attempt for number, attempt in enumerate(new, 1)}

    def declare(self, name: str = EUROPE, **options: str) -> None:
        """Declare a target."""
        found: dict[str, Any] = {key: KINDS[key](text) if key in KINDS else text for key, text in options.items()}
        self.scene.declare(target(TargetName(name), **found))

    def undeclare(self, name: str) -> None:
        """Declare a target no longer."""
        del self.scene.targets[TargetName(name)]

    def beside(self, obstacle: str) -> None:
        """Meet an obstacle."""
        self.scene.obstacles = (*self.scene.obstacles, Obstacle(obstacle))

    def account(self, name: str, account: str) -> None:
        """Set the client id of a target."""
        self.accounts[TargetName(name)] = account

    def apply(self, outcome: str, *patterns: str) -> None:
        """Apply, with this outcome of each create."""
        self.scene.apply(self.scene.plan(*patterns), become=lambda _: Outcome(outcome))

    def ignore(self, *declared: str) -> None:
        """Declare differences."""
        self.scene.ignore = declared

    def later(self, seconds: str) -> None:
        """Let time pass."""
        self.scene.now += float(seconds)

    def unrecovered(self, *files: str) -> None:
        """Have files with facts that the record lacks."""
        steps = (step("run", "reconciler", "state", "recover"),)
        self.scene.unrecovered = tuple(Message("unrecovered", "it has facts", file, steps) for file in files)

    def recipients(self, *keys: str) -> None:
        """Encrypt responses to keys."""
        self.scene.recipients = keys

    def plan(self, *patterns: str, after: str = str(FLIGHT), allow_empty: str = "yes") -> Iterator[str]:
        """Say what is to be done."""
        now, may_empty = self.scene.now + float(after), allow_empty == "yes"
        planned = self.scene.plan(*patterns, now=now, accounts=self.accounts, allow_empty=may_empty)
        yield f"{verdict_of_plan(planned, now)} {verdict_of_plan(planned, now, in_flight=Verdict.CHANGES)}"
        yield from dump(planned)

    def status(self, *patterns: str, after: str = str(FLIGHT)) -> Iterator[str]:
        """Say how it stands, and what is told to operators."""
        found = self.scene.status(*patterns, now=self.scene.now + float(after))
        yield from (verdict_of_status(found), *dump(found), *dump(removals(found)))

    def parity(self, a: str, b: str, soak: str = "", **options: str) -> Iterator[str]:
        """Compare targets."""
        scene = self.scene
        found: dict[str, Any] = {key: _value(text) for key, text in options.items()}
        compared = parity(
            scene.desired, scene.record, a, b, now=scene.now, soak=float(soak) if soak else None,
            accounts=self.accounts, **found,
        )  # fmt: skip
        yield from (f"in line: {compared.in_line}", *dump(compared))

    def match(self, *sightings: str) -> Iterator[str]:
        """Say which attempts notifications speak for: each is a time, a code, and a URL or a path."""
        found = []
        for at, code, where in (text.split(",") for text in sightings):
            path = where if where.startswith("/") else "/" + where.partition("//")[2].partition("/")[2]
            url = None if where.startswith("/") else where
            found.append(Sighting(_time(START + float(at)), code, path, url))
        yield from dump(match(self.scene.desired, self.scene.record, found))

    def plain(self, line: str) -> str:
        """Return a line with names for ids, and times from the start."""
        for name, attempt in self.names.items():
            line = line.replace(attempt, name)
        line = line.replace(hooks(""), "@")
        line = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", lambda at: f"now{_seconds(at[0]):+d}", line)
        return f"  {line}".rstrip()


def _time(seconds: float) -> str:
    return Scene(now=seconds).at


def _seconds(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp() - START)


def _meant(word: str) -> str:
    """Return a word with whole URLs, and event codes in place of digits."""
    if re.fullmatch(r"(\d|[A-Z]{3}\d{5})(\+(\d|[A-Z]{3}\d{5}))*", word):
        return " ".join(f"ONB1000{code}" if len(code) == 1 else code for code in word.split("+"))
    if re.fullmatch(r"now[+-]\d+", word):
        return _time(START + int(word[3:]))
    return word.replace("@", hooks(""))


def _value(text: str) -> object:
    return Outcome(text) if text in [*Outcome] else {"yes": True, "no": False}.get(text, text)


def dump(value: object, before: str = "") -> Iterator[str]:
    """Yield all that a value holds, a line for each part, but for prose, and for what is as it is by default."""
    match value:
        case Attempt():
            yield f"{before}{value.id} {value.status}{f' {dict(value.cancelled)}' if value.cancelled else ''}"
        case Message():
            steps = (" ".join((*FACT.findall(step.text), *step.command)) for step in value.steps)
            yield " ".join(filter(None, (f"{before}{value.name}", value.where, *FACT.findall(value.what))))
            yield from (f"  {step}" for step in steps)
        case Target():
            pass
        case Struct():
            parts = {name: getattr(value, name) for name in value.__struct_fields__ if name not in LEFT_OUT}
            yield from dump_parts({name: part for name, part in parts.items() if part}, before)
        case dict():
            for key, found in value.items():
                yield from dump(found, f"{before}{key} ")
        case list() | tuple() | frozenset():
            for found in value:
                yield from dump(found, before)
        case _ if value:
            yield f"{before}{_text(value)}"


def dump_parts(parts: dict[str, object], before: str) -> Iterator[str]:
    """Yield the parts that are text in one line, and the others below it."""
    texts = {name: part for name, part in parts.items() if _is_text(part)}
    yield from [before + " ".join(f"{name}={_text(part)}" for name, part in texts.items())] if texts else []
    for name, part in parts.items():
        if name not in texts:
            yield from (f"  {line}" for line in dump(part, f"{name} "))


def _is_text(value: object) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return all(isinstance(part, str | float | int) for part in parts)


def _text(value: object) -> str:
    return ",".join(value) if isinstance(value, tuple) else _time(value) if isinstance(value, float) else str(value)


def lived(life: str) -> str:
    """Return a life with what comes of it."""
    first, *lines = life.splitlines()
    acting, said = Life(), [first]
    for line in lines:
        if line and not line.startswith(" "):
            said += [line, *acting.act(line)]
    return "\n".join([*said, ""])


@pytest.mark.parametrize("life", LIVES)
def test_a_life_has_its_plans(life: str) -> None:
    """What is planned, listed and told, in order."""
    assert LIVES[life].rstrip() == lived(LIVES[life]).rstrip()


def test_messages_of_plans_are_there() -> None:
    """No life less may have them."""
    words = TRANSCRIPTS.read_text(encoding="utf-8").split()
    assert set() == {
        "after-takers", "already-delivered", "also-delivers", "bad-pair", "cancel-removal", "declared-absent",
        "desired-again", "desired-twice", "in-force-undeclared", "no-match", "nothing-in-force", "removal-requested",
        "second-secret", "still-delivers", "waits-for-unselected",
    }.difference(words)  # fmt: skip


if __name__ == "__main__":
    TRANSCRIPTS.write_text("\n".join(f"== {lived(life)}" for life in LIVES.values()), encoding="utf-8")
