"""Compares two sides of a subscription, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.reports.document import Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deepdiff.model import DiffLevel

    FieldValues = Mapping[str, object]
    """One side of a comparison: a text or a set of texts for each field name."""


def differences(before: FieldValues, after: FieldValues) -> tuple[Field, ...]:
    """Return the fields that differ, sorted by name, or an empty tuple if both sides are equal.

    Items added to a set form one field, and items removed from it form another, which comes second.
    """
    if before == after:
        return ()
    if not before:
        return tuple(Field(name, after=", ".join(_items(after[name]))) for name in sorted(after))
    if not after:
        return tuple(Field(name, before=", ".join(_items(before[name]))) for name in sorted(before))
    from deepdiff import DeepDiff  # noqa: PLC0415 - it costs more to import than a plan takes

    fields: list[Field] = []
    sets: dict[tuple[str, bool], list[str]] = {}
    # deepdiff's own hasher fails on lone surrogates
    changes = DeepDiff(before, after, view="tree", hasher=hash, threshold_to_diff_deeper=0)
    for kind, levels in changes.items():
        for name, old, new in map(_name_and_texts, levels):
            if kind in ("set_item_added", "set_item_removed"):
                sets.setdefault((name, kind == "set_item_added"), []).append(new or old)
            else:
                fields.append(Field(name, old, new))
    for (name, added), items in sets.items():
        text = ", ".join(sorted(items))
        fields.append(Field(name, after=text) if added else Field(name, before=text))
    return tuple(sorted(fields, key=lambda field: (field.name, not field.after, field.before, field.after)))


def _name_and_texts(level: DiffLevel) -> tuple[str, str, str]:
    """Return the name of a field and its old and new values as text. A value is "" if its side lacks the field."""
    name = str(level.path(output_format="list")[0])
    return name, *(", ".join(_items(side)) for side in (level.t1, level.t2))  # type: ignore[return-value]


def _items(value: object) -> Iterator[str]:
    if isinstance(value, (set, frozenset, tuple, list)):
        yield from sorted(map(str, value))
    elif isinstance(value, str):
        yield value
