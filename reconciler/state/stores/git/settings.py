"""The user's git settings, as they apply in the current repository, for a repository in another directory.

Commands in the user's repository would change it: a fetch writes FETCH_HEAD, `shallow` and objects, a push moves
remote-tracking branches. So they run in a local copy, with the settings of the user's repository. To include the user's
configuration file is not enough: conditions such as `includeIf "gitdir:…"`, which actions/checkout and many users use
to select credentials, would be evaluated for the copy. To write the settings into the copy would leave credentials in a
cache. So git is asked, in the user's repository, which settings apply, and the difference is passed in the environment
of each command.
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
"""The remote's name in a local copy: `origin` may have another URL in the user's settings."""

Settings = list[tuple[str, str]]
"""Names and values in git's order: of several values for one name, the last or all apply."""

_TAKEN = re.compile(
    r"(http|credential|url|protocol|ssh|user|author|committer|safe)\..*"
    r"|core\.(sshcommand|askpass|gitproxy)|push\.pushoption"
    rf"|remote\.{REMOTE}\.(proxy|proxyauthmethod|uploadpack|receivepack|vcs|serveroption)"
)
"""Settings about remotes, credentials and people; the others are about the user's repository."""

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
    settings = (os.fsdecode(setting).partition("\n") for setting in listed)
    return [(name, value if separator else "true") for name, separator, value in settings]


def as_ours(settings: Iterable[tuple[str, str]], remote: str) -> Settings:
    """`settings` with that remote renamed to ours."""
    theirs = f"remote.{remote}."
    return [
        (f"remote.{REMOTE}.{name.removeprefix(theirs)}" if name.startswith(theirs) else name, value)
        for name, value in settings
    ]


def with_settings(environment: Mapping[str, str], settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """`environment` with these settings and our own, and no others."""
    given = [*settings, *_OURS]
    variables = {"GIT_CONFIG_COUNT": str(len(given))}
    for number, (name, value) in enumerate(given):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    kept = {name: value for name, value in environment.items() if not _COMMAND.fullmatch(name)}
    return kept | variables


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
    """The settings of `outer` that are missing in `inner`.

    No setting is passed twice: a second equal Authorization header would be an error.
    """
    there, missing = Counter(inner), list[tuple[str, str]]()
    for setting in outer:
        if there[setting]:
            there[setting] -= 1
        elif _TAKEN.fullmatch(setting[0].lower()):
            missing.append(setting)
    return missing


def identity(environment: Mapping[str, str], settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Variables that name the program as a commit's author, unless the user's settings name one."""
    configured = {name for name, value in settings if value}
    return {
        variable: value
        for role in ("author", "committer")
        for field, value in _NOBODY.items()
        if not environment.get(variable := f"GIT_{role}_{field}".upper())
        and not configured & {f"user.{field}", f"{role}.{field}"}
    }
