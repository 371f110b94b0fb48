"""One location in several spellings: of a repository's URL, and of a git store."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

_LOCATION = re.compile(
    r"git:(?P<branch>[^ ]+) of (?P<url>.+)|git\+(?P<other_url>[^#]+)#(?P<other_branch>.+)", re.DOTALL
)
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(?:[^/]*@)?([^/]*)(.*)", re.DOTALL | re.IGNORECASE)
_SCP = re.compile(r"(?:[^/]*@)?(\[[^]/]*\]|[^/:]*):(.*)", re.DOTALL)
_PORT = re.compile(r":\d*$")
_REPOSITORY = ("/.git", "", ".git/.git", ".git")
"""What git tries behind a path, in this order."""


def repository(url: str, directory: Path = Path("/")) -> tuple[str, str]:
    """The host of a URL, "" for this machine, and the path there, normalized; a path is relative to `directory`.

    Two results may still be one repository: a server can give it any number of names.
    """
    found = _URL.fullmatch(url)
    if found and found[1].lower() != "file":
        return _PORT.sub("", found[2]).lower(), _bare(unquote(found[3]))
    if found:
        return "", _on_disk(unquote(found[3]))
    scp = _SCP.fullmatch(url)
    return (scp[1].lower(), _bare(scp[2])) if scp else ("", _on_disk(str(directory / url)))


def branch_place(location: str) -> str:
    """The location of a git store, normalized; "" for the location of another store."""
    found = _LOCATION.fullmatch(location)
    if found is None:
        return ""
    host, path = repository(found["url"] or found["other_url"])
    return f"{found['branch'] or found['other_branch']} {host}:{path}"


def _bare(path: str) -> str:
    """A path on a server, without its optional parts."""
    return path.strip("/").removesuffix(".git").rstrip("/")


def _on_disk(path: str) -> str:
    """The real path of the repository that git finds at a path of this machine."""
    found = (path + suffix for suffix in _REPOSITORY if Path(path + suffix, "HEAD").exists())
    return os.path.realpath(next(found, path))
