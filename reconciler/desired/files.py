"""Which files the configuration consists of, and their bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.desired.mistakes import MASK
from reconciler.mistake import Mistake, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.desired.mistakes import Mistakes

SIZE_LIMIT = 8 * 1024 * 1024
"""Bytes in one file. Ten thousand subscriptions take about two million."""

_SUFFIXES = (".yaml", ".yml")
_PAGES = (".md",)  # what people read beside the files
_UNREAD = (
    "the file is not read: its name does not end in .yaml or .yml",
    "rename it, or move it out of the configuration directory",
)
_EXAMPLE = "to write an example, run: reconciler init"


class File(Struct, frozen=True):
    """One file as the user would name it, and its bytes, which are valid UTF-8."""

    name: str
    data: bytes


def read(config: Path, mistakes: Mistakes) -> Iterator[File]:
    """The files under the directory `config`, in sorted order, or the one file that `config` is; one at a time."""
    if os.path.isdir(config):  # noqa: PTH112 - Path.is_dir raises where this answers
        paths = list(_walk(config, mistakes))
        if not paths and not mistakes.hidden:
            mistakes.hide(_top(_name(config, mistakes)), "the directory holds no *.yaml or *.yml file", _EXAMPLE)
    else:
        paths = [config]
    for path in paths:
        file = _read(path, mistakes, explicit=path == config)
        if file is not None:
            yield file


def _walk(top: Path, mistakes: Mistakes) -> Iterator[Path]:
    """The YAML files under `top`. Links within it are followed, and no directory is read twice.

    A link out of it is a mistake: whoever may add one could have lines of any file quoted, where they are mistaken.
    """
    inside = os.path.realpath(top)
    pending, seen = [top], set()
    while pending:
        path = pending.pop()
        is_directory = os.path.isdir(path)  # noqa: PTH112
        if not is_directory and path.suffix not in _SUFFIXES:
            if path.suffix not in _PAGES:
                mistakes.unread.add(Mistake(_top(_name(path, mistakes)), *_UNREAD))
            continue
        real = os.path.realpath(path)
        if not Path(real).is_relative_to(inside):
            _refuse_way_out(path, mistakes)
        elif not is_directory:
            yield path
        elif real not in seen:
            seen.add(real)
            pending += [path / name for name in sorted(_names(path, mistakes), reverse=True) if name[0] != "."]


def _refuse_way_out(path: Path, mistakes: Mistakes) -> None:
    what = "the symbolic link points outside of the configuration directory"
    remedy = "replace it with a copy, or set --config to the directory that contains both"
    mistakes.hide(_top(_name(path, mistakes)), what, remedy)


def _names(directory: Path, mistakes: Mistakes) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 - only the names are wanted
    except OSError as problem:
        _refuse(directory, f"cannot read the directory: {problem.strerror}", mistakes)
        return []


def _read(path: Path, mistakes: Mistakes, *, explicit: bool) -> File | None:
    """One file. A pipe is read only where it was named itself: in a directory it would be waited for in vain."""
    if not explicit and not path.is_file():
        _refuse(path, "not a regular file, or a broken symbolic link", mistakes)
        return None
    try:
        with path.open("rb") as stream:
            data = stream.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        _refuse(path, "not found", mistakes)
        return None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a file name"
        _refuse(path, f"cannot read the file: {reason}", mistakes)
        return None
    if len(data) > SIZE_LIMIT:
        mistakes.hide(
            _top(_name(path, mistakes)),
            f"the file is larger than {SIZE_LIMIT >> 20} MiB",
            "split it into several files",
        )
        return None
    return _decoded(File(_name(path, mistakes), data), mistakes)


def _decoded(file: File, mistakes: Mistakes) -> File | None:
    """The file, if it is UTF-8."""
    try:
        file.data.decode()
    except UnicodeDecodeError as problem:
        before = file.data[: problem.start].decode()
        mistakes.hide(place_after(file.name, before), "invalid UTF-8", "save it as UTF-8")
        return None
    return file


def place_after(name: str, text: str) -> Place:
    """The place in the file `name` right behind its beginning `text`."""
    return Place(name, text.count("\n") + 1, len(text) - text.rfind("\n"))


def _refuse(path: Path, what: str, mistakes: Mistakes) -> None:
    remedy = f"set --config or RECONCILER_CONFIG to a readable file or directory; {_EXAMPLE}"
    mistakes.hide(_top(_name(path, mistakes)), what, remedy)


def _top(name: str) -> Place:
    return Place(name, 1, 1)


def _name(path: Path, mistakes: Mistakes) -> str:
    """How the user would name it; escaped where that could not be printed on one line, and without secrets."""
    name = str(path)
    for secret, variable in mistakes.secrets.items():
        if secret in name:
            name = name.replace(secret, MASK * len(secret))
            what = f"the name of this file or directory contains the value of {variable}"
            mistakes.add(
                _top(name), what, "rename it, and replace the secret: everyone who can see this name can use it"
            )
    return name if name.isprintable() else ascii(name)[1:-1]
