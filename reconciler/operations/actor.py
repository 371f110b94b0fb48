"""Who runs the command: a step of GitHub Actions, or a user."""

import os


def in_actions() -> bool:
    """Whether this is a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def by_run() -> dict[str, str]:
    """The actor of a step of Actions, the run's URL and the commit, for journal entries."""
    get = os.environ.get
    url = f"{get('GITHUB_SERVER_URL', '')}/{get('GITHUB_REPOSITORY', '')}/actions/runs/{get('GITHUB_RUN_ID', '')}"
    fields = {"actor": get("GITHUB_ACTOR", ""), "url": url, "commit": get("GITHUB_SHA", "")}
    return {name: value for name, value in fields.items() if value}
