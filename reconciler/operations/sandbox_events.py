"""Triggering events in a running sandbox."""

import json
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from reconciler.errors import CallFailed, SettingsError
from reconciler.model.url import is_loopback
from reconciler.operations.input_files import read_input, refuse_constant
from reconciler.operations.workspace import Workspace

SANDBOX_URL = "RECONCILER_SANDBOX_URL"

_ANSWER_LIMIT = 1 << 16
_START = "to start it, run: reconciler sandbox serve"


def trigger_event(
    workspace: Workspace, url: str | None, code: str, properties: Path | None, count: int, target: str | None
) -> int:
    """Trigger `count` events in the sandbox at `url`, or at the URL in the settings; the number of deliveries started.

    Raises SettingsError and CallFailed.
    """
    sandbox = _sandbox_url(workspace, url)
    event: dict[str, object] = {"code": code, "count": count}
    if target is not None:
        event["target"] = target
    body = json.dumps(event)
    if properties is not None:
        body = f'{body[:-1]}, "properties": {_read_properties(properties)}}}'  # unparsed: numbers stay as written
    return _post(sandbox, body.encode(), workspace.timeout)


def _sandbox_url(workspace: Workspace, url: str | None) -> SplitResult:
    """The URL of the sandbox. Raises SettingsError for one that is not on loopback, where no sandbox can be."""
    where = SANDBOX_URL if url is None else "--url"
    remedy = "to get one, run: reconciler sandbox serve"
    url = workspace.variables.get(SANDBOX_URL) if url is None else url
    if url is None:
        raise SettingsError("the URL of the sandbox is not set", where=f"--url or {SANDBOX_URL}", remedy=remedy)
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "http" and parts.port != 0 and is_loopback(parts.hostname or "")
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError("expected an http URL of this machine", where=where, remedy=remedy)
    return parts


def _read_properties(path: Path) -> str:
    """The JSON object in a file, as it is written. Raises SettingsError."""
    try:
        text = read_input(path).decode()
        document = json.loads(text, parse_int=str, parse_constant=refuse_constant)
    except OSError as problem:
        raise SettingsError(f"cannot be read: {problem.strerror}", where=f"--properties {path}") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise SettingsError("expected a JSON object in UTF-8", where=f"--properties {path}")
    return text


def _post(sandbox: SplitResult, body: bytes, timeout: float) -> int:
    connection = HTTPConnection(sandbox.hostname or "", sandbox.port, timeout=timeout)
    url = f"{sandbox.scheme}://{sandbox.netloc}"
    try:
        path = f"{sandbox.path.rstrip('/')}/_sandbox/trigger"
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        with connection.getresponse() as response:
            status, answer = response.status, response.read(_ANSWER_LIMIT)
    except (OSError, HTTPException, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise CallFailed(f"cannot reach the sandbox: {reason}", where=url, remedy=_START) from None
    finally:
        connection.close()
    return _deliveries(status, answer, url)


def _deliveries(status: int, answer: bytes, url: str) -> int:
    try:
        document = json.loads(answer)
        fields = document if isinstance(document, dict) else {}
    except (ValueError, RecursionError):
        fields = {}
    started = fields.get("deliveries")
    if status == 202 and isinstance(started, int):
        return started
    reason = fields.get("error_description")
    if isinstance(reason, str):
        raise CallFailed(f"the sandbox rejected the event ({status}): {reason}", where=url)
    raise CallFailed(f"the server at this URL is not a sandbox ({status})", where=url, remedy=_START)
