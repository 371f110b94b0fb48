"""A record as a file on a branch, and its head on a second branch, which shows that the first was set back or deleted.

A push succeeds only if the branch has not moved since the commit was made (`--force-with-lease`). No answer to a push
is believed: the remote is asked afterwards. A server that cannot move two branches at once gets the record first, so
that the second branch never names what is not there.
"""

from __future__ import annotations

import os
import re
import time
from hashlib import sha256
from pathlib import Path
from threading import Lock

from msgspec import Struct

from reconciler.errors import HeadMoved, Step
from reconciler.record.chain import complete
from reconciler.record.store import Stored
from reconciler.stores.git.cache import Cache, CacheDamaged, NoAtomicPush
from reconciler.stores.git.command import CONNECTION, Git, clean
from reconciler.stores.git.remote import (
    environment_for,
    remote_of,
    settings_of,
    without_settings,
)
from reconciler.stores.heads import head_moved, require_head

_RECORD, _HEAD = "state.jsonl", "head"
"""The files on the two branches."""
_HASH = re.compile(rb"([0-9a-f]{64})\n")
_PAUSES = (0.0, 0.2, 1.0)
"""Seconds before each look at a remote that does not show what it should: it may lag for a moment."""


class _Seen(Struct, frozen=True):
    """The two branches as they are at the remote: their tips, "" for none, the record and the head that they hold."""

    tips: tuple[str, ...]
    data: bytes | None
    second: str

    def has_reached(self, end: int, second: str) -> bool:
        """True if the second branch names `second`, or a line of the record that begins after its first `end` bytes."""
        following = f'"hash":"{self.second}"'.encode()
        return self.second == second or bool(self.second and following in (self.data or b"")[end:])


def open_git(place: str, root: Path, cache: Path) -> GitStore:
    """Return the store that `git:BRANCH`, in the repository of the directory `root`, or `git+URL#BRANCH` names.

    Raises SettingsError if it names none, and StoreUnavailable if git cannot run.
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
        """Return what is on the branches at the remote. They are listed one after the other, so a head that the record
        does not have yet may come from a push between the two: then both are looked at again.
        """
        for pause in _PAUSES[:2]:
            time.sleep(pause)
            seen = self._look()
            if seen.data is None or seen.second.encode() in seen.data:
                break
        self._seen = seen
        return Stored(seen.data, seen.second)

    def append(self, head: str | None, seq: int, lines: bytes, note: str, *, second: str | None = None) -> None:  # noqa: ARG002
        """Push a commit with the lines, whose subject is `note`, and one with the second head.

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
            new = self._cache.commit(tip, _RECORD, data, note) if lines else tip
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
        """Change nothing: the first push makes the branch, and each is looked at afterwards."""

    def check_writable(self) -> None:
        """Have git try a push, which shows whether the credentials permit it."""
        seen = self._look()
        commit = self._cache.commit(seen.tips[0], _RECORD, seen.data or b"", "try a push")
        self._cache.push((self._branches[0], seen.tips[0], commit), dry=True)

    def _look(self) -> _Seen:
        """Return the branches as they are now; a damaged cache is replaced once."""
        try:
            return self._contents(self._cache.tips(*self._branches))
        except CacheDamaged:
            self._cache.renew()
            return self._contents(self._cache.tips(*self._branches))

    def _contents(self, tips: tuple[str, ...]) -> _Seen:
        """Return what is at these tips, or at newer ones if the branches move meanwhile."""
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
        """Push the record and its head, at once if the server can. Raises HeadMoved and StoreUnavailable."""
        moved = ""
        try:
            if self._is_atomic:
                moved = self._cache.push(*updates)
        except NoAtomicPush:
            self._is_atomic = False
        if not self._is_atomic:
            moved = self._cache.push(updates[0])
            if not moved and updates[1:]:
                self._cache.push(updates[1])  # whether it has moved shows afterwards
        if moved:
            raise head_moved(self.place, f"another run moved the branch ({moved})")

    def _confirm(self, pushed: _Seen, second: str | None) -> _Seen:
        """Return the branches as the remote shows them, once they hold what was pushed; a second branch that is behind
        is pushed again.

        Raises StoreUnavailable if they do not.
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
        what = "the remote acknowledged a push, and does not show it"
        raise self._git.failure(
            "git-push-not-seen", what, Step("check that fetch and push use one repository"), CONNECTION
        )


def _ends_with(seen: _Seen, head: str | None) -> bool:
    """True if what was last seen of the record has this head."""
    try:
        require_head(seen.data, head, "")
    except HeadMoved:
        return False
    return True
