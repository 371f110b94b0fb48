"""A bare repository of our own, in the cache directory: it fetches from the remote, makes commits, and pushes them.

It holds nothing that the remote does not, so a damaged one is replaced.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from reconciler.disk.directories import private_directory
from reconciler.disk.durable import replace_file
from reconciler.disk.locks import LockHeld, locked_file
from reconciler.errors import Message, Step, StoreUnavailable
from reconciler.stores.git.command import CONNECTION, advice, reason
from reconciler.stores.git.remote import NAME

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.stores.git.command import Git

_FILES = {"HEAD": b"ref: refs/heads/none\n", "config": b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"}
"""Written at each start: settings that somebody put into a cache could name commands for git to run."""
_PATIENCE = 30.0  # seconds to wait for another process that fetches
_REFUSAL = re.compile(rb"^!\t[^\t]*\t(.*)$", re.MULTILINE)
_UP_TO_DATE = re.compile(rb"^=\t", re.MULTILINE)
_MOVED = re.compile(
    rb"\[rejected\] \((?!atomic)|\[remote rejected\] \((cannot lock ref|failed to (update|lock)"
    rb"|reference already exists|incorrect old value|stale info|fetch first|non-fast-forward|atomic transaction failed)"
)
_ALONG = re.compile(rb"\[(remote )?rejected\] \(atomic push fail")
"""The text of an atomic push for a branch that is refused because of another one."""
_NO_ATOMIC = "does not support --atomic"
_Entries = dict[str, tuple[str, str]]


class CacheDamaged(StoreUnavailable):
    """The repository in the cache lacks an object that it should have."""


class NoAtomicPush(Exception):
    """The server cannot change two branches at once; nothing was changed."""


class Cache:
    """The repository at `path`; a tip is the id of a commit, "" for a branch that does not exist."""

    def __init__(self, path: Path, git: Git) -> None:
        self._path = path
        self._git = git

    def tips(self, *branches: str) -> tuple[str, ...]:
        """Return the tips of branches at the remote, asked now. Raises StoreUnavailable."""
        refs = [f"refs/heads/{branch}" for branch in branches]
        ran = self._git.run("ls-remote", "--quiet", NAME, *refs)
        if ran.code:
            what = f"cannot ask the remote: {reason(ran.err)}"
            raise self._git.failure("git-remote-unreachable", what, *(advice(ran.err) or (CONNECTION,)))
        lines = (line.partition("\t") for line in os.fsdecode(ran.out).splitlines())
        listed = {ref: tip for tip, _, ref in lines}
        return tuple(listed.get(ref, "") for ref in refs)

    def has(self, tip: str) -> bool:
        """True if the commit is here."""
        return self._git.run("cat-file", "-e", f"{tip}^{{commit}}").code == 0

    def fetch(self, *branches: str) -> None:
        """Fetch the tips of branches that exist, without their history. Raises StoreUnavailable."""
        refs = [f"+refs/heads/{branch}:refs/reconciler/{branch}" for branch in branches]
        how = ("--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--depth=1")
        try:
            with locked_file(self._path.with_suffix(".lock"), _PATIENCE):
                ran = self._git.run("fetch", *how, NAME, *refs)
        except OSError as problem:
            raise self._unusable(problem) from None
        if ran.code and "couldn't find remote ref" not in ran.err:  # deleted since it was listed: look again
            what = f"cannot fetch the branch: {reason(ran.err)}"
            raise self._damaged(what, *(advice(ran.err) or (CONNECTION,)))

    def file(self, tip: str, name: str) -> bytes | None:
        """Return a file at a tip, None if there is none. Raises CacheDamaged."""
        mode, blob = self._entries(tip).get(name, ("", ""))
        if not blob:
            return None
        ran = self._git.run("cat-file", "blob", blob)
        if ran.code or not mode.startswith("100"):
            raise self._damaged(f"cannot read {name}: {reason(ran.err) if ran.code else 'it is not a file'}")
        return ran.out

    def commit(self, tip: str, name: str, data: bytes, subject: str) -> str:
        """Return a new commit on a tip that differs in one file. Raises StoreUnavailable."""
        blob = self._git.ask("hash-object", "-w", "--stdin", stdin=data).decode().strip()
        entries = self._entries(tip) | {name: ("100644 blob", blob)}
        listed = "".join(f"{kind} {oid}\t{path}\0" for path, (kind, oid) in entries.items())
        tree = self._git.ask("mktree", "-z", stdin=os.fsencode(listed)).decode().strip()
        parent = ["-p", tip] if tip else []
        return self._git.ask("commit-tree", tree, *parent, stdin=subject.encode()).decode().strip()

    def push(self, *updates: tuple[str, str, str], dry: bool = False) -> str:
        """Move branches (name, tip expected, new tip), all or none; return "", or why one of them had moved already.

        Raises NoAtomicPush, and StoreUnavailable if the push failed otherwise, or its outcome is unknown.
        """
        leases = [f"--force-with-lease=refs/heads/{branch}:{old}" for branch, old, _ in updates]
        specs = [f"{new}:refs/heads/{branch}" for branch, _, new in updates]
        how = ["--porcelain", "--recurse-submodules=no", "--no-follow-tags", *(["--dry-run"] if dry else [])]
        ran = self._git.run("push", *how, *(["--atomic"] if len(updates) > 1 else []), *leases, NAME, *specs)
        if ran.code == 0:
            # An equal commit that another run made in the same second: that was first.
            return "already pushed by another run" if _UP_TO_DATE.search(ran.out) and not dry else ""
        if _NO_ATOMIC in ran.err:
            raise NoAtomicPush
        refusals = _REFUSAL.findall(ran.out)
        moved = [refusal for refusal in refusals if _MOVED.match(refusal)]
        why = reason(ran.err + b"\n".join(refusals).decode(errors="replace"))
        if moved and all(_MOVED.match(refusal) or _ALONG.match(refusal) for refusal in refusals):
            return why
        step = (
            Step("check that the credentials may push to the branch, and the rules for it") if refusals else CONNECTION
        )
        raise self._git.failure("git-push-failed", f"the push failed: {why}", *(advice(ran.err) or (step,)))

    def make(self) -> None:
        """Make the repository if it is not there. Raises StoreUnavailable, SettingsError for an unsafe directory."""
        try:
            for directory in (self._path.parent.parent, self._path.parent, self._path):
                private_directory(directory)
            for name in ("objects", "refs"):
                (self._path / name).mkdir(exist_ok=True)
            for name, data in _FILES.items():
                file = self._path / name
                if not file.is_file() or file.read_bytes() != data:
                    replace_file(file, data, 0o600)
        except OSError as problem:
            raise self._unusable(problem) from None

    def renew(self) -> None:
        """Replace the repository with an empty one. Raises StoreUnavailable."""
        old = self._path.with_suffix(f".{os.urandom(8).hex()}.old")
        try:
            self._path.rename(old)
        except FileNotFoundError:
            pass  # another process does the same
        except OSError as problem:
            raise self._unusable(problem) from None
        shutil.rmtree(old, ignore_errors=True)
        self.make()

    def _entries(self, tip: str) -> _Entries:
        """Return what is directly in the tree of a tip, by name: mode and type, and id. Raises CacheDamaged."""
        if not tip:
            return {}
        ran = self._git.run("ls-tree", "-z", tip)
        if ran.code:
            raise self._damaged(f"cannot read the branch: {reason(ran.err)}")
        entries = (entry.split("\t", 1) for entry in os.fsdecode(ran.out).split("\0")[:-1])
        return {name: (what.rpartition(" ")[0], what.rpartition(" ")[2]) for what, name in entries}

    def _damaged(self, what: str, *steps: Step) -> CacheDamaged:
        return CacheDamaged(Message("git-branch-not-read", what, self._git.place, steps))

    def _unusable(self, problem: OSError) -> StoreUnavailable:
        remedy = problem.remedy if isinstance(problem, LockHeld) else "use another --cache-dir"
        what = f"cannot keep a copy of the branch: {problem.strerror or problem}"
        return StoreUnavailable(Message("git-cache-unusable", what, str(self._path), (Step(remedy),)))
