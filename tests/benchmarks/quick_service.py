"""A lending service that answers each create after a pause, in a process of its own that takes next to no time itself.

It prints its port, and ends when its standard input does; for each line there, it prints what has reached it since the
last one.

Loopback has no round trip, so one can be added: all that arrives, and all that is sent, then waits for half of it, and
what arrives first for one more, which is when TCP would have connected.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import ssl
import sys
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN = {"access_token": "a-token-of-some-length", "token_type": "Bearer", "expires_in": 86400}
_LENGTH = b"content-length:"


@dataclass
class Service:
    """What all its connections share; times in seconds."""

    pause: float
    round_trip: float
    tls: ssl.SSLContext | None
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, what: str) -> int:
        """Count one more of these, from 1."""
        self.counts[what] = self.counts.get(what, 0) + 1
        return self.counts[what]


class Connection(asyncio.Protocol):
    """One connection: bytes that arrive, perhaps late and perhaps encrypted, and answers to the requests in them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._late: deque[tuple[Callable[..., None], bytes]] = deque()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = service.tls and service.tls.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._is_shaken = False
        self._requests = b""

    def connection_made(self, transport: Any) -> None:
        self._service.count("connections")
        self._transport = transport
        self._connected = self._loop.time() + self._service.round_trip

    def data_received(self, data: bytes) -> None:
        self._travel(max(self._loop.time(), self._connected), self._decrypt if self._tls else self._take, data)

    def _travel(self, start: float, arrive: Callable[..., None], data: bytes) -> None:
        """Let data arrive half a round trip after its start, after what has started before."""
        if not self._service.round_trip:
            arrive(data)
            return
        self._late.append((arrive, data))
        self._loop.call_at(start + self._service.round_trip / 2, self._arrive)

    def _arrive(self) -> None:
        arrive, data = self._late.popleft()
        arrive(data)

    def _decrypt(self, data: bytes) -> None:
        assert self._tls
        self._incoming.write(data)
        try:
            if not self._is_shaken:
                self._tls.do_handshake()
                self._is_shaken = True
            while chunk := self._tls.read(65536):
                self._take(chunk)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            self._transport.close()
        self._send_encrypted()

    def _send_encrypted(self) -> None:
        if self._outgoing.pending:
            self._travel(self._loop.time(), self._transport.write, self._outgoing.read())

    def _take(self, data: bytes) -> None:
        """Take bytes of requests, and answer those that are whole."""
        self._requests += data
        while b"\r\n\r\n" in self._requests:
            head, _, rest = self._requests.partition(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = next((int(line[len(_LENGTH) :]) for line in lines if line.startswith(_LENGTH)), 0)
            if len(rest) < length:
                return
            self._requests = rest[length:]
            self._answer(head.split(b" ", 2)[1], closes=b"connection: close" in lines)

    def _answer(self, path: bytes, *, closes: bool) -> None:
        if path.endswith(b"/oauth/token"):
            self._service.count("tokens")
            self._say(200, _TOKEN, closes=closes)
        else:
            number = self._service.count("creates")
            created = {"subscriptionId": f"sub-{number}", "secret": f"the-secret-of-{number}"}
            self._loop.call_later(self._service.pause, partial(self._say, 201, created, closes=closes))

    def _say(self, status: int, document: object, *, closes: bool) -> None:
        body = json.dumps(document).encode()
        more = "connection: close\r\n" if closes else ""
        head = f"HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\n{more}content-length: {len(body)}\r\n\r\n"
        if self._tls:
            self._tls.write(head.encode() + body)
            self._send_encrypted()
        else:
            self._travel(self._loop.time(), self._transport.write, head.encode() + body)
        if closes:
            self._travel(self._loop.time(), lambda _: self._transport.close(), b"")


def _tls(certificate: str, version: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.maximum_version = ssl.TLSVersion[f"TLSv{version.replace('.', '_')}"]
    return context


async def serve(service: Service) -> None:
    """Serve until standard input ends."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    server = await loop.create_server(partial(Connection, service), "127.0.0.1", 0, backlog=1024)

    def tell() -> None:
        if sys.stdin.readline():
            print(json.dumps(service.counts), flush=True)
            service.counts.clear()
        else:
            ended.set()

    loop.add_reader(sys.stdin, tell)
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--round-trip", type=float, default=0.0)
    parser.add_argument("--certificate")
    parser.add_argument("--tls", default="1.3")
    given = parser.parse_args()
    context = _tls(given.certificate, given.tls) if given.certificate else None
    asyncio.run(serve(Service(given.pause, given.round_trip, context)))
