"""What was written before still opens, and comes to the same: records, remembered heads, kept files, plans.

Each folder beside this file is a project as a user has it, with a home below `home/`: `make.py` made it once, and the
journals in it are never written again. `expected.txt` tells what commands come to there, to the byte but for messages:
exit codes, documents, the places in files that messages name, and the shapes of the lines that are appended.

A difference here is a difference for users, who have such files. Only where it is meant:
`PYTHONPATH=tests python tests/corpus/make.py --expected NAME` writes an `expected.txt` anew, for the reviewer to read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.corpus import COMMANDS, EXPECTED, HERE, PROJECT_PLACE, open_scenario, shapes, transcript
from support.corpus_stories import STORIES, Story
from support.scripted_service import ScriptedService

if TYPE_CHECKING:
    from pathlib import Path

MEMBERS = {
    "begun": "record target base_url format forced",
    "bound": "base_url account forced",
    "closed": "source to complete forced",
    "imported": "attempt address eventCodes webhookUrl",
    "intent": "attempt address action eventCodes webhookUrl send_by settled_by run",
    "joined": "source head entries after lines",
    "moved": "source address",
    "observed": "address webhookUrl received",
    "opened": "place forced",
    "outcome": "attempt outcome status detail date fields response",
    "removed": "attempt forced",
    "resealed": "attempt original sealed recipients",
    "resolved": "attempt created note forced",
    "restored": "attempt",
    "retired": "attempt reason",
    "rollback": "lost_head lost_entries lost_record forced",
    "secret": "attempt secret",
}
"""The kinds of entries and their members, without those that every line has."""

SCENARIOS = sorted(COMMANDS)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_was_written_before_comes_to_the_same(scenario: str, tmp_path: Path) -> None:
    """Every command prints and appends in each scenario what it did when the scenario was made."""
    expected = (HERE / scenario / EXPECTED).read_text(encoding="utf-8")
    assert expected == transcript(scenario, open_scenario(HERE / scenario, tmp_path))


@pytest.mark.parametrize("scenario", ["entries", "kept", "copied", "resealed"])
def test_what_is_written_now_has_the_same_shape(scenario: str, tmp_path: Path) -> None:
    """The same story told again gives the same entries, of the same members in the same order."""
    with ScriptedService() as service:
        story = Story(tmp_path / "now", service)
        STORIES[scenario](story)
    assert shapes(open_scenario(HERE / scenario, tmp_path / "before")) == shapes(story.project)


def test_every_scenario_is_compared() -> None:
    """A folder without commands, or a story without a folder, would hold nothing."""
    folders = {path.parent.name for path in HERE.glob(f"*/{EXPECTED}")}
    assert set(SCENARIOS) == folders
    assert set(STORIES) == folders - {"invalid"}, "whose files are written by hand"


def test_every_kind_of_entry_with_every_member_is_there() -> None:
    """The journals hold each kind of entry, and each member that one may have."""
    found: dict[str, set[str]] = {}
    for journal in HERE.glob("*/state/*/*.jsonl"):
        if journal.parts[-4] not in ("damaged", "lost"):
            for entry in map(json.loads, journal.read_text(encoding="utf-8").splitlines()):
                found.setdefault(entry["kind"], set()).update(entry)
    common = {"seq", "at", "kind", "by", "prev", "hash"}
    assert {kind: {*members.split()} for kind, members in MEMBERS.items()} == {
        kind: members - common for kind, members in found.items()
    }


def test_no_place_of_the_machine_that_made_it() -> None:
    """What a record was seen at is told by a name for the project's directory."""
    heads = [path.read_text(encoding="utf-8") for path in HERE.rglob("heads/*.json")]
    assert all(json.loads(text)["location"] == f"{PROJECT_PLACE}/state" for text in heads)
    assert heads
