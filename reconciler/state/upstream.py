"""Whether the branch that a work tree follows has entries of the record that the files in the work tree lack.

Journals in files are shared by committing and pushing them. Whoever plans on files that are behind plans creates that
somebody else has made already, and nothing in the files can show it. So the upstream branch is looked at before a
create, in a copy of our own: the user's repository is left as it is.
"""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import Refused, StoreUnavailable
from reconciler.state.git_command import Git, clean, reason, trust
from reconciler.state.git_origin import Copies, origin_of
from reconciler.state.git_settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from reconciler.model.address import TargetName
    from reconciler.state.store import Store

_PATIENCE = 20.0
"""Seconds that one git command may take; who has no network is not to wait long."""


def refuse_behind(
    store: Store,
    targets: Iterable[TargetName],
    cache_directory: Path,
    environment: Mapping[str, str],
    warn: Callable[[str], None],
) -> None:
    """Raises Refused where an upstream branch has entries of one of these targets' journals that the store lacks.

    Nothing is looked at where journals are not files that git tracks, on a branch with an upstream. Where the remote
    cannot be reached, `warn` is told so, and what was fetched last counts. Raises SettingsError and StoreUnavailable
    where git cannot be used.
    """
    environment = {**clean(environment), "GIT_NO_LAZY_FETCH": "1"}
    if not store.local or shutil.which("git", path=environment.get("PATH")) is None:
        return
    for target in targets:
        journal = Path(os.path.realpath(Path(store.location, f"{target}.jsonl")))
        tracked = _tracked(journal, environment, warn)
        theirs = tracked and tracked.theirs(Copies(cache_directory.absolute() / "git", environment, _PATIENCE), warn)
        if tracked and theirs:
            _refuse(tracked, *difference(store.read(target) or b"", theirs))


def difference(ours: bytes, theirs: bytes) -> tuple[int, int]:
    """How many entries only our journal has, and how many only theirs, behind those that both begin with.

    What follows the last newline is no entry.
    """
    here, there = ours.split(b"\n")[:-1], theirs.split(b"\n")[:-1]
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False)))
    return len(here) - common, len(there) - common


@dataclass(frozen=True, slots=True)
class _Tracked:
    """A journal in a work tree: its path from the top, and the branch of a remote that the work tree follows."""

    git: Git
    top: Path
    path: str
    remote: str
    branch: str

    @property
    def upstream(self) -> str:
        """As git's own commands name it."""
        return self.branch if self.remote == "." else f"{self.remote}/{self.branch}"

    def theirs(self, copies: Copies, warn: Callable[[str], None]) -> bytes | None:
        """The journal as the upstream has it now, or had it when it was fetched last; None where it has none."""
        if self.remote == ".":
            return self._at(f"refs/heads/{self.branch}")
        try:
            return self._at_remote(copies)
        except StoreUnavailable as problem:
            warn(f"{problem}; the record was compared with {self.upstream} as it was fetched last")
            return self._at("@{upstream}")

    def _at_remote(self, copies: Copies) -> bytes | None:
        origin = origin_of(self.git, self.remote, self.branch, self.top)
        if origin is None:
            return None
        mirror = copies.follow(origin, self.branch)
        tip = mirror.look()
        if tip and self.git.run("cat-file", "-e", f"{tip}^{{commit}}").code == 0:
            return self._at(tip)
        return mirror.read(mirror.fetch(), self.path) if tip else None

    def _at(self, commit: str) -> bytes | None:
        ran = self.git.run("cat-file", "blob", f"{commit}:{self.path}")
        return None if ran.code else ran.out


def _tracked(journal: Path, environment: Mapping[str, str], warn: Callable[[str], None]) -> _Tracked | None:
    """A journal with an upstream; None for one that is not tracked, or on no branch that follows another."""
    if not journal.parent.is_dir():
        return None
    git = Git(journal.parent, environment, str(journal), _PATIENCE)
    listed = git.run("ls-files", "-z", "--full-name", "--error-unmatch", "--", journal.name)
    if listed.code:
        untrusted = trust(listed.err)
        if untrusted:
            warn(f"{journal}: not compared with an upstream branch: {reason(listed.err)}; {untrusted}")
        return None
    head = git.run("symbolic-ref", "--quiet", "HEAD").out.strip()
    settings = dict(settings_of(git))
    ours = f"branch.{os.fsdecode(head).removeprefix('refs/heads/')}"
    remote, merge = settings.get(f"{ours}.remote"), settings.get(f"{ours}.merge", "")
    if not remote or not merge.startswith("refs/heads/"):
        return None
    top = Path(os.fsdecode(git.ask("rev-parse", "--show-toplevel").rstrip(b"\n")))
    path = os.fsdecode(listed.out.partition(b"\0")[0])
    return _Tracked(git, top, path, remote, merge.removeprefix("refs/heads/"))


def _refuse(tracked: _Tracked, ours: int, theirs: int) -> None:
    """Raises Refused if the upstream has entries that are not here."""
    if not theirs:
        return
    entries = f"{theirs} {'entry' if theirs == 1 else 'entries'}"
    at = shlex.quote(str(tracked.top))
    if not ours:
        raise Refused(
            f"{tracked.upstream} has {entries} that this record lacks",
            where=tracked.git.where,
            remedy=f"git -C {at} pull; and plan again",
        )
    fetch = "" if tracked.remote == "." else f"git -C {at} fetch {shlex.quote(tracked.remote)} && "
    show = shlex.quote(f"{tracked.upstream}:{tracked.path}")
    raise Refused(
        f"{tracked.upstream} has {entries} that this record lacks, and this record has {ours} that it lacks",
        where=tracked.git.where,
        remedy=f"join both: {fetch}git -C {at} show {show} > theirs.jsonl && reconciler state recover theirs.jsonl",
    )
