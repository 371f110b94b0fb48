"""All messages of the program, as `.ci/messages.py` finds them, and what holds for each of them."""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

import click
import pytest

from reconciler.cli.main import COMMANDS, cli
from reconciler.cli.terminal.commands import with_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "messages.py"))
messages: Callable[..., list[Found]] = SCRIPT["messages"]
PLACEHOLDERS: re.Pattern[str] = SCRIPT["PLACEHOLDER"]


class Found(NamedTuple):
    """A message as the script gives it."""

    file: str
    line: int
    kind: str
    text: str


@cache
def all_messages() -> list[Found]:
    """All messages of the program."""
    return messages()


LABELS = {"reconciler token 1"}
"""What begins as a command does, and is none."""

FORBIDDEN = {
    "(?<!`)begun": "initialized; started",
    "anybody|everybody": "the operator, another run, a user",
    "be it|if need be|one stands in": "also; if needed; current",
    "(became|come|came) (of|to)": "outcome; add up to",
    "broke off": "was cut off",
    "by hand": "manually",
    "by now|meanwhile|anew|all the same|after all": "now; again",
    "carr(y|ied) out": "apply",
    "does not come to an end": "timed out",
    "has spoken": "has been received",
    "has to": "must",
    "hears?|heard|says|said": "report, show, received",
    "hence|lest|shall|thereof|upon|whence": "so, or else, must, of it, on, from where",
    "holds? together": "is valid",
    "in doubt": "outcome unknown",
    "in line": "match",
    "(is|are) not taken|takes no": "is not supported",
    "(is|are) wanted|no longer wanted": "expected; desired",
    "keep one of the two": "remove one of them",
    "known are|declared are|its keys are": "valid ...; declared targets:",
    "mend": "repair",
    "name (one|another)": "use (another)",
    "neighbours?|siblings?": "another record of the same service",
    "no such": "not found; unknown",
    "nobody knows": "outcome unknown",
    "nobody|somebody|whoever|people": "the operator, another run",
    r"only once \w+|once it is": "after",
    "out of order": "unavailable",
    "owed|owes": "pending",
    "quiet change": "local change",
    "remembered heads?": "last known head",
    "save for": "except",
    "seals?|sealed|in the clear": "encrypt; unencrypted",
    "see to|saw to": "check; done by",
    "seen here before|was here before": "last seen; missing",
    "sees to": "does",
    "settled?|unsettled": "resolve",
    "stands( at)?|lies( on)?|lie on": "is; already defined at",
    "take it out|leave it out|put it back": "remove it; restore it",
    r"this is no|is no (?!longer)\w+|is none|that is none": "is not a",
    "to be had": "available",
    "to go|gone|thrown away": "removed; missing; deleted",
    "told": "reported",
    "try again|tries": "retry; retries",
    "write it": "use",
}
"""What stops a reader, as a pattern, and what to write."""


def listed(tmp_path: Path, source: str) -> list[tuple[int, str, str]]:
    """The messages of a package with one module: line, kind and text."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "module.py").write_text(dedent(source), encoding="utf-8")
    return [(one.line, one.kind, one.text) for one in messages(tmp_path / "package")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('raise Refused("no")', [(1, "error", "no")]),
        (
            'raise StateError("it is gone", remedy="restore it")',
            [(1, "error", "it is gone"), (1, "remedy", "restore it")],
        ),
        ('terminal.warn(f"{name}: no {what!r} yet")', [(1, "warning", "{name}: no {what} yet")]),
        ('workspace.say("two " "words")', [(1, "info", "two words")]),
        ('Line("on two " + words(", "))', [(1, "result", "on two {words(', ')}")]),
        ('x = "an arm" if y else "the other"', [(1, "text", "an arm"), (1, "text", "the other")]),
        ('option("--out FILE", metavar="FILE", help="Save it.")', [(1, "help", "Save it."), (1, "text", "--out FILE")]),
        ('@click.command("x")\ndef command():\n    """Help."""', [(3, "help of a command", "Help.")]),
        ('"""Of a module."""\ndef f(x: "list of x") -> "an x":\n    """No help."""\n    return "word"', []),
        ('re.compile("two words")', []),
    ],
)
def test_a_message_is_listed_with_its_line_kind_and_text(
    tmp_path: Path, source: str, expected: list[tuple[int, str, str]]
) -> None:
    """What is shown to a user is listed; docstrings, annotations, single words and regular expressions are not."""
    assert expected == listed(tmp_path, source)


@pytest.mark.parametrize(
    "kind", ["error", "remedy", "warning", "info", "question", "result", "help", "help of a command", "text"]
)
def test_the_program_has_messages_of_every_kind(kind: str) -> None:
    """The functions that take messages are known to the script by their names."""
    assert any(message.kind == kind for message in all_messages())


@pytest.mark.parametrize(("turn", "plain"), FORBIDDEN.items())
def test_no_message_has_a_turn_of_phrase_that_stops_a_reader(turn: str, plain: str) -> None:
    """Plain words are used; the table says which."""
    found = re.compile(rf"(?i)\b(?:{turn})\b")
    wrong = [
        f"{one.file}:{one.line}: {one.text}" for one in all_messages() if found.search(PLACEHOLDERS.sub("", one.text))
    ]
    assert [] == wrong, f"write: {plain}"


COMMAND = re.compile(r"(?:^|[`|$] ?|[:&;.] |\n +)reconciler ((?:[\w/*-]+(?:\.[\w/*-]+)* ?)+)")


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command line in a message; a placeholder is a word, several that touch are one."""
    filled = re.sub(r"_+", "europe/staging/offers", PLACEHOLDERS.sub("_", text.replace("_", "-")))
    for match in COMMAND.finditer(filled):
        yield match[1].split()


@cache
def named() -> list[tuple[Found, list[str]]]:
    """Each message that names a command, with the words of that command; the help of the root is none."""
    found = [(one, words) for one in all_messages() if one.text not in LABELS for words in commands(one.text)]
    return [(one, words) for one, words in found if words != ["--help"]]


def parse(words: list[str]) -> None:
    """Parse a command line as the program does, without running the command. Raises click.UsageError."""
    command: click.Command = cli
    while isinstance(command, click.Group):
        context = click.Context(command)
        _, words, _ = command.make_parser(context).parse_args(words)
        name, *words = words or [""]
        if "/" in name:
            return
        found = command.get_command(context, name)
        if found is None:
            raise click.UsageError(f"no command {name}")
        command = found
    command.make_context(command.name, words)


def test_every_command_that_a_message_names_can_be_run() -> None:
    """Its words are commands, options and arguments that the program has, and none is missing."""
    wrong = []
    for message, words in named():
        try:
            parse(words)
        except click.UsageError as problem:
            wrong.append(f"{message.file}:{message.line}: {' '.join(words)}: {problem.format_message()}")
    assert [] == wrong


def test_every_command_that_a_message_names_takes_the_flags_in_use() -> None:
    """It can be pasted with the --state and --config of the failed command; the sandbox needs neither."""
    names = {words[0] for _, words in named() if words[0] in COMMANDS} - {"sandbox"}
    assert [] == [name for name in names if "--state" not in with_flags(f"reconciler {name} x", {"state": "records"})]


@pytest.mark.parametrize("line", ["", "state", "state rename a b", "state mv a", "plan --output x", "secret set"])
def test_a_command_that_cannot_be_run_is_noticed(line: str) -> None:
    """A command or an option that does not exist, or one without its argument, is a mistake."""
    with pytest.raises(click.UsageError):
        parse(line.split())


def test_the_commands_that_messages_name_are_found() -> None:
    """At the start, after a colon or a backquote, in a chain; a placeholder is one word."""
    text = (
        "gone; run: reconciler state mv {a} {b}{c} && reconciler plan. See `reconciler state list`, or reconciler docs"
    )
    address = "europe/staging/offers"
    assert [["state", "mv", address, address], ["plan"], ["state", "list"]] == list(commands(text))
    assert len(named()) > 40


def options(command: click.Command) -> set[str]:
    """All options of a command and of those below it."""
    found = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        below = [command.get_command(context, name) for name in command.list_commands(context)]
        found = found.union(*(options(one) for one in below if one is not None))
    return found


def test_every_option_that_a_message_names_exists() -> None:
    """Those of git apart, whose commands are named too."""
    ours = options(cli) | {"--help"}
    git = re.compile(r"\bgit [^;]*")
    wrong = [
        f"{one.file}:{one.line}: {option}"
        for one in all_messages()
        for option in re.findall(r"(?:^|[ `(])(--[a-z][a-z-]+)", git.sub("", PLACEHOLDERS.sub("", one.text)))
        if option not in ours
    ]
    assert [] == wrong
