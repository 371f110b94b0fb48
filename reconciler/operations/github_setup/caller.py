"""What a project's workflow says to the reusable one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reconciler.errors import SettingsError
from reconciler.operations.new_project.workflow import BRANCH, WORKFLOW

if TYPE_CHECKING:
    from pathlib import Path

_STAGES = re.compile(r"^ +(?:with: \{)?stages: ([a-z0-9 -]+)", re.MULTILINE)
_STATE = re.compile(r"state: \"?(git:[^\"}\s]+)")


def called_with(directory: Path) -> tuple[tuple[str, ...], str]:
    """The stages, and the branch of the record. Raises SettingsError if the workflow names no stages."""
    text = (directory / WORKFLOW).read_text(encoding="utf-8")
    stages = _STAGES.search(text)
    if stages is None:
        raise SettingsError(
            "names no stages", where=WORKFLOW, remedy="write the workflow with `reconciler init --github`"
        )
    state = _STATE.search(text)
    return tuple(stages[1].split()), (state[1] if state else BRANCH).removeprefix("git:")
