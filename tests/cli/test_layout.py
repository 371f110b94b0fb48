"""What a terminal shows: words wrap, rows are aligned, colour says what is wrong, and what is to be pasted is whole."""

from __future__ import annotations

import os
import pty
import re
import shlex
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from support.corpus import HERE, open_scenario
from support.terminal import at_terminal

from reconciler.cli.terminal.layout import aligned, wrapped
from reconciler.cli.terminal.progress import progress
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.address import Address
from reconciler.model.plan import Action, Change
from reconciler.reports.line import Line, Row, Tone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.project import Project

    from reconciler.model.plan import Plan

RED, OFF = "\x1b[31m\x1b[1m", "\x1b[0m"
COMMANDS = {
    "plan": 6,
    "status": 10,
    "state list": 0,
    "state history": 0,
    "plan -t europe/nowhere -t 'europe/staging/nothing-of-this-name'": 0,
    "plan --state elsewhere/and/further/away/than/fits/on/a/line/of/eighty/columns": 1,
    "state resolve europe/staging/lost --created --attempt none": 1,
}
"""Commands, and how many others each names at least."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with everything that a plan can contain."""
    opened = open_scenario(HERE / "actions", tmp_path_factory.mktemp("layout"))
    opened.environment["COLUMNS"] = "80"
    return opened


def addresses(text: str) -> set[str]:
    """The words that are, or contain, a URL, an address or a path."""
    return {word.strip("(),;:.") for word in text.split() if "/" in word}


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_to_paste_is_broken(project: Project, command: str) -> None:
    """At 80 columns each command that a message names is a line, and each URL and address is in one."""
    shown = at_terminal(project, *shlex.split(command), "--color", "never").out
    plain = project.step(*shlex.split(command), code=None)
    assert addresses(plain.out + plain.err) <= addresses(shown)
    lines = shown.splitlines()
    named = [line.strip() for line in (plain.out + plain.err).splitlines() if line.strip().startswith("reconciler ")]
    assert len(named) >= COMMANDS[command]
    for pasted in named:
        assert pasted in [line.strip() for line in lines]
        assert "reconciler" == shlex.split(pasted)[0]
    for line in lines:
        assert len(line) <= 80 or line.strip() in named or len(line.split()) == 1, line


def test_off_a_terminal_nothing_wraps(project: Project) -> None:
    """Whatever COLUMNS is, a line is a line."""
    lines = project.step("state", "list").out.splitlines()
    assert 13 == len(lines)
    assert max(map(len, lines)) > 80


@pytest.mark.parametrize(
    ("text", "follows", "rows"),
    [
        ("  one two three", False, ["  one two", "    three"]),
        ("  one two three", True, ["  one two", "  three"]),
        ("see https://a.example/b-c", False, ["see", "  https://a.example/b-c"]),
        ("use `a b c d` now", False, ["use", "  `a b c d`", "  now"]),
        ("use --option xyz", False, ["use", "  --option xyz"]),
        ("now -t a/b/c (--x)", False, ["now -t a/b/c", "  (--x)"]),
        ("a, b to c (attempt 12)", False, ["a, b to c", "  (attempt 12)"]),
        ("$ reconciler a b c", False, ["$ reconciler a b c"]),
    ],
)
def test_wrapping(text: str, follows: bool, rows: list[str]) -> None:
    """At spaces alone, and never within what belongs together."""
    assert rows == wrapped(text, 12, follows=follows)


def table(*cells: tuple[str, ...]) -> list[Line]:
    """A table of three columns, with another line between its rows."""
    rows = [Row("  x", Tone.PLAIN, ("A", "B", "C"), each) for each in cells]
    return [Line("title"), rows[0], Line("between"), *rows[1:]]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (80, ["title", "  A    B      C", "  one  two    three", "between", "  1    twenty  3"]),
        (16, ["title", "  A    B", "  one  two", "      three", "between", "  1    twenty", "      3"]),
        (8, ["title", "  A", "  one", "      two  three", "between", "  1", "      twenty  3"]),
        (2, ["title", "  A", "  one", "      two  three", "between", "  1", "      twenty  3"]),
    ],
)
def test_a_table(width: int, lines: list[str]) -> None:
    """Its rows are aligned below one head; what does not fit beside the rest is on a second line, and never cut."""
    expected = [re.sub(" +", " ", line) for line in lines]
    shown = [line.text for line in aligned(table(("one", "two", "three"), ("1", "twenty", "3")), width)]
    assert expected == [re.sub(" +", " ", line) for line in shown]
    columns = {line.index(word) for line, word in zip(shown[1:], ("A", "one"), strict=False)}
    assert {2} == columns


class Screen(StringIO):
    """A stream that is a terminal, as far as a program can ask."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def begin_screen(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Screen]:
    """Gives standard error a terminal of 40 columns."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")

    def begin() -> Screen:
        screen = Screen()
        monkeypatch.setattr("sys.stderr", screen)  # not before the test, since pytest sets it then
        return screen

    return begin


ERROR = "the record is missing; to initialize one, run: reconciler state init; then plan"


@pytest.mark.parametrize(
    ("flags", "variables", "coloured"),
    [
        ({}, {}, True),
        ({}, {"NO_COLOR": "1"}, False),
        ({"color": "always"}, {"NO_COLOR": "1"}, True),
        ({"color": "never"}, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_an_error(
    begin_screen: Callable[[], Screen],
    monkeypatch: pytest.MonkeyPatch,
    flags: dict[str, str],
    variables: dict[str, str],
    coloured: bool,
) -> None:
    """Its label is red and its remedy plain, as NO_COLOR and --color say."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    screen = begin_screen()
    Terminal(flags).complain(ERROR)
    label = f"{RED}Error:{OFF}" if coloured else "Error:"
    rest = "the record is missing; to\n  initialize one, run:\n    reconciler state init\n  then plan\n"
    assert f"{label} {rest}" == screen.getvalue()


def test_what_is_wrong_is_red(begin_screen: Callable[[], Screen]) -> None:
    """Of a line without a label, what is wrong; neither the remedy nor the command to paste."""
    screen = begin_screen()
    Terminal({}).say_line(Line("  a/b/c is blocked; if it exists, run: reconciler state resolve a", Tone.ERROR))
    assert f"{RED}  a/b/c is blocked{OFF}; if it exists, run:\n      reconciler state resolve a\n" == screen.getvalue()


def test_what_follows_a_command_is_no_workflow_command(capfd: pytest.CaptureFixture[str]) -> None:
    """A runner of Actions takes a line that begins with two colons for a command, behind blanks too."""
    Terminal({}).warn("run: reconciler plan; ::error::x")
    assert "Warning: run:\n    reconciler plan\n|   ::error::x\n" == capfd.readouterr().err


@pytest.mark.parametrize("command", ["plan -t europe/staging/lost", "plan -t europe/staging/lost --format json"])
def test_how_long_to_wait(project: Project, command: str) -> None:
    """Text says how far the moments are, and leaves out a wait that is over; a document is the same at any time."""
    out = project.step(*command.split()).out
    is_text = "json" not in command
    assert is_text == bool(re.search(r"a create started \S+Z \(.* ago\) by ", out))
    assert is_text != bool(re.search(r"wait until \S+Z, then run:", out))


@pytest.mark.parametrize(("flags", "told"), [([], ""), (["-v"], "1 of 1:  - europe/staging/leaves  retired\n")])
def test_results_are_told_once_off_a_terminal(tmp_path: Path, flags: list[str], told: str) -> None:
    """By the report; with -v each is told as it ends too."""
    opened = open_scenario(HERE / "actions", tmp_path)
    done = opened.step("apply", "-t", "europe/staging/leaves", "--auto-approve", *flags)
    assert told in done.err if told else "retired" not in done.err
    assert 1 == done.out.count("  - europe/staging/leaves  retired\n")


def test_a_bar_breaks_no_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is told while the bar is shown stays as it was laid out."""
    command = f"reconciler state recover {'long/' * 30}file.jsonl"
    ours, theirs = pty.openpty()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    create = Change(Address("europe/staging/a"), Action.CREATE)
    plan = cast("Plan", SimpleNamespace(changes=[create]))
    with os.fdopen(theirs, "w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        terminal = Terminal({})
        with progress(terminal, plan):
            shown = os.read(ours, 65536).decode()
            while "Creating" not in shown:
                shown += os.read(ours, 65536).decode()
            terminal.warn(f"not saved; run: {command}")
        shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert re.search(rf"\r\x1b\[2K\x1b\[33mWarning:\x1b\[0m not saved; run:\r\n    {command}\r\n", shown)
