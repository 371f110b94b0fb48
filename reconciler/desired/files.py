"""Finds the files of the configuration and reads their bytes."""

from __future__ import annotations

import os
from errno import EINVAL
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from reconciler.errors import Message, Place, Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reconciler.desired.mistakes import Mistakes

SIZE_LIMIT = 8 * 1024 * 1024
"""The size limit of one file in bytes. Ten thousand subscriptions take about two million bytes."""

_SUFFIXES = (".yaml", ".yml")
_PAGES = (".md",)  # files for people, next to the YAML files
_EXAMPLE: Final = Step("to write an example, run", ("reconciler", "init"))
_UNREADABLE = (Step("set --config or RECONCILER_CONFIG to a readable file or directory"), _EXAMPLE)


class File(Struct, frozen=True):
    """A file: its name as the user would write it, and its bytes, which are valid UTF-8."""

    name: str
    data: bytes


def read(config: Path, mistakes: Mistakes) -> list[File]:
    """Return the files of the configuration, sorted. `config` is a directory or a single file."""
    if os.path.isdir(config):  # noqa: PTH112 - Path.is_dir raises where this answers
        paths = list(_walk(config, mistakes))
        if not paths and not mistakes.hidden:
            mistakes.hide("config-empty", _start_of(config), "the directory holds no *.yaml or *.yml file", _EXAMPLE)
    else:
        paths = [config]
    files = (_read(path, mistakes, explicit=path == config) for path in paths)
    return [file for file in files if file is not None]


def _walk(top: Path, mistakes: Mistakes) -> Iterator[Path]:
    """Yield the YAML files under `top`. Links within `top` are followed, and no directory is read twice.

    A link that leaves `top` is a mistake: messages quote lines, so such a link could reveal parts of any file.
    """
    inside = os.path.realpath(top)
    pending, seen = [top], set()
    while pending:
        path = pending.pop()
        is_directory = os.path.isdir(path)  # noqa: PTH112
        if not is_directory and path.suffix not in _SUFFIXES:
            if path.suffix not in _PAGES:
                what = "the file is not read: its name does not end in .yaml or .yml"
                step = Step("rename it, or move it out of the configuration directory")
                mistakes.unread.add(Message("config-not-read", what, "", (step,), _start_of(path)))
            continue
        real = os.path.realpath(path)
        if os.path.commonpath([inside, real]) != inside:
            what = "the symbolic link points outside the configuration directory"
            remedy = "replace it with a copy, or set --config to the directory that contains both"
            mistakes.hide("config-link-outside", _start_of(path), what, remedy)
        elif not is_directory:
            yield path
        elif real not in seen:
            seen.add(real)
            try:
                names = os.listdir(path)  # noqa: PTH208 - only the names are wanted
            except OSError as problem:
                what = f"cannot read the directory: {problem.strerror}"
                mistakes.hide("config-unreadable", _start_of(path), what, *_UNREADABLE)
                continue
            pending += [path / name for name in sorted(names, reverse=True) if name[0] != "."]


def _read(path: Path, mistakes: Mistakes, *, explicit: bool) -> File | None:
    """Read one file. A pipe is read only if the user named it, because the read could block forever."""
    at = _start_of(path)
    try:
        if not explicit and not path.is_file():
            raise OSError(EINVAL, "not a regular file, or a broken symbolic link")  # noqa: TRY301 - reported below
        with path.open("rb") as stream:
            data = stream.read(SIZE_LIMIT + 1)
        if len(data) > SIZE_LIMIT:
            what = f"the file is larger than {SIZE_LIMIT >> 20} MiB"
            mistakes.hide("config-too-large", at, what, "split it into several files")
            return None
        data.decode()
    except FileNotFoundError:
        mistakes.hide("config-not-found", at, "not found", *_UNREADABLE)
    except UnicodeDecodeError as problem:
        before = data[: problem.start].decode()
        mistakes.hide("config-not-utf8", place_after(at.file, before), "invalid UTF-8", "save it as UTF-8")
    except (OSError, ValueError) as problem:
        what = f"cannot read the file: {getattr(problem, 'strerror', None) or 'not a file name'}"
        mistakes.hide("config-unreadable", at, what, *_UNREADABLE)
    else:
        return File(at.file, data)
    return None


def place_after(name: str, text: str) -> Place:
    """Return the place directly after `text`, which is the beginning of the file `name`."""
    return Place(name, text.count("\n") + 1, len(text) - text.rfind("\n"))


def _start_of(path: Path) -> Place:
    """Return the place where a file starts. The file's name is as the user would write it, escaped if not printable."""
    name = str(path)
    return Place(name if name.isprintable() else ascii(name)[1:-1], 1, 1)
