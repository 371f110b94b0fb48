"""The commands of a page, run in order as a reader runs them, and what they print compared with what the page shows.

A fenced block is run by its language:

- `console`: lines that begin with `$ ` are commands, the lines below each what it prints at a wide terminal.
  A line `…` stands for any lines. What follows `console` is the exit code of the last command, if it is not 0.
- `sh`: commands whose output is not shown, and which succeed.
- any other after a comment `<!-- file: NAME -->`: a file of the project, written before what follows is run.

Other comments direct the run: `<!-- scene: WORDS -->` begins in another directory, `<!-- before: WORDS -->` has
something happen that the reader does not do, and a table of the test says what the words mean; `<!-- not run: WHY -->`
leaves the next block out. Times, ids, keys, ports and ages may differ; an id that was shown is the same one later.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import termios
import threading
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

from support.project import EXECUTABLE, finish

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from support.project import Project

ANY_LINES = "…"
WIDTH = 1000
"""Columns of the terminal: in a narrow one, where text wraps would depend on the length of this machine's paths."""

_STEP = re.compile(
    r"^<!-- (?P<word>[\w ]+): (?P<what>.*?) -->\n"
    r"|^```(?P<language>\w*) ?(?P<code>\d*)\n(?P<text>.*?)^```\n",
    re.MULTILINE | re.DOTALL,
)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_KINDS = {
    "time": r"\d{4}-\d\d-\d\dT\d\d[:-]?\d\d[:-]?\d\dZ",
    "day": r"\b\d{4}-\d\d-\d\d\b",
    "pid": r"\bsandbox-state/\d+",
    "file": r"\b\d{10}-\d+-[0-9a-f]{12}\b",
    "uuid": r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    "id": r"\b(?=[a-f]*\d)[0-9a-f]{12,64}\b",
    "key": r"\bage1[0-9a-z]{8,58}\b",
    "port": r"\b127\.0\.0\.1:\d+",
    "ago": r"just now|(?:less than a minute|\d+ \w+?) ago",
    "wait": r"\bin \d+ (?:s|min|seconds?|minutes?)\b",
}
_VARIABLE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
_PASTED = ("file", "uuid", "id", "key", "port")
_QUESTION = re.compile(r"(Type 'yes' to continue: )(?!yes)")
_PROGRESS = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h(?:\r|\x1b\[\d?[AK])*", re.DOTALL)
_FOR_SHELL = re.compile(r"[|&;<>$`~*?]")
_END = b"\0end\0"
_AT_TERMINAL = """\
import os, sys, time
now = time.time
time.time = lambda: now() + {later}
os.environ["COLUMNS"] = "{columns}"
for stream in (0, 1, 2):
    os.dup2(os.open({terminal!r}, os.O_RDWR | os.O_NOCTTY), stream)
sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
"""


def without_progress(shown: str) -> str:
    """What a terminal has shown but for lines that were drawn again and again."""
    return _PROGRESS.sub("", shown)


class Screen:
    """A pseudo-terminal, and what appears on it."""

    def __init__(self) -> None:
        self._ours, self.theirs = os.openpty()
        attributes = termios.tcgetattr(self.theirs)
        attributes[1] &= ~termios.OPOST
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(self.theirs, termios.TCSANOW, attributes)
        termios.tcsetwinsize(self.theirs, (50, WIDTH))
        self._shown = b""
        self._changed = threading.Condition()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def close(self) -> None:
        os.close(self.theirs)
        self._reading.join(10)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def take(self) -> str:
        """What has appeared since the last time, without a live line; what was typed and not read is gone."""
        termios.tcflush(self.theirs, termios.TCIFLUSH)
        os.write(self.theirs, _END)
        with self._changed:
            assert self._changed.wait_for(lambda: _END in self._shown, 10)
            taken, self._shown = self._shown.partition(_END)[0], b""
        return without_progress(taken.decode())

    def _read(self) -> None:
        while True:
            try:
                read = os.read(self._ours, 65536)
            except OSError:  # nobody has the other end open
                os.close(self._ours)
                return
            with self._changed:
                self._shown += read
                self._changed.notify_all()


class Reader:
    """Somebody who pastes commands into a terminal, in the directory and with the variables of `project`.

    `names` are what the page shows for what is otherwise here, such as the home directory; `bound` are the ids, keys
    and ports that the page has shown, with those of this run. The terminal has so many `columns`. `later` is how many
    seconds have passed that did not. A question is answered with yes.
    """

    def __init__(self, project: Project, names: Mapping[str, str], columns: int = WIDTH) -> None:
        self.project = project
        self.columns = columns
        self.names = dict(names)
        self.bound: dict[str, str] = {}
        self.background: list[int] = []
        self.later = 0
        self.screen = Screen()

    def run(self, command: str) -> tuple[int, str]:
        """The exit code of a command, and what appears, named as on the page."""
        self.screen.type("yes\n")
        command = self.actual(command)
        words = shlex.split(command)
        if words[0] == "reconciler" and not _FOR_SHELL.search(re.sub(r"'[^']*'", "", command)):
            self.project.before_steps = _AT_TERMINAL.format(
                terminal=os.ttyname(self.screen.theirs), later=self.later, columns=self.columns
            )
            code = finish(self.project.start_step(*words[1:])).code
        else:
            code = self._shell(command)
        shown = _QUESTION.sub(r"\1yes\n", self.screen.take())
        for name, actual in sorted(self.names.items(), key=lambda pair: len(pair[1]), reverse=True):
            shown = shown.replace(actual, name)
        return code, shown

    def actual(self, text: str) -> str:
        """A text of the page with the names, ids, keys and ports of this run."""
        for shown, actual in [*self.bound.items(), *self.names.items()]:
            text = text.replace(shown, actual)
        return text

    def _shell(self, command: str) -> int:
        """Run a line of shell; its directory and variables are those of the lines after it."""
        if self.background:
            command = command.replace("$!", str(self.background[-1]))
        ours, theirs = os.pipe()
        after = f'{{ env -0; printf \'%s\\0%s\\0\\0\' "$PWD" "$!"; }} >&{theirs}'
        process = subprocess.Popen(
            ["bash", "-c", f"{command}\ncode=$?; {after}; exit $code"],
            cwd=self.project.path,
            env={**self.project.variables(), "PATH": f"{EXECUTABLE.parent}:{os.environ['PATH']}"},
            stdin=self.screen.theirs, stdout=self.screen.theirs, stderr=self.screen.theirs, pass_fds=[theirs],
        )  # fmt: skip
        os.close(theirs)
        left = b""
        while not left.endswith(b"\0\0") and (read := os.read(ours, 65536)):
            left += read
        os.close(ours)
        *variables, place, child = left.decode()[:-2].split("\0")
        self.project.environment = dict(variable.split("=", 1) for variable in variables)
        self.project.path = Path(place)
        self.background += [int(child)] if child else []
        return process.wait(60)


def compared(expected: str, shown: str) -> dict[str, str] | None:
    """The ids, keys and ports of what is expected with those that are shown; None if the texts differ otherwise."""
    parts = [_matching(part) for part in re.split(f"^{ANY_LINES}\n", expected, flags=re.MULTILINE)]
    match = re.fullmatch(r"(?:.*\n)*?".join(pattern for pattern, _ in parts), shown)
    if match is None:
        return None
    variables = [variable for _, some in parts for variable in some]
    pairs = zip(variables, match.groups(), strict=True)
    pasted = [(variable[0], found) for variable, found in pairs if variable.lastgroup in _PASTED]
    return dict(pasted) if len(dict(pasted)) == len(set(pasted)) else None


def renewed(expected: str, shown: str) -> tuple[str, dict[str, str]]:
    """What was expected with the lines that differ as they are shown, and its ids, keys and ports that are shown.

    A line for any lines stays, where nothing differs beside it.
    """
    old, new = expected.splitlines(keepends=True), shown.splitlines(keepends=True)
    matcher = SequenceMatcher(
        None, [_VARIABLE.sub("", line) for line in old], [_VARIABLE.sub("", line) for line in new]
    )
    lines: list[str] = []
    bound: dict[str, str] = {}
    for tag, start, end, first, last in matcher.get_opcodes():
        same = tag == "equal"
        lines += old[start:end] if same or old[start:end] == [f"{ANY_LINES}\n"] else new[first:last]
        bound |= (compared("".join(old[start:end]), "".join(new[first:last])) or {}) if same else {}
    return "".join(lines), bound


def _matching(text: str) -> tuple[str, list[re.Match[str]]]:
    """A pattern with a group for each time, id, key, port and age of a text, and these."""
    pattern, end, variables = "", 0, list(_VARIABLE.finditer(text))
    for variable in variables:
        pattern += f"{re.escape(text[end : variable.start()])}({_KINDS[str(variable.lastgroup)]})"
        end = variable.end()
    return pattern + re.escape(text[end:]), variables


class Reading:
    """A page, read to its end; `directions` say what the words of its comments mean.

    `problems` are what is not as the page shows it, `left_out` why blocks were not run, and `text` is the page with
    what is shown now.
    """

    def __init__(self, page: Path, reader: Reader, directions: Mapping[str, Callable[[Reader], object]]) -> None:
        self.reader = reader
        self.directions = directions
        self.problems: list[str] = []
        self.left_out: list[str] = []
        self._place = self._file = self._why_not = ""
        self._page = page
        self.text = _STEP.sub(self._step, page.read_text(encoding="utf-8"))

    def _step(self, match: re.Match[str]) -> str:
        line = 1 + match.string.count("\n", 0, match.start())
        self._place = f"{self._page.name}:{line}"
        if match["word"]:
            self._direct(match["word"], match["what"])
            return match[0]
        text = match["text"]
        if self._why_not:
            self.left_out.append(self._why_not)
        elif self._file:
            self.reader.project.write(self._file, self.reader.actual(text))
        else:
            text = self._block(match["language"], text, int(match["code"] or 0))
        self._file = self._why_not = ""
        return match[0].replace(match["text"], text)

    def _direct(self, word: str, what: str) -> None:
        match word:
            case "file":
                self._file = what
            case "not run":
                self._why_not = what
            case "scene" | "before" if what in self.directions:
                self.directions[what](self.reader)
            case "scene" | "before":
                self._complain(f"unknown {word}: {what}")
            case _:
                pass  # a comment for people

    def _block(self, language: str, text: str, code: int) -> str:
        """Run the commands of a block; what it shows now."""
        match language:
            case "console":
                results = [self._shown(command, expected) for command, expected in _COMMAND.findall(text)]
                if not results or results[-1][0] != code:
                    self._complain(f"exit code {results[-1][0] if results else None} instead of {code}")
                return "".join(shown for _, shown in results)
            case "sh":
                for command in text.replace("\\\n", "").splitlines():
                    code, shown = self.reader.run(command)
                    if code:
                        self._complain(f"{command}: exit code {code}\n{shown}")
                return text
            case _:
                self._complain(f"a block of {language or 'no language'}: run it, or say why not")
                return text

    def _shown(self, command: str, expected: str) -> tuple[int, str]:
        """Run a command; its exit code, and the command with what it shows."""
        code, shown = self.reader.run(command.replace("\\\n", ""))
        bound, known = compared(expected, shown), self.reader.bound
        if bound is None or any(known.get(id_, actual) != actual for id_, actual in bound.items()):
            self._complain(f"$ {command}\n{shown}")
            for shown_before, actual in known.items():
                shown = shown.replace(actual, shown_before)
            expected, bound = renewed(expected, shown)
        known |= bound
        return code, f"$ {command}\n{expected}"

    def _complain(self, problem: str) -> None:
        self.problems.append(f"{self._place}: {problem}")
