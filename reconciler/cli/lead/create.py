"""`reconciler lead create`"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.cli.terminal.foreign import print_body
from reconciler.errors import Interrupted, SettingsError
from reconciler.operations.workspace import Workspace

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("create")
@click.option("-t", "--target", metavar="TARGET", required=True, help="Where to create it.")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
@pass_terminal
def command(terminal: Terminal, target: str, file: Path) -> None:
    """Create a lead and print the answer.

    FILE holds the lead as JSON; - is standard input. It is sent once. Where the answer is lost, or the command is
    interrupted, whether the lead exists is unknown, and the error says so.
    """
    from reconciler.operations.service_client import Calling  # noqa: PLC0415 - an HTTP client takes long to load

    workspace = Workspace(terminal)
    lead, gate = _read(file), _Gate()
    try:
        with Calling(workspace) as calling:
            answer = calling.service(workspace.declared_target(target, f"-t {target}")).create_lead(
                lead, gate.pass_through
            )
        terminal.work_is_done()
        if answer.warning:
            terminal.warn(answer.warning)
        print_body(terminal, answer.body)
    except Interrupted:
        if gate.close():
            terminal.complain(f"{target}: the lead was sent, and may exist; ask the operator before sending it again")
        raise


class _Gate:
    """What a call passes just before its first byte is sent, on a thread of its own; once closed, none passes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._closed = False
        self._passed = False

    def pass_through(self) -> bool:
        """Whether the call may be sent."""
        with self._lock:
            self._passed = self._passed or not self._closed
            return not self._closed

    def close(self) -> bool:
        """Let nothing pass any more; whether something has."""
        with self._lock:
            self._closed = True
            return self._passed


def _read(file: Path) -> bytes:
    """The file's bytes, which are JSON. Raises SettingsError."""
    try:
        lead = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as problem:
        raise SettingsError(f"the lead cannot be read: {problem.strerror}", where=file) from None
    try:
        json.loads(lead.decode(), parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        fault, where = problem.msg, f"{file}:{problem.lineno}:{problem.colno}"
    except UnicodeDecodeError:
        fault, where = "it is not UTF-8", str(file)
    except (ValueError, RecursionError):
        fault, where = "NaN, Infinity or too deep a nesting", str(file)
    else:
        return lead
    raise SettingsError(f"the lead is not JSON: {fault}", where=where, remedy="correct it; nothing was sent")


def _refuse_constant(name: str) -> None:
    """Python would take NaN and Infinity; JSON has neither."""
    raise ValueError(name)
