"""What the program logs about itself, on stderr: `-v`, `-q` and `--log-format`.

Log records may quote what the service said, so each begins with a word of our own, and is laid out as other messages
are. None holds a secret; of an exception only the kind and the place are told, since its text may hold anything.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any


def start_logging(flags: Mapping[str, Any], tell: Callable[[str, str, str], None]) -> None:
    """Have log records told, as the flags want it; to be called before what logs is used, once or more.

    `tell` takes a record's level, message and logger.
    """
    level = _level(flags)
    logging.raiseExceptions = False  # a stderr that cannot be written must not stop an apply
    logging.getLogger().handlers[:] = [_Teller(tell)]
    logging.getLogger().setLevel(max(level, logging.WARNING))
    logging.getLogger("reconciler").setLevel(level)


def _level(flags: Mapping[str, Any]) -> int:
    if flags.get("quiet"):
        return logging.ERROR
    match flags.get("verbose", 0):
        case 0:
            return logging.WARNING
        case 1:
            return logging.INFO
        case _:
            return logging.DEBUG


def as_object(level: str, logger: str, message: str) -> str:
    """One diagnostic as a line of JSON; the time is UTC, ISO 8601."""
    now = time.time()
    moment = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z"
    told = {"time": moment, "level": level, "logger": logger, "message": message}
    return json.dumps(told).replace("##[", r"##\u005b")  # a runner of Actions would take it for a command


class _Teller(logging.Handler):
    def __init__(self, tell: Callable[[str, str, str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        problem = record.exc_info[1] if record.exc_info else None
        message = record.getMessage() + ("" if problem is None else f": {kind_and_place(problem)}")
        self._tell(record.levelname.lower(), message, record.name)


def kind_and_place(problem: BaseException) -> str:
    """An exception without its text: its class, and where it was raised."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
    return f"{type(problem).__name__}{place}"
