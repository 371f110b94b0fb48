"""What each measurement is given: the program, a place to work in, and a track to run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.projects import ONE, Project
from benchmarks.races import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.races import Track


@dataclass(frozen=True)
class Course:
    """`program` is the installed executable, `directory` an empty one for what is measured."""

    program: Path
    directory: Path
    track: Track

    @property
    def python(self) -> Path:
        """The interpreter that the program runs with."""
        return self.program.with_name("python")

    def place(self, name: str) -> Path:
        """A new directory."""
        path = self.directory / name
        path.mkdir()
        return path

    def script(self, name: str, *command: str | Path) -> Runner:
        """The program's interpreter with these arguments, in a directory of that name."""
        return Runner([self.python, *command], self.place(name))

    def recorded(self, name: str, count: int, targets: Sequence[str] = ONE, **more: Any) -> Project:
        """A project that is recorded as it is declared; `more` as for a Project."""
        return Project(self.program, self.place(name), count, targets, **more).declare().record()
