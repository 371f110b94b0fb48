"""From what the user calls a store (`--state`, `RECONCILER_STATE`) to the store."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from reconciler.errors import SettingsError, StateError
from reconciler.state.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.state.store import Store

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9.-]*(?=(\+[^/]*?)?:)|git(?=\+/)", re.IGNORECASE)


def open_store(spec: str, cache_directory: Path, environment: Mapping[str, str]) -> Store:
    """The store that a path or a URL names (interface, section 5).

    What a store keeps for its own use is below `cache_directory`; programs it runs get `environment`.

    No message echoes more of a URL than its scheme: the rest may hold credentials. Raises SettingsError for one that
    names no store, and StateError for a store that is not to be had.
    """
    if not spec.strip():
        raise SettingsError("the state record's place is empty", where="--state", remedy=_REMEDY)
    found = _SCHEME.match(spec)
    if found is None:
        return FileStore(Path(spec))
    scheme = found[0].lower()
    if scheme not in _OPENERS:
        known = ", ".join(f"{scheme}:" for scheme in _OPENERS)
        remedy = f"known are {known}; a path with a colon in it is written ./PATH"
        raise SettingsError(f"{scheme}: is no kind of store", where="--state", remedy=remedy)
    opener = _OPENERS[scheme]
    if opener is None:
        raise StateError(f"{scheme}: stores are not available in this version", where="--state", remedy=_REMEDY)
    return opener(spec, cache_directory, environment)


def _open_files(spec: str, *_: object) -> Store:
    """`file:PATH`, as it is written, or `file:///PATH`, percent-encoded as URLs are."""
    rest = spec.partition(":")[2]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise SettingsError("a file: URL names a path of this machine", where="--state", remedy=_REMEDY)
        rest = slash + unquote(path)
    if not rest:
        raise SettingsError("the state record's place is empty", where="--state", remedy=_REMEDY)
    return FileStore(Path(rest))


def _open_git(spec: str, cache_directory: Path, environment: Mapping[str, str]) -> Store:
    from reconciler.state.git_origin import open_git  # noqa: PLC0415 - a command pays only for what it uses

    return open_git(spec, cache_directory, environment)


_REMEDY = "name a directory, such as --state state or --state file:///srv/state"

_OPENERS: dict[str, Callable[[str, Path, Mapping[str, str]], Store] | None] = {
    "file": _open_files,
    "git": _open_git,
    "s3": None,
    "gs": None,
    "az": None,
    "postgresql": None,
}
"""What opens each kind of store; None for one that this version knows by name only."""
