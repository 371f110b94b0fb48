"""Whether the upstream branch of a work tree has entries of the record that the files in the work tree lack.

Journals in files are shared by committing and pushing them. A plan made on files that are behind contains creates that
another run made already, and nothing in the files shows it. So the upstream branch is read before a create, in a local
copy: the user's repository is not changed.
"""

from __future__ import annotations

import os
import shlex
import shutil
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import Refused, StoreUnavailable
from reconciler.state.journal.chain import DELETE_THEIRS, count_entries
from reconciler.state.stores.git.command import Git, clean, reason, restore_command, trust
from reconciler.state.stores.git.origin import Copies, origin_of
from reconciler.state.stores.git.settings import settings_of
from reconciler.values import Keyed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from reconciler.model.address import TargetName
    from reconciler.state.stores.store import Store


_PATIENCE = 20.0
"""Seconds that one git command may take; without a network, the wait must be short."""


def refuse_behind(
    store: Store,
    targets: Iterable[TargetName],
    cache_directory: Path,
    environment: Mapping[str, str],
    warn: Callable[[str], None],
) -> None:
    """Raises Refused if an upstream branch has entries of one of these targets' journals that the store lacks.

    Checks only journals in files of a work tree, on a branch with an upstream; whether git tracks them does not matter,
    since a new one in the place of one that was deleted is not tracked. If the remote cannot be reached, calls `warn`
    and compares with the last fetched state; so it does, without a warning, for files that git ignores. Raises
    SettingsError and StoreUnavailable if git cannot be used.
    """
    environment = {**clean(environment), "GIT_NO_LAZY_FETCH": "1"}
    if shutil.which("git", path=environment.get("PATH")) is None:
        return
    copies = Copies(cache_directory.absolute() / "git", environment, _PATIENCE)
    readers: dict[_Upstream, _Reader] = {}
    for target in targets:
        journal = store.journal_file(target)
        upstream, path = (None, "") if journal is None else _followed(journal, environment, warn)
        if upstream is None:
            continue
        if upstream not in readers:
            readers[upstream] = upstream.reader(copies, warn)
        reader = readers[upstream]
        theirs = reader.read(path)
        if theirs is None:
            continue
        ours = store.read(target) or b""
        if is_another(ours, theirs):
            _refuse_another(upstream, path, target, *map(_count, (ours, theirs)))
        _refuse(upstream, reader, path, *difference(ours, theirs))


def difference(ours: bytes, theirs: bytes) -> tuple[int, int]:
    """The number of entries that only our journal has, and only theirs, after their common prefix.

    What follows the last newline is not counted.
    """
    here, there = ours.split(b"\n")[:-1], theirs.split(b"\n")[:-1]
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False)))
    return len(here) - common, len(there) - common


def is_another(ours: bytes, theirs: bytes) -> bool:
    """Whether two journals have entries, and not even the first in common."""
    first, other = (data.partition(b"\n") for data in (ours, theirs))
    return bool(first[1] and other[1]) and first[0] != other[0]


def _count(data: bytes) -> int:
    return data.count(b"\n")


def in_work_tree(journal: Path) -> bool:
    """Whether a file of this machine is in a work tree of git."""
    return any((above / ".git").exists() for above in journal.parents)


class _Reader(Struct, frozen=True):
    """Reads files of a `commit` of the upstream branch, which is "" if the user's repository does not have it."""

    read: Callable[[str], bytes | None]
    commit: str = ""


class _Upstream(Keyed, frozen=True, eq=False):
    """The upstream branch of a work tree: on a remote of its repository, or in the repository itself (".").

    With `asks`, its remote is asked for what it is now.
    """

    git: Git
    top: Path
    remote: str
    branch: str
    asks: bool

    @property
    def key(self) -> tuple[object, ...]:
        """Which branch it is."""
        return self.top, self.remote, self.branch, self.asks

    @property
    def name(self) -> str:
        """Its name as git's commands print it."""
        return self.branch if self.remote == "." else f"{self.remote}/{self.branch}"

    def reader(self, copies: Copies, warn: Callable[[str], None]) -> _Reader:
        """Reads files of the branch as they are now or, if that fails, as they were last fetched."""
        if self.remote == ".":
            return self._at(f"refs/heads/{self.branch}")
        if not self.asks:
            return self._at("@{upstream}")
        try:
            return self._at_remote(copies)
        except StoreUnavailable as problem:
            warn(f"{problem}; the record was compared with the last fetched state of {self.name}")
            return self._at("@{upstream}")

    def _at_remote(self, copies: Copies) -> _Reader:
        """Usually the user's own fetches have the commit already."""
        origin = origin_of(self.git, self.remote, self.branch, self.top)
        mirror = None if origin is None else copies.follow(origin, self.branch)
        tip = "" if mirror is None else mirror.look()
        if mirror is None or not tip:
            return _Reader(lambda _: None)
        if self.git.run("cat-file", "-e", f"{tip}^{{commit}}").code == 0:
            return self._at(tip)
        return _Reader(partial(mirror.read, mirror.fetch()))

    def _at(self, commit: str) -> _Reader:
        def read(path: str) -> bytes | None:
            ran = self.git.run("cat-file", "blob", f"{commit}:{path}")
            return None if ran.code else ran.out

        return _Reader(read, commit)

    def is_pulled(self, commit: str) -> bool:
        """Whether the branch that is checked out contains a commit."""
        return bool(commit) and self.git.run("merge-base", "--is-ancestor", commit, "HEAD").code == 0

    @property
    def commands(self) -> tuple[str, str]:
        """How git is run in the work tree, and what fetches the branch before another command, "" if nothing has to."""
        git = f"git -C {shlex.quote(str(self.top))}"
        return git, "" if self.remote == "." else f"{git} fetch {shlex.quote(self.remote)} && "


def _followed(
    journal: Path, environment: Mapping[str, str], warn: Callable[[str], None]
) -> tuple[_Upstream | None, str]:
    """The upstream branch of a journal, and the journal's path there; None if it is in no work tree with one."""
    if not in_work_tree(journal) or not journal.exists():
        return None, ""
    git = Git(journal.parent, environment, str(journal), _PATIENCE)
    prefix = git.run("rev-parse", "--show-prefix")
    untrusted = trust(prefix.err)
    if untrusted:
        warn(f"{journal}: not compared with an upstream branch: {reason(prefix.err)}; {untrusted}")
    if prefix.code:
        return None, ""
    head = os.fsdecode(git.run("symbolic-ref", "--quiet", "HEAD").out.strip())
    settings = dict(settings_of(git))
    ours = f"branch.{head.removeprefix('refs/heads/')}"
    remote, merge = settings.get(f"{ours}.remote"), settings.get(f"{ours}.merge", "")
    if not remote or not merge.startswith("refs/heads/"):
        return None, ""
    path = os.fsdecode(prefix.out.removesuffix(b"\n")) + journal.name
    top, branch = journal.parents[path.count("/")], merge.removeprefix("refs/heads/")
    is_ignored = git.run("check-ignore", "--quiet", "--", journal.name).code == 0
    return _Upstream(git, top, remote, branch, not is_ignored), path


def _refuse_another(upstream: _Upstream, path: str, target: TargetName, ours: int, theirs: int) -> None:
    """Raises Refused: a new record was begun here, in the place of the one that the upstream branch has."""
    _, fetch = upstream.commands
    restore = restore_command(str(upstream.top), upstream.name, [path])
    listed = "; what only this one lists must then be imported" if ours > 1 else ""
    raise Refused(
        f"{upstream.name} has another record here, with {count_entries(theirs)}, and this one, with"
        f" {count_entries(ours)}, does not list what that created",
        where=upstream.top / path,
        remedy=f"to use that record in the place of this one, run: {fetch}{restore}; then run: reconciler state"
        f" accept-rollback -t {target}{listed}",
    )


def _refuse(upstream: _Upstream, reader: _Reader, path: str, ours: int, theirs: int) -> None:
    """Raises Refused if the upstream has entries that this record lacks."""
    if not theirs:
        return
    git, fetch = upstream.commands
    where = upstream.top / path
    pulled = not ours and upstream.is_pulled(reader.commit)
    if not ours and not pulled:
        what = f"this record is behind {upstream.name} by {count_entries(theirs)}"
        raise Refused(what, where=where, remedy=f"run: {git} pull; then plan again")
    show = f"{fetch}{git} show {shlex.quote(f'{upstream.name}:{path}')} > theirs.jsonl"
    if pulled:
        what = f"this record lacks {count_entries(theirs)} of {upstream.name}, though that is pulled: an older copy of"
        what += " it was put here"
    else:
        what = f"this record and {upstream.name} have diverged: {upstream.name} has {count_entries(theirs)} more, this"
        what += f" record {ours}"
    aim = "add them" if pulled else "merge both"
    remedy = f"to {aim}, run: {show} && reconciler state recover theirs.jsonl; {DELETE_THEIRS}"
    raise Refused(what, where=where, remedy=remedy)
