"""`reconciler sandbox trigger`"""

from __future__ import annotations

import json
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import SplitResult, urlsplit

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import CallFailed, SettingsError
from reconciler.model.url import is_loopback
from reconciler.operations.workspace import Workspace
from reconciler.reports.line import Line

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


_VARIABLE = "RECONCILER_SANDBOX_URL"
_ANSWER_LIMIT = 1 << 16


@click.command("trigger")
@click.argument("code")
@click.option("--properties", metavar="FILE", type=click.Path(path_type=Path), help="Its EventProperties, as JSON.")
@click.option("--count", metavar="N", type=click.IntRange(1, 10_000), default=1, help="How often it happens.  [1]")
@click.option("-t", "--target", metavar="TARGET", help="Only on this target.")
@click.option("--url", metavar="URL", help=f"Where the sandbox is.  [{_VARIABLE}]")
@common_options
@pass_terminal
def command(
    terminal: Terminal, code: str, properties: Path | None, count: int, target: str | None, url: str | None
) -> None:
    """Make an event happen in a sandbox that serves.

    CODE is an event code, ONB10011 for instance. Its notification goes to every subscription that has the code, and
    again where it is not confirmed. Without --properties, ONB10011 gets a sample. In FILE, - is standard input.
    """
    workspace = Workspace(terminal)
    parts = _address(url, workspace)
    wanted: dict[str, object] = {"code": code, "count": count}
    if target is not None:
        wanted["target"] = target
    body = json.dumps(wanted)
    if properties is not None:
        body = f'{body[:-1]}, "properties": {_read(properties)}}}'  # as it is, so that numbers stay as written
    begun = _post(parts, body.encode(), workspace.timeout)
    terminal.work_is_done()
    words = "delivery begins" if begun == 1 else "deliveries begin"
    terminal.print_lines([Line(f"{begun} {words}" if begun else f"Nothing is delivered: no subscription has {code}")])


def _address(url: str | None, workspace: Workspace) -> SplitResult:
    """Where the sandbox is. Raises SettingsError for what is not on loopback: it is no sandbox of ours."""
    given = workspace.variables.get(_VARIABLE) if url is None else url
    where = _VARIABLE if url is None else "--url"
    remedy = "`reconciler sandbox serve` prints it"
    if given is None:
        raise SettingsError("where the sandbox is, is not said", where=f"--url or {_VARIABLE}", remedy=remedy)
    try:
        parts = urlsplit(given)
        known = parts.scheme == "http" and parts.port != 0 and is_loopback(parts.hostname or "")
    except ValueError:
        known = False
    if not known:
        raise SettingsError("an http URL of this machine is wanted", where=where, remedy=remedy)
    return parts


def _read(path: Path) -> str:
    """The JSON object in a file, as it is written. Raises SettingsError."""
    try:
        text = (sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()).decode()
        found = json.loads(text, parse_int=str, parse_constant=_refuse_constant)
    except OSError as problem:
        raise SettingsError(f"cannot be read: {problem.strerror}", where=f"--properties {path}") from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise SettingsError("a JSON object in UTF-8 is wanted", where=f"--properties {path}")
    return text


def _refuse_constant(name: str) -> NoReturn:
    """Python would take NaN and Infinity; JSON has neither."""
    raise ValueError(name)


def _post(parts: SplitResult, body: bytes, timeout: float) -> int:
    """How many deliveries began. Raises CallFailed."""
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    url = f"{parts.scheme}://{parts.netloc}"
    try:
        path = f"{parts.path.rstrip('/')}/_sandbox/trigger"
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        with connection.getresponse() as response:
            status, answer = response.status, response.read(_ANSWER_LIMIT)
    except (OSError, HTTPException, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise CallFailed(
            f"no sandbox answers: {reason}", where=url, remedy="start one: reconciler sandbox serve"
        ) from None
    finally:
        connection.close()
    return _deliveries(status, answer, url)


def _deliveries(status: int, answer: bytes, url: str) -> int:
    try:
        document = json.loads(answer)
        fields = document if isinstance(document, dict) else {}
    except (ValueError, RecursionError):
        fields = {}
    begun = fields.get("deliveries")
    if status == 202 and isinstance(begun, int):
        return begun
    told = fields.get("error_description")
    if isinstance(told, str):
        raise CallFailed(f"the sandbox refuses it ({status}): {told}", where=url)
    raise CallFailed(f"what answers there ({status}) is no sandbox", where=url, remedy="see `reconciler sandbox serve`")
