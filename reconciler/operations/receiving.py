"""The operations behind `listen`, `signature detect` and the sandbox commands. They print nothing."""

from __future__ import annotations

import json
import math
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from reconciler.disk import private_directory, replace_file
from reconciler.errors import CallFailed, Message, ReconcilerError, Refused, SettingsError, Step
from reconciler.http_server import Server
from reconciler.model.url import is_loopback
from reconciler.notifications.captured import read_captured
from reconciler.notifications.signatures import detect, verify
from reconciler.receiver.capture_file import CaptureFile
from reconciler.receiver.receiver import Behaviour, Delivery, Receiver, Refusal
from reconciler.receiver.verifier import fits
from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from reconciler.http_messages import Request
    from reconciler.model.desired import Verification
    from reconciler.notifications.captured import Captured

    SecretsByTemplate = Callable[[], Mapping[str, Collection[bytes]]]

SANDBOX_URL = "RECONCILER_SANDBOX_URL"
_REREAD_SECONDS = 2.0
_QUEUE_LIMIT = 1000
_PATIENCE = 5.0  # seconds to wait until the reader of deliveries makes room
_ANSWER_LIMIT = 1 << 26
_SERVE = Step("to start one, run", ("reconciler", "sandbox", "serve"))


class SignatureCheck:
    """Checks a request: its path must belong to a subscription, one of whose secrets must have signed it.

    `known` returns the recorded secrets by URL template; the set is empty if no secret is known. It is called again
    after a refusal, at most every two seconds, as a subscription may have been created meanwhile. `warn` receives its
    errors then.
    """

    def __init__(
        self, verification: Verification, known: SecretsByTemplate, warn: Callable[[Message], object] = lambda _: None
    ) -> None:
        self._verification, self._read, self._warn = verification, known, warn
        self._lock = Lock()
        self._known, self._read_at = known(), time.monotonic()

    def __call__(self, request: Request) -> Refusal | None:
        known = self._known
        refusal = self._judge(request, known)
        if refusal is not None:
            with self._lock:
                if time.monotonic() - self._read_at > _REREAD_SECONDS:
                    self._read_at = time.monotonic()
                    try:
                        self._known = self._read()
                    except ReconcilerError as problem:
                        self._warn(problem.messages[0])
            if self._known is not known:
                return self._judge(request, self._known)
        return refusal

    def _judge(self, request: Request, known: Mapping[str, Collection[bytes]]) -> Refusal | None:
        # A tunnel changes the host, so only the path and the query are compared.
        fitting = [secrets for template, secrets in known.items() if fits(request.target, template)]
        if not fitting:
            return Refusal(404, "no subscription has this path")
        secrets = {secret for some in fitting for secret in some}
        problem = verify(self._verification, secrets, request.headers, request.body)
        return None if problem is None else Refusal(401, problem)


class Listening:
    """A receiver on a port of this machine, which listens inside its `with` block.

    Notifications are appended to `file` or, if it is None, to `notifications.jsonl` in `directory`. Raises
    SettingsError.
    """

    def __init__(
        self, port: int, file: Path | None, directory: Path,
        behaviour: Behaviour | None = None, check: SignatureCheck | None = None,
    ) -> None:  # fmt: skip
        try:
            self.file = private_directory(directory) / "notifications.jsonl" if file is None else file
        except OSError as problem:
            what, steps = f"cannot be created: {problem.strerror}", (Step("choose another file with --record"),)
            raise SettingsError(Message("unwritable-capture", what, str(directory), steps)) from None
        self.dropped = 0
        self._queue: Queue[Delivery] = Queue(_QUEUE_LIMIT)
        self._ending = Event()
        with ExitStack() as stack:
            captures = CaptureFile(self.file)
            stack.callback(captures.close)
            receiver = Receiver(captures.append, self._report, behaviour, check, self._ending.wait)
            receiver.remember(read_captured(self.file))
            self._server = Server(port, receiver.handle)
            self.url = self._server.url
            self._stack = stack.pop_all()

    def deliveries(self) -> Iterator[Delivery]:
        """Yield the deliveries as they arrive, until a signal handler raises."""
        while True:
            with suppress(Empty):
                yield self._queue.get(timeout=0.2)

    def rest(self) -> list[Delivery]:
        """Return the deliveries that have arrived and were not taken yet."""
        return [self._queue.get_nowait() for _ in range(self._queue.qsize())]

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._server.stop()
        self._stack.close()

    def _report(self, delivery: Delivery) -> None:
        """Queue a delivery. After a wait of some seconds it is dropped: answers must not wait for the queue."""
        try:
            self._queue.put(delivery, timeout=_PATIENCE)
        except Full:
            self.dropped += 1


def detect_signature(captured: Iterable[Captured], secrets: Collection[bytes]) -> Verification:
    """Return the only scheme under which the secrets sign these notifications.

    Notifications that no scheme matches are skipped. Raises Refused unless exactly one scheme matches.
    """
    common: list[Verification] | None = None
    for notification in captured:
        if schemes := detect(secrets, notification.headers, notification.body):
            common = schemes if common is None else [scheme for scheme in common if scheme in schemes]
    if not common:
        steps = (Step("check that the secret is the sending subscription's, and that headers and body are complete"),)
        raise Refused(Message("no-scheme", "no signature scheme matches these notifications", "", steps))
    if len(common) > 1:
        shown = "; ".join(f"{scheme.header} {scheme.algorithm} over {scheme.content}" for scheme in common)
        steps = (Step("capture another notification, and pass both"),)
        raise Refused(Message("several-schemes", f"{len(common)} signature schemes match: {shown}", "", steps))
    return common[0]


@contextmanager
def sandbox_served(
    port: int, targets: Sequence[str], data: Path | None, env_file: Path | None = None,
    retry_interval: float = 15.0, faults: Iterable[str] = (), seed: int | None = None,
) -> Iterator[Sandbox]:  # fmt: skip
    """Serve a sandbox from `data` or a temporary directory; write its variables to `env_file`, if given.

    `faults` are `NAME=PROBABILITY`, or NAME for a probability of 1. Raises SettingsError.
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


def trigger(url: str, code: str, properties: bytes | None, count: int, target: str | None) -> int:
    """Trigger `count` events in the sandbox at `url` and return the number of deliveries.

    `properties` is a JSON object, which is sent unchanged. Raises SettingsError and CallFailed.
    """
    body = json.dumps({"code": code, "count": count, **({} if target is None else {"target": target})}).encode()
    if properties is not None:
        try:
            is_object = isinstance(json.loads(properties, parse_int=str), dict)
        except (ValueError, RecursionError):
            is_object = False
        if not is_object:
            raise SettingsError(Message("bad-properties", "expected a JSON object in UTF-8", "--properties"))
        body = body[:-1] + b', "properties": ' + properties + b"}"
    return int(_call(url, "trigger", body)["deliveries"])


def list_subscriptions(url: str) -> list[dict[str, Any]]:
    """Return the sandbox's subscriptions in order: `target`, `subscriptionId`, `eventCodes`, `webhookUrl`."""
    return [subscription for subscription in _call(url, "state")["subscriptions"] if not subscription["removed"]]


def delete_subscription(url: str, subscription_id: str) -> None:
    """Delete a subscription, as the operator does. Raises SettingsError, and CallFailed for an unknown id."""
    _call(url, "remove", json.dumps({"subscriptionId": subscription_id}).encode())


def _call(url: str, what: str, body: bytes | None = None) -> dict[str, Any]:
    """Return the answer of a sandbox. Raises SettingsError for a URL that is not on loopback, and CallFailed."""
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
            return dict(document)
        problem = f"rejected ({response.status}): {document['error_description']}"
        raise CallFailed(Message("sandbox-rejected", problem, shown))
    except (OSError, HTTPException) as failure:
        reason = getattr(failure, "strerror", None) or type(failure).__name__
        raise CallFailed(Message("no-sandbox", f"cannot reach the sandbox: {reason}", shown, (_SERVE,))) from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise CallFailed(Message("no-sandbox", "the server at this URL is not a sandbox", shown, (_SERVE,))) from None
    finally:
        connection.close()
