"""Records what a program does to files, operation by operation, while it really does it."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.disk_model import ROOT, Cutting, Fact, Making, Naming, Syncing, Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from support.disk_model import Operation

_UNKNOWN = ("write", "writev", "pwritev", "sendfile", "truncate", "symlink", "rmdir", "fdatasync", "posix_fallocate")
"""What would change files unnoticed, if the program did it."""


class Killed(BaseException):
    """The process is killed: nothing that it still tries happens."""


class DiskRecorder:
    """Everything that is done below `root`, by any thread, as operations of the model in the order they happened.

    `before` is called with the name of each operation that is about to happen; what it raises happens instead.
    """

    def __init__(self, root: Path) -> None:
        self.operations: list[Operation] = []
        self.before: Callable[[str], object] = lambda _name: None
        self.directories: set[int] = {ROOT}
        self._root = root
        self._lock = threading.RLock()
        self._nodes: dict[Path, int] = {root: ROOT}
        self._open: dict[int, int] = {}
        self._made = ROOT

    @contextmanager
    def recording(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        """Record until the end of the block."""
        notes: dict[str, Callable[..., None]] = {
            "pwrite": self._note_write,
            "ftruncate": self._note_cut,
            "fsync": self._note_sync,
            "link": self._note_link,
            "rename": self._note_rename,
            "replace": self._note_rename,
            "unlink": self._note_unlink,
            "mkdir": self._note_directory,
        }
        with patch.context() as within:
            for name, note in notes.items():
                within.setattr(os, name, partial(self._perform, name, getattr(os, name), note))
            for name in _UNKNOWN:
                within.setattr(os, name, partial(self._refuse, name, getattr(os, name)))
            within.setattr(os, "open", partial(self._open_file, os.open))
            yield

    def fact(self, kind: str, about: str) -> None:
        """Something has happened that must be true from here on."""
        with self._lock:
            self.operations.append(Fact(kind, about))

    def kill_at(self, number: int) -> None:
        """From the operation of that number on, nothing is done any more."""
        left = number

        def count(_name: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed

        self.before = count

    def _is_ours(self, subject: object) -> bool:
        """Whether a path or a descriptor belongs to the directory that is recorded."""
        if isinstance(subject, int):
            return subject in self._open
        return isinstance(subject, str | Path) and Path(subject).absolute().is_relative_to(self._root)

    def _perform(
        self, name: str, really: Callable[..., Any], note: Callable[..., None], *args: Any, **more: Any
    ) -> Any:
        if not self._is_ours(args[0]):
            return really(*args, **more)
        self.before(name)
        with self._lock:
            result = really(*args, **more)
            note(*args, result=result, **more)
            return result

    def _refuse(self, name: str, really: Callable[..., Any], *args: Any, **more: Any) -> Any:
        assert not self._is_ours(args[0]), f"os.{name} is done, and would not be recorded"
        return really(*args, **more)

    def _open_file(self, really: Callable[..., int], path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        makes = self._is_ours(path) and flags & os.O_CREAT and Path(path).absolute() not in self._nodes
        if makes:
            self.before("open")
        with self._lock:
            descriptor = really(path, flags, mode, **more)
            self._open.pop(descriptor, None)
            if makes:
                self._make(Path(path).absolute(), directory=False)
            if self._is_ours(path):
                self._open[descriptor] = self._nodes[Path(path).absolute()]
            return descriptor

    # What is recorded

    def _note_write(self, descriptor: int, data: Any, offset: int, *, result: int) -> None:
        self.operations.append(Writing(self._open[descriptor], offset, bytes(data[:result])))

    def _note_cut(self, descriptor: int, size: int, *, result: None) -> None:
        self.operations.append(Cutting(self._open[descriptor], size))

    def _note_sync(self, descriptor: int, *, result: None) -> None:
        self.operations.append(Syncing(self._open[descriptor]))

    def _note_link(self, source: Any, target: Any, *, result: None) -> None:
        self._name(Path(target).absolute(), self._nodes[Path(source).absolute()])

    def _note_rename(self, source: Any, target: Any, *, result: None) -> None:
        old, new = Path(source).absolute(), Path(target).absolute()
        assert old.parent == new.parent, "a rename between directories is not modelled"
        node = self._nodes.pop(old)
        self._nodes[new] = node
        self.operations.append(Naming(self._nodes[old.parent], {old.name: None, new.name: node}))

    def _note_unlink(self, path: Any, *, result: None, **_: Any) -> None:
        gone = Path(path).absolute()
        del self._nodes[gone]
        self.operations.append(Naming(self._nodes[gone.parent], {gone.name: None}))

    def _note_directory(self, path: Any, mode: int = 0o777, *, result: None) -> None:
        self._make(Path(path).absolute(), directory=True)
        self.directories.add(self._made)

    def _make(self, path: Path, *, directory: bool) -> None:
        self._made += 1
        self.operations.append(Making(self._made, directory))
        self._name(path, self._made)

    def _name(self, path: Path, node: int) -> None:
        self._nodes[path] = node
        self.operations.append(Naming(self._nodes[path.parent], {path.name: node}))
