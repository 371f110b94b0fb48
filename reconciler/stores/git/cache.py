"""Keeps a local repository, which caches the branches of the remote, and makes the commits to push."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

from reconciler.disk import LockHeld, locked_file, private_directory, replace_file
from reconciler.errors import Message, Step, StoreUnavailable
from reconciler.record.store import head_moved
from reconciler.stores.git.command import CONNECTION, advice, reason
from reconciler.stores.git.remote import REMOTE_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.errors import HeadMoved
    from reconciler.stores.git.command import Git

_CACHE_FILES = {"HEAD": b"ref: refs/heads/none\n", "config": b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"}
"""The repository's own files. They are rewritten at each start, because a changed file could make git run commands."""
_LOCK_TIMEOUT = 30.0  # seconds to wait for another process to fetch
_REFUSAL = re.compile(rb"^!\t[^\t]*\t(.*)$", re.MULTILINE)
_UP_TO_DATE = re.compile(rb"^=\t", re.MULTILINE)
_BRANCH_MOVED = re.compile(
    rb"\[rejected\] \((?!atomic)|\[remote rejected\] \((cannot lock ref|failed to (update|lock)"
    rb"|reference already exists|incorrect old value|stale info|fetch first|non-fast-forward|atomic transaction failed)"
)
_REJECTED_TOO = re.compile(rb"\[(remote )?rejected\] \(atomic push fail")
"""Matches git's message that an atomic push rejected a branch because another branch was rejected."""
_NO_ATOMIC = "does not support --atomic"
_Entries = dict[str, tuple[str, str]]


class CacheDamaged(StoreUnavailable):
    """Raised if the cached repository lacks an object that it should have."""


class NoAtomicPush(Exception):
    """Raised if the server cannot update two branches atomically. Nothing was changed."""


class BranchUpdate(NamedTuple):
    """A branch to move from one tip to another."""

    branch: str
    old: str
    new: str


class BranchCache:
    """Uses the bare repository at `path` as a cache. A tip is a commit id, or "" for a branch that does not exist."""

    def __init__(self, path: Path, git: Git) -> None:
        self._path = path
        self._git = git

    def tips(self, *branches: str) -> tuple[str, ...]:
        """Return the current tips of the branches at the remote. Raises StoreUnavailable."""
        refs = [f"refs/heads/{branch}" for branch in branches]
        result = self._git.run("ls-remote", "--quiet", REMOTE_NAME, *refs)
        if result.code:
            what = f"cannot query the remote: {reason(result.err)}"
            raise self._git.failure("git-remote-unreachable", what, *(advice(result.err) or (CONNECTION,)))
        lines = (line.partition("\t") for line in os.fsdecode(result.out).splitlines())
        listed = {ref: tip for tip, _, ref in lines}
        return tuple(listed.get(ref, "") for ref in refs)

    def has(self, tip: str) -> bool:
        """True if the commit is in the cache."""
        return self._git.run("cat-file", "-e", f"{tip}^{{commit}}").code == 0

    def fetch(self, *branches: str) -> None:
        """Fetch the tips of existing branches without their history. Raises StoreUnavailable."""
        refs = [f"+refs/heads/{branch}:refs/reconciler/{branch}" for branch in branches]
        how = ("--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--depth=1")
        try:
            with locked_file(self._path.with_suffix(".lock"), _LOCK_TIMEOUT):
                result = self._git.run("fetch", *how, REMOTE_NAME, *refs)
        except OSError as problem:
            raise _unusable(self._path, problem) from None
        if result.code and "couldn't find remote ref" not in result.err:  # a branch was deleted meanwhile: list again
            what = f"cannot fetch the branch: {reason(result.err)}"
            raise self._damaged(what, *(advice(result.err) or (CONNECTION,)))

    def file(self, tip: str, name: str) -> bytes | None:
        """Return the contents of a file at a tip, or None if the file does not exist. Raises CacheDamaged."""
        mode, blob = self._entries(tip).get(name, ("", ""))
        if not blob:
            return None
        result = self._git.run("cat-file", "blob", blob)
        if result.code or not mode.startswith("100"):
            raise self._damaged(f"cannot read {name}: {reason(result.err) if result.code else 'it is not a file'}")
        return result.out

    def commit(self, tip: str, name: str, data: bytes, subject: str) -> str:
        """Create a commit after `tip` that writes one file, and return its id. Raises StoreUnavailable."""
        blob = self._git.ask("hash-object", "-w", "--stdin", stdin=data).decode().strip()
        entries = self._entries(tip) | {name: ("100644 blob", blob)}
        listed = "".join(f"{kind} {oid}\t{path}\0" for path, (kind, oid) in entries.items())
        tree = self._git.ask("mktree", "-z", stdin=os.fsencode(listed)).decode().strip()
        parent = ["-p", tip] if tip else []
        return self._git.ask("commit-tree", tree, *parent, stdin=subject.encode()).decode().strip()

    def push(self, *updates: BranchUpdate, dry: bool = False) -> None:
        """Move all these branches at the remote, or none. Raises NoAtomicPush, and HeadMoved if a branch had moved.

        Raises StoreUnavailable if the push failed for another reason or its outcome is unknown.
        """
        leases = [f"--force-with-lease=refs/heads/{branch}:{old}" for branch, old, _ in updates]
        specs = [f"{new}:refs/heads/{branch}" for branch, _, new in updates]
        how = ["--porcelain", "--recurse-submodules=no", "--no-follow-tags", *(["--dry-run"] if dry else [])]
        result = self._git.run("push", *how, *(["--atomic"] if len(updates) > 1 else []), *leases, REMOTE_NAME, *specs)
        if result.code == 0:
            if _UP_TO_DATE.search(result.out) and not dry:
                # Another run pushed an identical commit in the same second, and its push came first.
                raise self._moved("already pushed by another run")
            return
        if _NO_ATOMIC in result.err:
            raise NoAtomicPush
        refusals = _REFUSAL.findall(result.out)
        moved = [refusal for refusal in refusals if _BRANCH_MOVED.match(refusal)]
        why = reason(result.err + self._git.without_secrets(b"\n".join(refusals).decode(errors="replace")))
        if moved and all(_BRANCH_MOVED.match(refusal) or _REJECTED_TOO.match(refusal) for refusal in refusals):
            raise self._moved(why)
        step = Step("check that the credentials and the rules of the branch allow the push") if refusals else CONNECTION
        raise self._git.failure("git-push-failed", f"the push failed: {why}", *(advice(result.err) or (step,)))

    def renew(self) -> None:
        """Replace the repository with an empty one. Raises StoreUnavailable."""
        old = self._path.with_suffix(f".{os.urandom(8).hex()}.old")
        try:
            self._path.rename(old)
        except FileNotFoundError:
            pass  # another process is doing the same
        except OSError as problem:
            raise _unusable(self._path, problem) from None
        shutil.rmtree(old, ignore_errors=True)
        make_repository(self._path)

    def _entries(self, tip: str) -> _Entries:
        """Return the top-level names at a tip, each with its mode and type, and its object id. Raises CacheDamaged."""
        if not tip:
            return {}
        result = self._git.run("ls-tree", "-z", tip)
        if result.code:
            raise self._damaged(f"cannot read the branch: {reason(result.err)}")
        entries = (entry.split("\t", 1) for entry in os.fsdecode(result.out).split("\0")[:-1])
        return {name: (what.rpartition(" ")[0], what.rpartition(" ")[2]) for what, name in entries}

    def _damaged(self, what: str, *steps: Step) -> CacheDamaged:
        return CacheDamaged(Message("git-branch-not-read", what, self._git.place, steps))

    def _moved(self, why: str) -> HeadMoved:
        return head_moved(self._git.place, f"another run moved the branch ({why})")


def make_repository(path: Path) -> None:
    """Create the bare repository of a cache if it does not exist.

    Raises StoreUnavailable, or SettingsError for an unsafe directory.
    """
    try:
        for directory in (path.parent.parent, path.parent, path):
            private_directory(directory)
        for name in ("objects", "refs"):
            (path / name).mkdir(exist_ok=True)
        for name, data in _CACHE_FILES.items():
            file = path / name
            if not file.is_file() or file.read_bytes() != data:
                replace_file(file, data, 0o600)
    except OSError as problem:
        raise _unusable(path, problem) from None


def _unusable(path: Path, problem: OSError) -> StoreUnavailable:
    remedy = problem.remedy if isinstance(problem, LockHeld) else "use another --cache-dir"
    what = f"cannot keep a copy of the branch: {problem.strerror or problem}"
    return StoreUnavailable(Message("git-cache-unusable", what, str(path), (Step(remedy),)))
