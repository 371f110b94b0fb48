"""From what the user calls a git store to the store: which branch, of which remote, and with whose settings."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import SettingsError, StateError
from reconciler.state.git import GitStore
from reconciler.state.git_command import PATIENCE, Git, clean, reason, redact
from reconciler.state.git_mirror import Mirror
from reconciler.state.git_settings import beyond, identity, remotes_of, settings_of, with_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.state.git_settings import Settings

_SPEC = re.compile(r"(?i:git)(?::(?P<own>.*)|\+(?P<url>[^#]*)(?:#(?P<branch>.*))?)", re.DOTALL)
_URL = re.compile(r"(?:(https?|ssh|git|file)://|/).+", re.DOTALL)
_REMEDY = "write git:BRANCH, or git+https://HOST/PATH#BRANCH (or git+ssh://, git+file://, git+/PATH)"
_UNTRUSTED = re.compile(rb"dubious ownership in repository at '(.*)'")


@dataclass(frozen=True, slots=True)
class _Origin:
    """A branch of a remote: what it is called in messages, and the settings in effect where it was named.

    A remote may be a path, and a path may be relative: to `directory`.
    """

    location: str
    directory: Path
    remotes: Settings
    settings: Settings | None = None


def open_git(spec: str, cache_directory: Path, environment: Mapping[str, str], patience: float = PATIENCE) -> GitStore:
    """The store that `git:BRANCH` or `git+URL#BRANCH` names; one git command may take `patience` seconds.

    `git:BRANCH` is on the `origin` of the repository one stands in, with all of that repository's settings for it;
    another repository has the user's settings, and not those of whichever one stands in.

    Raises SettingsError for what names no branch, StateError where one stands in no repository or in one without an
    `origin`, and StoreUnavailable where git cannot be run.
    """
    url, branch = _parse(spec)
    environment = clean(environment)
    here = Git(Path.cwd(), environment, "--state", patience)
    _check_branch(here, branch)
    origin = _origin_here(here, branch) if url is None else _origin_at(url, branch)
    path = cache_directory.absolute() / "git" / f"{sha256(os.fsencode(origin.location)).hexdigest()[:32]}.git"

    def git(variables: Mapping[str, str]) -> Git:
        return Git(origin.directory, {**variables, "GIT_DIR": str(path)}, origin.location, patience)

    bare = git(with_settings(environment, origin.remotes))
    Mirror(path, branch, bare).make()
    inner = settings_of(bare)
    outer = settings_of(git(environment)) if origin.settings is None else origin.settings
    variables = with_settings(environment, [*origin.remotes, *beyond(outer, inner)])
    return GitStore(origin.location, Mirror(path, branch, git(variables | identity(environment, [*inner, *outer]))))


def _parse(spec: str) -> tuple[str | None, str]:
    """The URL, None for `git:`, and the branch. No message echoes them: there may be credentials in them."""
    found = _SPEC.fullmatch(spec)
    if found is None or not (found["own"] is not None or _URL.fullmatch(found["url"])):
        raise SettingsError("this names no git repository", where="--state", remedy=_REMEDY)
    branch = found["own"] or found["branch"]
    if not branch:
        raise SettingsError("the branch is missing", where="--state", remedy=_REMEDY)
    return found["url"], branch


def _check_branch(git: Git, branch: str) -> None:
    """Raises SettingsError for what no branch can be called, and for what only stands for a branch, as `@{-1}`."""
    ran = git.run("check-ref-format", "--branch", branch)
    if ran.code or ran.out != os.fsencode(f"{branch}\n"):
        raise SettingsError("no branch can have this name", where="--state", remedy=_REMEDY)


def _origin_at(url: str, branch: str) -> _Origin:
    return _Origin(f"git+{redact(url)}#{branch}", Path("/"), [("remote.origin.url", url)])


def _origin_here(git: Git, branch: str) -> _Origin:
    """The branch on the `origin` of the repository one stands in. Raises StateError."""
    ran = git.run("rev-parse", "--show-cdup")
    if ran.code:
        raise StateError(reason(ran.err), where=f"git:{branch}", remedy=_remedy(ran.err))
    settings = settings_of(git)
    top = (Path.cwd() / os.fsdecode(ran.out.rstrip(b"\n"))).resolve()
    urls = [value for name, value in settings if name == "remote.origin.url"]
    if not urls:
        what = "the repository one stands in has no remote `origin`"
        raise StateError(what, where=f"git:{branch}", remedy=f"git remote add origin URL; or {_REMEDY}")
    location = f"git:{branch} of {redact(_absolute(urls[0], top))}"
    return _Origin(location, top, remotes_of(settings), settings)


def _absolute(url: str, top: Path) -> str:
    """A URL as it is, and a path (what has no colon before its first slash) in full: locations must not be confused."""
    return url if ":" in url.partition("/")[0] else os.path.normpath(top / url)


def _remedy(stderr: bytes) -> str:
    untrusted = _UNTRUSTED.search(stderr)
    if untrusted is None:
        return f"run it inside the repository; or {_REMEDY}"
    command = f"git config --global --add safe.directory {os.fsdecode(untrusted[1])}"
    return f"it belongs to another user; if you trust it: {command}"
