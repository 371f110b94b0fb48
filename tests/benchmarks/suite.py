"""All measurements by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.action import action
from benchmarks.applying import (
    apply_100_terraform,
    apply_500,
    apply_500_tls,
    apply_500_tls12,
    create_cpu,
    create_growth,
)
from benchmarks.course import Course
from benchmarks.many_targets import targets_2000, targets_2000_shared
from benchmarks.planning import change_1000, plan_100, plan_10000, plan_10000_applied, plan_10000_octodns
from benchmarks.reading import verify_20000
from benchmarks.starting import completion, help_

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from benchmarks.races import Track
    from benchmarks.rows import Row

SUITE: Mapping[str, Callable[[Course], list[Row]]] = {
    "help": help_,
    "completion": completion,
    "plan-100": plan_100,
    "plan-10000": plan_10000,
    "plan-10000-applied": plan_10000_applied,
    "plan-10000-octodns": plan_10000_octodns,
    "change-1000": change_1000,
    "verify-20000": verify_20000,
    "apply-500": apply_500,
    "apply-500-tls": apply_500_tls,
    "apply-500-tls12": apply_500_tls12,
    "create-cpu": create_cpu,
    "create-growth": create_growth,
    "apply-100-terraform": apply_100_terraform,
    "action": action,
    "targets-2000": targets_2000,
    "targets-2000-shared": targets_2000_shared,
}


def measure(name: str, program: Path, directory: Path, track: Track) -> list[Row]:
    """The rows of one measurement. Raises Failed."""
    place = directory / name
    place.mkdir()
    return [replace(row, measurement=name) for row in SUITE[name](Course(program, place, track))]
