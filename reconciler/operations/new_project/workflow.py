"""The GitHub Actions workflow of a new project: the example, for the project's stages and branch."""

import json
import os
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from reconciler.errors import SettingsError

BRANCH = "git:reconciler-state"
"""Where the workflow has the state record."""

WORKFLOW = ".github/workflows/subscriptions.yml"
MOST_STAGES = 4
"""A workflow has no loops: those that the reusable one has, one after the other."""

_EXAMPLE = Path(__file__).parent / "subscriptions.yml"
_STAGES = "stages: staging production"


def is_for_workflow(state: str, environments: Sequence[str]) -> bool:
    """Whether a project has as many environments, and the type of state record, that the workflow is made for."""
    return len(environments) <= MOST_STAGES and state.lower().startswith("git:")


def installed_from() -> str | None:
    """What the installer noted of the program's origin, as JSON (`direct_url.json` of the packaging standards)."""
    try:
        return distribution("reconciler").read_text("direct_url.json")
    except PackageNotFoundError:
        return None


def published_at(origin: str | None) -> tuple[str, str] | None:
    """Repository and commit that the program was installed from, if they are on GitHub, or on the server of GH_HOST."""
    noted = json.loads(origin or "{}")
    host = re.escape(os.environ.get("GH_HOST") or "github.com")
    url = noted.get("url", "")
    repository = re.fullmatch(rf"(?:https|ssh)://(?:git@)?{host}/([\w.-]+/[\w.-]+?)(?:\.git)?/?", url)
    commit = noted.get("vcs_info", {}).get("commit_id")
    return (repository[1], commit) if repository and commit else None


def workflow(stages: Sequence[str], state: str, published: tuple[str, str] | None = None) -> str:
    """The text of the workflow; `published` is where the reusable ones are, by default in its own repository.

    Raises SettingsError for stages or a state record that they are not made for.
    """
    if len(stages) > MOST_STAGES:
        raise SettingsError(
            f"the workflow has {MOST_STAGES} stages at most, and each environment is one",
            where="--github",
            remedy="use fewer environments, or omit --github",
        )
    if not state.lower().startswith("git:"):
        raise SettingsError(
            "a runner's disk is lost with the job: the workflow has the state record on a branch",
            where="--github",
            remedy="use --state git:BRANCH, or omit --github",
        )
    text = _EXAMPLE.read_text(encoding="utf-8")
    if published is not None:
        text = re.sub(r"uses: \$/(\S+)", rf"uses: {published[0]}/\1@{published[1]}", text)
    branch = "" if state == BRANCH else f', state: "{state}"'
    return text.replace(_STAGES, f"stages: {' '.join(stages)}{branch}").replace("staging/", f"{stages[0]}/")
