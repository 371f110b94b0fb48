"""Opens the store that `state:`, RECONCILER_STATE or `--state` names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from reconciler.errors import Message, SettingsError, Step
from reconciler.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.record.store import Store

_SCHEME = re.compile(r"(?i:([a-z][a-z0-9.-]*)(?:\+[^:]*)?:|(git)\+)")
CREDENTIALS: Final = re.compile(
    r"[a-z0-9+.-]+://[^?#]*:[^?#]*@"  # a password before the host, possibly with a slash in it
    r"|git\+(?:https?|file)://[^/]*@"  # a token in place of a user name
    r"|git\+[^:/]*:[^@/]*@"
    r"|.*[?&][^&=]*(?:password|secret|%)[^&=]*=",  # a keyword may be percent-encoded
    re.IGNORECASE | re.DOTALL,
)
"""Matches a place that may hold credentials, which must not appear in any message."""

_FORMS = Step(
    "use a path, file:PATH, git:BRANCH, git+URL#BRANCH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX"
    " or postgresql://HOST/DATABASE"
)
_NO_CREDENTIALS = Step(
    "remove them, and use a git credential helper, the variables of the object store, PGPASSWORD or a password file"
)


def open_store(place: str, config: Path, cache: Path) -> Store:
    """Return the store for a place.

    Paths are relative to the directory that contains `config`, and `git:` means the repository there. A store on a git
    branch keeps a copy of the branch under `cache`. A remote place is not contacted yet. A place appears in a message
    only after it has been checked for credentials. Raises SettingsError for an invalid place, and for a place whose
    library is not installed.
    """
    root = Path(os.path.abspath(config)).parent  # noqa: PTH100 - a symbolic link to config/ is not resolved
    if not place.strip():
        raise _unusable("place-empty", "the place of the record is empty")
    if not place.isprintable():
        raise _unusable("place-control-character", "the place of the record contains a control character")
    if CREDENTIALS.match(place):
        what = "the place of the record contains credentials"
        raise SettingsError(Message("place-credentials", what, "--state", (_NO_CREDENTIALS,)))
    named = _SCHEME.match(place)
    scheme = (named[1] or named[2]).lower() if named else "file"
    match scheme:
        case "file":
            return FileStore(root / _path(place if named else "file:" + re.sub("^/+", "/", place)))
        case "git":
            from reconciler.stores.git.branch import open_git  # noqa: PLC0415 - only for this kind of place

            return open_git(place, root, cache)
        case "s3" | "gs" | "az":
            return _opened(place, "obstore", "objectstore", _open_objects)
        case "postgresql":
            return _opened(place, "psycopg", "postgres", _open_postgres)
    colon = Step("write a path that contains a colon as ./PATH")
    raise _unusable("place-unknown", f"unknown kind of place {scheme}:", colon)


def _path(place: str) -> str:
    """Return the path of `file:PATH`, taken literally, or of `file:///PATH`, which is percent-decoded."""
    path = place.partition(":")[2]
    if path.startswith("//"):
        host, slash, rest = path[2:].partition("/")
        if host not in ("", "localhost"):
            raise _unusable("place-host", "a file: URL cannot have a host")
        path = unquote(slash + rest)
        if not path.isprintable():
            raise _unusable("place-control-character", "the place of the record contains a control character")
    if not path or path.endswith("/"):
        raise _unusable("place-no-file", "the place of the record names no file")
    return path


def _opened(place: str, library: str, extra: str, opener: Callable[[str], Store]) -> Store:
    try:
        return opener(place)
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != library:
            raise
    install = Step(f"install reconciler with this extra: pip install 'reconciler[{extra}]'")
    what = f"this kind of place needs {library}, which is not installed"
    raise SettingsError(Message("place-library-missing", what, place, (install,)))


def _open_objects(place: str) -> Store:
    from reconciler.stores.objects import open_objects  # noqa: PLC0415 - obstore is optional

    return open_objects(place)


def _open_postgres(place: str) -> Store:
    from reconciler.stores.postgres import open_postgres  # noqa: PLC0415 - psycopg is optional

    return open_postgres(place)


def _unusable(name: str, what: str, *steps: Step) -> SettingsError:
    return SettingsError(Message(name, what, "--state", (*steps, _FORMS)))
