"""Runs git: in the given repository only, with a timeout, and without prompts."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from base64 import b64encode
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from reconciler.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PATIENCE = 60.0
"""Seconds that one git command may take."""

_MISLEADING = re.compile(
    "GIT_(DIR|WORK_TREE|IMPLICIT_WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|PREFIX"
    "|NAMESPACE|SHALLOW_FILE|GRAFT_FILE|NO_REPLACE_OBJECTS|REPLACE_REF_BASE|QUARANTINE_PATH|CONFIG|DEFAULT_HASH"
    "|AUTHOR_DATE|COMMITTER_DATE)"
)
"""Variables that a git hook sets for its own repository and commit (`git rev-parse --local-env-vars`)."""

_CREDENTIAL = re.compile(r"RECONCILER_(?!GIT_).+_CLIENT_(ID|SECRET)")
"""Variables with the credentials for the service: neither git nor what it starts (ssh, hooks, helpers) needs them."""

_USER_INFO = re.compile(r"(?<=://)[^/\s]*@")
_NOISE = re.compile(r"\s*$|hint: |error: failed to push some refs|\d\d:\d\d:\d\d\.")
_UNREADABLE = re.compile(
    rb"^(?:fatal|error): (bad (?:numeric |boolean )?config [^\n]*|unable to access '[^'\n]*config': [^\n]*"
    rb"|unknown error occurred while reading the configuration[^\n]*)",
    re.MULTILINE,
)
_UNTRUSTED = re.compile(rb"dubious ownership in repository at '(.*)'")
_STEM = ("fatal: ", "error: ", "remote: ")
_SHORTEST = 8  # characters of a password: a shorter one may occur in any text


class Ran(Struct, frozen=True):
    """The result of a git command."""

    code: int
    out: bytes
    err: bytes


class Git:
    """The git command in one directory and environment; `where` is the location that errors name."""

    def __init__(self, directory: Path, environment: Mapping[str, str], where: str, patience: float = PATIENCE) -> None:
        self.where = where
        self._directory = directory
        self._environment = environment
        self._patience = patience
        self._secret = _spellings(environment)

    def run(self, *arguments: str, stdin: bytes | None = None) -> Ran:
        """Run git, and return its result whether it succeeded or not. Raises StoreUnavailable if it cannot run in time.

        It runs in a session of its own: a signal to the terminal's processes does not interrupt an append, and ssh has
        no terminal for a prompt.
        """
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell
                ["git", *arguments],  # noqa: S607 - the user's git, wherever it is
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            raise StoreUnavailable(
                f"cannot run git: {problem.strerror}", where=self.where, remedy="install git 2.31 or newer"
            ) from problem
        with process:
            try:
                out, err = process.communicate(stdin, self._patience)
            except subprocess.TimeoutExpired:
                _kill(process)
                what = f"`git {arguments[0]}` timed out after {self._patience:g} s"
                raise StoreUnavailable(what, where=self.where, remedy="check the network, then retry") from None
            except BaseException:
                _kill(process)
                raise
        err = self._secret.sub(b"[redacted]", err)  # a server may echo what it was sent
        if process.returncode:
            self._refuse_unreadable(err)
        return Ran(process.returncode, out, err)

    def _refuse_unreadable(self, stderr: bytes) -> None:
        """Raises StoreUnavailable for settings that git cannot read: every command would fail."""
        found = _UNREADABLE.search(stderr)
        if found:
            what = f"git cannot read its configuration: {reason(found[0])}"
            remedy = "correct that file; to see the error, run: git config --list --show-origin"
            raise StoreUnavailable(what, where=self.where, remedy=remedy)

    def ask(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """The output of git. Raises StoreUnavailable if it fails."""
        ran = self.run(*arguments, stdin=stdin)
        if ran.code:
            raise StoreUnavailable(f"`git {arguments[0]}` failed: {reason(ran.err)}", where=self.where)
        return ran.out


def restore_command(top: str, source: str, paths: Iterable[str]) -> str:
    """What restores files of a work tree from a commit or branch, from the index if `source` is ""; for messages."""
    if not source:
        return f"git -C {shlex.quote(top)} restore -- {shlex.join(paths)}"
    return (
        f"git -C {shlex.quote(top)} restore --source={shlex.quote(source)} --staged --worktree -- {shlex.join(paths)}"
    )


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` without prompts, in English, and without credentials or the names of other repositories."""
    kept = {
        name: value
        for name, value in environment.items()
        if not (_MISLEADING.fullmatch(name) or _CREDENTIAL.fullmatch(name))
    }
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def _spellings(environment: Mapping[str, str]) -> re.Pattern[bytes]:
    """Matches the passwords that git is given (`Remote.variables`), plain and in their usual encodings."""
    forms: set[bytes] = set()
    for side in ("FETCH", "PUSH"):
        user, password = (environment.get(f"RECONCILER_GIT_{side}_{field}", "") for field in ("USERNAME", "PASSWORD"))
        for plain in (os.fsencode(password), os.fsencode(f"{user}:{password}")) if len(password) >= _SHORTEST else ():
            forms |= {plain, quote(plain, safe="").encode(), b64encode(plain), plain.hex().encode()}
    return re.compile(b"|".join(map(re.escape, sorted(forms, key=len, reverse=True))) or b"(?!)", re.IGNORECASE)


def hide_user_info(text: str) -> str:
    """`text` without the user names and passwords of the URLs in it."""
    return _USER_INFO.sub("", text)


def reason(stderr: bytes) -> str:
    """Why a git command failed, in one line: the last lines before git's general advice."""
    untrusted = _UNTRUSTED.search(stderr)
    if untrusted:
        return f"detected {_line(untrusted[0].decode(errors='replace'))}"
    lines = hide_user_info(stderr.decode(errors="replace")).splitlines()
    ends = [number for number, line in enumerate(lines, 1) if line.startswith("fatal: ")]
    reasons = [_line(line) for line in lines[: ends[-1] if ends else None] if not _NOISE.match(line)]
    return "; ".join(reasons[-3:])[:600] or "no error message"


def trust(stderr: bytes) -> str | None:
    """What to do if git does not trust a repository, None for any other failure."""
    untrusted = _UNTRUSTED.search(stderr)
    if untrusted is None:
        return None
    command = f"git config --global --add safe.directory {shlex.quote(os.fsdecode(untrusted[1]))}"
    return f"the repository belongs to another user; if you trust it, run: {command}"


def _line(text: str) -> str:
    """Text that git printed, made safe for a terminal."""
    for stem in _STEM:
        text = text.removeprefix(stem)
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill git and the processes it started: ssh, a helper for HTTP."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
