"""Opens the store that `--state` or `RECONCILER_STATE` names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from reconciler.errors import SettingsError
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.state.stores.store import Store

_SCHEME = r"(?i:[a-z][a-z0-9.-]*(?=(\+[^/]*?)?:)|git(?=\+/))"


def open_store(spec: str, cache_directory: Path, environment: Mapping[str, str]) -> Store:
    """The store that a path or a URL names.

    Stores put files for their own use below `cache_directory`; programs they run get `environment`.

    No message echoes more of a URL than its scheme: the rest may contain credentials. Raises SettingsError if the value
    does not name a store, or names one whose library is not installed.
    """
    if not spec.strip():
        raise SettingsError("the value is empty", where="--state", remedy=_REMEDY)
    _refuse_control(spec, "value", "remove it")
    found = re.match(_SCHEME, spec) if ":" in spec or "+/" in spec else None
    if found is None:
        return FileStore(Path(spec))
    scheme = found[0].lower()
    if scheme not in _OPENERS:
        known = ", ".join(f"{scheme}:" for scheme in _OPENERS)
        remedy = f"valid types: {known}; write a path that contains a colon as ./PATH"
        raise SettingsError(f"unknown store type {scheme}:", where="--state", remedy=remedy)
    return _OPENERS[scheme](spec, cache_directory, environment)


def holds_password(spec: str) -> bool:
    """Whether a value is a URL with a password in it."""
    return "://" in spec and re.search(_CREDENTIALS, spec) is not None


def _open_files(spec: str, *_: object) -> Store:
    """`file:PATH`, taken literally, or `file:///PATH`, percent-encoded like any URL."""
    rest = spec.partition(":")[2]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise SettingsError("a file: URL cannot have a host", where="--state", remedy=_REMEDY)
        rest = _decoded(slash + path)
    if not rest:
        raise SettingsError("the value is empty", where="--state", remedy=_REMEDY)
    return FileStore(Path(rest))


def _decoded(path: str) -> str:
    """The path of a file: URL. Raises SettingsError for one that is not a path, or is ambiguous."""
    if "%2f" in path.lower():
        what = "the path contains an encoded slash, %2F, which could mean two directories or one name"
        raise SettingsError(what, where="--state", remedy="write /")
    decoded = os.fsdecode(unquote_to_bytes(path))
    control = re.search(_CONTROL, decoded)
    _refuse_control(decoded, "path", f"remove %{ord(control[0]):02X}" if control else "")
    return decoded


def _refuse_control(text: str, what: str, remedy: str) -> None:
    """Raises SettingsError for text that contains a control character, which messages cannot show."""
    control = None if text.isprintable() else re.search(_CONTROL, text)
    if control is None:
        return
    if control[0] == "\0":
        name = "a NUL character"
    elif len(f"a{control[0]}b".splitlines()) > 1:
        name = "a line break"
    else:
        name = f"the control character U+{ord(control[0]):04X} at position {control.start() + 1}"
    raise SettingsError(f"the {what} contains {name}", where="--state", remedy=remedy)


def _open_git(spec: str, cache_directory: Path, environment: Mapping[str, str]) -> Store:
    from reconciler.state.stores.git.origin import open_git  # noqa: PLC0415 - a command pays only for what it uses

    return open_git(spec, cache_directory, environment)


def _open_bucket(spec: str, _: Path, environment: Mapping[str, str]) -> Store:
    try:
        from reconciler.state.stores.objects.places import open_bucket  # noqa: PLC0415 - and obstore is optional
    except ImportError:
        raise _not_installed(f"{spec.partition(':')[0].lower()}:", "obstore", "objectstore") from None
    return open_bucket(spec, environment)


def _open_postgres(spec: str, _: Path, environment: Mapping[str, str]) -> Store:
    try:
        from reconciler.state.stores.postgres.table import open_postgres  # noqa: PLC0415 - and psycopg is optional
    except ImportError:
        raise _not_installed("postgresql:", "psycopg", "postgres") from None
    return open_postgres(spec, environment)


def _not_installed(scheme: str, library: str, extra: str) -> SettingsError:
    return SettingsError(
        f"{scheme} stores need {library}, which is not installed",
        where="--state",
        remedy=f"install reconciler with it; in its sources, run: pip install '.[{extra}]'",
    )


_CREDENTIALS = r"://[^/@]*:[^/]*@|[?&](ssl)?password="
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"
_REMEDY = (
    "use a directory (--state state, --state file:///srv/state), a git branch (--state git:BRANCH), an object store"
    " (--state s3://BUCKET/PREFIX) or a database (--state postgresql://HOST/DATABASE)"
)

_OPENERS: dict[str, Callable[[str, Path, Mapping[str, str]], Store]] = {
    "file": _open_files,
    "git": _open_git,
    "s3": _open_bucket,
    "gs": _open_bucket,
    "az": _open_bucket,
    "postgresql": _open_postgres,
}
"""The function that opens each type of store."""
