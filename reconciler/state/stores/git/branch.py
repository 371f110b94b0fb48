"""Journals on a branch of a git repository: `<region>/<environment>.jsonl`, one commit for each append.

A push succeeds only if the branch has not moved since the commit was made, so it is a fast-forward. The journals of
other targets are on the same branch: if only they have moved, the commit is made again on top of them.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.journal.chain import head_of
from reconciler.state.stores.git.places import branch_place
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Container

    from reconciler.state.stores.git.mirror import Mirror
    from reconciler.state.stores.git.remote import Remote

_ATTEMPTS = 12
_STUCK = (
    "a git process may have crashed on the remote: delete refs/heads/BRANCH.lock in that repository, or ask its"
    " administrator"
)
_SUFFIX = ".jsonl"


class GitStore:
    """Journals on a branch of `remote`, accessed through `mirror`. Threads may share it."""

    path = None

    def __init__(self, location: str, mirror: Mirror, remote: Remote) -> None:
        self.location = location
        self._mirror = mirror
        self._remote = remote
        self._tip: str | None = None
        self._appending = threading.Lock()
        self.place = StoreLocation(location, normalized=branch_place)

    def prepare(self) -> None:
        """See Store.prepare; a branch is made by the first push to it."""

    def targets(self) -> list[TargetName]:
        """See Store.targets; files with other names are ignored."""
        paths = (path.split("/") for path in self._mirror.paths(self._mirror.fetch()))
        return sorted(
            TargetName("/".join(parts).removesuffix(_SUFFIX))
            for parts in paths
            if len(parts) == 2 and parts[1].endswith(_SUFFIX) and not any(part.startswith(".") for part in parts)
        )

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:  # noqa: ARG002
        """See Store.read; what can be fetched is durable."""
        path = self._path(target)
        self._tip = tip = self._mirror.fetch()
        return self._mirror.read(tip, path)

    def stamp(self, target: TargetName) -> None:
        """See Store.stamp; that would take a fetch too."""

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:  # noqa: ARG002
        """See Store.append; `note` is the subject of the commit, `seq` is not needed.

        One append at a time: concurrent pushes of one run would only conflict with each other.

        Raises StateError, too, if fetch and push use different repositories.
        """
        self._remote.refuse_elsewhere(self.location)
        path = self._path(target)
        with self._appending:
            tips = set[str]()
            for attempt in range(_ATTEMPTS):
                tip, before = self._base(path, head)
                tips.add(tip)
                after = _whole_lines(before) + lines
                commit = self._mirror.commit(tip, path, after, note)
                moved = self._mirror.push(tip, commit)
                if moved is None:
                    self._tip = commit if self._remote.proven else self._read_back(path, after)
                    return
                time.sleep(random.uniform(0, 0.02 * attempt))  # noqa: S311 - not for security
        raise self._refused(moved, stuck=len(tips) == 1)

    def _read_back(self, path: str, journal: bytes) -> str:
        """The fetched tip at which the journal contains what was pushed. Raises StoreUnavailable."""
        tip = self._mirror.fetch()
        if not (self._mirror.read(tip, path) or b"").startswith(journal):
            raise StoreUnavailable(
                "the push succeeded but a fetch does not return it: fetch and push use different repositories, or the"
                " remote is delayed",
                where=self.location,
                remedy="use one URL for both: --state git+URL#BRANCH",
            )
        return tip

    def _refused(self, moved: str | None, *, stuck: bool) -> StoreUnavailable:
        """The error if no push succeeded; `stuck` if no other run moved the branch meanwhile."""
        if not stuck:
            return StoreUnavailable(
                f"could not push in {_ATTEMPTS} attempts: {moved}",
                where=self.location,
                remedy="other runs keep pushing to this branch; retry later",
            )
        if not self._remote.proven:
            return StoreUnavailable(
                f"fetch and push use different branches: {moved}",
                where=self.location,
                remedy="use one URL for both: --state git+URL#BRANCH",
            )
        taken = moved is not None and "exists; cannot create" in moved
        return StoreUnavailable(
            f"the remote rejected {_ATTEMPTS} pushes: {moved}",
            where=self.location,
            remedy="the name conflicts with an existing branch; use another branch name" if taken else _STUCK,
        )

    def _base(self, path: str, head: str | None) -> tuple[str, bytes | None]:
        """A tip at which the journal has that head, the last known one if possible, and the journal there.

        Raises HeadMoved, and StoreUnavailable.
        """
        known, self._tip = self._tip, None
        if known is not None:
            journal = self._mirror.read(known, path)
            if _has_head(journal, head):
                return known, journal
        tip = self._mirror.fetch()
        journal = self._mirror.read(tip, path)
        if not _has_head(journal, head):
            raise HeadMoved(_how_moved(journal, head), where=f"{self.location} {path.removesuffix(_SUFFIX)}")
        return tip, journal

    def check_writable(self, target: TargetName) -> None:
        """See Triable.check_writable: a push that git only tries, which shows whether the credentials may push."""
        self._remote.refuse_elsewhere(self.location)
        path, tip = self._path(target), self._mirror.fetch()
        journal = self._mirror.read(tip, path) or b""
        self._mirror.try_push(tip, self._mirror.commit(tip, path, journal, f"{target}: tried"))

    def kept(self, target: TargetName) -> list[bytes]:
        """See Keeping.kept."""
        path = self._path(target)
        journals = (self._mirror.read(tip, path) for tip in self._mirror.kept())
        return [_whole_lines(journal) for journal in journals if journal]

    def where(self, target: TargetName) -> str:
        """See Store.where."""
        return f"{self.location} {target}"

    def journal_file(self, target: TargetName) -> None:
        """See Store.journal_file: a branch has none."""

    def _path(self, target: TargetName) -> str:
        parts = (target.region, target.environment)
        if any(not part or part.startswith(".") or "/" in part or not part.isprintable() for part in parts):
            raise StoreUnavailable(f"not a valid target name: {target!r}", where=self.location)
        return f"{target}{_SUFFIX}"


def _whole_lines(journal: bytes | None) -> bytes:
    """A journal without what follows its last newline."""
    whole, newline, _ = (journal or b"").rpartition(b"\n")
    return whole + newline


def _has_head(journal: bytes | None, head: str | None) -> bool:
    """Whether a journal has the head that an append was made for."""
    if journal is None or head is None:
        return journal is None and head is None
    return head_of(_whole_lines(journal)[:-1].rpartition(b"\n")[2]) == head


def _how_moved(journal: bytes | None, head: str | None) -> str:
    if journal is None:
        return "the journal is missing"
    return f"conflict: another run {'initialized' if head is None else 'appended to'} this journal"
