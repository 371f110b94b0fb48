"""Receives notifications for `listen`, and detects their signature scheme for `signature detect`. Prints nothing."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from queue import Empty, Full, Queue
from threading import Event, Lock
from typing import TYPE_CHECKING, Self

from reconciler.disk import private_directory
from reconciler.errors import Message, ReconcilerError, Refused, SettingsError, Step
from reconciler.http_server import Server
from reconciler.notifications.captured import read_captured
from reconciler.notifications.signatures import detect, verify
from reconciler.receiver.capture_file import CaptureFile
from reconciler.receiver.receiver import Behaviour, Delivery, Receiver, Refusal
from reconciler.receiver.verifier import fits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from reconciler.http_messages import Request
    from reconciler.model.desired import Verification
    from reconciler.notifications.captured import Captured

    SecretsByTemplate = Callable[[], Mapping[str, Collection[bytes]]]

_REREAD_SECONDS = 2.0
_QUEUE_LIMIT = 1000
_PATIENCE = 5.0  # seconds to wait until the reader of deliveries makes room


class SignatureCheck:
    """Checks that the path of a request belongs to a subscription, and that a secret of the subscription signed it.

    `known` returns the recorded secrets by URL template; a set is empty if no secret is recorded. After a refusal,
    `known` is called again, but at most every two seconds, because a subscription may have been created in the
    meantime. If this call fails, `warn` is called with the error.
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
        """Yield the deliveries as they arrive. Only an exception, such as an interrupt, ends the iteration."""
        while True:
            with suppress(Empty):
                yield self._queue.get(timeout=0.2)

    def rest(self) -> list[Delivery]:
        """Return the deliveries that have arrived but that `deliveries` has not yet yielded."""
        return [self._queue.get_nowait() for _ in range(self._queue.qsize())]

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._server.stop()
        self._stack.close()

    def _report(self, delivery: Delivery) -> None:
        """Queue a delivery. Drop it if the queue stays full for five seconds, because the sender is waiting."""
        try:
            self._queue.put(delivery, timeout=_PATIENCE)
        except Full:
            self.dropped += 1


def detect_signature(captured: Iterable[Captured], secrets: Collection[bytes]) -> Verification:
    """Return the only signature scheme that matches these notifications and one of the secrets.

    Notifications that no scheme matches are skipped. Raises Refused unless exactly one scheme matches.
    """
    common: list[Verification] | None = None
    for notification in captured:
        if schemes := detect(secrets, notification.headers, notification.body):
            common = schemes if common is None else [scheme for scheme in common if scheme in schemes]
    if not common:
        steps = (Step("check that this is the secret of the subscription, and that headers and body are complete"),)
        raise Refused(Message("no-scheme", "no signature scheme matches these notifications", "", steps))
    if len(common) > 1:
        shown = "; ".join(f"{scheme.header} {scheme.algorithm} over {scheme.content}" for scheme in common)
        steps = (Step("capture another notification, and pass both"),)
        raise Refused(Message("several-schemes", f"{len(common)} signature schemes match: {shown}", "", steps))
    return common[0]
