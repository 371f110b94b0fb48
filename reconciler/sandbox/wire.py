"""Sends a response: whole, or in one of the ways in which networks lose it."""

import struct
import time
from socket import SO_LINGER, SOL_SOCKET, socket
from typing import assert_never

from reconciler.sandbox.exchange import Manner

DRIP_INTERVAL = 1.0  # seconds
HANG_SECONDS = 300.0
FLOOD_BYTES = 100_000_000


def transmit(connection: socket, manner: Manner, head: bytes, body: bytes) -> None:
    """Send a response in this manner. Raises OSError if the client has disconnected."""
    match manner:
        case Manner.WHOLE:
            connection.sendall(head + body)
        case Manner.RESET:
            reset_on_close(connection)
        case Manner.HANG:
            _is_gone(connection, HANG_SECONDS)
        case Manner.DRIP:
            _drip(connection, head + body)
        case Manner.HALF:
            connection.sendall(head + body[: len(body) // 2])
            time.sleep(0.05)  # a reset may overtake bytes that the other side has not read yet
            reset_on_close(connection)
        case Manner.FLOOD:
            _flood(connection, head + body, FLOOD_BYTES - len(body))
        case _:
            assert_never(manner)


def announced_length(manner: Manner, body: bytes) -> int:
    """The value of Content-Length."""
    return FLOOD_BYTES if manner is Manner.FLOOD else len(body)


def reset_on_close(connection: socket) -> None:
    """Reset the connection (RST) when it is closed, instead of an orderly end."""
    connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))


def _is_gone(connection: socket, seconds: float) -> bool:
    """Wait so many seconds at most for the client to disconnect; returns whether it did."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65_536):
            pass
    except TimeoutError:
        return False
    return True


def _drip(connection: socket, data: bytes) -> None:
    while data and not _is_gone(connection, DRIP_INTERVAL):
        connection.sendall(data[:1])
        data = data[1:]


def _flood(connection: socket, beginning: bytes, spaces: int) -> None:
    connection.sendall(beginning)
    chunk = b" " * 1_000_000
    for _ in range(spaces // len(chunk)):
        connection.sendall(chunk)
    connection.sendall(b" " * (spaces % len(chunk)))
