"""The changes of a plan that no merged pull request has shown just as they are to be applied now.

Nothing else approves a change without a person. The digest of a change covers its request, the attempts of its address,
the record's id, the addresses of the service and the recipients, and leaves out time and other addresses.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import job

Values = Mapping[str, Any]
"""A plan that `plan --out` has saved, one of its changes, or what GitHub answers: read from JSON."""

WAITS = (0, 2, 4, 8, 16)
"""Seconds before each look for the pull request of a push: GitHub may take a while to name its merge commit."""
NAME = "reconciler-plan-"
LARGEST = 64 << 20


def unshown(
    changes: Iterable[Values], heads: Iterable[Sequence[Values]], contains: Callable[[str], bool]
) -> list[tuple[Values, str]]:
    """Return the changes that were not shown, each with the reason.

    `heads` are the plans of the runs at the head of each merged pull request, asked for while a change is left.
    `contains` is true of a head that the record contains.
    """
    left = {change["digest"]: (change, "never shown") for change in changes if change["action"] != "blocked"}
    remaining = iter(heads)
    while left and (plans := next(remaining, None)) is not None:
        for digest, (change, _) in list(left.items()):
            rows = [[row for row in plan["changes"] if row["address"] == change["address"]] for plan in plans]
            about = [(plan, shown) for plan, shown in zip(plans, rows, strict=True) if shown]
            others = [shown for _, shown in about if digest not in [row["digest"] for row in shown]]
            if others:
                left[digest] = (change, f"shown with another {_differences(change, others[0][0])}")
            elif any(contains(plan["record"]["head"]) for plan, _ in about):
                del left[digest]
            elif about:
                left[digest] = (change, "shown on a record that this one does not contain")
    return list(left.values())


def _differences(change: Values, shown: Values) -> str:
    names = [name for name in ("action", "request", "before", "after") if change.get(name) != shown.get(name)]
    return ", ".join(names) or "service, record or recipients"


def merged() -> Iterator[list[Values]]:
    """Return the plans of each pull request that was merged into what is checked out, the latest first."""
    repository, branch = os.environ["GITHUB_REPOSITORY"], job.event("repository", "default_branch")
    pulls: list[Values] = []
    for seconds in WAITS:
        time.sleep(seconds)
        pulls = _get("pulls", "state=closed", f"base={branch}", "sort=updated", "direction=desc")
        if os.environ["GITHUB_SHA"] in [pull["merge_commit_sha"] for pull in pulls]:
            break
    ancestors = set(job.git("rev-list", "HEAD").split())
    for pull in pulls:
        is_own = (pull["head"]["repo"] or {}).get("full_name") == repository
        if is_own and pull["merged_at"] and pull["merge_commit_sha"] in ancestors:
            yield list(_plans(repository, pull["head"]["sha"]))


def _plans(repository: str, commit: str) -> Iterator[Values]:
    """Return the plans that successful runs of this workflow for a pull request have kept, of all attempts."""
    path = os.environ["GITHUB_WORKFLOW_REF"].partition("@")[0].removeprefix(f"{repository}/")
    for run in _get("actions/runs", "event=pull_request", "status=success", f"head_sha={commit}")["workflow_runs"]:
        is_own = (run["head_repository"] or {}).get("full_name") == repository
        if not is_own or run["path"].partition("@")[0] != path:
            continue
        for artifact in _get(f"actions/runs/{run['id']}/artifacts")["artifacts"]:
            if artifact["name"].startswith(NAME) and not artifact["expired"] and artifact["size_in_bytes"] < LARGEST:
                for file in job.download(str(run["id"]), artifact["name"]):
                    yield json.loads(file.read_bytes())


def _get(path: str, *fields: str) -> Any:
    values = [word for field in (*fields, "per_page=100") for word in ("-f", field)]
    return job.gh("api", "-X", "GET", f"repos/{os.environ['GITHUB_REPOSITORY']}/{path}", *values)
