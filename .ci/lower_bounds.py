"""Print the constraints that hold each dependency of the project at the lowest version it accepts.

Those of the extras that only developers install are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest(dependency: str) -> str:
    """The constraint `name==version` of `name>=version,<limit`."""
    bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)(?:,<[\w.]+)?", dependency)
    if bound is None:
        raise SystemExit(f"{PROJECT.name}: {dependency}: expected a lower bound, such as {dependency}>=1.0")
    return f"{bound[1]}=={bound[2]}"


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    of_stores = project["optional-dependencies"]["objectstore"] + project["optional-dependencies"]["postgres"]
    for dependency in project["dependencies"] + of_stores:
        print(lowest(dependency))  # noqa: T201 - what it is for
