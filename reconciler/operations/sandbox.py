"""Serves the sandbox, and acts as its operator, for the commands of `sandbox`. Prints nothing."""

from __future__ import annotations

import json
import math
import tempfile
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reconciler.disk import replace_file
from reconciler.errors import CallFailed, Message, SettingsError, Step
from reconciler.model.url import is_loopback
from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

SANDBOX_URL = "RECONCILER_SANDBOX_URL"
_ANSWER_LIMIT = 1 << 26
_SERVE = Step("to start one, run", ("reconciler", "sandbox", "serve"))


@contextmanager
def sandbox_served(
    port: int, targets: Sequence[str], data: Path | None, env_file: Path | None = None,
    retry_interval: float = 15.0, faults: Iterable[str] = (), seed: int | None = None,
) -> Iterator[Sandbox]:  # fmt: skip
    """Serve a sandbox from `data` or a temporary directory; write its variables to `env_file`, if given.

    `retry_interval` is in seconds. Each of `faults` is `NAME=PROBABILITY`, or NAME for a probability of 1. Raises
    SettingsError.
    """
    if not 0 <= retry_interval <= 86_400:
        raise SettingsError(Message("bad-interval", "expected 0 to 86400 seconds", "--retry-interval"))
    odds = dict(map(_fault, faults))
    if env_file is not None:
        _refuse_foreign(env_file)
    with ExitStack() as stack:
        directory = data or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reconciler-sandbox-")))
        sandbox = Sandbox(port, targets, directory=directory, retry_interval=retry_interval, faults=odds, seed=seed)
        stack.callback(sandbox.close)
        if env_file is not None:
            text = "".join(f"{name}={value}\n" for name, value in sandbox.variables())
            try:
                replace_file(env_file, text.encode(), 0o600)
            except OSError as problem:
                what = f"cannot be written: {problem.strerror}"
                raise SettingsError(Message("env-file-unusable", what, f"--env-file {env_file}")) from None
        sandbox.start()
        yield sandbox


def _fault(text: str) -> tuple[str, float]:
    name, equals, probability = text.partition("=")
    try:
        return name, float(probability) if equals else 1.0
    except ValueError:
        return name, math.nan  # refused as an invalid probability


def _refuse_foreign(env_file: Path) -> None:
    """Raise SettingsError for a file that a sandbox did not write, because it may hold credentials."""
    try:
        lines = env_file.read_bytes().splitlines()
    except FileNotFoundError:
        return
    except OSError as problem:
        what = f"cannot be read: {problem.strerror}"
    else:
        if any(line.startswith(f"{SANDBOX_URL}=".encode()) for line in lines):
            return
        what = "the file exists and was not written by a sandbox"
    raise SettingsError(Message("env-file-unusable", what, f"--env-file {env_file}", (Step("use another file"),)))


def trigger_event(url: str, code: str, properties: bytes | None, count: int, target: str | None) -> int:
    """Trigger `count` events in the sandbox at `url` and return the number of deliveries.

    `properties` is a JSON object, which is sent unchanged. Raises SettingsError and CallFailed.
    """
    body = json.dumps({"code": code, "count": count, **({} if target is None else {"target": target})}).encode()
    if properties is not None:
        try:
            is_object = isinstance(json.loads(properties.decode(), parse_int=str), dict)
        except (ValueError, RecursionError):
            is_object = False
        if not is_object:
            raise SettingsError(Message("bad-properties", "expected a JSON object in UTF-8", "--properties"))
        body = body[:-1] + b', "properties": ' + properties + b"}"
    return int(_call(url, "trigger", lambda answer: int(answer["deliveries"]), body))


def list_subscriptions(url: str) -> list[dict[str, Any]]:
    """Return the sandbox's subscriptions in order of creation, as JSON objects."""
    return list(_call(url, "state", lambda answer: [each for each in answer["subscriptions"] if not each["removed"]]))


def delete_subscription(url: str, subscription_id: str) -> None:
    """Delete a subscription, as the operator does. Raises SettingsError, and CallFailed for an unknown id."""
    _call(url, "remove", lambda answer: answer["removed"], json.dumps({"subscriptionId": subscription_id}).encode())


def _call(url: str, what: str, parse: Callable[[Any], Any], body: bytes | None = None) -> Any:
    """Return the parsed answer of a sandbox. Raises SettingsError for a URL that is not on loopback, and CallFailed."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "http" and parts.port != 0 and is_loopback(parts.hostname or "")
    except ValueError:
        usable = False
    if not usable:
        where = f"--url or {SANDBOX_URL}"
        raise SettingsError(Message("no-sandbox-url", "expected an http URL on this machine", where, (_SERVE,)))
    shown = f"http://{parts.netloc.rpartition('@')[2]}"
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, f"/_sandbox/{what}", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        document = json.loads(response.read(_ANSWER_LIMIT))
        if response.status in (200, 202):
            return parse(document)
        problem = f"rejected ({response.status}): {document['error_description']}"
        raise CallFailed(Message("sandbox-rejected", problem, shown))
    except (OSError, HTTPException) as failure:
        reason = getattr(failure, "strerror", None) or type(failure).__name__
        raise CallFailed(Message("no-sandbox", f"cannot reach the sandbox: {reason}", shown, (_SERVE,))) from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise CallFailed(Message("no-sandbox", "the server at this URL is not a sandbox", shown, (_SERVE,))) from None
    finally:
        connection.close()
