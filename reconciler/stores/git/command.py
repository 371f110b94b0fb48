"""Runs git with a time limit, without prompts and without secrets in its messages."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from reconciler.errors import Message, Step, StoreUnavailable
from reconciler.values import SHORTEST_SECRET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


_TIME_LIMIT = 30.0  # seconds for one git command
CONNECTION = Step("check the network, the URL and the credentials: a deploy key, or a token that may write `contents`")

_REMOVED_VARIABLES = re.compile(
    r"GIT_(DIR|WORK_TREE|IMPLICIT_WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|PREFIX"
    r"|NAMESPACE|SHALLOW_FILE|GRAFT_FILE|NO_REPLACE_OBJECTS|REPLACE_REF_BASE|QUARANTINE_PATH|CONFIG|DEFAULT_HASH"
    r"|AUTHOR_DATE|COMMITTER_DATE|TRACE\w*|CURL_VERBOSE)|RECONCILER_.*"
)
"""Matches the variables that git must not see.

This program's own variables may hold credentials; the others turn on tracing or come from a hook.
"""
_USER_INFO = re.compile(r"(?<=://)[^/\s]*@")
_NOISE = re.compile(r"\s*$|hint: |error: failed to push some refs|\d\d:\d\d:\d\d\.")
_UNTRUSTED = re.compile(r"dubious ownership in repository at '(.*)'")
_STEM = re.compile(r"(fatal|error|remote): ")


class GitResult(Struct, frozen=True):
    """The result of a git command."""

    code: int
    out: bytes
    err: str


class Git:
    """Runs git in one directory and environment. Errors name `place`."""

    def __init__(
        self, directory: Path, environment: Mapping[str, str], place: str, secrets: Iterable[str] = ()
    ) -> None:
        self.place = place
        self._directory = directory
        self._environment = environment
        spellings = {form for secret in secrets for form in (secret, unquote(secret)) if len(form) >= SHORTEST_SECRET}
        self._secrets = sorted(spellings, key=len, reverse=True)

    def run(self, *arguments: str, stdin: bytes = b"") -> GitResult:
        """Run git and return its result, even if it failed. Raises StoreUnavailable if git cannot run or times out.

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
                out, err = process.communicate(stdin, _TIME_LIMIT)
            except subprocess.TimeoutExpired:
                _kill(process)
                what = f"`git {arguments[0]}` timed out after {_TIME_LIMIT:g} s"
                raise self.failure("git-timed-out", what, CONNECTION) from None
            except BaseException:
                _kill(process)
                raise
        return GitResult(process.returncode, out, self.without_secrets(err.decode(errors="replace")))

    def ask(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git and return its output. Raises StoreUnavailable if it fails."""
        result = self.run(*arguments, stdin=stdin)
        if result.code:
            raise self.failure("git-failed", f"`git {arguments[0]}` failed: {reason(result.err)}", *advice(result.err))
        return result.out

    def failure(self, name: str, what: str, *steps: Step) -> StoreUnavailable:
        """Return an error whose message names the place."""
        return StoreUnavailable(Message(name, what, self.place, steps))

    def without_secrets(self, text: str) -> str:
        """Return `text`, which a server may have sent, without the secrets."""
        for secret in self._secrets:  # a server may echo what it received
            text = text.replace(secret, "[redacted]")
        return hide_user_info(text)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children, such as ssh."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment like `environment`, but without the variables that git must not see (`_REMOVED_VARIABLES`).

    It also has variables that keep git from translating its messages, from prompting, and from taking optional locks.
    """
    kept = {name: value for name, value in environment.items() if not _REMOVED_VARIABLES.fullmatch(name)}
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def hide_user_info(text: str) -> str:
    """Return `text` without the user names and passwords in its URLs."""
    return _USER_INFO.sub("", text)


def reason(stderr: str) -> str:
    """Return one line that says why a git command failed: the end of stderr, without git's general advice."""
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
    """Return the steps that would fix a failure of git, or none if `stderr` suggests none."""
    untrusted = _UNTRUSTED.search(stderr)
    if untrusted is None:
        return ()
    return (Step("if you trust it, run", ("git", "config", "--global", "--add", "safe.directory", untrusted[1])),)
