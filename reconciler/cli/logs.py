"""Log entries made while calls are made, on stderr like every message: warnings, and with -v each call.

Apart from `terminal`, since a command that calls nothing does not load `logging`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from reconciler.errors import Message

if TYPE_CHECKING:
    from reconciler.cli.terminal import Terminal


class _Handler(logging.Handler):
    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        said = record.args[0] if isinstance(record.args, tuple) and record.args else None
        message = said if isinstance(said, Message) else Message("log", record.getMessage())
        if record.levelno >= logging.WARNING:
            self._terminal.warn(Message(message.name, message.what, message.where))  # the end says what to do
        else:
            self._terminal.note(message.what)


def log_to(terminal: Terminal) -> None:
    """Say from now on what is logged."""
    logger = logging.getLogger("reconciler")
    logger.handlers = [_Handler(terminal)]
    logger.setLevel(logging.DEBUG if terminal.is_verbose else logging.WARNING)
