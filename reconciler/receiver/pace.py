"""A socket read against the clock: a sender that trickles gets no more time than one that is silent."""

from __future__ import annotations

import time
from io import RawIOBase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from socket import socket

    from _typeshed import WriteableBuffer


class TooSlow(Exception):
    """The time allowed is over. Not an OSError, which readers treat as a broken connection."""


class PacedSocket(RawIOBase):
    """The receiving side of a socket. Reading raises TooSlow after the time that `allow` gave is over."""

    def __init__(self, connection: socket) -> None:
        self._connection = connection
        self._deadline = 0.0

    def allow(self, seconds: float) -> None:
        """Allow so many seconds, in all, for everything that is read from now on."""
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TooSlow
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        except TimeoutError:
            raise TooSlow from None
