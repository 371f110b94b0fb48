"""The GitHub Actions workflow of a new project: the example, for the project's regions and branch."""

import json
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from itertools import groupby
from pathlib import Path

from reconciler.errors import SettingsError

BRANCH = "git:reconciler-state"
"""Where the workflow has the state record."""

WORKFLOW = ".github/workflows/subscriptions.yml"

_EXAMPLE = Path(__file__).parent / "subscriptions.yml"
_ACTION = ".github/actions/reconcile"
_ENVIRONMENTS = {"staging", "production"}
_REGION = r" +RECONCILER_(EUROPE|USA)_"


def is_for_workflow(state: str, environments: Sequence[str]) -> bool:
    """Whether a project has the environments, and the type of state record, that the workflow is made for."""
    return {*environments} == _ENVIRONMENTS and state.lower().startswith("git:")


def installed_from() -> str | None:
    """What the installer noted of the program's origin, as JSON (`direct_url.json` of the packaging standards)."""
    try:
        return distribution("reconciler").read_text("direct_url.json")
    except PackageNotFoundError:
        return None


def published_action(origin: str | None) -> str | None:
    """The action, as other repositories use it, if the program was installed from a commit on GitHub."""
    noted = json.loads(origin or "{}")
    repository = re.fullmatch(
        r"(?:https|ssh)://(?:git@)?github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?", noted.get("url", "")
    )
    commit = noted.get("vcs_info", {}).get("commit_id")
    return f"{repository[1]}/{_ACTION}@{commit}" if repository and commit else None


def workflow(regions: Sequence[str], environments: Sequence[str], state: str, action: str | None = None) -> str:
    """The text of the workflow, which uses this `action`, by default that of its own repository.

    Raises SettingsError for environments or a state record that it is not made for.
    """
    if {*environments} != _ENVIRONMENTS:
        raise SettingsError(
            "the workflow applies to staging, then to production",
            where="--github",
            remedy="use both environments, and no other; or omit --github",
        )
    if not state.lower().startswith("git:"):
        raise SettingsError(
            "a runner's disk is lost with the job: the workflow has the state record on a branch",
            where="--github",
            remedy="use --state git:BRANCH, or omit --github",
        )
    text = _EXAMPLE.read_text(encoding="utf-8")
    text = "".join(_for_regions(text, [region.replace("-", "_").upper() for region in regions]))
    text = text.replace("in europe usa;", f"in {' '.join(regions)};")
    text = text.replace(f"uses: ./{_ACTION}\n", f"uses: {action or f'./{_ACTION}'}\n")
    return text.replace(BRANCH.partition(":")[2], state.partition(":")[2])


def _for_regions(text: str, names: Sequence[str]) -> list[str]:
    """The lines, with the variables of these regions instead of those of the example."""
    others = "".join(f"; {name}_... likewise" for name in names[1:])
    every = f"{{{','.join(names)}}}" if len(names) > 1 else names[0]
    text = text.replace("; USA_... likewise", others).replace("{EUROPE,USA}", every)
    lines: list[str] = []
    for is_of_region, block in groupby(text.splitlines(keepends=True), lambda line: bool(re.match(_REGION, line))):
        if is_of_region:
            first = "".join(line for line in block if "_EUROPE_" in line)
            lines += [first.replace("EUROPE", name) for name in names]
        else:
            lines += [line.replace("EUROPE_", f"{names[0]}_") for line in block]
    return lines
