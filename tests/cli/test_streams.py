"""Standard streams that are closed, full or gone, odd locales: no traceback, and never a lost outcome."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import termios
import time
from contextlib import contextmanager
from functools import partial
from itertools import product
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING

import pytest
from support.project import EXECUTABLE, Finished, end
from werkzeug import Response

from reconciler.cli.terminal import terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.partner import Partner


STATES = ("full", "closed", "left")


@pytest.fixture
def begun(partner: Partner) -> Partner:
    """A partner with one create to make."""
    partner.begin(offers=["ONB10011"])
    return partner


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_read_enough(partner: Partner, unbuffered: str) -> None:
    """`| head` changes nothing about how the command ends, and it says nothing of it."""
    partner.environment["PYTHONUNBUFFERED"] = unbuffered
    partner.begin(**{f"s{number}": [f"ONB{number:05}"] for number in range(2000)})
    done = partner.shell("$reconciler plan | head -n 1; echo ${PIPESTATUS[0]}")
    assert ("europe/staging\n0\n", "") == (done.out, done.err)


@pytest.mark.parametrize(
    "closed", ["<&-", *(pytest.param(one, marks=pytest.mark.soak) for one in (">&-", "2>&-")), "<&- >&- 2>&-"]
)
def test_closed_streams(begun: Partner, closed: str) -> None:
    """A stream that is closed leads nowhere, and no journal gets its number."""
    done = begun.shell(f"exec $reconciler apply --auto-approve {closed}")
    assert (0, "") == (done.code, done.err if "2>" in closed else "")
    begun.step("state", "verify")
    assert ["begun", "bound", "intent", "outcome"] == begun.kinds


def test_nobody_to_ask_on_a_closed_stdin(begun: Partner) -> None:
    """That is no terminal."""
    done = begun.shell("exec $reconciler apply <&-")
    assert 1 == done.code
    assert "no terminal: cannot ask for approval" in done.err


@pytest.mark.parametrize("lost", ["2>/dev/full", pytest.param("2> >(true)", marks=pytest.mark.soak)])
def test_progress_that_nobody_hears(partner: Partner, lost: str) -> None:
    """It stops nothing: every create that was begun is recorded."""
    partner.begin(**{f"s{number}": [f"ABC{number:05}"] for number in range(6)})
    done = partner.shell(f"$reconciler apply --auto-approve --format json -vv {lost}")
    assert 0 == done.code
    assert 6 == done.document["summary"]["created"]
    assert [] == partner.planned()


@contextmanager
def _lost(how: str) -> Iterator[int | None]:
    """A descriptor to which nothing can be written; None where it is to be closed."""
    if how == "closed":
        yield None
        return
    if how == "full":
        descriptor = os.open("/dev/full", os.O_WRONLY)
    else:
        reading, descriptor = os.pipe()
        os.close(reading)
    yield descriptor
    os.close(descriptor)


def run_without(partner: Partner, stream: str, how: str, command: str) -> Finished:
    """Run a command with one of its streams `full`, `closed`, or with a reader that has `left`."""
    number = {"stdout": 1, "stderr": 2}[stream]
    with _lost(how) as descriptor:
        redirection = f"{number}>&-" if descriptor is None else f"{number}>&{descriptor}"
        done = subprocess.run(
            ["bash", "-c", f"exec $reconciler {command} {redirection}"],
            cwd=partner.path, env={**partner.variables(), "reconciler": str(EXECUTABLE)}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=60, check=False, pass_fds=[] if descriptor is None else [descriptor],
        )  # fmt: skip
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


SHOWING = {
    "plan": 0,
    "plan --detailed-exitcode": 2,
    "plan --format json": 0,
    "status": 0,
    "state list --format json": 0,
    "state history": 0,
    "token -t europe/staging": 0,
    "validate": 0,
    "--help": 0,
    "--version": 0,
    "plan --help": 0,
}
"""Commands that only show something, and how they end where that is seen."""

FEW = ("plan --detailed-exitcode", "state list --format json", "--help")
"""Those that stand for the others in the default run."""


@pytest.mark.parametrize(
    "command",
    [one if one in FEW else pytest.param(one, marks=pytest.mark.soak) for one in SHOWING],
)
def test_what_only_shows_something(begun: Partner, command: str) -> None:
    """It fails where stdout is full; one that nobody wants to read, or no longer, is no failure, nor is stderr."""
    full = run_without(begun, "stdout", "full", command)
    assert (1, True) == (full.code, full.err.endswith(": No space left on device\n")), full
    assert (True, 1) == (full.err.startswith("Error: "), full.err.count("\n"))
    for how in ("closed", "left"):
        assert Finished(SHOWING[command], "", "") == run_without(begun, "stdout", how, command)
    for how in ("full", "closed", "left"):
        done = run_without(begun, "stderr", how, f"{command} -v" if "-" not in command[:2] else command)
        assert (SHOWING[command], True) == (done.code, bool(done.out)), done


CHANGING = (
    ("apply --auto-approve --format json", 0, ["begun", "bound", "intent", "outcome"]),
    ("state import --all", 0, ["begun", "imported"]),
    ("state resolve '*/*/*' --created --force", 1, ["begun"]),
    ("state init --target europe/staging", 0, ["begun"]),
    ("lead create -t europe/staging lead.json", 0, ["begun"]),
)
"""Commands that change something, how they end, and the entries that there are then."""


def changing() -> Iterator[object]:
    """Each of them with each stream in each state; by default an apply with all of them, the others with two."""
    for row, (command, code, kinds) in enumerate(CHANGING):
        for column, (stream, how) in enumerate(product(("stdout", "stderr"), STATES)):
            marks = () if row == 0 or column in (row - 1, (row + 2) % 6) else pytest.mark.soak
            yield pytest.param(stream, how, command, code, kinds, marks=marks)


@pytest.mark.parametrize(("stream", "how", "command", "code", "kinds"), [*changing()])
def test_what_changes_something(
    partner: Partner, stream: str, how: str, command: str, code: int, kinds: list[str]
) -> None:
    """Its exit code says what was changed, whatever becomes of its streams; stdout that is full is warned of."""
    partner.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    if "init" not in command:
        partner.step("state", "init")
    partner.write("lead.json", "{}")
    done = run_without(partner, stream, how, command)
    assert (code, kinds) == (done.code, partner.kinds), done
    warned = "Warning: standard output: cannot write: No space left on device; the command itself succeeded"
    assert (stream == "stdout" and how == "full" and code == 0) == (warned in done.err), done


def mistakes() -> Iterator[object]:
    """Each mistake with stderr in each state; by default, the first with all of them, the others with one."""
    for row, command in enumerate(("", "plan --unknown", "apply", "plan -t nowhere/nowhere")):
        for column, how in enumerate(STATES):
            yield pytest.param(command, how, marks=() if row in (0, column + 1) else pytest.mark.soak)


@pytest.mark.parametrize(("command", "how"), [*mistakes()])
def test_usage_that_nobody_hears(begun: Partner, command: str, how: str) -> None:
    """An error is an error, whether or not it can be said."""
    assert Finished(1, "", "") == run_without(begun, "stderr", how, command)


def test_a_secret_that_cannot_be_masked(begun: Partner) -> None:
    """In Actions it is not printed."""
    begun.environment["GITHUB_ACTIONS"] = "true"
    for how in ("full", "left"):
        assert Finished(1, "", "") == run_without(begun, "stderr", how, "token -t europe/staging")


def test_stdout_that_breaks_before_the_first_call(begun: Partner) -> None:
    """Who cannot see the plan has not approved it: nothing is sent."""
    with begun.appending():
        done = begun.shell("$reconciler apply --auto-approve >/dev/full")
    assert (1, True) == (done.code, begun.service.untouched)


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_other_locales(begun: Partner, locale: dict[str, str]) -> None:
    """What an encoding lacks is spelt out in text."""
    begun.step("state", "import", "--all")
    begun.declare({"offers": (["ONB10011"], "https://hooks.partner.example/other")})
    begun.environment |= locale
    shown = begun.run_raw("plan", "-t", "*/*/offers")
    assert "  \u00b1 europe/staging/offers  replace" in shown.decode().replace(r"\xb1", "\u00b1")
    done = begun.run("plan", "-t", os.fsdecode(b"caf\xe9/*"))
    assert 1 == done.code
    assert "Traceback" not in done.err


def test_a_terminal_that_is_closed(begun: Partner) -> None:
    """An apply whose connection breaks waits for the call in flight and records it, as for any other signal."""
    answered = Event()
    begun.service.answer_next(lambda: Response("{}", status=201 if answered.wait(30) else 500))
    process = begun.start("apply", "--auto-approve")
    until = time.monotonic() + 30
    while not begun.service.creates and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    answered.set()
    assert 129 == process.wait(30)
    assert ["begun", "bound", "intent", "outcome"] == begun.kinds
    assert "created" == begun.entries[-1]["outcome"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_interrupted_while_reading(begun: Partner, number: signal.Signals, code: int) -> None:
    """Any command ends with the code of the signal, in one line."""
    os.mkfifo(begun.path / "pipe")
    process = begun.start("apply", "pipe")
    with (begun.path / "pipe").open("wb", buffering=0) as pipe:
        pipe.write(b"{")
        wait_until_read(pipe.fileno())  # a signal just before the first read would wait for its end
        done = end(process, number)
    assert (code, "", "Interrupted.\n") == (done.code, done.out, done.err)


def wait_until_read(pipe: int) -> None:
    """Wait until everything that was written to a pipe has been taken out of it."""
    until = time.monotonic() + 30
    while struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0] and time.monotonic() < until:
        time.sleep(0.01)


def test_what_nobody_expected(begun: Partner) -> None:
    """A defect is told by its kind and its place, without its text, which may hold anything."""
    folder = begun.write(
        "hooks/sitecustomize.py", "import sys\nsys.modules['reconciler.operations.plan'] = None\n"
    ).parent
    begun.environment["PYTHONPATH"] = str(folder)
    done = begun.run("plan")
    assert (1, "") == (done.code, done.out)
    assert done.err.startswith("Error: internal error (ModuleNotFoundError at reconciler.cli.plan:")
    assert done.err.endswith("); please report it\n")


def test_a_module_that_was_cut(begun: Partner) -> None:
    """What Python raises for one, an EOFError, is told as such; click takes it for the end of somebody's input."""
    finder = "import sys\n\n\nclass Cut:\n    @staticmethod\n    def find_spec(name, path, target=None):\n"
    finder += "        if name == 'reconciler.operations.plan':\n            raise EOFError('secret')\n\n\n"
    folder = begun.write("hooks/sitecustomize.py", f"{finder}sys.meta_path.insert(0, Cut)\n").parent
    begun.environment["PYTHONPATH"] = str(folder)
    done = begun.run("plan")
    problem = "Error: internal error (EOFError at sitecustomize:8); please report it\n"
    assert (1, "", problem) == (done.code, done.out, done.err.lstrip("\n"))


@contextmanager
def unread_pipe() -> Iterator[int]:
    """The end to write to of a small pipe that nobody reads."""
    reading, writing = os.pipe()
    try:
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        yield writing
    finally:
        os.close(reading)
        os.close(writing)


def test_an_apply_that_nobody_listens_to(partner: Partner) -> None:
    """A full stderr holds up nothing: all is created, recorded and reported."""
    partner.begin(**{f"s{number}": [f"ONB{number:05}"] for number in range(40)})
    with unread_pipe() as stderr:
        process = subprocess.Popen(
            [EXECUTABLE, "apply", "--auto-approve", "-vv", "--log-format", "json"],
            cwd=partner.path, env=partner.variables(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
        )  # fmt: skip
        out, _ = process.communicate(timeout=60)
    assert (0, True) == (process.returncode, out.endswith(b"Applied: 40 create calls (40 new): 40 created.\n"))
    assert 40 == partner.kinds.count("outcome")
    assert "\nNo changes. 40 subscriptions match the configuration.\n" in partner.step("plan").out


def test_what_comes_in_quick_succession_is_written_together() -> None:
    """The thread that writes in the background rests once nothing is left to write, and not in between."""
    done: list[str] = []
    lines: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def pause(_seconds: float) -> None:
        done.append("rest")
        lines.put(None)

    for name in ("one", "two", "three"):
        lines.put(partial(done.append, name))
    terminal._write_all(lines, pause)
    assert ["one", "two", "three", "rest"] == done


@pytest.mark.parametrize("first", ["", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"])
def test_a_signal_while_it_ends(begun: Partner, first: str) -> None:
    """A second signal, while it is said that the first has come, changes nothing."""
    hook = "import sys, types\noutput = types.ModuleType('output')\n"
    hook += f"def end(self, text):\n    sys.stderr.write(text)\n    {first or 'pass'}\n"
    hook += "attributes = {'__init__': lambda self, flags: None, 'given_up': (), 'end': end}\n"
    hook += "attributes['do_endings'] = lambda self, seconds: None\n"
    hook += "output.Terminal = type('Terminal', (), attributes)\n"
    hook += "class Plan(types.ModuleType):\n    @property\n    def command(self):\n        import os, signal\n"
    hook += "        os.kill(os.getpid(), signal.SIGINT)\n"
    hook += "sys.modules['reconciler.cli.terminal.terminal'] = output\n"
    hook += "sys.modules['reconciler.cli.plan'] = Plan('plan')\n"
    begun.environment["PYTHONPATH"] = str(begun.write("hooks/sitecustomize.py", hook).parent)
    done = begun.run("plan")
    assert (143 if first else 130, "", "Interrupted.") == (done.code, done.out, done.err)
