"""One line of the table: what was measured, against what, and what it may be at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from benchmarks.races import Usage

Measure = Literal["cpu", "wall"]
JUDGED: dict[Measure, str] = {"cpu": "processor time", "wall": "time"}


@dataclass(frozen=True)
class Row:
    """A ratio of medians, or an amount; `at_most` is None where it is information only.

    `against` is what a user would pick instead. `ours` and `theirs` are what both took, in the unit, as far as there is
    such a thing; `value` is None, and `note` says why, where there is nothing to compare with.
    """

    name: str
    work: str
    against: str
    judged: str
    value: float | None
    at_most: float | None = None
    unit: Literal["ratio", "s", "MiB"] = "ratio"
    ours: dict[str, float] | None = None
    theirs: dict[str, float] | None = None
    note: str = ""
    measurement: str = ""
    """What to give to the command to measure it again."""

    @property
    def is_kept(self) -> bool | None:
        """Whether it is at most what it may be; None where that cannot be said."""
        return None if self.value is None or self.at_most is None else self.value <= self.at_most


def ratio(  # each is a column of the table
    name: str,
    work: str,
    against: str,
    ours: Usage,
    theirs: Usage | None,
    at_most: float | None = None,
    judged: Measure = "cpu",
    note: str = "",
) -> Row:
    """A row that compares two medians; `theirs` is None for what is not installed."""
    mine = {"cpu": ours.cpu, "wall": ours.wall}
    if theirs is None:
        return Row(name, work, against, JUDGED[judged], None, at_most, ours=mine, note="not installed")
    others = {"cpu": theirs.cpu, "wall": theirs.wall}
    value = mine[judged] / others[judged]
    return Row(name, work, against, JUDGED[judged], value, at_most, ours=mine, theirs=others, note=note)
