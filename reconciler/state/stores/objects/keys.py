"""The keys of objects: `<region>/<environment>/<number>.jsonl`, and of packs `<region>/<environment>/packs/…`.

The number is that of an object's first entry. A pack has the number of the last object that it holds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKS = "/packs"
_NUMBERED = re.compile(r"(\d{12})\.jsonl")


def object_key(target: str, number: int) -> str:
    """The key of the object whose first entry is the `number`-th, from 1."""
    return f"{target}/{number:012}.jsonl"


def pack_folder(target: str) -> str:
    """Where the packs of a journal are."""
    return f"{target}{PACKS}"


def pack_key(target: str, number: int) -> str:
    """The key of the pack that holds all objects up to the one with that number."""
    return f"{pack_folder(target)}/{number:012}.jsonl"


def has_numbers(keys: Iterable[str], target: str) -> bool:
    """Whether an object or a pack of the journal is among the keys."""
    listed = list(keys)
    return any(numbers_in(folder, listed) for folder in (target, pack_folder(target)))


def numbers_in(folder: str, keys: Iterable[str]) -> list[int]:
    """The numbers of the objects that are in `folder` itself, sorted; other keys are ignored."""
    found = (_NUMBERED.fullmatch(key.removeprefix(f"{folder}/")) for key in keys)
    return sorted({int(match[1]) for match in found if match})
