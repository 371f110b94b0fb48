"""Entries as plain dicts for JSON, and back: the content of a journal line without the hash chain."""

from __future__ import annotations

import json
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING

from msgspec import NODEFAULT, MsgspecError, Struct
from msgspec.json import Decoder

from reconciler.model.address import Address, TargetName
from reconciler.model.entry import (
    LAST_SECOND,
    Begun,
    Bound,
    Closed,
    Imported,
    Intent,
    Joined,
    Moved,
    Observed,
    Opened,
    Removed,
    Resealed,
    Resolved,
    Restored,
    Retired,
    RollbackAccepted,
    SecretSet,
    Settled,
)
from reconciler.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.model.entry import AnyEntry, Scalar

_decode = json.JSONDecoder().decode

FORMAT = 1
"""The format of journals that this version writes, and the only one it reads."""


class _Shape(Struct, frozen=True):
    """How one field looks in JSON: `read` and `write` convert it; `read` raises _Mistyped."""

    read: Callable[[object], object]
    write: Callable[..., object]


class _Field(Struct, frozen=True):
    """One field of a kind of entry. `name` is the entry's, `key` the journal's. An empty default is left out."""

    name: str
    key: str
    shape: _Shape
    optional: bool
    default: object


class _Layout(Struct, frozen=True):
    """One kind of entry: what builds it, and its fields by the journal's keys."""

    build: Callable[..., AnyEntry]
    fields: Mapping[str, _Field]
    required: frozenset[str]


class _Mistyped(ValueError):
    """The value in a journal has the wrong type; the message is the end of a sentence about the field."""


def to_fields(entry: AnyEntry) -> dict[str, object]:
    """The entry as a dict for JSON, in the order in which it reads best; empty defaults are left out."""
    fields: dict[str, object] = {"at": entry.at, "kind": entry.kind}
    for key, field in _LAYOUTS[entry.kind].fields.items():
        value = getattr(entry, field.name)
        if not (field.optional and value == field.default):
            fields[key] = field.shape.write(value)
    fields["by"] = fields.pop("by")
    return fields


def from_fields(given: Mapping[str, object]) -> AnyEntry:
    """The entry that `to_fields` turned into these fields.

    Raises ValueError, with a text that names the field, for an unknown kind and a missing, unknown or mistyped field.
    """
    kind = given.get("kind")
    layout = _LAYOUTS.get(kind) if isinstance(kind, str) else None
    if layout is None:
        raise ValueError(f"unknown entry kind {kind!r:.80} (written by a newer version?)")
    values = {}
    for key, value in given.items():
        if key == "kind":
            continue
        field = layout.fields.get(key)
        if field is None:
            raise ValueError(f"unknown field {key!r:.80} (written by a newer version?)")
        try:
            values[field.name] = field.shape.read(value)
        except _Mistyped as problem:
            raise ValueError(f"field {key!r} {problem}") from None
    if not layout.required <= given.keys():
        raise ValueError(f"missing field {min(layout.required - given.keys())!r}")
    return layout.build(**values)


def from_json(data: bytes) -> AnyEntry:
    """The entry that a JSON object describes: `from_fields` of what `json` reads in it.

    Raises ValueError, and RecursionError for what is nested too deeply.
    """
    if b"null" not in data:  # what is decoded at once would take it for a default
        try:
            return _usual_decoder()(data)
        except (MsgspecError, ValueError, RecursionError):
            pass
    return from_fields(_decode(data.decode()))


@cache
def _usual_decoder() -> Callable[[bytes], AnyEntry]:
    """What decodes the kinds of which a journal has many, at once; it raises for whatever it does not take.

    What it takes, `from_fields` takes for the same. It is made when it is first needed, since that takes a while.
    """
    return Decoder(Intent | Settled | Imported | Retired | Removed | Observed, dec_hook=_read_address).decode


def _read_address(_: type, value: object) -> Address:
    """An address, the only type of these entries that JSON does not have."""
    return Address(_read_text(value))


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise _Mistyped("must be a string")
    return value


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Mistyped("must be true or false")
    return value


def _read_integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Mistyped("must be a whole number")
    return value


def _read_number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < LAST_SECOND:
        raise _Mistyped("must be a number of seconds before the year 10000")
    return float(value)


def _read_format(value: object) -> int:
    if _read_integer(value) != FORMAT:
        raise _Mistyped(f"is {value}, but this version supports {FORMAT} (written by a newer version?)")
    return FORMAT


def _read_outcome(value: object) -> Outcome:
    try:
        return Outcome(_read_text(value))
    except ValueError:
        raise _Mistyped(f"must be one of {', '.join(Outcome)}") from None


def _read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(map(_is_text, value)):
        raise _Mistyped("must be a list of strings")
    return tuple(value)


def _read_names(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(map(_is_text, value.values())):
        raise _Mistyped("must be an object of strings")
    return value


def _read_scalars(value: object) -> dict[str, Scalar]:
    if not isinstance(value, dict) or not all(map(_is_scalar, value.values())):
        raise _Mistyped("must be an object of strings, numbers and booleans")
    return value


def _read_lines(value: object) -> tuple[tuple[AnyEntry, str], ...]:
    if not isinstance(value, list) or not all(map(_is_line, value)):
        raise _Mistyped("must be a list of entries, each with its hash")
    try:
        return tuple((from_fields(line["entry"]), line["hash"]) for line in value)
    except ValueError as problem:
        raise _Mistyped(f"contains an invalid entry: {problem}") from None


def _write_lines(lines: tuple[tuple[AnyEntry, str], ...]) -> list[dict[str, object]]:
    return [{"hash": digest, "entry": to_fields(entry)} for entry, digest in lines]


def _is_line(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"hash", "entry"}
        and isinstance(value["hash"], str)
        and isinstance(value["entry"], dict)
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))


_TEXT = _Shape(_read_text, str)
_TARGET = _Shape(lambda value: TargetName(_read_text(value)), str)
_ADDRESS = _Shape(lambda value: Address(_read_text(value)), str)
_OUTCOME = _Shape(_read_outcome, str)
_FLAG = _Shape(_read_flag, bool)
_INTEGER = _Shape(_read_integer, int)
_NUMBER = _Shape(_read_number, float)
_FORMAT = _Shape(_read_format, int)
_TEXTS = _Shape(_read_texts, list)
_NAMES = _Shape(_read_names, dict)
_SCALARS = _Shape(_read_scalars, dict)
_LINES = _Shape(_read_lines, _write_lines)


def _layout(kind: type[AnyEntry], **shapes: _Shape) -> _Layout:
    """The layout of a kind, every field of which has its shape: a field without one is a KeyError on import."""
    shapes |= {"at": _TEXT, "by": _NAMES}
    laid_out = {}
    defaults = _defaults(kind)
    for name, key in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        optional = name in defaults and not defaults[name]
        laid_out[key] = _Field(name, key, shapes[name], optional, defaults.get(name))
    return _Layout(kind, laid_out, frozenset(key for key, field in laid_out.items() if not field.optional))


def _defaults(kind: type[AnyEntry]) -> dict[str, object]:
    """The defaults of a kind's fields, by name. Of an empty dict, msgspec keeps what makes one, its `factory`."""
    last = zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False)
    given = {name: default for name, default in last if default is not NODEFAULT}
    return {name: default.factory() if hasattr(default, "factory") else default for name, default in given.items()}


_LAYOUTS: dict[str, _Layout] = {
    Begun.kind: _layout(Begun, record=_TEXT, target=_TARGET, base_url=_TEXT, format=_FORMAT, forced=_FLAG),
    Bound.kind: _layout(Bound, base_url=_TEXT, account=_TEXT, forced=_FLAG),
    Intent.kind: _layout(
        Intent, attempt=_TEXT, address=_ADDRESS, action=_TEXT, codes=_TEXTS, url=_TEXT, send_by=_NUMBER,
        settled_by=_NUMBER, run=_TEXT,
    ),
    Settled.kind: _layout(
        Settled, attempt=_TEXT, outcome=_OUTCOME, status=_INTEGER, detail=_TEXT, date=_TEXT, fields=_SCALARS,
        response=_TEXT,
    ),
    Resolved.kind: _layout(Resolved, attempt=_TEXT, created=_FLAG, note=_TEXT, forced=_FLAG),
    Imported.kind: _layout(
        Imported, attempt=_TEXT, address=_ADDRESS, codes=_TEXTS, url=_TEXT, partial=_FLAG,
    ),
    Retired.kind: _layout(Retired, attempt=_TEXT, reason=_TEXT),
    Restored.kind: _layout(Restored, attempt=_TEXT),
    Removed.kind: _layout(Removed, attempt=_TEXT, forced=_FLAG),
    Moved.kind: _layout(Moved, source=_ADDRESS, address=_ADDRESS),
    SecretSet.kind: _layout(SecretSet, attempt=_TEXT, secret=_TEXT),
    Resealed.kind: _layout(Resealed, attempt=_TEXT, original=_TEXT, sealed=_TEXT, recipients=_TEXTS),
    RollbackAccepted.kind: _layout(
        RollbackAccepted, lost_head=_TEXT, lost_entries=_INTEGER, lost_record=_TEXT, forced=_FLAG,
    ),
    Observed.kind: _layout(Observed, address=_ADDRESS, url=_TEXT, received=_NAMES),
    Joined.kind: _layout(Joined, source=_TEXT, head=_TEXT, entries=_INTEGER, after=_TEXT, lines=_LINES),
    Closed.kind: _layout(Closed, source=_TEXT, to=_TEXT, complete=_FLAG, forced=_FLAG),
    Opened.kind: _layout(Opened, place=_TEXT, forced=_FLAG),
}  # fmt: skip
