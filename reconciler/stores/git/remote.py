"""Finds the remote repository of a place, and the git settings that are needed to reach it."""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING

from reconciler.errors import Message, SettingsError, Step
from reconciler.stores.git.command import advice, hide_user_info, reason
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.stores.git.command import Git


REMOTE_NAME = "reconciler"
"""The name of the remote in the cache. The user's settings could give `origin` another URL."""

Settings = list[tuple[str, str]]
"""Git settings in order. A name may occur several times; git uses the last value or all values."""

_PLACE = re.compile(r"(?i:git)(?::(?P<own>.*)|\+(?P<url>[^#]*)#(?P<branch>.*))", re.DOTALL)
_URL = re.compile(r"(?i:https?|ssh|git|file)://.+|/.+|[^/:]+:(?!//|:).+", re.DOTALL)
_WITHOUT_CREDENTIALS = re.compile(r"(?i:ssh)://[^/:]*@|(?!.*://)", re.DOTALL)
"""Matches a URL without credentials. The user name of an ssh URL is not a credential."""
_REF = re.compile(r"refs/.*|(heads|remotes/[^/]+)/.+")
_PASSED_ON = re.compile(
    r"(http|credential|url|protocol|ssh|user|author|committer|safe)\..*|core\.(sshcommand|askpass|gitproxy)"
    r"|push\.pushoption"
)
"""Matches settings about remotes, credentials and people. All other settings concern the user's own repository."""
_REMOTE_SETTINGS = ("pushurl", "proxy", "proxyauthmethod", "uploadpack", "receivepack", "vcs", "serveroption")
_FIXED_SETTINGS: Settings = [
    ("core.hooksPath", os.devnull),
    ("push.gpgSign", "false"),
    ("i18n.commitEncoding", "UTF-8"),
]
_IDENTITY = {"name": "reconciler", "email": "reconciler@localhost.invalid"}
_SETTING_VARIABLES = re.compile(r"GIT_CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)")
_PLACE_FORMS = Step("use git:BRANCH, or git+URL#BRANCH")


class Remote(Discreet, frozen=True):
    """A branch of a remote repository. `settings` are all git settings in effect; `own` are those of this remote.

    Every field except the branch may hold credentials.
    """

    unprinted = ("url", "settings", "own")

    url: str
    branch: str
    settings: Settings
    own: Settings

    @property
    def place(self) -> str:
        """Return the place without credentials; the user name of an ssh URL is kept."""
        return f"git+{self.url if _WITHOUT_CREDENTIALS.match(self.url) else hide_user_info(self.url)}#{self.branch}"

    @property
    def secrets(self) -> list[str]:
        """Return the strings that no message may show: headers, and user names and passwords in URLs."""
        urls = [self.url, *(text.removeprefix("url.") for setting in self.settings for text in setting)]
        found = [re.search(r"://([^/]*)@", url) for url in urls if not _WITHOUT_CREDENTIALS.match(url)]
        user_infos = [part for match in found if match for part in match[1].split(":", 1)]
        headers = [value.split()[-1] for name, value in self.settings if name.endswith("extraheader") and value.split()]
        return user_infos + headers


def remote_of(place: str, git: Git) -> Remote:
    """Return the remote branch that a place names. `git` must run in the repository that `git:BRANCH` refers to.

    For `git:BRANCH`, the remote is the one that the current branch tracks, else `origin`, else the only remote. Raises
    SettingsError if the place is invalid, if there is no remote, or if there are several and none is `origin`.
    """
    match = _PLACE.fullmatch(place)
    if match is None or (match["url"] is not None and not _URL.fullmatch(match["url"])):
        raise _unusable("place-no-repository", "expected the URL of a git repository and a branch")
    branch = match["own"] or match["branch"] or ""
    result = git.run("check-ref-format", "--branch", branch)
    # git would expand `@{-1}`, and would create refs/heads/refs/heads/x for refs/heads/x.
    if result.code or result.out != os.fsencode(f"{branch}\n") or _REF.fullmatch(branch):
        raise _unusable("place-no-branch", f"{branch!r} is not the name of a branch" if branch else "no branch given")
    if match["url"]:
        return Remote(match["url"], branch, settings_of(git), [])
    result = git.run("rev-parse", "--show-toplevel")
    if result.code:
        steps = advice(result.err) or (Step("run the command in a work tree, or use git+URL#BRANCH"),)
        raise SettingsError(Message("git-no-work-tree", reason(result.err), git.place, steps))
    settings = settings_of(git)
    prefix = f"remote.{_remote_name(git, settings)}."
    theirs = [(key.removeprefix(prefix), value) for key, value in settings if key.startswith(prefix)]
    for number, (key, value) in enumerate(theirs):
        if key in ("url", "pushurl") and ":" not in value.partition("/")[0]:  # a local path
            path = os.path.join(os.fsdecode(result.out.removesuffix(b"\n")), value)  # noqa: PTH118 - as text
            theirs[number] = key, os.path.normpath(path)
    url = next(value for key, value in theirs if key == "url")
    return Remote(url, branch, settings, [setting for setting in theirs if setting[0] in _REMOTE_SETTINGS])


def environment_for(remote: Remote, inner: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` plus variables with those settings of `remote` that `inner`, the cache's settings, lacks."""
    own = [(f"remote.{REMOTE_NAME}.{key}", value) for key, value in (("url", remote.url), *remote.own)]
    given = [*_missing(remote.settings, inner), *own, *_FIXED_SETTINGS]
    variables = {"GIT_CONFIG_COUNT": str(len(given))}
    for number, (name, value) in enumerate(given):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    configured = {name for name, value in remote.settings if value}
    for role in ("author", "committer"):
        for field, value in _IDENTITY.items():
            if not configured & {f"user.{field}", f"{role}.{field}"}:
                variables[f"GIT_{role}_{field}".upper()] = value
    return variables | without_settings(environment)


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` without the variables that carry git settings."""
    return {name: value for name, value in environment.items() if not _SETTING_VARIABLES.fullmatch(name)}


def settings_of(git: Git) -> Settings:
    """Return all git settings in effect. Raises StoreUnavailable."""
    listed = git.ask("config", "--list", "--null").split(b"\0")[:-1]
    settings = (os.fsdecode(setting).partition("\n") for setting in listed)
    return [(name, value if separator else "true") for name, separator, value in settings]


def _remote_name(git: Git, settings: Settings) -> str:
    urls = (key for key, _ in settings if key.startswith("remote.") and key.endswith(".url"))
    names = list(dict.fromkeys(key.removeprefix("remote.").removesuffix(".url") for key in urls))
    current = os.fsdecode(git.run("symbolic-ref", "--quiet", "--short", "HEAD").out.strip())
    followed = dict(settings).get(f"branch.{current}.remote", "")
    if followed in names:
        return followed
    if "origin" in names or len(names) == 1:
        return "origin" if "origin" in names else names[0]
    if not names:
        step = Step("run", ("git", "remote", "add", "origin", "URL"))
        raise SettingsError(Message("git-no-remote", "this repository has no remote", git.place, (step,)))
    what = f"this repository has the remotes {', '.join(names)}, none of which is `origin`"
    raise SettingsError(Message("git-several-remotes", what, git.place, (Step("name one: git+URL#BRANCH"),)))


def _missing(outer: Iterable[tuple[str, str]], inner: Settings) -> Settings:
    """Return the settings of `outer` that match `_PASSED_ON` and that `inner` lacks.

    No setting is passed on twice, because a repeated Authorization header would be an error.
    """
    there, missing = Counter(inner), list[tuple[str, str]]()
    for setting in outer:
        if there[setting]:
            there[setting] -= 1
        elif _PASSED_ON.fullmatch(setting[0].lower()):
            missing.append(setting)
    return missing


def _unusable(name: str, what: str) -> SettingsError:
    return SettingsError(Message(name, what, "--state", (_PLACE_FORMS,)))
