"""What a user has done in a running sandbox: events, and what the operator of the service does on request."""

import json
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import msgspec

from reconciler.errors import CallFailed, SettingsError
from reconciler.model.url import is_loopback
from reconciler.operations.input_files import read_input, refuse_constant
from reconciler.operations.workspace import Workspace

SANDBOX_URL = "RECONCILER_SANDBOX_URL"

_ANSWER_LIMIT = 1 << 26
_START = "to start it, run: reconciler sandbox serve"


class Existing(msgspec.Struct, frozen=True, rename="camel"):
    """A subscription in a sandbox, whether it was `removed` or not."""

    target: str
    subscription_id: str
    event_codes: list[str]
    webhook_url: str
    removed: bool


class _State(msgspec.Struct, frozen=True):
    subscriptions: list[Existing]


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
    status, answer = _call(workspace, sandbox, "trigger", body.encode())
    started = answer.get("deliveries")
    if status == 202 and isinstance(started, int):
        return started
    raise _rejection(sandbox, status, answer, "event")


def existing_subscriptions(workspace: Workspace, url: str | None) -> list[Existing]:
    """What exists in the sandbox, in order of creation. Raises SettingsError and CallFailed."""
    sandbox = _sandbox_url(workspace, url)
    status, answer = _call(workspace, sandbox, "state")
    with suppress(msgspec.ValidationError):
        return [one for one in msgspec.convert(answer, _State).subscriptions if not one.removed]
    raise _rejection(sandbox, status, answer, "request")


def delete_subscription(workspace: Workspace, url: str | None, subscription: str) -> None:
    """Delete a subscription, as the operator does. Raises SettingsError, and CallFailed if none has the id."""
    sandbox = _sandbox_url(workspace, url)
    body = json.dumps({"subscriptionId": subscription}).encode()
    status, answer = _call(workspace, sandbox, "remove", body)
    if status != 200 or answer.get("removed") != subscription:
        raise _rejection(sandbox, status, answer, "deletion")


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


def _call(
    workspace: Workspace, sandbox: SplitResult, what: str, body: bytes | None = None
) -> tuple[int, Mapping[str, object]]:
    """The status, and the JSON object in the answer, empty if there is none. Raises CallFailed."""
    connection = HTTPConnection(sandbox.hostname or "", sandbox.port, timeout=workspace.timeout)
    try:
        path = f"{sandbox.path.rstrip('/')}/_sandbox/{what}"
        connection.request("GET" if body is None else "POST", path, body, {"Content-Type": "application/json"})
        with connection.getresponse() as response:
            status, answer = response.status, response.read(_ANSWER_LIMIT)
    except (OSError, HTTPException, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise CallFailed(f"cannot reach the sandbox: {reason}", where=_shown(sandbox), remedy=_START) from None
    finally:
        connection.close()
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        document = None
    return status, document if isinstance(document, dict) else {}


def _rejection(sandbox: SplitResult, status: int, answer: Mapping[str, object], what: str) -> CallFailed:
    reason = answer.get("error_description")
    if isinstance(reason, str):
        return CallFailed(f"the sandbox rejected the {what} ({status}): {reason}", where=_shown(sandbox))
    return CallFailed(f"the server at this URL is not a sandbox ({status})", where=_shown(sandbox), remedy=_START)


def _shown(sandbox: SplitResult) -> str:
    return f"{sandbox.scheme}://{sandbox.netloc}"
