"""The S3 of the tests with a clock that is years off, and jumps: each time that it tells is another."""

from __future__ import annotations

import itertools
import re
from email.utils import formatdate
from typing import Any

from ministack.app import app as honest  # type: ignore[import-untyped]

_YEAR = 365 * 86_400
_TIMES = itertools.cycle((0, 80 * _YEAR, 20 * _YEAR, 55 * _YEAR))
_TOLD = re.compile(rb"<LastModified>[^<]*</LastModified>")


async def app(scope: Any, receive: Any, send: Any) -> None:
    """The server as it is, but for the times in its answers."""

    async def lie(message: Any) -> None:
        if message["type"] == "http.response.start":
            told = formatdate(next(_TIMES), usegmt=True).encode()
            names = (b"date", b"last-modified")
            message["headers"] = [
                (name, told if name.lower() in names else value) for name, value in message["headers"]
            ]
        elif message["type"] == "http.response.body":
            year = next(_TIMES) // _YEAR + 1970
            when = f"<LastModified>{year}-01-01T00:00:00.000Z</LastModified>".encode()
            body = _TOLD.sub(when, message.get("body", b""))
            message["body"] = body
        await send(message)

    await honest(scope, receive, lie)
