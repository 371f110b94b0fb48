"""A record in a file on a git branch, and its head on a second branch, which reveals a reset or deletion of the first.

A push succeeds only if the branch has not moved since the commit was made (`--force-with-lease`). The result of a push
is never trusted: the remote is queried afterwards. If the server cannot update two branches atomically, the record is
pushed first, so that the second branch never names a head that does not exist.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from hashlib import sha256
from pathlib import Path
from threading import Lock

from msgspec import Struct

from reconciler.disk import LockHeld, locked_file, private_directory, replace_file
from reconciler.errors import HeadMoved, Message, Step, StoreUnavailable
from reconciler.record.chain import complete
from reconciler.record.store import Stored, head_moved, require_head
from reconciler.stores.git.command import (
    CONNECTION,
    NAME,
    Git,
    advice,
    clean,
    environment_for,
    reason,
    remote_of,
    settings_of,
    without_settings,
)

_RECORD, _HEAD = "state.jsonl", "head"
"""The names of the files on the two branches."""
_HASH = re.compile(rb"([0-9a-f]{64})\n")
_PAUSES = (0.0, 0.2, 1.0)
"""Seconds to wait before each look at the remote, which may lag behind a push."""


class _Seen(Struct, frozen=True):
    """Both branches at the remote: their tips ("" for none), the record, and the head on the second branch."""

    tips: tuple[str, ...]
    data: bytes | None
    second: str

    def has_reached(self, end: int, second: str) -> bool:
        """True if the second branch names `second`, or the head of a line after the first `end` bytes of the record."""
        following = f'"hash":"{self.second}"'.encode()
        return self.second == second or bool(self.second and following in (self.data or b"")[end:])


def open_git(place: str, root: Path, cache: Path) -> GitStore:
    """Return the store for `git:BRANCH`, in the repository of the directory `root`, or for `git+URL#BRANCH`.

    Raises SettingsError if the place is invalid, and StoreUnavailable if git cannot run.
    """
    environment = clean(os.environ)
    here = Git(root if root.is_dir() else Path("/"), environment, place)
    remote = remote_of(place, here)
    path = cache.absolute() / "git" / f"{sha256(os.fsencode(remote.place)).hexdigest()[:32]}.git"
    inner = without_settings(environment) | {"GIT_DIR": str(path), "GIT_NO_REPLACE_OBJECTS": "1"}
    Cache(path, here).make()
    given = environment_for(remote, settings_of(Git(path, inner, remote.place)), inner)
    git = Git(path, given, remote.place, remote.secrets)
    return GitStore(remote.place, remote.branch, Cache(path, git), git)


class GitStore:
    """The record on a branch. Threads may share it."""

    path: Path | None = None

    def __init__(self, place: str, branch: str, cache: Cache, git: Git) -> None:
        self.place = place
        self._branches = (branch, f"{branch}-head")
        self._cache = cache
        self._git = git
        self._seen: _Seen | None = None
        self._is_atomic = True
        self._appending = Lock()

    def read(self) -> Stored:
        """Return the contents of both branches at the remote.

        The branches are read one after the other. A head that the record lacks may come from a push in between, so both
        are then read again.
        """
        for pause in _PAUSES[:2]:
            time.sleep(pause)
            seen = self._look()
            if seen.data is None or seen.second.encode() in seen.data:
                break
        self._seen = seen
        return Stored(seen.data, seen.second)

    def append(self, head: str | None, seq: int, lines: bytes, summary: str, *, second: str | None = None) -> None:  # noqa: ARG002
        """Push a commit with the lines and the subject `summary`, and a commit with the second head.

        Without `lines`, only the second branch is moved.
        """
        with self._appending:
            seen, self._seen = self._seen, None
            if seen is None or not _ends_with(seen, head):
                seen = self._look()
            require_head(seen.data, head, self.place)
            data = complete(seen.data or b"") + lines
            if second is not None and seen.second.encode() not in data:
                raise head_moved(self.place, "the second branch names a head that the record does not contain")
            record, follower = self._branches
            tip, old = seen.tips
            new = self._cache.commit(tip, _RECORD, data, summary) if lines else tip
            updates = [(record, tip, new)] if lines else []
            if second is not None:
                updates.append((follower, old, self._commit_head(old, second)))
            if not updates:
                return
            self._push(updates)
            if second is None:
                pushed = _Seen((new, old), data, seen.second)
            else:
                pushed = _Seen((new, updates[-1][2]), data, second)
            self._seen = self._confirm(pushed, second)

    def prepare(self) -> None:
        """Do nothing: the first push creates the branches and then checks them."""

    def check_writable(self) -> None:
        """Try a push that changes nothing, to check that the credentials permit it."""
        seen = self._look()
        commit = self._cache.commit(seen.tips[0], _RECORD, seen.data or b"", "try a push")
        self._cache.push((self._branches[0], seen.tips[0], commit), dry=True)

    def _look(self) -> _Seen:
        """Return the current state of the branches; a damaged cache is replaced once."""
        try:
            return self._contents(self._cache.tips(*self._branches))
        except CacheDamaged:
            self._cache.renew()
            return self._contents(self._cache.tips(*self._branches))

    def _contents(self, tips: tuple[str, ...]) -> _Seen:
        """Return the contents of these tips, or of newer ones if the branches move meanwhile."""
        for _ in range(5):
            absent = [
                branch for branch, tip in zip(self._branches, tips, strict=True) if tip and not self._cache.has(tip)
            ]
            if not absent:
                break
            self._cache.fetch(*absent)
            if not all(self._cache.has(tip) for tip in tips if tip):
                tips = self._cache.tips(*self._branches)
        record, follower = tips
        head = _HASH.fullmatch(self._cache.file(follower, _HEAD) or b"") if follower else None
        return _Seen(tips, self._cache.file(record, _RECORD), head[1].decode() if head else "")

    def _commit_head(self, tip: str, head: str) -> str:
        return self._cache.commit(tip, _HEAD, f"{head}\n".encode(), f"head {head[:12]}")

    def _push(self, updates: list[tuple[str, str, str]]) -> None:
        """Push the record and its head, atomically if the server can. Raises HeadMoved and StoreUnavailable."""
        moved = ""
        try:
            if self._is_atomic:
                moved = self._cache.push(*updates)
        except NoAtomicPush:
            self._is_atomic = False
        if not self._is_atomic:
            moved = self._cache.push(updates[0])
            if not moved and updates[1:]:
                self._cache.push(updates[1])  # `_confirm` finds out if it has moved
        if moved:
            raise head_moved(self.place, f"another run moved the branch ({moved})")

    def _confirm(self, pushed: _Seen, second: str | None) -> _Seen:
        """Wait until the remote shows what was pushed, and return the branches.

        A second branch that lags behind is pushed again. Raises StoreUnavailable if the remote does not show the push
        in time.
        """
        data = pushed.data or b""
        for pause in _PAUSES:
            time.sleep(pause)
            tips = self._cache.tips(*self._branches)
            if tips == pushed.tips:
                return pushed
            seen = self._contents(tips)
            if not (seen.data or b"").startswith(data):
                continue
            if second is None or seen.has_reached(len(data), second):
                return seen
            old = seen.tips[1]
            self._cache.push((self._branches[1], old, self._commit_head(old, second)))
        what = "the remote acknowledged a push, but does not show it"
        raise self._git.failure(
            "git-push-not-seen", what, Step("check that fetch and push use the same repository"), CONNECTION
        )


def _ends_with(seen: _Seen, head: str | None) -> bool:
    """True if the record, when last read, had this head."""
    try:
        require_head(seen.data, head, "")
    except HeadMoved:
        return False
    return True


_FILES = {"HEAD": b"ref: refs/heads/none\n", "config": b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"}
"""The cache's own files, rewritten at each start: injected settings could make git run commands."""
_PATIENCE = 30.0  # seconds to wait for another process to fetch
_REFUSAL = re.compile(rb"^!\t[^\t]*\t(.*)$", re.MULTILINE)
_UP_TO_DATE = re.compile(rb"^=\t", re.MULTILINE)
_MOVED = re.compile(
    rb"\[rejected\] \((?!atomic)|\[remote rejected\] \((cannot lock ref|failed to (update|lock)"
    rb"|reference already exists|incorrect old value|stale info|fetch first|non-fast-forward|atomic transaction failed)"
)
_ALONG = re.compile(rb"\[(remote )?rejected\] \(atomic push fail")
"""Matches git's message that an atomic push rejected a branch because of another one."""
_NO_ATOMIC = "does not support --atomic"
_Entries = dict[str, tuple[str, str]]


class CacheDamaged(StoreUnavailable):
    """The cached repository lacks an object that it should have."""


class NoAtomicPush(Exception):
    """The server cannot update two branches atomically; nothing was changed."""


class Cache:
    """A bare repository at `path` as a cache. A tip is a commit id, or "" for a branch that does not exist."""

    def __init__(self, path: Path, git: Git) -> None:
        self._path = path
        self._git = git

    def tips(self, *branches: str) -> tuple[str, ...]:
        """Return the current tips of the branches at the remote. Raises StoreUnavailable."""
        refs = [f"refs/heads/{branch}" for branch in branches]
        ran = self._git.run("ls-remote", "--quiet", NAME, *refs)
        if ran.code:
            what = f"cannot query the remote: {reason(ran.err)}"
            raise self._git.failure("git-remote-unreachable", what, *(advice(ran.err) or (CONNECTION,)))
        lines = (line.partition("\t") for line in os.fsdecode(ran.out).splitlines())
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
            with locked_file(self._path.with_suffix(".lock"), _PATIENCE):
                ran = self._git.run("fetch", *how, NAME, *refs)
        except OSError as problem:
            raise self._unusable(problem) from None
        if ran.code and "couldn't find remote ref" not in ran.err:  # a branch was deleted meanwhile: list again
            what = f"cannot fetch the branch: {reason(ran.err)}"
            raise self._damaged(what, *(advice(ran.err) or (CONNECTION,)))

    def file(self, tip: str, name: str) -> bytes | None:
        """Return a file at a tip, or None if it does not exist. Raises CacheDamaged."""
        mode, blob = self._entries(tip).get(name, ("", ""))
        if not blob:
            return None
        ran = self._git.run("cat-file", "blob", blob)
        if ran.code or not mode.startswith("100"):
            raise self._damaged(f"cannot read {name}: {reason(ran.err) if ran.code else 'it is not a file'}")
        return ran.out

    def commit(self, tip: str, name: str, data: bytes, subject: str) -> str:
        """Return a new commit that changes one file of a tip. Raises StoreUnavailable."""
        blob = self._git.ask("hash-object", "-w", "--stdin", stdin=data).decode().strip()
        entries = self._entries(tip) | {name: ("100644 blob", blob)}
        listed = "".join(f"{kind} {oid}\t{path}\0" for path, (kind, oid) in entries.items())
        tree = self._git.ask("mktree", "-z", stdin=os.fsencode(listed)).decode().strip()
        parent = ["-p", tip] if tip else []
        return self._git.ask("commit-tree", tree, *parent, stdin=subject.encode()).decode().strip()

    def push(self, *updates: tuple[str, str, str], dry: bool = False) -> str:
        """Move all branches (name, expected tip, new tip) or none. Return "", or the reason if a branch had moved.

        Raises NoAtomicPush. Raises StoreUnavailable if the push failed for another reason or its outcome is unknown.
        """
        leases = [f"--force-with-lease=refs/heads/{branch}:{old}" for branch, old, _ in updates]
        specs = [f"{new}:refs/heads/{branch}" for branch, _, new in updates]
        how = ["--porcelain", "--recurse-submodules=no", "--no-follow-tags", *(["--dry-run"] if dry else [])]
        ran = self._git.run("push", *how, *(["--atomic"] if len(updates) > 1 else []), *leases, NAME, *specs)
        if ran.code == 0:
            # Another run pushed an identical commit in the same second, so it came first.
            return "already pushed by another run" if _UP_TO_DATE.search(ran.out) and not dry else ""
        if _NO_ATOMIC in ran.err:
            raise NoAtomicPush
        refusals = _REFUSAL.findall(ran.out)
        moved = [refusal for refusal in refusals if _MOVED.match(refusal)]
        why = reason(ran.err + b"\n".join(refusals).decode(errors="replace"))
        if moved and all(_MOVED.match(refusal) or _ALONG.match(refusal) for refusal in refusals):
            return why
        step = Step("check that the credentials and the rules of the branch allow the push") if refusals else CONNECTION
        raise self._git.failure("git-push-failed", f"the push failed: {why}", *(advice(ran.err) or (step,)))

    def make(self) -> None:
        """Create the repository if it does not exist.

        Raises StoreUnavailable, or SettingsError for an unsafe directory.
        """
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
            pass  # another process is doing the same
        except OSError as problem:
            raise self._unusable(problem) from None
        shutil.rmtree(old, ignore_errors=True)
        self.make()

    def _entries(self, tip: str) -> _Entries:
        """Return the top-level entries of a tip's tree by name: mode and type, and id. Raises CacheDamaged."""
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
