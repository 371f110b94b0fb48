"""A connection whose reads and writes end at a deadline, whatever the other end does.

httpx and httpcore have a timeout for each phase, which a header that drips a byte a second never meets.
"""

import select
from collections.abc import Callable

import httpcore

from reconciler.service.clock import steady

_TICK = (
    1.0  # seconds between looks at the steady clock: the one that the system waits on stops while the machine sleeps
)
_PIECE = 16_384  # bytes written at once: the buffers of a connection that was not used yet have room for as many


class Withheld(Exception):
    """The request must not be written."""


def allowed() -> None:
    """Let everything be written."""


class Bounded(httpcore.NetworkStream):
    """Reads and writes until `deadline` (steady seconds); then raises httpcore.ReadTimeout or WriteTimeout.

    What is written waits for the first read and leaves in one piece, since head and body are written apart. `release`
    is called just before that, once; what it raises keeps every byte from being written.
    """

    def __init__(self, stream: httpcore.NetworkStream, deadline: float, release: Callable[[], None] = allowed) -> None:
        self.released = False
        self._stream = stream
        self._deadline = deadline
        self._release = release
        self._unwritten = b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the deadline counts
        self._flush()
        while (left := self._deadline - steady()) > 0:
            try:
                return self._stream.read(max_bytes, min(left, _TICK))
            except httpcore.ReadTimeout:
                continue
        raise httpcore.ReadTimeout

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._unwritten += buffer

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)

    def _flush(self) -> None:
        request, self._unwritten = self._unwritten, b""
        if not request:
            return
        if steady() >= self._deadline:
            raise Withheld
        if not self.released:
            self._release()
            if steady() >= self._deadline:  # the machine slept
                raise Withheld
            self.released = True
        try:
            for start in range(0, len(request), _PIECE):
                left = self._time_to_write() if start else self._deadline - steady()
                self._stream.write(request[start : start + _PIECE], max(left, 0.001))
        except httpcore.WriteError:
            return  # a server may answer before it has read all, and close: its answer counts

    def _time_to_write(self) -> float:
        """The seconds left once the connection takes more data."""
        connection = self._stream.get_extra_info("socket")
        writable = select.poll()
        writable.register(connection, select.POLLOUT)
        while (left := self._deadline - steady()) > 0:
            if writable.poll(min(left, _TICK) * 1000):
                return left
        raise httpcore.WriteTimeout
