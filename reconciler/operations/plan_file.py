"""Plans as files: what `plan --out` and `--page` write, and what `apply PLANFILE` reads."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from reconciler.disk.durable import replace_file
from reconciler.errors import SettingsError
from reconciler.model.selection import is_pattern


class SavedPlan(Struct, frozen=True):
    """What a plan file says of the plan it was made from: never anything to send."""

    file: str
    selection: tuple[str, ...]
    digest: str
    targets: Mapping[str, str]
    """The digest of each target's part."""


def write_plan_file(path: Path, text: str, option: str) -> None:
    """Write a plan whole or not at all: a part of one must not pass for a plan.

    Raises SettingsError, which names `option`, the one that `path` is from.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")  # a pipe or a device
            return
        target = Path(os.path.realpath(path))  # a link stays a link
        replace_file(target, text.encode(errors="replace"), 0o644)
    except OSError as problem:
        raise SettingsError(f"cannot write the plan: {problem.strerror}", where=f"{option} {path}") from None


def read_plan_file(path: Path) -> SavedPlan:
    """A plan as `plan --out` wrote it. Raises SettingsError for a file that is not one."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as problem:
        raise SettingsError(
            f"cannot read the plan file: {problem.strerror}", where=path, remedy=_selecting(str(path))
        ) from None
    except (ValueError, RecursionError):
        document = None
    match document:
        case {"format_version": str(version), "digest": str(digest), "selection": list(selection), "targets": dict()}:
            digests = {name: _digest_of(target) for name, target in document["targets"].items()}
            are_texts = all(isinstance(pattern, str) for pattern in selection)
            if version.startswith("1.") and all(digests.values()) and are_texts:
                return SavedPlan(str(path), tuple(selection), digest, digests)
    raise SettingsError(
        "not a plan file of this version", where=path, remedy="to make a new one, run: reconciler plan --out FILE"
    )


def _selecting(path: str) -> str | None:
    """What to run if what was given is a target or an address, and no file."""
    if not is_pattern(path) or "." in path or os.path.lexists(path):
        return None
    return f"to apply the changes of a target or an address only, run: reconciler apply -t {shlex.quote(path)}"


def _digest_of(target: object) -> str:
    match target:
        case {"digest": str(digest)}:
            return digest
        case _:
            return ""
