"""The JSON Schema of a file in `config/`, for editors, made of the table in `fields`.

A file that the loader accepts is valid under it. Mistakes that only show when all files are merged, in the YAML source
(a key twice, an anchor, `~` for `null`) or in the environment are for `reconciler validate`.
"""

from __future__ import annotations

import re
from typing import Any

from reconciler.desired.fields import FILE, Field, Shape

_SCALAR = ["string", "number", "boolean"]
"""Text that may read like a number or a boolean: the loader takes scalars as they are written."""


def schema() -> dict[str, Any]:
    """Return the schema, as a JSON document of draft 7, which the YAML language server of most editors reads."""
    root = _schema_of(FILE)
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "A file in the config/ of reconciler"}
    return {**head, **root, "type": ["object", "null"]}


def _schema_of(field: Field) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": field.description} if field.description else {}
    match field.shape:
        case Shape.TEXT if field.words:
            schema["enum"] = list(map(str, field.words))
        case Shape.TEXT:
            like_number = any(re.fullmatch(field.pattern, digits) for digits in ("1", "1" * 32))
            schema |= {"type": _SCALAR if like_number else "string", "pattern": f"^({field.pattern})$"}
        case Shape.FLAG:
            schema["type"] = "boolean"
        case Shape.LIST if field.item:
            schema |= {"type": "array", "items": _schema_of(field.item)}
            if field.item.shape is Shape.TEXT:
                schema |= {"minItems": 1, "uniqueItems": True}
        case Shape.NAMES if field.item:
            named = {f"^({field.pattern})$": _schema_of(field.item)}
            schema |= {"type": "object", "additionalProperties": False, "patternProperties": named}
        case Shape.MAPPING:
            schema |= {"type": ["object", "null"] if field.nullable else "object", "additionalProperties": False}
            schema["properties"] = {name: _schema_of(key) for name, key in field.known.items()}
            schema["required"] = [key.name for key in field.keys if key.required]
        case _:
            raise AssertionError(field.name)
    return schema
