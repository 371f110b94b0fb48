"""A local bare repository that mirrors one branch of a remote, and makes commits for it.

It is in the cache directory. One that is damaged, or is not as it was made, is replaced: it contains nothing that the
remote does not, unless somebody has set the branch back. What was last seen of the branch before that is kept here, for
a record that has lost entries by it; of a damaged copy, as far as git can still read it.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from reconciler.disk.directories import private_directory
from reconciler.disk.locks import LockHeld, locked_file
from reconciler.errors import StoreUnavailable
from reconciler.state.stores.git.command import reason, trust
from reconciler.state.stores.git.repository import create, is_ours
from reconciler.state.stores.git.settings import REMOTE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reconciler.state.stores.git.command import Git, Ran
    from reconciler.state.stores.git.repository import ObjectFormat

_TIP = "refs/reconciler/tip"
_SEEN = "refs/reconciler"
_NO_FAST_FORWARD = 1
"""What a fetch exits with if all that fails is the update of a ref; 128 if the remote cannot be read."""
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
_REMEDY = "check the disk and the permissions, or use another --cache-dir"
_PATIENCE = 60.0  # seconds to wait for another process that fetches; a fetch takes no longer
_BRIEFLY = 1.0  # seconds, after a timeout: an apply reads again for each outcome, and must end
_LOCKED = re.compile(rb"^remote: error: (cannot lock ref [^\n]*)", re.MULTILINE)
_DIRECTORY = b"040000 tree "
_FILE = b"100644 blob "


def following(ref: str) -> str:
    """The refspec by which the tip of a branch is remembered: git does so at each fetch and each push."""
    return f"{ref}:{_TIP}"


class Mirror:
    """A copy of `branch` of the remote, and the place where its next commit is made.

    A tip is the name of a commit, "" if the branch does not exist.
    """

    def __init__(self, path: Path, branch: str, git: Git) -> None:
        self._path = path
        self._branch = f"refs/heads/{branch}"
        self._git = git
        self._patience = _PATIENCE

    def make(self) -> None:
        """Create the repository unless there is one that is ours.

        Raises StoreUnavailable, and SettingsError for an unsafe directory.
        """
        with self._locked():
            if not is_ours(self._path):
                self._renew("sha1")

    def look(self) -> str:
        """The tip of the branch at the remote, without fetching it. Raises StoreUnavailable."""
        ran = self._git.run("ls-remote", REMOTE, self._branch)
        if ran.code:
            raise self._unreachable(ran)
        named = f"\t{self._branch}\n".encode()
        tips = [line.removesuffix(named) for line in ran.out.splitlines(keepends=True) if line.endswith(named)]
        return tips[0].decode() if tips else ""

    def fetch(self) -> str:
        """Fetch the branch, and return its tip. Raises StoreUnavailable."""
        with self._locked():
            ran = self._fetch()
            if ran.code == 0:
                return self._git.ask("rev-parse", _TIP).decode().strip()
            if _ABSENT.search(ran.err):
                self._keep_tip()  # the first push takes its place, with the journal of one target only
                return ""
        raise self._unreachable(ran)

    def kept(self) -> list[str]:
        """The last tip seen here, and those that the branch was set back from, the newest first.

        Raises StoreUnavailable.
        """
        listed = self._git.ask("for-each-ref", "--sort=-creatordate", "--format=%(objectname)", f"{_SEEN}/")
        return list(dict.fromkeys(listed.decode().split()))

    def read(self, tip: str, path: str) -> bytes | None:
        """A file as it is at `tip`, None if there is none. Raises StoreUnavailable."""
        if not tip:
            return None
        ran = self._git.run("cat-file", "--batch", stdin=f"{tip}:{path}\n".encode())
        header, _, data = ran.out.partition(b"\n")
        if ran.code or header.endswith(b" missing"):
            self._check_absence(tip, path, ran.code)
            return None
        _, kind, size = header.split()
        if kind != b"blob":
            raise StoreUnavailable(f"{path} is a {kind.decode()}, not a file", where=self._git.where)
        return data[: int(size)]

    def object_at(self, tip: str, path: str) -> str:
        """The hash of the file or directory at `path`, "" if there is none. Raises StoreUnavailable."""
        return self._git.run("rev-parse", "--verify", "--quiet", f"{tip}:{path}").out.decode().strip()

    def paths(self, tip: str) -> list[str]:
        """Every file at `tip`. Raises StoreUnavailable."""
        listed = self._git.ask("ls-tree", "-r", "-z", "--name-only", tip) if tip else b""
        return [os.fsdecode(path) for path in listed.split(b"\0")[:-1]]

    def commit(self, tip: str, path: str, data: bytes, message: str) -> str:
        """A commit on `tip` that changes only the file `path`, in one directory. Raises StoreUnavailable."""
        directory, _, name = path.encode().partition(b"/")
        blob = self._git.ask("hash-object", "-w", "--stdin", stdin=data).strip()
        root = self._entries(tip)
        found = root.get(directory, _DIRECTORY)
        if not found.startswith(_DIRECTORY):
            raise StoreUnavailable(f"{os.fsdecode(directory)} is not a directory", where=self._git.where)
        inside = self._entries(found.removeprefix(_DIRECTORY).decode()) | {name: _FILE + blob}
        tree = self._tree(root | {directory: _DIRECTORY + self._tree(inside).encode()})
        parent = ["-p", tip] if tip else []
        return self._git.ask("commit-tree", tree, *parent, stdin=message.encode()).decode().strip()

    def push(self, tip: str, commit: str) -> str | None:
        """Make `commit` the branch's tip if the branch is still at `tip`; returns None, or why the branch had moved.

        Raises StoreUnavailable if the push failed for another reason, or if its outcome is unknown.
        """
        return self._push(tip, commit)

    def try_push(self, tip: str, commit: str) -> None:
        """As `push`, but for the change itself: shows whether the remote is there and the credentials may push."""
        self._push(tip, commit, "--dry-run")

    def _push(self, tip: str, commit: str, *more: str) -> str | None:
        lease = f"--force-with-lease={self._branch}:{tip}"  # an empty tip: only if there is no such branch
        refspec = f"{commit}:{self._branch}"
        ran = self._git.run("push", "--porcelain", "--recurse-submodules=no", *more, lease, REMOTE, refspec)
        if ran.code == 0:
            # An identical commit of another run, made in the same second: theirs was first.
            return "already pushed by another run" if _UP_TO_DATE.search(ran.out) else None
        if _OTHER_FORMAT.search(ran.err):
            with self._locked():
                self._renew(self._other_format())
            return "the repository uses another object format"
        refusals = _REFUSAL.findall(ran.out)
        if refusals and all(_MOVED.match(refusal) for refusal in refusals):
            return reason(b"\n".join([*_LOCKED.findall(ran.err)[:1], *refusals]))
        remedy = (
            "check that the credentials may push to the branch; a workflow needs `permissions: contents: write`"
            if refusals
            else "check the network, the URL, and that the credentials may push to the branch; a workflow needs"
            " `permissions: contents: write`"
        )
        what = "the push failed: " + reason(ran.err + b"\n".join(refusals))
        raise StoreUnavailable(what, where=self._git.where, remedy=trust(ran.err) or remedy)

    def _unreachable(self, ran: Ran) -> StoreUnavailable:
        return StoreUnavailable(
            f"cannot fetch the branch: {reason(ran.err)}",
            where=self._git.where,
            remedy=trust(ran.err) or "check the network, the URL and the credentials",
        )

    def _fetch(self) -> Ran:
        """Fetch; if the local repository is damaged, into a new one. What a branch was set back from is kept."""
        force, how = "", ["--quiet", "--no-tags", "--recurse-submodules=no"]
        for _ in range(3):
            # Commits before the first fetch are not needed: of 2000, depth 1 takes 0.1 s and all take 6 s.
            depth = [] if (self._path / "shallow").exists() else ["--depth=1"]
            ran = self._git.run("fetch", *how, *depth, REMOTE, force + following(self._branch))
            if ran.code and _OTHER_FORMAT.search(ran.err):
                self._renew(self._other_format())
            elif ran.code and _BROKEN.search(ran.err):
                self._renew("sha1", keep=True)
            elif ran.code == _NO_FAST_FORWARD and not force:
                self._keep_tip()
                force = "+"
            else:
                break
        return ran

    def _keep_tip(self) -> None:
        """Keep git from deleting the last tip, and what it contains, once another one has taken its place."""
        tip = self._git.run("rev-parse", "--verify", "--quiet", _TIP).out.decode().strip()
        if tip:
            self._git.ask("update-ref", f"{_SEEN}/kept/{tip}", tip)

    def _other_format(self) -> ObjectFormat:
        """The object format that the repository does not have."""
        return "sha256" if self._git.ask("rev-parse", "--show-object-format").strip() == b"sha1" else "sha1"

    def _renew(self, object_format: ObjectFormat, *, keep: bool = False) -> None:
        """Replace the repository with an empty one, under the lock; `keep`: but for the tips kept in it, if git can."""
        mark = os.urandom(8).hex()
        new, old = self._path.with_suffix(f".{mark}.new"), self._path.with_suffix(f".{mark}.old")
        create(new, object_format)
        with suppress(FileNotFoundError):
            self._path.rename(old)
        new.rename(self._path)
        if keep:
            refs = f"+{_SEEN}/*:{_SEEN}/kept/{mark}/*"
            self._git.run("fetch", "--quiet", "--no-tags", "--update-shallow", str(old), refs)
        shutil.rmtree(old, ignore_errors=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock for what only one thread or process of this machine may do at a time.

        Two fetches into one branch would conflict. Commits and pushes do not, and take no lock.
        """
        try:
            private_directory(self._path.parent.parent)
            private_directory(self._path.parent)
            with locked_file(self._path.with_suffix(".lock"), self._patience):
                self._patience = _PATIENCE
                yield
        except OSError as problem:
            held = isinstance(problem, LockHeld)
            self._patience = _BRIEFLY if held else self._patience
            raise StoreUnavailable(
                f"cannot save the local copy of the branch: {problem.strerror}",
                where=self._path,
                remedy=LockHeld.remedy if held else _REMEDY,
            ) from problem

    def _check_absence(self, tip: str, path: str, code: int) -> None:
        """Raises StoreUnavailable for a file that is missing in the local copy only."""
        listed = self._git.run("ls-tree", tip, path)
        if not (code or listed.code or listed.out):
            return
        with self._locked():
            self._renew("sha1", keep=True)
        raise StoreUnavailable(
            "the local copy of the branch was damaged and has been deleted",
            where=self._git.where,
            remedy="run the command again",
        )

    def _entries(self, tree: str) -> dict[bytes, bytes]:
        """The entries directly in a tree, by name: mode, type and hash; none for ""."""
        listed = self._git.ask("ls-tree", "-z", tree) if tree else b""
        entries = (entry.partition(b"\t") for entry in listed.split(b"\0")[:-1])
        return {name: what for what, _, name in entries}

    def _tree(self, entries: dict[bytes, bytes]) -> str:
        listed = b"".join(what + b"\t" + name + b"\0" for name, what in entries.items())
        return self._git.ask("mktree", "-z", stdin=listed).decode().strip()
