"""A directory, such as that of another clone, where `state recover` expects one file."""

import shlex
from pathlib import Path

from reconciler.errors import StateError
from reconciler.state.journal.chain import is_journal

_NAMED = 3  # files of a directory, in an error
_BEGINNING = 64  # bytes of a file that show whether it is a journal


def refuse_directory(file: Path) -> None:
    """Raises StateError for a directory, with the first few files that may be meant."""
    if file.is_dir():
        found = [str(path) for depth in ("*", "*/*", "*/*/*") for path in sorted(file.glob(f"{depth}.jsonl"))]
        journals = [path for path in found if _begins_journal(path)]
        if journals:
            raise _several(file, journals)
        names = f" in it: {', '.join(found[:_NAMED])}" if found else ""
        raise StateError("is a directory", where=file, remedy=f"name a journal or a recovery file{names}")


def _begins_journal(path: str) -> bool:
    if not Path(path).is_file():  # reading a pipe would block
        return False
    try:
        with Path(path).open("rb") as file:
            return is_journal(file.read(_BEGINNING))
    except OSError:
        return False


def _several(directory: Path, journals: list[str]) -> StateError:
    """The error for a directory of journals, such as that of another clone, with the first few commands."""
    commands = "; ".join(
        f"to recover that of {'/'.join(Path(path).with_suffix('').parts[-2:])}, run: reconciler state recover"
        f" {shlex.quote(path)}"
        for path in journals[:_NAMED]
    )
    rest = len(journals) - _NAMED
    more = f"; and so on for {rest} other{'s' if rest > 1 else ''}" if rest > 0 else ""
    what = "is a directory with copies of records"
    return StateError(what, where=directory, remedy=f"each is a file of its own; {commands}{more}")
