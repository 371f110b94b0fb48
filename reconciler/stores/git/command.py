"""Runs git with a time limit, without prompts and without secrets in its messages, and finds the remote to use."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from reconciler.errors import Message, SettingsError, Step, StoreUnavailable
from reconciler.values import SHORTEST_SECRET, Discreet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


PATIENCE = 30.0
"""The time limit of one git command, in seconds."""
CONNECTION = Step("check the network, the URL and the credentials: a deploy key, or a token that may write `contents`")

_MISLEADING = re.compile(
    r"GIT_(DIR|WORK_TREE|IMPLICIT_WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|PREFIX"
    r"|NAMESPACE|SHALLOW_FILE|GRAFT_FILE|NO_REPLACE_OBJECTS|REPLACE_REF_BASE|QUARANTINE_PATH|CONFIG|DEFAULT_HASH"
    r"|AUTHOR_DATE|COMMITTER_DATE|TRACE\w*|CURL_VERBOSE)|RECONCILER_.*"
)
"""Variables to remove: a hook's own repository, tracing, and this program's variables, which hold credentials."""
_USER_INFO = re.compile(r"(?<=://)[^/\s]*@")
_NOISE = re.compile(r"\s*$|hint: |error: failed to push some refs|\d\d:\d\d:\d\d\.")
_UNTRUSTED = re.compile(r"dubious ownership in repository at '(.*)'")
_STEM = re.compile(r"(fatal|error|remote): ")


class Ran(Struct, frozen=True):
    """The result of a git command."""

    code: int
    out: bytes
    err: str


class Git:
    """The git command in one directory and environment. Errors name `place`."""

    def __init__(
        self, directory: Path, environment: Mapping[str, str], place: str, secrets: Iterable[str] = ()
    ) -> None:
        self.place = place
        self._directory = directory
        self._environment = environment
        spellings = {form for secret in secrets for form in (secret, unquote(secret)) if len(form) >= SHORTEST_SECRET}
        self._secrets = sorted(spellings, key=len, reverse=True)

    def run(self, *arguments: str, stdin: bytes = b"") -> Ran:
        """Run git and return its result, even if it failed.

        Raises StoreUnavailable if git cannot run or takes too long.

        Git runs in its own session: Ctrl-C does not interrupt an append, and ssh has no terminal for prompts.
        """
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell
                ["git", *arguments],  # noqa: S607 - the user's git, wherever it is
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            raise self.failure("git-not-run", f"cannot run git: {problem.strerror}", Step("install git")) from None
        with process:
            try:
                out, err = process.communicate(stdin, PATIENCE)
            except BaseException as problem:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and its children, such as ssh
                if not isinstance(problem, subprocess.TimeoutExpired):
                    raise
                what = f"`git {arguments[0]}` timed out after {PATIENCE:g} s"
                raise self.failure("git-timed-out", what, CONNECTION) from None
        return Ran(process.returncode, out, self._without_secrets(err.decode(errors="replace")))

    def ask(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git and return its output. Raises StoreUnavailable if it fails."""
        ran = self.run(*arguments, stdin=stdin)
        if ran.code:
            raise self.failure("git-failed", f"`git {arguments[0]}` failed: {reason(ran.err)}", *advice(ran.err))
        return ran.out

    def failure(self, name: str, what: str, *steps: Step) -> StoreUnavailable:
        """Return an error that names the place."""
        return StoreUnavailable(Message(name, what, self.place, steps))

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:  # a server may echo what it received
            text = text.replace(secret, "[redacted]")
        return hide_user_info(text)


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` without this program's variables, tracing and references to other repositories.

    Git then neither prompts nor translates its messages.
    """
    kept = {name: value for name, value in environment.items() if not _MISLEADING.fullmatch(name)}
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def hide_user_info(text: str) -> str:
    """Return `text` with the user names and passwords of its URLs removed."""
    return _USER_INFO.sub("", text)


def reason(stderr: str) -> str:
    """Return in one line why a git command failed: the last lines before git's general advice."""
    untrusted = _UNTRUSTED.search(stderr)
    if untrusted:
        return f"git does not trust the repository at {untrusted[1]}, which belongs to another user"
    lines = stderr.splitlines()
    ends = [number for number, line in enumerate(lines, 1) if line.startswith("fatal: ")]
    relevant = [line for line in lines[: ends[-1] if ends else None] if not _NOISE.match(line)]
    kept = list(dict.fromkeys(_STEM.sub("", line, count=1).strip() for line in relevant))
    text = "; ".join(kept[-3:])
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:600] or "no reason"


def advice(stderr: str) -> tuple[Step, ...]:
    """Return the steps that would fix a failure of git, if its error output suggests any."""
    untrusted = _UNTRUSTED.search(stderr)
    if untrusted is None:
        return ()
    return (Step("if you trust it, run", ("git", "config", "--global", "--add", "safe.directory", untrusted[1])),)


NAME = "reconciler"
"""The remote's name in the cache; `origin` could have another URL in the user's settings."""

Settings = list[tuple[str, str]]
"""Git settings in order. If a name occurs several times, the last value or all of them apply."""

_PLACE = re.compile(r"(?i:git)(?::(?P<own>.*)|\+(?P<url>[^#]*)#(?P<branch>.*))", re.DOTALL)
_URL = re.compile(r"(?i:https?|ssh|git|file)://.+|/.+|[^/:]+:(?!//|:).+", re.DOTALL)
_PLAIN = re.compile(r"(?i:ssh)://[^/:]*@|(?!.*://)", re.DOTALL)
"""Matches a URL without credentials; the user name of an ssh URL does not count as one."""
_REF = re.compile(r"refs/.*|(heads|remotes/[^/]+)/.+")
_TAKEN = re.compile(
    r"(http|credential|url|protocol|ssh|user|author|committer|safe)\..*|core\.(sshcommand|askpass|gitproxy)"
    r"|push\.pushoption"
)
"""Matches settings about remotes, credentials and people; all others concern the user's own repository."""
_OF_REMOTE = ("pushurl", "proxy", "proxyauthmethod", "uploadpack", "receivepack", "vcs", "serveroption")
_OURS: Settings = [("core.hooksPath", os.devnull), ("push.gpgSign", "false"), ("i18n.commitEncoding", "UTF-8")]
_IDENTITY = {"name": "reconciler", "email": "reconciler@localhost.invalid"}
_COMMAND = re.compile(r"GIT_CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)")
_FORMS = Step("use git:BRANCH, or git+URL#BRANCH")


class Remote(Discreet, frozen=True):
    """A branch of a repository, with the git settings in effect and those of the remote itself.

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
        return f"git+{self.url if _PLAIN.match(self.url) else hide_user_info(self.url)}#{self.branch}"

    @property
    def secrets(self) -> list[str]:
        """The texts that no message is allowed to show: user info in the URL and in URLs of settings, and headers."""
        urls = [self.url, *(text.removeprefix("url.") for setting in self.settings for text in setting)]
        found = [re.search(r"://([^/]*)@", url) for url in urls if not _PLAIN.match(url)]
        user_infos = [part for match in found if match for part in match[1].split(":", 1)]
        headers = [value.split()[-1] for name, value in self.settings if name.endswith("extraheader") and value.split()]
        return user_infos + headers


def remote_of(place: str, git: Git) -> Remote:
    """Return the remote branch that a place names. For `git:BRANCH`, `git` runs in the repository.

    The remote is the one that the current branch tracks, else `origin`, else the only remote. Raises SettingsError if
    the place is invalid, if there is no remote, or if there are several without an `origin`.
    """
    match = _PLACE.fullmatch(place)
    if match is None or (match["url"] is not None and not _URL.fullmatch(match["url"])):
        raise _unusable("place-no-repository", "expected the URL of a git repository and a branch")
    branch = match["own"] or match["branch"] or ""
    ran = git.run("check-ref-format", "--branch", branch)
    # git would expand `@{-1}`, and would create refs/heads/refs/heads/x for refs/heads/x.
    if ran.code or ran.out != os.fsencode(f"{branch}\n") or _REF.fullmatch(branch):
        raise _unusable("place-no-branch", f"{branch!r} is not the name of a branch" if branch else "no branch given")
    if match["url"]:
        return Remote(match["url"], branch, settings_of(git), [])
    ran = git.run("rev-parse", "--show-toplevel")
    if ran.code:
        steps = advice(ran.err) or (Step("run the command in a work tree, or use git+URL#BRANCH"),)
        raise SettingsError(Message("git-no-work-tree", reason(ran.err), git.place, steps))
    settings = settings_of(git)
    prefix = f"remote.{_remote_name(git, settings)}."
    theirs = [(key.removeprefix(prefix), value) for key, value in settings if key.startswith(prefix)]
    for number, (key, value) in enumerate(theirs):
        if key in ("url", "pushurl") and ":" not in value.partition("/")[0]:  # a local path
            path = os.path.join(os.fsdecode(ran.out.removesuffix(b"\n")), value)  # noqa: PTH118 - as text
            theirs[number] = key, os.path.normpath(path)
    url = next(value for key, value in theirs if key == "url")
    return Remote(url, branch, settings, [setting for setting in theirs if setting[0] in _OF_REMOTE])


def environment_for(remote: Remote, inner: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` with the settings of a remote, except those that our repository sets itself (`inner`)."""
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
    """Return `environment` without the variables that carry git settings."""
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
    what = f"this repository has the remotes {', '.join(names)}, none of which is `origin`"
    raise SettingsError(Message("git-several-remotes", what, git.place, (Step("name one: git+URL#BRANCH"),)))


def _missing(outer: Iterable[tuple[str, str]], inner: Settings) -> Settings:
    """Return the relevant settings of `outer` that `inner` lacks; two equal Authorization headers would be an error."""
    there, missing = Counter(inner), list[tuple[str, str]]()
    for setting in outer:
        if there[setting]:
            there[setting] -= 1
        elif _TAKEN.fullmatch(setting[0].lower()):
            missing.append(setting)
    return missing


def _unusable(name: str, what: str) -> SettingsError:
    return SettingsError(Message(name, what, "--state", (_FORMS,)))
