"""The command line: which commands there are, and the one boundary where errors become stderr and an exit code."""

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from typing import Literal, NoReturn

import click

from reconciler import __version__
from reconciler.cli import columns
from reconciler.cli.lazy import LazyGroup
from reconciler.cli.options import Invocation
from reconciler.errors import INTERRUPTING, Interrupted, ReconcilerError

COMMANDS: Mapping[str, str] = {
    "init": "Write the files of a new project.",
    "validate": "Check the configuration.",
    "plan": "Show the changes needed to reach the desired state.",
    "apply": "Apply the plan.",
    "status": "Show what is in force and what needs attention.",
    "removals": "Show the requests to send to the operator.",
    "parity": "Compare targets.",
    "state": "Inspect and repair the state record.",
    "secret": "Show or set the secret of a subscription.",
    "token": "Print an access token.",
    "lead": "Work with leads.",
    "doctor": "Check the set-up.",
    "github": "Report to pull requests and issues on GitHub.",
    "listen": "Receive notifications until interrupted.",
    "replay": "Send captured notifications again.",
    "verification": "Detect how notifications are signed.",
    "sandbox": "Run a local sandbox of the service.",
    "schema": "Print the JSON Schema of the files in config/.",
    "completion": "Print the script that completes command lines in a shell.",
    "demo": "Run a full cycle against the embedded sandbox.",
    "drill": "Rehearse a bad day against the embedded sandbox.",
}


_SECONDS = 10.0  # for what is done after a command
_SECONDS_LEFT = 2.0  # for the same after a signal: a runner ends what has not ended after 10 seconds


@click.group(
    cls=LazyGroup,
    package=__package__,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success; 1 error; 2 changes present (`plan` or `status` with --detailed-exitcode), or targets"
    " differ (`parity`); 3 a create has an unknown outcome and must be resolved; 129, 130, 143 interrupted.",
)
@click.version_option(__version__, prog_name="reconciler", message="%(prog)s %(version)s")
def cli() -> None:
    """Manage a lending partner's webhook subscriptions declaratively.

    YAML files in config/ define the desired subscriptions; `plan` compares them with the state record; `apply` sends
    each missing create call at most once.
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the code that `reconciler --help` explains."""
    invocation = Invocation()
    leave(run(args, invocation), invocation)


def leave(code: int, invocation: Invocation) -> NoReturn:
    """End the process with this exit code, whatever becomes of its streams, be a thread stuck in one.

    What is done is done by now: a signal that comes this late must not make another code of it. Where nothing else
    runs, what was registered for the end is called, and then the process ends at once: the interpreter would take apart
    all that is in memory, for nothing, which takes as long as a plan of hundreds.
    """
    for number in INTERRUPTING:
        signal.signal(number, signal.SIG_IGN)
    _let_go_of_streams()
    if "terminal" in vars(invocation) and invocation.terminal.given_up:
        os._exit(code)
    gc.freeze()  # what is left ends with the process; the interpreter would search all of it for garbage first
    if threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()  # noqa: SLF001 - as multiprocessing does it, where os._exit ends a process
    _let_go_of_streams()
    os._exit(code)


def _let_go_of_streams() -> None:
    """Write out what is buffered: a failure at the interpreter's end would become its own exit code, 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def run(args: Sequence[str] | None = None, invocation: Invocation | None = None) -> int:
    """Run the command line; the exit code. Nothing but an exit code leaves, whatever happened."""
    invocation = invocation or Invocation()
    _open_streams()
    for number in INTERRUPTING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)
    try:
        code = _run(args, invocation)
    except Interrupted as problem:  # once more, while it was said why it ends
        code = problem.exit_code
    _end(invocation, _SECONDS_LEFT if code > 128 else _SECONDS)
    return code


def _end(invocation: Invocation, seconds: float) -> None:
    """Do what is to be done after a command. Nothing of it changes the exit code: what is done is done."""
    if "terminal" in vars(invocation):
        try:
            invocation.terminal.do_endings(seconds)
        except Interrupted:
            invocation.terminal.warn("interrupted at the end: the witness may not have recorded this run")
        except Exception as problem:  # noqa: BLE001 - its text may hold anything
            from reconciler.cli.terminal.logs import kind_and_place  # noqa: PLC0415

            invocation.terminal.warn(f"internal error at the end ({kind_and_place(problem)}); please report it")


def _run(args: Sequence[str] | None, invocation: Invocation) -> int:
    try:
        code = cli.main(
            args, prog_name="reconciler", standalone_mode=False, obj=invocation, terminal_width=_help_width()
        )
        return code if isinstance(code, int) else 0
    except SystemExit:  # how click ends where the reader of its own output, the help or the version, has left
        return 0
    except (Exception, Interrupted) as problem:  # noqa: BLE001 - no traceback ever reaches a user
        return _explain(problem, invocation)


def _help_width() -> int:
    """The columns of a help text: those of the terminal, but never so many that lines are hard to follow."""
    return max(min(columns(sys.stdout), 110) - 2, 50)


def _open_streams() -> None:
    """Make the three streams what the program takes them for.

    One that is closed leads nowhere from here on: else the next file opened, a journal perhaps, would get its number.
    What the locale's encoding lacks is spelt out.
    """
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = sys.stdout or _nowhere("w")
    sys.stderr = sys.stderr or _nowhere("w")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _nowhere(mode: Literal["r", "w"]) -> TextIOWrapper:
    return os.fdopen(os.open(os.devnull, os.O_RDWR), mode)


def _interrupt(number: int, _frame: object) -> NoReturn:
    raise Interrupted(number)


def _explain(problem: Exception | Interrupted, invocation: Invocation) -> int:
    """Say what went wrong, on stderr; the exit code."""
    terminal = invocation.terminal

    match problem:
        case Interrupted():
            terminal.end("Interrupted.")
            return problem.exit_code
        case ReconcilerError():
            terminal.print_problem(problem)
            return problem.exit_code
        case click.UsageError():
            path = problem.ctx.command_path if problem.ctx else "reconciler"
            what = problem.format_message().replace("\n\t", " ")  # click lists choices so
            terminal.complain(f"{what.rstrip('.')}; see: {path} --help")
        case OSError():
            terminal.complain(
                f"{problem.filename or 'a file or a stream'}: {problem.strerror or type(problem).__name__}"
            )
        case _:
            from reconciler.cli.terminal.logs import kind_and_place  # noqa: PLC0415

            # Its text may hold anything, a secret too. Click gives its own class to an EOFError, and to its place.
            cause = problem.__cause__ if isinstance(problem, click.Abort) else None
            terminal.complain(f"internal error ({kind_and_place(cause or problem)}); please report it")
    return 1
