"""Substitution in `webhookUrl`: `{variable}`, once; `{{` and `}}` stand for braces."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE: Final = "[a-z][a-z0-9_]*"
"""How the name of a variable is written, as a regular expression."""

_SOUND = re.compile(rf"(?:[^{{}}]++|\{{\{{|\}}\}}|\{{{VARIABLE}\}})*+")
_PIECE = rf"[^{{}}]+|\{{\{{|\}}\}}|\{{({VARIABLE})\}}"
_DOUBLED = {"{{": "{", "}}": "}"}


def is_sound(template: str) -> bool:
    """Whether every brace belongs to a placeholder or is doubled."""
    return _SOUND.fullmatch(template) is not None


def expand(template: str, variables: Mapping[str, str], limit: int) -> str:
    """A sound template with its variables put in; values are not looked into again.

    It breaks off where it is longer than `limit` characters: a few long values, put in often, would fill memory.
    Raises KeyError with the name of a variable that is not known.
    """
    if "{" not in template and "}" not in template:
        return template
    if len(template) <= limit and max(map(len, variables.values())) <= limit:
        with suppress(KeyError):  # which counts only where the text before it is not too long
            expanded = template.format_map(variables)
            if len(expanded) <= limit:
                return expanded
    return _expand_piecewise(template, variables, limit)


def _expand_piecewise(template: str, variables: Mapping[str, str], limit: int) -> str:
    pieces, length = [], 0
    for piece in re.finditer(_PIECE, template):
        pieces.append(variables[piece[1]] if piece[1] else _DOUBLED.get(piece[0], piece[0]))
        length += len(pieces[-1])
        if length > limit:
            break
    return "".join(pieces)
