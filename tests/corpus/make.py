"""Make scenarios of the corpus anew, with the program as it is.

    PYTHONPATH=tests python tests/corpus/make.py [--expected | --overwrite] [NAME]...

A scenario that is there is refused, unless --overwrite is given: what an older version wrote is what it is for.
--expected keeps the scenario, and writes anew only what commands come to in it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from support import warm
from support.corpus import COMMANDS, EXPECTED, HERE, PROJECT_PLACE, open_scenario, transcript
from support.corpus_stories import STORIES, Story
from support.scripted_service import ScriptedService


def main() -> None:
    """Make the scenarios that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--overwrite", action="store_true")
    what.add_argument("--expected", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    for name in given.names or COMMANDS:
        if not (given.expected or given.overwrite) and (HERE / name / EXPECTED).exists():
            sys.exit(f"{name} is there already; --overwrite makes it anew")
        if name in STORIES and not given.expected:
            with TemporaryDirectory() as place, ScriptedService() as service:
                _freeze(name, Story(Path(place), service))
        _expect(name)
    warm.end()


def _freeze(name: str, story: Story) -> None:
    """Tell a story, and keep the files that it leaves: the project, remembered heads, private files."""
    STORIES[name](story)
    scenario = HERE / name
    shutil.rmtree(scenario, ignore_errors=True)
    shutil.copytree(story.project.path, scenario)
    for part in ("cache/reconciler/heads", "data/reconciler"):
        if (story.home / part).exists():
            shutil.copytree(story.home / part, scenario / "home" / part, ignore=shutil.ignore_patterns(".*"))
    for heads in scenario.rglob("heads/*.json"):
        text = heads.read_text(encoding="utf-8")
        heads.write_text(text.replace(str(story.project.path), PROJECT_PLACE) + "\n", encoding="utf-8")


def _expect(name: str) -> None:
    """Write what the commands of a scenario come to."""
    with TemporaryDirectory() as place:
        told = transcript(name, open_scenario(HERE / name, Path(place)))
    (HERE / name / EXPECTED).write_text(told, encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
