"""A remote as git resolves it: one URL to fetch from and one to push to, with the credentials separated.

A push is useful only if a fetch can read it back. `pushurl`, `pushInsteadOf` and a second `url` can send it to another
repository, and git reports success.

git passes a URL to its transport programs as an argument, which every user of the machine can read. So git gets the
URLs without credentials, and a credential helper gets those from the environment.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from reconciler.errors import SettingsError, StateError
from reconciler.state.stores.git.command import hide_user_info
from reconciler.state.stores.git.places import repository
from reconciler.state.stores.git.settings import REMOTE
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reconciler.state.stores.git.command import Git
    from reconciler.state.stores.git.settings import Settings

_LISTED = re.compile(r"([^\t]*)\t(.*) \((fetch|push)\)(?: \[[^\]]*\])?", re.DOTALL)
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(?:([^/]*)@)?([^/]*)(.*)", re.DOTALL | re.IGNORECASE)
_BY_CURL = ("http", "https", "ftp", "ftps")
_HELPER = (
    '!f() {{ test "$1" = get || exit 0; printf "username=%s\\npassword=%s\\n"'
    ' "$RECONCILER_GIT_{0}_USERNAME" "$RECONCILER_GIT_{0}_PASSWORD"; }}; f'
)
"""Run by a shell; its command line contains only the names of the variables. `printf` is built into the shell."""


class Side(Discreet, frozen=True):
    """One side of a remote: its URL without credentials, and the credentials, decoded."""

    unprinted = ("password",)

    url: str
    user: str | None = None
    password: str | None = None


class Remote(Struct, frozen=True):
    """The URLs for fetch and push of a remote; a path is relative to `directory`."""

    fetch: Side
    pushes: tuple[Side, ...]
    directory: Path

    @property
    def push(self) -> Side:
        return self.pushes[0]

    @property
    def proven(self) -> bool:
        """Whether fetch and push certainly use the same repository."""
        host, _ = here = repository(self.fetch.url, self.directory)
        return self.push.url == self.fetch.url or (host == "" and here == repository(self.push.url, self.directory))

    def refuse_elsewhere(self, where: str) -> None:
        """Raises StateError if fetch and push use different repositories."""
        here, there = (repository(side.url, self.directory) for side in (self.fetch, self.push))
        if len(self.pushes) == 1 and here == there:
            return
        pushed = " and to ".join(side.url for side in self.pushes)
        raise StateError(
            f"fetch uses {self.fetch.url} but push uses {pushed}: appended entries could not be read back",
            where=where,
            remedy="remove the extra `url`, the `pushurl` or the `pushInsteadOf` from the git configuration"
            " (git config --show-origin --get-regexp 'url'), or use one URL for both: --state git+URL#BRANCH",
        )

    def settings(self) -> Settings:
        """The settings for exactly these two URLs, each under an alias that no rule of the user rewrites."""
        settings = [(f"remote.{REMOTE}.url", f"{REMOTE}-fetch:"), (f"remote.{REMOTE}.pushurl", f"{REMOTE}-push:")]
        for name, side in self._sides():
            settings.append((f"url.{side.url}.insteadOf", f"{REMOTE}-{name.lower()}:"))
            settings += _credentials(name, side)
        return settings

    def variables(self) -> dict[str, str]:
        """The credentials, for the environment of git."""
        return {
            f"RECONCILER_GIT_{name}_{field}": value
            for name, side in self._sides()
            for field, value in (("USERNAME", side.user), ("PASSWORD", side.password))
            if value is not None
        }

    def _sides(self) -> Iterator[tuple[str, Side]]:
        yield "FETCH", self.fetch
        yield "PUSH", self.push


def remote_of(git: Git, name: str, directory: Path) -> Remote | None:
    """A remote as git resolves it, with all rules of the user applied; None if it has no URL.

    Raises SettingsError for a URL whose password git would show to other users, and StoreUnavailable.
    """
    listed = (_LISTED.fullmatch(line) for line in os.fsdecode(git.ask("remote", "-v")).split("\n"))
    urls = [(found[3], found[2]) for found in listed if found and found[1] == name]
    fetch = [_split(url, git.where) for side, url in urls if side == "fetch"]
    pushes = dict.fromkeys(_split(url, git.where) for side, url in urls if side == "push")
    return Remote(fetch[0], tuple(pushes), directory) if fetch and pushes else None


def _split(url: str, where: str) -> Side:
    """A URL with its credentials separated. ssh needs the user in its URL, and cannot use a password."""
    found = _URL.fullmatch(url)
    if found is None or not found[2]:
        if found is None and hide_user_info(url) != url:
            raise _unusable("this kind of URL cannot hold a password: every user of this machine could read it", where)
        return Side(url)
    scheme, given, host, path = found.groups()
    user, colon, password = given.partition(":")
    if scheme.lower() not in _BY_CURL:
        return Side(f"{scheme}://{user}@{host}{path}")
    return Side(f"{scheme}://{host}{path}", _decoded(user, where), _decoded(password, where) if colon else None)


def _decoded(text: str, where: str) -> str:
    decoded = os.fsdecode(unquote_to_bytes(text))
    if any(letter in decoded for letter in "\r\n\0"):
        raise _unusable("the user name or the password in the URL contains a line break", where)
    return decoded


def _unusable(what: str, where: str) -> SettingsError:
    return SettingsError(what, where=where, remedy="remove it from the URL, and use a git credential helper")


def _credentials(name: str, side: Side) -> Settings:
    """The settings for the credentials of one side, and no others; with a user name alone, the user's helpers apply."""
    found = _URL.fullmatch(side.url)
    if found is None or side.user is None:
        return []
    context = f"credential.{found[1]}://{found[3]}"
    if side.password is None:
        return [(f"{context}.username", side.user)]
    return [(f"{context}.helper", ""), (f"{context}.helper", _HELPER.format(name))]
