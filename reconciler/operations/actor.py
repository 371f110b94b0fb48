"""Who runs the command: a step of GitHub Actions, or a user."""

import os


def in_actions() -> bool:
    """Whether this is a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def by_run() -> dict[str, str]:
    """The actor of a step of Actions, the URL of this attempt of the run, and the commit, for journal entries.

    `triggering_actor` is whoever ran it again, if that is somebody else. What is not set is left out.
    """
    get = os.environ.get
    actor, triggering = get("GITHUB_ACTOR", ""), get("GITHUB_TRIGGERING_ACTOR", "")
    fields = {
        "actor": actor or triggering,
        "triggering_actor": triggering if triggering != actor and actor else "",
        "url": run_url(),
        "commit": get("GITHUB_SHA", ""),
    }
    return {name: value for name, value in fields.items() if value}


def run_url() -> str:
    """The page of this attempt of the run, on whatever server; "" where Actions does not say which run it is."""
    get = os.environ.get
    server, repository, run = (get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    if not (server and repository and run):
        return ""
    attempt = get("GITHUB_RUN_ATTEMPT")
    return f"{server.rstrip('/')}/{repository}/actions/runs/{run}" + (f"/attempts/{attempt}" if attempt else "")
