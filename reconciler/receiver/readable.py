"""Whether a body can be a notification: a JSON object in UTF-8 that is not nested too deeply."""

import json
from typing import NoReturn

DEPTH_LIMIT = 100


def unreadable(body: bytes) -> str | None:
    """Why a body cannot be a notification; None if it can. Its fields are not checked."""
    try:
        # Numbers stay text: an int of many digits is costly, and refused by the interpreter.
        document = json.loads(body.decode(), parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except UnicodeDecodeError as problem:
        return f"the body is not UTF-8 (byte {problem.start})"
    except json.JSONDecodeError as problem:
        return f"the body is not JSON (line {problem.lineno}, column {problem.colno})" if body else "the body is empty"
    except ValueError:
        return "the body is not JSON (NaN or Infinity)"
    except RecursionError:
        return _too_deep()
    if not isinstance(document, dict):
        return "the body is not a JSON object"
    return _too_deep() if _is_deeper(document, DEPTH_LIMIT) else None


def _is_deeper(document: object, limit: int) -> bool:
    level = [document]
    for _ in range(limit):
        level = [inner for value in level for inner in _within(value)]
        if not level:
            return False
    return True


def _within(value: object) -> list[object]:
    """The arrays and objects directly in a value."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [member for member in members if isinstance(member, dict | list)]


def _too_deep() -> str:
    return f"the body is nested deeper than {DEPTH_LIMIT} levels"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
