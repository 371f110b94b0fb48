"""Responses that get lost: sent in one of the ways in which networks lose them."""

from __future__ import annotations

import struct
import time
from enum import Enum, auto
from socket import SO_LINGER, SOL_SOCKET
from typing import TYPE_CHECKING, assert_never

from reconciler.loopback import send_whole
from reconciler.requests import Response

if TYPE_CHECKING:
    from socket import socket

DRIP_INTERVAL = 1.0  # seconds
HANG_SECONDS = 300.0


class Manner(Enum):
    """How a response gets lost."""

    RESET = auto()  # nothing is sent, the connection is reset
    HANG = auto()  # nothing is sent, the connection stays open
    DRIP = auto()  # a byte a second
    HALF = auto()  # the head and half of the body, then a reset


class Spoiled(Response, frozen=True, kw_only=True):
    """A response that gets lost."""

    manner: Manner


def transmit(connection: socket, head: bytes, response: Response) -> None:
    """Send a response, or lose it and close the connection. Raises OSError if the client has disconnected."""
    if not isinstance(response, Spoiled):
        send_whole(connection, head, response)
        return
    match response.manner:
        case Manner.RESET:
            pass
        case Manner.HANG:
            _is_gone(connection, HANG_SECONDS)
        case Manner.DRIP:
            data = head + response.body
            while data and not _is_gone(connection, DRIP_INTERVAL):
                connection.sendall(data[:1])
                data = data[1:]
        case Manner.HALF:
            connection.sendall(head + response.body[: len(response.body) // 2])
            time.sleep(0.05)  # a reset may overtake bytes that the other side has not read yet
        case _:
            assert_never(response.manner)
    if response.manner in (Manner.RESET, Manner.HALF):
        connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _is_gone(connection: socket, seconds: float) -> bool:
    """Wait so many seconds at most for the client to disconnect; returns whether it did."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65_536):
            pass
    except TimeoutError:
        return False
    return True
