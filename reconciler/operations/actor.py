"""Who is at work: a step of GitHub Actions, or a person."""

from __future__ import annotations

import os


def in_actions() -> bool:
    """Whether this is a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def by_run() -> dict[str, str]:
    """Who is at work in a step of Actions, for journal entries: the actor, the run's address, the commit."""
    told = os.environ.get
    url = f"{told('GITHUB_SERVER_URL', '')}/{told('GITHUB_REPOSITORY', '')}/actions/runs/{told('GITHUB_RUN_ID', '')}"
    found = {"actor": told("GITHUB_ACTOR", ""), "url": url, "commit": told("GITHUB_SHA", "")}
    return {name: value for name, value in found.items() if value}
