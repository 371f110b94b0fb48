"""Which repository a place means, and with which settings of the user git reaches it.

Commands in the user's repository would change it: a fetch writes objects and FETCH_HEAD, a push moves remote-tracking
branches. So they run in a repository of our own, with the settings that apply where the user is. Including the user's
configuration files is not enough: conditions such as `includeIf "gitdir:…"`, by which actions/checkout selects
credentials, would be evaluated for our repository. Writing the settings there would leave credentials in a cache. So
git is asked which settings apply, and those that our repository lacks are passed with each command.
"""

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

NAME = "reconciler"
"""The remote's name in our repository: `origin` may have another URL in the user's settings."""

Settings = list[tuple[str, str]]
"""Names and values in git's order: of several values for one name, the last or all apply."""

_PLACE = re.compile(r"(?i:git)(?::(?P<own>.*)|\+(?P<url>[^#]*)#(?P<branch>.*))", re.DOTALL)
_URL = re.compile(r"(?i:https?|ssh|git|file)://.+|/.+|[^/:]+:(?!//|:).+", re.DOTALL)
_PLAIN = re.compile(r"(?i:ssh)://[^/:]*@|(?!.*://)", re.DOTALL)
"""A URL without credentials: the user at an ssh server is none."""
_REF = re.compile(r"refs/.*|(heads|remotes/[^/]+)/.+")
_TAKEN = re.compile(
    r"(http|credential|url|protocol|ssh|user|author|committer|safe)\..*|core\.(sshcommand|askpass|gitproxy)"
    r"|push\.pushoption"
)
"""Settings about remotes, credentials and people; the others are about the user's repository."""
_OF_REMOTE = ("pushurl", "proxy", "proxyauthmethod", "uploadpack", "receivepack", "vcs", "serveroption")
_OURS: Settings = [("core.hooksPath", os.devnull), ("push.gpgSign", "false"), ("i18n.commitEncoding", "UTF-8")]
_IDENTITY = {"name": "reconciler", "email": "reconciler@localhost.invalid"}
_COMMAND = re.compile(r"GIT_CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)")
_FORMS = Step("use git:BRANCH, or git+URL#BRANCH")


class Remote(Discreet, frozen=True):
    """A branch of a repository, the settings in effect where it was named, and those of the remote itself.

    All but the branch may hold credentials.
    """

    unprinted = ("url", "settings", "own")

    url: str
    branch: str
    settings: Settings
    own: Settings

    @property
    def place(self) -> str:
        """The place, without credentials; the user of an ssh server is none."""
        return f"git+{self.url if _PLAIN.match(self.url) else hide_user_info(self.url)}#{self.branch}"

    @property
    def secrets(self) -> list[str]:
        """The texts that no message may show: the user info of the URL, and the credentials in headers."""
        user_info = None if _PLAIN.match(self.url) else re.search(r"://([^/]*)@", self.url)
        headers = [value.split()[-1] for name, value in self.settings if name.endswith("extraheader") and value.split()]
        return (user_info[1].split(":") if user_info else []) + headers


def remote_of(place: str, git: Git) -> Remote:
    """Return the branch that a place names; `git:BRANCH` is in the repository in which `git` runs.

    That is the branch on the remote that the current branch follows, else on `origin`, else on the only remote.
    Raises SettingsError if it names none, if there is no remote, or if there are several without an `origin`.
    """
    match = _PLACE.fullmatch(place)
    if match is None or (match["url"] is not None and not _URL.fullmatch(match["url"])):
        raise _unusable("place-no-repository", "not the URL of a git repository and a branch of it")
    branch = match["own"] or match["branch"] or ""
    ran = git.run("check-ref-format", "--branch", branch)
    # git would take `@{-1}` for a shorthand, and make the branch refs/heads/refs/heads/x of refs/heads/x.
    if ran.code or ran.out != os.fsencode(f"{branch}\n") or _REF.fullmatch(branch):
        raise _unusable("place-no-branch", f"{branch!r} is not the name of a branch" if branch else "no branch given")
    if match["url"]:
        return Remote(match["url"], branch, settings_of(git), [])
    ran = git.run("rev-parse", "--show-toplevel")
    if ran.code:
        steps = advice(ran.err) or (Step("run it in a work tree, or use git+URL#BRANCH"),)
        raise SettingsError(Message("git-no-work-tree", reason(ran.err), git.place, steps))
    settings = settings_of(git)
    prefix = f"remote.{_remote_name(git, settings)}."
    theirs = [(key.removeprefix(prefix), value) for key, value in settings if key.startswith(prefix)]
    url = next(value for key, value in theirs if key == "url")
    if ":" not in url.partition("/")[0]:  # a path
        url = os.path.normpath(os.path.join(os.fsdecode(ran.out.removesuffix(b"\n")), url))  # noqa: PTH118 - as text
    return Remote(url, branch, settings, [setting for setting in theirs if setting[0] in _OF_REMOTE])


def environment_for(remote: Remote, inner: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` with the settings of a remote that are not among `inner`, those of our repository."""
    own = [(f"remote.{NAME}.{key}", value) for key, value in (("url", remote.url), *remote.own)]
    given = [*_missing(remote.settings, inner), *own, *_OURS]
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
    """Return `environment` without git settings in it."""
    return {name: value for name, value in environment.items() if not _COMMAND.fullmatch(name)}


def settings_of(git: Git) -> Settings:
    """Return all settings in effect. Raises StoreUnavailable."""
    listed = git.ask("config", "--list", "--null").split(b"\0")[:-1]
    settings = (os.fsdecode(setting).partition("\n") for setting in listed)
    return [(name, value if separator else "true") for name, separator, value in settings]


def _remote_name(git: Git, settings: Settings) -> str:
    names = list(dict.fromkeys(key[7:-4] for key, _ in settings if key.startswith("remote.") and key.endswith(".url")))
    current = os.fsdecode(git.run("symbolic-ref", "--quiet", "--short", "HEAD").out.strip())
    followed = dict(settings).get(f"branch.{current}.remote", "")
    if followed in names:
        return followed
    if "origin" in names or len(names) == 1:
        return "origin" if "origin" in names else names[0]
    if not names:
        step = Step("run", ("git", "remote", "add", "origin", "URL"))
        raise SettingsError(Message("git-no-remote", "this repository has no remote", git.place, (step,)))
    what = f"this repository has the remotes {', '.join(names)}, and none of them is `origin`"
    raise SettingsError(Message("git-several-remotes", what, git.place, (Step("name one: git+URL#BRANCH"),)))


def _missing(outer: Iterable[tuple[str, str]], inner: Settings) -> Settings:
    """Return the settings of `outer` that `inner` lacks: two equal Authorization headers would be an error."""
    there, missing = Counter(inner), list[tuple[str, str]]()
    for setting in outer:
        if there[setting]:
            there[setting] -= 1
        elif _TAKEN.fullmatch(setting[0].lower()):
            missing.append(setting)
    return missing


def _unusable(name: str, what: str) -> SettingsError:
    return SettingsError(Message(name, what, "--state", (_FORMS,)))
