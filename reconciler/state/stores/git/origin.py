"""Opens a git store by its location: which branch, of which remote, and with which settings."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import SettingsError, StateError
from reconciler.state.stores.git.branch import GitStore
from reconciler.state.stores.git.command import PATIENCE, Git, clean, hide_user_info, reason, trust
from reconciler.state.stores.git.mirror import Mirror, following
from reconciler.state.stores.git.remote import remote_of
from reconciler.state.stores.git.settings import REMOTE, adding, as_ours, beyond, identity, settings_of, with_settings
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.state.stores.git.remote import Remote
    from reconciler.state.stores.git.settings import Settings

_SPEC = re.compile(r"(?i:git)(?::(?P<own>.*)|\+(?P<url>[^#]*)(?:#(?P<branch>.*))?)", re.DOTALL)
_URL = re.compile(r"(?:(https?|ssh|git|file)://|/).+", re.DOTALL)
_MISREAD = re.compile(r"[a-z]+://[^/@\[]*:[^/@]*[^/@0-9][^/@]*(/|$)", re.IGNORECASE)
"""What is no port: a password that contains a slash, which ends the host; it would be in each message."""
_REF = re.compile(r"(refs/)?(heads|remotes/[^/]+)/(?P<branch>.+)|refs/.*")
_BY_URL = "git+https://HOST/PATH#BRANCH (or git+ssh://, git+file://, git+/PATH)"
_REMEDY = f"use git:BRANCH, or {_BY_URL}"


class Origin(Struct, frozen=True):
    """A remote: its name for messages, its URLs, and the git settings in effect where it was named."""

    location: str
    remote: Remote
    settings: Settings


def open_git(spec: str, cache_directory: Path, environment: Mapping[str, str], patience: float = PATIENCE) -> GitStore:
    """The store that `git:BRANCH` or `git+URL#BRANCH` names; one git command may take `patience` seconds.

    `git:BRANCH` is on the `origin` of the current repository, with that repository's settings for it; another
    repository is used with the user's settings, without those of the current repository.

    Raises SettingsError if no branch is named, StateError if the current directory is not in a repository with an
    `origin`, and StoreUnavailable if git cannot run.
    """
    url, branch = _parse(spec)
    environment = clean(environment)
    here = Git(Path.cwd(), environment, "--state", patience)
    _check_branch(here, branch)
    copies = Copies(cache_directory.absolute() / "git", environment, patience)
    origin = _origin_here(here, branch) if url is None else _origin_at(url, branch, copies)
    return GitStore(origin.location, copies.follow(origin, branch), origin.remote)


class Copies(Discreet, frozen=True):
    """The directory of the local copies of branches; `environment` and `patience` are for git commands on them."""

    unprinted = ("environment",)

    directory: Path
    environment: Mapping[str, str]
    patience: float

    def follow(self, origin: Origin, branch: str) -> Mirror:
        """A copy of a branch of a remote. Raises StoreUnavailable, and SettingsError for an unsafe directory."""
        place, remote = origin.location, origin.remote
        inner = settings_of(self.git(place, remote.directory, with_settings(self.environment, [])))
        tip = (f"remote.{REMOTE}.fetch", following(f"refs/heads/{branch}"))
        given = with_settings(self.environment, [*beyond(origin.settings, inner), *remote.settings(), tip])
        given |= remote.variables() | identity(self.environment, [*inner, *origin.settings])
        return Mirror(self._path(place), branch, self.git(place, remote.directory, given))

    def git(self, location: str, directory: Path, environment: Mapping[str, str]) -> Git:
        """git for the local copy of a location, which is created if needed."""
        path = self._path(location)
        own = {"GIT_DIR": str(path), "GIT_NO_REPLACE_OBJECTS": "1"}
        git = Git(directory, {**environment, **own}, location, self.patience)
        Mirror(path, "", git).make()
        return git

    def _path(self, location: str) -> Path:
        return self.directory / f"{sha256(os.fsencode(location)).hexdigest()[:32]}.git"


def _parse(spec: str) -> tuple[str | None, str]:
    """The URL, None for `git:`, and the branch. No message echoes them: they may contain credentials."""
    found = _SPEC.fullmatch(spec)
    if found is None or not (found["own"] is not None or _URL.fullmatch(found["url"])):
        raise SettingsError("not a git repository URL", where="--state", remedy=_REMEDY)
    if _MISREAD.match(found["url"] or ""):
        what = "a special character makes the URL ambiguous"
        raise SettingsError(what, where="--state", remedy=f"write / in a password as %2F, : as %3A; {_REMEDY}")
    branch = found["own"] or found["branch"]
    if not branch:
        raise SettingsError("no branch given", where="--state", remedy=_REMEDY)
    return found["url"], branch


def _check_branch(git: Git, branch: str) -> None:
    """Raises SettingsError for an invalid branch name, and for a shorthand such as `@{-1}`.

    A full ref is refused as well: git would create the branch refs/heads/refs/heads/x, another record than x.
    """
    ran = git.run("check-ref-format", "--branch", branch)
    if ran.code or ran.out != os.fsencode(f"{branch}\n"):
        raise SettingsError("not a valid branch name", where="--state", remedy=_REMEDY)
    ref = _REF.fullmatch(branch)
    if ref:
        short = ref["branch"] or "BRANCH"
        raise SettingsError(
            "expected a branch name, got a full ref",
            where="--state",
            remedy=f"use git:{short}, or git+URL#{short}",
        )


def _origin_at(url: str, branch: str, copies: Copies) -> Origin:
    """The branch of another repository. Raises SettingsError and StoreUnavailable."""
    named = adding(copies.environment, f"remote.{REMOTE}.url", url)
    git = copies.git(f"git+{hide_user_info(url)}#{branch}", Path("/"), named)
    remote = remote_of(git, REMOTE, Path("/"))
    if remote is None:
        raise SettingsError("not a git repository URL", where="--state", remedy=_REMEDY)
    return Origin(git.where, remote, settings_of(git))


def _origin_here(git: Git, branch: str) -> Origin:
    """The branch on the `origin` of the current repository. Raises StateError."""
    ran = git.run("rev-parse", "--show-cdup")
    if ran.code:
        raise StateError(reason(ran.err), where=f"git:{branch}", remedy=_remedy(ran.err))
    top = (Path.cwd() / os.fsdecode(ran.out.rstrip(b"\n"))).resolve()
    origin = origin_of(git, "origin", branch, top)
    if origin is None:
        what = "the current repository has no remote `origin`"
        raise StateError(what, where=f"git:{branch}", remedy=f"run: git remote add origin URL; or use {_BY_URL}")
    return origin


def origin_of(git: Git, name: str, branch: str, top: Path) -> Origin | None:
    """The branch on a remote of the repository that `git` is at, whose top is `top`; None for one without a URL.

    Raises SettingsError and StoreUnavailable.
    """
    settings = settings_of(git)
    urls = [value for setting, value in settings if setting == f"remote.{name}.url"]
    remote = remote_of(git, name, top) if urls else None
    if remote is None:
        return None
    return Origin(f"git:{branch} of {hide_user_info(_absolute(urls[0], top))}", remote, as_ours(settings, name))


def _absolute(url: str, top: Path) -> str:
    """A URL as it is, and a path (what has no colon before its first slash) in full: locations must not be confused."""
    return url if ":" in url.partition("/")[0] else os.path.normpath(top / url)


def _remedy(stderr: bytes) -> str:
    return trust(stderr) or f"run it inside the repository; or use {_BY_URL}"
