"""A bare repository of our own that follows one branch of a remote, and makes commits for it.

It lies in the cache directory, and holds nothing that the remote does not: one that is broken is thrown away.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from reconciler.disk.directories import private_directory
from reconciler.disk.locks import LockHeld, lock
from reconciler.errors import StoreUnavailable
from reconciler.state.stores.git.command import reason, trust
from reconciler.state.stores.git.settings import REMOTE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reconciler.state.stores.git.command import Git, Ran
    from reconciler.state.stores.git.remote import Remote

_TIP = "refs/reconciler/tip"
_ABSENT = re.compile(rb"^fatal: couldn't find remote ref ", re.MULTILINE)
_BROKEN = re.compile(
    rb"\.lock': File exists|corrupt|bad object|missing object|object file .* is empty|does not point to a valid object"
    rb"|reference broken|not a git repository: '|did not send all necessary objects"
)
_OTHER_FORMAT = re.compile(rb"mismatched algorithms: |does not support this repository's hash algorithm")
_REFUSAL = re.compile(rb"^!\t[^\t]*\t(.*)$", re.MULTILINE)
_UP_TO_DATE = re.compile(rb"^=\t", re.MULTILINE)
_MOVED = re.compile(
    rb"\[rejected\]"
    rb"|\[remote rejected\] \((cannot lock ref|failed to (update|lock)|reference already exists|incorrect old value"
    rb"|stale info|fetch first|non-fast-forward)"
)
_REMEDY = "see to the disk and the permissions, or name another directory with --cache-dir"
_PATIENCE = 60.0  # seconds to wait for whoever else fetches here; a fetch takes no longer
_BRIEFLY = 1.0  # seconds, once that was in vain: an apply reads again for each outcome, and must come to its end
_LOCKED = re.compile(rb"^remote: error: (cannot lock ref [^\n]*)", re.MULTILINE)
_DIRECTORY = b"040000 tree "
_FILE = b"100644 blob "


class Mirror:
    """What `branch` of the remote looks like, and a place to make the next commit of it.

    A tip is the name of a commit, "" where there is no such branch.
    """

    def __init__(self, path: Path, branch: str, git: Git, remote: Remote | None = None) -> None:
        self._path = path
        self._branch = f"refs/heads/{branch}"
        self._git = git
        self._remote = remote
        self._patience = _PATIENCE

    def make(self) -> None:
        """Have the repository there. Raises StoreUnavailable, and SettingsError for a cache not to be trusted."""
        with self._locked():
            if not self._path.exists():
                self._renew("sha1")

    def refuse_elsewhere(self) -> None:
        """Raises StateError where a push would lead to another place than a fetch looks at."""
        if self._remote is not None:
            self._remote.refuse_elsewhere(self._git.where)

    @property
    def proven(self) -> bool:
        """Whether what is pushed is certain to be where it is fetched from."""
        return self._remote is None or self._remote.proven

    def look(self) -> str:
        """The tip that the branch has at the remote, which is not brought here. Raises StoreUnavailable."""
        ran = self._git.run("ls-remote", REMOTE, self._branch)
        if ran.code:
            raise self._unreachable(ran)
        named = f"\t{self._branch}\n".encode()
        tips = [line.removesuffix(named) for line in ran.out.splitlines(keepends=True) if line.endswith(named)]
        return tips[0].decode() if tips else ""

    def fetch(self) -> str:
        """Bring here what the branch is now, and give its tip. Raises StoreUnavailable."""
        with self._locked():
            ran = self._fetch()
            if ran.code == 0:
                return self._git.ask("rev-parse", _TIP).decode().strip()
        if _ABSENT.search(ran.err):
            return ""
        raise self._unreachable(ran)

    def read(self, tip: str, path: str) -> bytes | None:
        """A file as it is at `tip`, None where there is none. Raises StoreUnavailable."""
        if not tip:
            return None
        ran = self._git.run("cat-file", "--batch", stdin=f"{tip}:{path}\n".encode())
        header, _, data = ran.out.partition(b"\n")
        if ran.code or header.endswith(b" missing"):
            self._check_absence(tip, path, ran.code)
            return None
        _, kind, size = header.split()
        if kind != b"blob":
            raise StoreUnavailable(f"{path} is no file, but a {kind.decode()}", where=self._git.where)
        return data[: int(size)]

    def paths(self, tip: str) -> list[str]:
        """Every file at `tip`. Raises StoreUnavailable."""
        listed = self._git.ask("ls-tree", "-r", "-z", "--name-only", tip) if tip else b""
        return [os.fsdecode(path) for path in listed.split(b"\0")[:-1]]

    def commit(self, tip: str, path: str, data: bytes, message: str) -> str:
        """A commit on `tip` that changes nothing but one file in one directory, `path`. Raises StoreUnavailable."""
        directory, _, name = path.encode().partition(b"/")
        blob = self._git.ask("hash-object", "-w", "--stdin", stdin=data).strip()
        root = self._entries(tip)
        found = root.get(directory, _DIRECTORY)
        if not found.startswith(_DIRECTORY):
            raise StoreUnavailable(f"{os.fsdecode(directory)} is no directory", where=self._git.where)
        inside = self._entries(found.removeprefix(_DIRECTORY).decode()) | {name: _FILE + blob}
        tree = self._tree(root | {directory: _DIRECTORY + self._tree(inside).encode()})
        parent = ["-p", tip] if tip else []
        return self._git.ask("commit-tree", tree, *parent, stdin=message.encode()).decode().strip()

    def push(self, tip: str, commit: str) -> str | None:
        """Make `commit` the branch's tip, if that is still `tip`: None where that is done, else why the tip moved.

        Raises StoreUnavailable where the push failed for another reason, and where it is open whether it did.
        """
        lease = f"--force-with-lease={self._branch}:{tip}"  # an empty tip: only if there is no such branch
        refspec = f"{commit}:{self._branch}"
        ran = self._git.run("push", "--porcelain", "--recurse-submodules=no", lease, REMOTE, refspec)
        if ran.code == 0:
            # An identical commit of somebody else, made in the same second: theirs was first.
            return "it is there already" if _UP_TO_DATE.search(ran.out) else None
        if _OTHER_FORMAT.search(ran.err):
            with self._locked():
                self._renew(self._other_format())
            return "its objects are named otherwise"
        refusals = _REFUSAL.findall(ran.out)
        if refusals and all(_MOVED.match(refusal) for refusal in refusals):
            return reason(b"\n".join([*_LOCKED.findall(ran.err)[:1], *refusals]))
        remedy = (
            "may these credentials push to the branch? in a workflow that takes `permissions: contents: write`"
            if refusals
            else "check the network, the URL, and that the credentials git has for it may push to the branch;"
            " in a workflow that takes `permissions: contents: write`"
        )
        what = "the push failed: " + reason(ran.err + b"\n".join(refusals))
        raise StoreUnavailable(what, where=self._git.where, remedy=trust(ran.err) or remedy)

    def _unreachable(self, ran: Ran) -> StoreUnavailable:
        return StoreUnavailable(
            f"the branch cannot be fetched: {reason(ran.err)}",
            where=self._git.where,
            remedy=trust(ran.err) or "check the network, the URL, and the credentials that git has for it",
        )

    def _fetch(self) -> Ran:
        """Fetch; if our own repository is what stands in the way of that, with a new one."""
        how = ["--quiet", "--no-tags", "--recurse-submodules=no"]
        for _ in range(3):
            # Of what was before the first fetch nothing is wanted: of 2000 commits that takes 0.1 s, and 6 s with all.
            depth = [] if (self._path / "shallow").exists() else ["--depth=1"]
            ran = self._git.run("fetch", *how, *depth, REMOTE, f"+{self._branch}:{_TIP}")
            if ran.code and _OTHER_FORMAT.search(ran.err):
                self._renew(self._other_format())
            elif ran.code and _BROKEN.search(ran.err):
                self._renew("sha1")
            else:
                break
        return ran

    def _other_format(self) -> str:
        """The way of naming objects (gitformat: `sha1`, `sha256`) that the repository has not."""
        return "sha256" if self._git.ask("rev-parse", "--show-object-format").strip() == b"sha1" else "sha1"

    def _renew(self, object_format: str) -> None:
        """Put an empty repository in the place of what is there, under the lock."""
        mark = os.urandom(8).hex()
        new, old = self._path.with_suffix(f".{mark}.new"), self._path.with_suffix(f".{mark}.old")
        how = ("--quiet", "--bare", "--template=", "--initial-branch=tip", f"--object-format={object_format}")
        self._git.ask("init", *how, str(new))
        with suppress(FileNotFoundError):
            self._path.rename(old)
        new.rename(self._path)
        shutil.rmtree(old, ignore_errors=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """For what only one at a time may do, of all threads and processes of this machine.

        Two fetches into one branch would disturb each other. Commits and pushes do not, and take no lock.
        """
        try:
            private_directory(self._path.parent.parent)
            private_directory(self._path.parent)
            path = self._path.with_suffix(".lock")
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                lock(descriptor, path, self._patience)
                self._patience = _PATIENCE
                yield
            finally:
                os.close(descriptor)
        except OSError as problem:
            held = isinstance(problem, LockHeld)
            self._patience = _BRIEFLY if held else self._patience
            raise StoreUnavailable(
                f"the copy of the branch cannot be kept: {problem.strerror}",
                where=self._path,
                remedy=LockHeld.remedy if held else _REMEDY,
            ) from problem

    def _check_absence(self, tip: str, path: str, code: int) -> None:
        """Raises StoreUnavailable for a file that is missing here, and not on the branch."""
        listed = self._git.run("ls-tree", tip, path)
        if not (code or listed.code or listed.out):
            return
        with self._locked():
            self._renew("sha1")
        raise StoreUnavailable(
            "the copy of the branch was damaged, and has been thrown away", where=self._git.where, remedy="try again"
        )

    def _entries(self, tree: str) -> dict[bytes, bytes]:
        """What is directly in a tree: names, and what stands there; nothing for ""."""
        listed = self._git.ask("ls-tree", "-z", tree) if tree else b""
        told = (entry.partition(b"\t") for entry in listed.split(b"\0")[:-1])
        return {name: what for what, _, name in told}

    def _tree(self, entries: dict[bytes, bytes]) -> str:
        listed = b"".join(what + b"\t" + name + b"\0" for name, what in entries.items())
        return self._git.ask("mktree", "-z", stdin=listed).decode().strip()
