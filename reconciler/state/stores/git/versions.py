"""The versions of a journal that git has: in the index, in HEAD, in the upstream branch, and in HEAD's history.

Looked at only to explain that a record is missing or older, or before a new one is begun in its place.
"""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import StoreUnavailable
from reconciler.state.journal.chain import is_journal
from reconciler.state.stores.git.command import Git, clean, restore_command
from reconciler.state.stores.git.upstream import in_work_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reconciler.model.address import TargetName

_PATIENCE = 5.0
"""Seconds that one git command may take: a history without the journal is walked to its end."""
_COMMITS = 20
"""How many of the last commits that changed a journal are looked at."""


class Version(Struct, frozen=True):
    """A journal as git has it in the work tree `top`: `source` is a commit, a branch, or "" for the index."""

    top: str
    path: str
    source: str
    data: bytes

    @property
    def entries(self) -> int:
        """The number of its complete lines."""
        return self.data.count(b"\n")

    @property
    def recover(self) -> str:
        """The command that adds its entries to the record."""
        show = f"git -C {shlex.quote(self.top)} show {shlex.quote(f'{self.source}:{self.path}')}"
        return f"{show} > newer.jsonl && reconciler state recover newer.jsonl"

    def contains(self, head: str) -> bool:
        """Whether a line claims this hash; nothing is checked."""
        return f',"hash":"{head}"}}\n'.encode() in self.data


def longest_versions(journals: Mapping[TargetName, Path | None]) -> dict[TargetName, Version]:
    """Of each missing journal that git has, the version with the most entries; of a deleted one the last before that.

    Those that git ignores are left out, and from one on that takes too long, all.
    """
    found: dict[TargetName, Version] = {}
    with suppress(StoreUnavailable):
        for target, journal in journals.items():
            versions = None if journal is None else _Versions.of(journal)
            if versions is not None:
                present = max(versions.now(), key=lambda one: one.entries, default=None)
                version = present or next(versions.past(), None)
                found |= {} if version is None else {target: version}
    return found


def restore_all(versions: Iterable[Version]) -> str:
    """The command that restores missing journals in their work trees."""
    paths: dict[tuple[str, str], list[str]] = {}
    for one in versions:
        paths.setdefault((one.top, one.source), []).append(one.path)
    return " && ".join(restore_command(*place, listed) for place, listed in paths.items())


def version_with(journal: Path | None, head: str) -> Version | None:
    """A version of a journal with the line whose hash is `head`, None if none of the last ones has it."""
    with suppress(StoreUnavailable):
        versions = None if journal is None else _Versions.of(journal)
        if versions is not None:
            for version in (*versions.now(), *versions.past()):
                if version.contains(head):
                    return version
    return None


class _Versions:
    """Reads the versions of one journal; `path` is its path in the work tree `top`."""

    def __init__(self, git: Git, top: str, path: str) -> None:
        self._git = git
        self._top = top
        self._path = path

    @staticmethod
    def of(journal: Path) -> _Versions | None:
        """None outside of a work tree, for an ignored file, and without git."""
        if not in_work_tree(journal) or shutil.which("git") is None:
            return None
        place = next(above for above in journal.parents if above.is_dir())
        git = Git(place, {**clean(os.environ), "GIT_NO_LAZY_FETCH": "1"}, str(journal), _PATIENCE)
        shown = git.run("rev-parse", "--show-prefix")
        if shown.code or git.run("check-ignore", "--quiet", "--", str(journal)).code == 0:
            return None
        prefix = os.fsdecode(shown.out.removesuffix(b"\n"))
        top = Path(place, *[".."] * prefix.count("/")).resolve()
        return _Versions(git, str(top), str(journal.relative_to(top)))

    def now(self) -> Iterator[Version]:
        """Those in the index, HEAD and the upstream branch as it was last fetched."""
        yield from self._read("")
        yield from self._read("HEAD")
        named = self._git.run("rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{upstream}")
        if not named.code:
            yield from self._read(os.fsdecode(named.out.strip()))

    def past(self) -> Iterator[Version]:
        """Those in the last commits that changed it, the newest first."""
        format_ = ("log", f"-{_COMMITS}", "--format=%h", "HEAD", "--", f":(top,literal){self._path}")
        for commit in self._git.run(*format_).out.split():
            yield from self._read(commit.decode())

    def _read(self, source: str) -> Iterator[Version]:
        ran = self._git.run("cat-file", "blob", f"{source}:{self._path}")
        if not ran.code and is_journal(ran.out):
            yield Version(self._top, self._path, source, ran.out)
