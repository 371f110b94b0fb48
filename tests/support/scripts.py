"""The scripts of the action as forks of a process that has loaded the program (see `warm`), as its steps run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.forge import ACTION
from support.project import Finished, finish
from support.warm import Started

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_BEFORE = """\
import runpy, sys
sys.path.insert(0, {directory!r})
sys.argv = [{script!r}, *{arguments!r}]
runpy.run_path({script!r}, run_name="__main__")
"""


def run_script(name: str, *arguments: str, path: Path, environment: Mapping[str, str]) -> Finished:
    """Run a script of the action in a directory, with nothing but this environment, to its end."""
    directory = ACTION.parent
    before = _BEFORE.format(directory=str(directory), script=str(directory / name), arguments=[*arguments])
    return finish(Started([], path, environment, before=before), timeout=None)
