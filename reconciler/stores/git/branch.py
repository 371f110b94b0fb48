"""Stores a record in a file on a git branch, and a copy of its head on the head branch, named `BRANCH-head`.

The head branch shows whether the record's branch was reset or deleted.

A push succeeds only if the branch has not moved since the commit was made (`--force-with-lease`). The result of a push
is never trusted: the remote is queried afterwards. If the server cannot update two branches atomically, the record is
pushed first, so that the head branch never names a head that does not exist.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from msgspec import Struct

from reconciler.errors import HeadMoved, Step
from reconciler.record.chain import complete
from reconciler.record.store import Stored, has_head, head_moved, require_head
from reconciler.stores.git.cache import BranchCache, BranchUpdate, CacheDamaged, NoAtomicPush, make_repository
from reconciler.stores.git.command import CONNECTION, Git, clean_environment
from reconciler.stores.git.remote import environment_for, remote_of, settings_of, without_settings

_RECORD, _HEAD = "state.jsonl", "head"
"""The names of the files on the two branches."""
_HASH = re.compile(rb"([0-9a-f]{64})\n")
_PAUSES = (0.0, 0.2, 1.0)
"""Seconds to wait before each query of the remote, which may lag behind a push."""
_FETCHES = 5
"""The maximum number of fetches while other runs move the branches."""


class _Tips(NamedTuple):
    """The tips of the record's branch and of the head branch; "" stands for a missing branch."""

    record: str
    head: str


class _Seen(Struct, frozen=True):
    """The contents of both branches at the remote. `second` is the head on the head branch, or "" if there is none."""

    tips: _Tips
    data: bytes | None
    second: str

    def has_reached(self, end: int, second: str) -> bool:
        """True if the head branch names `second` or the hash of a line after the first `end` bytes of the record."""
        following = f'"hash":"{self.second}"'.encode()
        return self.second == second or bool(self.second and following in (self.data or b"")[end:])


def open_git(place: str, root: Path, cache: Path) -> GitStore:
    """Return the store for `git+URL#BRANCH`, or for `git:BRANCH`, which refers to the repository at `root`.

    Raises SettingsError if the place is invalid, and StoreUnavailable if git cannot run.
    """
    environment = clean_environment(os.environ)
    user_git = Git(root if root.is_dir() else Path("/"), environment, place)
    remote = remote_of(place, user_git)
    path = cache.absolute() / "git" / f"{sha256(os.fsencode(remote.place)).hexdigest()[:32]}.git"
    make_repository(path)
    # In the cache, git does not read the user's repository settings, so environment variables pass on the missing ones.
    environment = without_settings(environment) | {"GIT_DIR": str(path), "GIT_NO_REPLACE_OBJECTS": "1"}
    cache_settings = settings_of(Git(path, environment, remote.place))
    cache_git = Git(path, environment_for(remote, cache_settings, environment), remote.place, remote.secrets)
    return GitStore(remote.place, remote.branch, BranchCache(path, cache_git), cache_git)


class GitStore:
    """Stores the record on a branch. Threads may share a store."""

    path: Path | None = None

    def __init__(self, place: str, branch: str, cache: BranchCache, git: Git) -> None:
        self.place = place
        self._branch, self._head_branch = branch, f"{branch}-head"
        self._cache = cache
        self._git = git
        self._seen: _Seen | None = None
        self._is_atomic = True
        self._appending = Lock()

    def read(self) -> Stored:
        """Return the contents of both branches at the remote.

        The branches are read one after the other, so another run may push in between. If the record lacks the head
        that the head branch names, both branches are read again.
        """
        for pause in _PAUSES[:2]:
            time.sleep(pause)
            seen = self._read_remote()
            if seen.data is None or seen.second.encode() in seen.data:
                break
        self._seen = seen
        return Stored(seen.data, seen.second)

    def append(self, head: str | None, lines: bytes, summary: str, *, second: str | None = None) -> None:
        """Push a commit that appends the lines, with the subject `summary`, and a commit that sets `second`.

        Without `lines`, only the head branch is moved; if `second` is None, it is not moved.
        """
        with self._appending:
            seen, self._seen = self._seen, None
            if seen is None or not has_head(seen.data, head):
                seen = self._read_remote()
            require_head(seen.data, head, self.place)
            data = complete(seen.data or b"") + lines
            if second is not None and seen.second.encode() not in data:
                raise head_moved(self.place, "the second branch names a head that the record does not contain")
            (tip, head_tip), updates = seen.tips, []
            if lines:
                tip = self._cache.commit(seen.tips.record, _RECORD, data, summary)
                updates.append(BranchUpdate(self._branch, seen.tips.record, tip))
            if second is not None:
                head_tip = self._commit_head(seen.tips.head, second)
                updates.append(BranchUpdate(self._head_branch, seen.tips.head, head_tip))
            if not updates:
                return
            self._push(updates)
            pushed = _Seen(_Tips(tip, head_tip), data, seen.second if second is None else second)
            self._seen = self._confirm(pushed, second)

    def prepare(self) -> None:
        """Do nothing: the first push creates the branches and then checks them."""

    def check_writable(self) -> None:
        """Try a push that changes nothing, to check that the credentials permit it."""
        seen = self._read_remote()
        commit = self._cache.commit(seen.tips.record, _RECORD, seen.data or b"", "try a push")
        with suppress(HeadMoved):  # a branch that another run moves meanwhile can be written
            self._cache.push(BranchUpdate(self._branch, seen.tips.record, commit), dry=True)

    def _read_remote(self) -> _Seen:
        """Return the current contents of the branches. If the cache is damaged, it is replaced once."""
        try:
            return self._contents(self._tips())
        except CacheDamaged:
            self._cache.renew()
            return self._contents(self._tips())

    def _tips(self) -> _Tips:
        return _Tips(*self._cache.tips(self._branch, self._head_branch))

    def _contents(self, tips: _Tips) -> _Seen:
        """Return the contents of the branches at these tips, or at newer tips if the branches move meanwhile."""
        for _ in range(_FETCHES):
            branches = ((self._branch, tips.record), (self._head_branch, tips.head))
            absent = [branch for branch, tip in branches if tip and not self._cache.has(tip)]
            if not absent:
                break
            self._cache.fetch(*absent)
            if not all(self._cache.has(tip) for tip in tips if tip):
                tips = self._tips()
        head = _HASH.fullmatch(self._cache.file(tips.head, _HEAD) or b"") if tips.head else None
        return _Seen(tips, self._cache.file(tips.record, _RECORD), head[1].decode() if head else "")

    def _commit_head(self, tip: str, head: str) -> str:
        return self._cache.commit(tip, _HEAD, f"{head}\n".encode(), f"head {head[:12]}")

    def _push(self, updates: list[BranchUpdate]) -> None:
        """Push the updates of the branches, atomically if possible. Raises HeadMoved and StoreUnavailable."""
        if self._is_atomic:
            try:
                self._cache.push(*updates)
            except NoAtomicPush:
                self._is_atomic = False
            else:
                return
        self._cache.push(updates[0])
        with suppress(HeadMoved):  # `_confirm` detects this
            for update in updates[1:]:
                self._cache.push(update)

    def _confirm(self, pushed: _Seen, second: str | None) -> _Seen:
        """Wait until the remote shows what was pushed, and return the contents of the branches.

        A head branch that lags behind is pushed again. Raises StoreUnavailable if the remote does not show the push
        in time.
        """
        data = pushed.data or b""
        for pause in _PAUSES:
            time.sleep(pause)
            tips = self._tips()
            if tips == pushed.tips:
                return pushed
            seen = self._contents(tips)
            if not (seen.data or b"").startswith(data):
                continue
            if second is None or seen.has_reached(len(data), second):
                return seen
            old = seen.tips.head
            with suppress(HeadMoved):  # the next query detects this
                self._cache.push(BranchUpdate(self._head_branch, old, self._commit_head(old, second)))
        what = "the remote acknowledged a push, but does not show it"
        step = Step("check that fetch and push use the same repository")
        raise self._git.failure("git-push-not-seen", what, step, CONNECTION)
