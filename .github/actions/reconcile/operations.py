"""The operations that the form of "Run workflow" offers: what each needs, and the commands that it becomes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import job
from msgspec import Struct

from reconciler.model.address import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Command = tuple[str, ...]
Row = dict[str, str]
"""One subscription of `state list`: address, attempt, status."""

_NAME = r"[a-z0-9][a-z0-9-]*"
_GLOB = r"[a-z0-9*?][a-z0-9*?-]*"
_PATTERN = re.compile(rf"{_GLOB}/({_NAME})(?:/{_GLOB})?")
_ADDRESS = re.compile(rf"{_NAME}/{_NAME}/{_NAME}")
_TARGET = re.compile(rf"{_NAME}/{_NAME}")


class Asked(Struct, frozen=True):
    """What was typed into the form, checked: the `arguments` are those that the operation's name has after its verb.

    All patterns are of one stage, which approves it.
    """

    operation: str
    arguments: tuple[str, ...]
    stage: str
    patterns: tuple[str, ...]
    value: str
    note: str
    force: bool

    @property
    def applies(self) -> bool:
        return self.operation.startswith("apply")

    @property
    def needs_file(self) -> bool:
        """Whether it reads files of another run's artifact."""
        return self.operation in {"state recover", "state observe"}

    @property
    def begun(self) -> Command:
        """The beginning of each of its commands; the record of no other stage may change."""
        return (*self.arguments, "--within", f"*/{self.stage}")

    @property
    def flags(self) -> Command:
        return ("--force",) if self.force else ()


def parse(given: dict[str, str], stages: Sequence[str]) -> Asked:
    """What was asked for. Raises job.Refusal."""
    operation = given["operation"]
    if operation not in OPERATIONS:
        raise job.Refusal(f"operation: expected one of {', '.join(OPERATIONS)}; got: {operation}")
    patterns = tuple(given.get("address", "").split())
    found = [_PATTERN.fullmatch(pattern) for pattern in patterns]
    named = {match[1] for match in found if match}
    if not all(found) or len(named) != 1 or not named <= {*stages}:
        raise job.Refusal(
            f"address: expected addresses or patterns of one stage ({' or '.join(stages)}), such as"
            f" europe/{stages[0]}/offers or */{stages[0]}/*; got: {' '.join(patterns)}"
        )
    asked = Asked(
        operation=operation,
        arguments=tuple(operation.split()),
        stage=named.pop(),
        patterns=patterns,
        value=given.get("value", "").strip(),
        note=given.get("note", ""),
        force=given.get("force", "") == "true",
    )
    _refuse_unfit(asked)
    return asked


def _refuse_unfit(asked: Asked) -> None:
    """Raises job.Refusal where the form is not filled in as the operation needs it."""
    shape = OPERATIONS[asked.operation]
    if shape.one is not None and (len(asked.patterns) > 1 or not shape.one.fullmatch(asked.patterns[0])):
        example = f"one target, such as europe/{asked.stage}" if shape.one is _TARGET else "one address"
        raise job.Refusal(f"address: {asked.operation} expects {example}; got: {' '.join(asked.patterns)}")
    if shape.value is not None and not shape.value.fullmatch(asked.value):
        raise job.Refusal(f"value: {asked.operation} expects {shape.expects}; got: {asked.value}")
    if asked.operation == "state mv" and asked.value.split("/")[1:2] != [asked.stage]:
        raise job.Refusal(f"value: expected an address of {asked.stage}; got: {asked.value}")
    if shape.accepts and not asked.force:
        raise job.Refusal(f"force: {asked.operation} accepts what the program refuses; tick it to say that you mean it")
    if shape.noted and not asked.note.strip():
        raise job.Refusal(f"note: {asked.operation} expects the evidence, such as what the operator answered")


def commands(asked: Asked, rows: Iterable[Row], files: Sequence[str]) -> list[Command]:
    """The commands that it becomes, on a record that lists these rows. Raises job.Refusal if there are none."""
    found = OPERATIONS[asked.operation].commands(asked, [*rows], files)
    if not found:
        raise job.Refusal(f"nothing to do: {' '.join(asked.patterns)} selects nothing for {asked.operation}")
    return found


def concerned(asked: Asked, rows: Iterable[Row]) -> list[Row]:
    """The rows that the patterns select."""
    return [row for row in rows if any(_selects(pattern, row["address"]) for pattern in asked.patterns)]


def _selects(pattern: str, address: str) -> bool:
    return matches(pattern if pattern.count("/") > 1 else f"{pattern}/*", address)


def _by_target(asked: Asked, _rows: list[Row], _files: Sequence[str]) -> list[Command]:
    return [(*asked.begun, "-t", pattern, *asked.flags) for pattern in asked.patterns]


def _initialize(asked: Asked, _rows: list[Row], _files: Sequence[str]) -> list[Command]:
    return [(*asked.begun, "-t", pattern) for pattern in asked.patterns]


def _import(asked: Asked, _rows: list[Row], _files: Sequence[str]) -> list[Command]:
    return [(*asked.begun, "--all", "-t", pattern) for pattern in asked.patterns]


def _by_attempt(*statuses: str) -> Callable[[Asked, list[Row], Sequence[str]], list[Command]]:
    """For each selected attempt with one of these statuses, by its id: no other is meant by what was approved."""

    def commands_of(asked: Asked, rows: list[Row], _files: Sequence[str]) -> list[Command]:
        chosen = _chosen(asked, [row for row in rows if row["status"] in statuses])
        note = ("--note", asked.note) if asked.note and asked.arguments[1] == "resolve" else ()
        flags = asked.flags if asked.arguments[1] in {"resolve", "removed"} else ()
        return [(*asked.begun, *note, *flags, "--attempt", attempt, "--", address) for address, attempt in chosen]

    return commands_of


def _chosen(asked: Asked, rows: list[Row]) -> list[tuple[str, str]]:
    """Address and attempt of each row that is meant. Raises job.Refusal for several of one address."""
    chosen = [(row["address"], row["attempt"]) for row in rows if asked.value in {"", row["attempt"]}]
    if not chosen and asked.value and _ADDRESS.fullmatch(asked.patterns[0]):
        return [(asked.patterns[0], asked.value)]  # one that is not listed, such as a wrong --not-created
    several = sorted({address for address, _ in chosen if [one for one, _ in chosen].count(address) > 1})
    if several:
        ids = ", ".join(attempt for address, attempt in chosen if address == several[0])
        raise job.Refusal(f"{several[0]} has several attempts: give one as the value: {ids}")
    return chosen


def _removed(asked: Asked, rows: list[Row], files: Sequence[str]) -> list[Command]:
    """Those that await removal; one that is live only where it is named, and meant."""
    found = _by_attempt("awaiting_removal")(asked, rows, files)
    is_named = asked.force and all(map(_ADDRESS.fullmatch, asked.patterns))
    return found or (_by_attempt("live")(asked, rows, files) if is_named else [])


def _move(asked: Asked, _rows: list[Row], _files: Sequence[str]) -> list[Command]:
    return [(*asked.begun, "--", asked.patterns[0], asked.value)]


def _from_files(asked: Asked, _rows: list[Row], files: Sequence[str]) -> list[Command]:
    return [(*asked.begun, "--", file) for file in files]


class Shape(Struct, frozen=True):
    """How an operation becomes commands, and what it needs of the form.

    `one`: the address must be one, and look so. `value` must look so, and `expects` says how. It `accepts` what the
    program refuses without --force. `noted`: there must be a note. `risk`: what approving it may do, as a sentence.
    `declared`: config/ must declare what the address names.
    """

    commands: Callable[[Asked, list[Row], Sequence[str]], list[Command]]
    one: re.Pattern[str] | None = None
    value: re.Pattern[str] | None = None
    expects: str = ""
    accepts: bool = False
    noted: bool = False
    risk: str = ""
    declared: bool = False


_ATTEMPT = re.compile(r"([0-9a-zA-Z][0-9a-zA-Z-]*)?")
_RUN = re.compile(r"[1-9][0-9]*")
_AN_ATTEMPT = "nothing, or the id of an attempt"
_SECOND_TIME = "If it exists, the next apply creates it a second time, which can never be undone."
_A_RUN = "the id of the run whose artifact has the file"

OPERATIONS = {
    "apply": Shape(_by_target),
    "apply --allow-empty": Shape(_by_target),
    "state init": Shape(_initialize, declared=True),
    "state import": Shape(_import, declared=True),
    "state resolve --created": Shape(_by_attempt("unknown"), value=_ATTEMPT, expects=_AN_ATTEMPT, noted=True),
    "state resolve --not-created": Shape(
        _by_attempt("unknown"), value=_ATTEMPT, expects=_AN_ATTEMPT, noted=True, risk=_SECOND_TIME
    ),
    "state retire": Shape(_by_attempt("live"), value=_ATTEMPT, expects=_AN_ATTEMPT),
    "state removed": Shape(_removed, value=_ATTEMPT, expects=_AN_ATTEMPT),
    "state mv": Shape(_move, one=_PATTERN, value=_PATTERN, expects="the new address, or a pattern for as many"),
    "state rebind": Shape(_by_target, one=_TARGET, accepts=True),
    "state accept-rollback": Shape(_by_target, one=_TARGET, accepts=True),
    "state recover": Shape(_from_files, value=_RUN, expects=_A_RUN),
    "state observe": Shape(_from_files, value=_RUN, expects=_A_RUN),
    "secret set": Shape(
        _by_attempt("live", "awaiting_removal", "unknown"), one=_ADDRESS, value=_ATTEMPT, expects=_AN_ATTEMPT
    ),
}
"""By the words of the form, which are those of the command."""
