"""Notifications as the service sends them, and plain senders of them that share no code with the program."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

OFFER = {
    "OfferId": "0b9d5d5c-8a57-4c0e-9a51-3f8f0f0d6a11", "YouWillGet": "1000.50", "YouWillRepay": "1E+3",
    "CurrencyISOCode": "EUR", "Sweep": "0.120",
}  # fmt: skip
OFFERS = {"LeadId": "6f1f7a64-2d0c-4f0f-8a44-5d7d3f1b8c22", "Offers": [OFFER]}


def notification(code: str = "ONB10011", properties: object = OFFERS, **others: Any) -> bytes:
    """Return a notification as it is POSTed."""
    document = {"EventCode": code, "Message": "Offers Provided", "EventProperties": properties, **others}
    return json.dumps(document).encode()


class Answered(NamedTuple):
    """An answer: its status, and what it says."""

    status: int
    text: str


def post(url: str, body: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> Answered:
    """Send one request on a connection of its own."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=20)) as connection:
        connection.request(method, target, body, dict(headers or {}))
        with connection.getresponse() as response:
            return Answered(response.status, response.read().decode().strip())


def talk(port: int, *parts: bytes, half_close: bool = False) -> bytes:
    """Send bytes as they are, part by part; return what comes back until the other side ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
            if select.select([connection], [], [], 0)[0]:
                break  # it was answered; what is sent now could destroy the answer
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while read := connection.recv(65_536):
            answer += read
    return answer


def wait_until(is_right: Callable[[], bool], seconds: float = 10) -> bool:
    """Wait until something is right, or it takes too long; returns whether it is."""
    deadline = time.monotonic() + seconds
    while not is_right():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
