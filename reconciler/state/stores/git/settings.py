"""The user's git settings, as the repository one stands in has them, for a repository somewhere else.

Commands that work on the user's repository itself would leave traces in it: a fetch writes FETCH_HEAD, `shallow` and
objects, a push moves remote-tracking branches. So they work on one of our own, and take the settings along. To include
the user's configuration file there is not enough: conditions such as `includeIf "gitdir:…"`, by which actions/checkout
and many users tell credentials apart, would be judged by the other repository. And to write them down there would leave
credentials in a cache. So git is asked, where the user stands, what is in effect, and the difference is handed over in
the environment of each command.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.state.stores.git.command import Git

REMOTE = "reconciler"
"""The remote's name in a repository of our own: `origin` may have another URL in the user's own settings."""

Settings = list[tuple[str, str]]
"""Names and values in git's order: of several values for one name the last counts, or all."""

_TAKEN = re.compile(
    r"(http|credential|url|protocol|ssh|user|author|committer|safe)\..*"
    r"|core\.(sshcommand|askpass|gitproxy)|push\.pushoption"
    rf"|remote\.{REMOTE}\.(proxy|proxyauthmethod|uploadpack|receivepack|vcs|serveroption)"
)
"""What is said of remotes, credentials and people; the rest is about the user's own repository."""

_OURS: Settings = [
    ("core.hooksPath", os.devnull),
    ("commit.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("i18n.commitEncoding", "UTF-8"),
]
_NOBODY = {"name": "reconciler", "email": "reconciler@localhost.invalid"}
_COMMAND = re.compile(r"GIT_CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)")


def settings_of(git: Git) -> Settings:
    """All settings in effect. Raises StoreUnavailable."""
    listed = git.ask("config", "--list", "--null").split(b"\0")[:-1]
    told = (os.fsdecode(one).partition("\n") for one in listed)
    return [(name, value if separator else "true") for name, separator, value in told]


def as_ours(settings: Iterable[tuple[str, str]], remote: str) -> Settings:
    """`settings` in which that remote has the name of ours, whose URLs are none of them."""
    theirs = f"remote.{remote}."
    return [
        (f"remote.{REMOTE}.{name.removeprefix(theirs)}" if name.startswith(theirs) else name, value)
        for name, value in settings
    ]


def with_settings(environment: Mapping[str, str], settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """`environment` with these settings and our own, and no others."""
    given = [*settings, *_OURS]
    told = {"GIT_CONFIG_COUNT": str(len(given))}
    for number, (name, value) in enumerate(given):
        told |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    kept = {name: value for name, value in environment.items() if not _COMMAND.fullmatch(name)}
    return kept | told


def adding(environment: Mapping[str, str], name: str, value: str) -> dict[str, str]:
    """`environment` with one more setting."""
    given = environment.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0
    return {
        **environment,
        "GIT_CONFIG_COUNT": str(count + 1),
        f"GIT_CONFIG_KEY_{count}": name,
        f"GIT_CONFIG_VALUE_{count}": value,
    }


def beyond(outer: Iterable[tuple[str, str]], inner: Iterable[tuple[str, str]]) -> Settings:
    """What is to be handed over from where `outer` is in effect to where `inner` is.

    Nothing is handed over twice: two equal Authorization headers are one too many.
    """
    there, missing = Counter(inner), list[tuple[str, str]]()
    for one in outer:
        if there[one]:
            there[one] -= 1
        elif _TAKEN.fullmatch(one[0].lower()):
            missing.append(one)
    return missing


def identity(environment: Mapping[str, str], settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Variables that name the program as a commit's author, as far as the user has not said who that is."""
    told = {name for name, value in settings if value}
    return {
        variable: value
        for role in ("author", "committer")
        for field, value in _NOBODY.items()
        if not environment.get(variable := f"GIT_{role}_{field}".upper())
        and not told & {f"user.{field}", f"{role}.{field}"}
    }
