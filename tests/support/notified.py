"""Notifications as the service sends them, and plain senders of them that share no code with the program."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from support import warm
from support.project import EXECUTABLE, end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from support.project import Finished, Project

T = TypeVar("T")

OFFER = {
    "OfferId": "0b9d5d5c-8a57-4c0e-9a51-3f8f0f0d6a11",
    "YouWillGet": "1000.50",
    "YouWillRepay": "1E+3",
    "CurrencyISOCode": "EUR",
    "Sweep": "0.120",
}
OFFERS = {"LeadId": "6f1f7a64-2d0c-4f0f-8a44-5d7d3f1b8c22", "Offers": [OFFER]}


def document(code: str = "ONB10011", properties: object = OFFERS, message: str = "Offers Provided") -> dict[str, Any]:
    """A notification as a document."""
    return {"EventCode": code, "Message": message, "EventProperties": properties}


def notification(code: str = "ONB10011", properties: object = OFFERS, message: str = "Offers Provided") -> bytes:
    """A notification as it is POSTed."""
    return json.dumps(document(code, properties, message)).encode()


class Answered(NamedTuple):
    """An answer: its status, and what it says."""

    status: int
    text: str


def post(url: str, body: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> Answered:
    """One request on a connection of its own."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=20)) as connection:
        connection.request(method, target, body, dict(headers or {}))
        with connection.getresponse() as response:
            return Answered(response.status, response.read().decode().strip())


def talk(port: int, *parts: bytes, half_close: bool = False, pause: float = 0.0) -> bytes:
    """Send bytes as they are, part by part; what comes back until the other side ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
            if select.select([connection], [], [], 0)[0] and b" 100 " not in connection.recv(20, socket.MSG_PEEK):
                break  # it was answered; what is sent now could destroy the answer
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while read := connection.recv(65_536):
            answer += read
    return answer


class Listening:
    """A `reconciler listen` at work, and what it told so far."""

    def __init__(self, process: subprocess.Popen[bytes] | warm.Started, out: Path, err: Path) -> None:
        self.process = process
        self._out = out
        self._err = err
        self.url = self._wait_for_url()

    @property
    def said(self) -> str:
        """What is on stderr."""
        return self._err.read_text(encoding="utf-8")

    @property
    def told(self) -> list[Any]:
        """What is on stdout, whole line by whole line."""
        return [json.loads(line) for line in self._out.read_bytes().split(b"\n")[:-1]]

    def wait_told(self, count: int) -> list[Any]:
        """What is told once there are so many lines, or when it takes too long."""
        return wait_until(lambda: self.told, lambda told: len(told) >= count)

    def end(self) -> Finished:
        """Tell it to stop."""
        return end(self.process)

    def _wait_for_url(self) -> str:
        said = wait_until(lambda: self.said, lambda said: "Listening at " in said and said.endswith("\n"))
        assert "Listening at " in said, f"it did not start: {said}"
        return said.partition("Listening at ")[2].partition(" ")[0]


def wait_until(look: Callable[[], T], is_right: Callable[[T], bool], seconds: float = 20) -> T:
    """What `look` gives, once it is right, or when it takes too long."""
    deadline = time.monotonic() + seconds
    while not is_right(found := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


@contextmanager
def listening(project: Project, *arguments: str, fork: bool = True) -> Iterator[Listening]:
    """Run `reconciler listen` in a project, until the block ends: as a fork, unless a test is about its signals."""
    number = len(list(project.path.glob("listen-*.out")))
    out, err = project.path / f"listen-{number}.out", project.path / f"listen-{number}.err"
    process: subprocess.Popen[bytes] | warm.Started
    with Path(os.devnull).open("rb") as stdin, out.open("wb") as stdout, err.open("wb") as stderr:
        streams = [stdin.fileno(), stdout.fileno(), stderr.fileno()]
        command = ["listen", *arguments]
        if fork:
            process = warm.Started(command, project.path, project.variables(), "", project.before_steps, streams)
        else:
            process = subprocess.Popen(
                [EXECUTABLE, *command], cwd=project.path, env=project.variables(), stdin=stdin, stdout=stdout,
                stderr=stderr,
            )  # fmt: skip
        try:
            yield Listening(process, out, err)
        finally:
            end(process)
