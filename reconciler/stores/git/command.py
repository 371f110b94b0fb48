"""Runs git: within a time limit, without prompts, and without secrets in what it says."""

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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PATIENCE = 30.0
"""Seconds that one git command may take."""
CONNECTION = Step("check the network, the URL and the credentials; a workflow needs `permissions: contents: write`")

_MISLEADING = re.compile(
    r"GIT_(DIR|WORK_TREE|IMPLICIT_WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|PREFIX"
    r"|NAMESPACE|SHALLOW_FILE|GRAFT_FILE|NO_REPLACE_OBJECTS|REPLACE_REF_BASE|QUARANTINE_PATH|CONFIG|DEFAULT_HASH"
    r"|AUTHOR_DATE|COMMITTER_DATE|TRACE\w*|CURL_VERBOSE)|RECONCILER_.*"
)
"""Variables that a git hook sets for its own repository, that trace, and those of this program: credentials too."""
_USER_INFO = re.compile(r"(?<=://)[^/\s]*@")
_NOISE = re.compile(r"\s*$|hint: |error: failed to push some refs|\d\d:\d\d:\d\d\.")
_UNTRUSTED = re.compile(r"dubious ownership in repository at '(.*)'")
_STEM = re.compile(r"(fatal|error|remote): ")
_SHORTEST = 8  # characters of a secret: a shorter one may occur in any text


class Ran(Struct, frozen=True):
    """The result of a git command."""

    code: int
    out: bytes
    err: str


class Git:
    """The git command in one directory and environment; `place` is what errors name."""

    def __init__(
        self, directory: Path, environment: Mapping[str, str], place: str, secrets: Iterable[str] = ()
    ) -> None:
        self.place = place
        self._directory = directory
        self._environment = environment
        spellings = {form for secret in secrets for form in (secret, unquote(secret)) if len(form) >= _SHORTEST}
        self._secrets = sorted(spellings, key=len, reverse=True)

    def run(self, *arguments: str, stdin: bytes = b"") -> Ran:
        """Run git, and return its result, failed or not. Raises StoreUnavailable if it cannot run in time.

        It runs in a session of its own: a Ctrl-C does not end an append halfway, and ssh has no terminal to ask at.
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
                    os.killpg(process.pid, signal.SIGKILL)  # ssh and helpers too
                if not isinstance(problem, subprocess.TimeoutExpired):
                    raise
                what = f"`git {arguments[0]}` timed out after {PATIENCE:g} s"
                raise self.failure("git-timed-out", what, CONNECTION) from None
        return Ran(process.returncode, out, self._without_secrets(err.decode(errors="replace")))

    def ask(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Return the output of git. Raises StoreUnavailable if it fails."""
        ran = self.run(*arguments, stdin=stdin)
        if ran.code:
            raise self.failure("git-failed", f"`git {arguments[0]}` failed: {reason(ran.err)}", *advice(ran.err))
        return ran.out

    def failure(self, name: str, what: str, *steps: Step) -> StoreUnavailable:
        """Return an error about the place."""
        return StoreUnavailable(Message(name, what, self.place, steps))

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:  # a server may echo what it was sent
            text = text.replace(secret, "[redacted]")
        return hide_user_info(text)


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` without prompts, in English, and without credentials or the names of other repositories."""
    kept = {name: value for name, value in environment.items() if not _MISLEADING.fullmatch(name)}
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def hide_user_info(text: str) -> str:
    """Return `text` without the user names and passwords of the URLs in it."""
    return _USER_INFO.sub("", text)


def reason(stderr: str) -> str:
    """Return why a git command failed, in one line: the last lines before git's general advice."""
    untrusted = _UNTRUSTED.search(stderr)
    if untrusted:
        return f"git does not trust the repository at {untrusted[1]}, which belongs to another user"
    lines = stderr.splitlines()
    ends = [number for number, line in enumerate(lines, 1) if line.startswith("fatal: ")]
    told = [line for line in lines[: ends[-1] if ends else None] if not _NOISE.match(line)]
    kept = list(dict.fromkeys(_STEM.sub("", line, count=1).strip() for line in told))
    text = "; ".join(kept[-3:])
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:600] or "no reason"


def advice(stderr: str) -> tuple[Step, ...]:
    """Return what to do about a failure, if git's text shows it."""
    untrusted = _UNTRUSTED.search(stderr)
    if untrusted is None:
        return ()
    return (Step("if you trust it, run", ("git", "config", "--global", "--add", "safe.directory", untrusted[1])),)
