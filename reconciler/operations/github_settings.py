"""What the environment of a job says about GitHub: the API, the repository, the token, the run, the pull request."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reconciler.errors import GitHubError
from reconciler.github.access import Access

if TYPE_CHECKING:
    from reconciler.operations.variables import Variables

_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_PULL = re.compile(r"refs/pull/([1-9][0-9]{0,9})/")
_EVENT_LIMIT = 16 << 20


class Run(Struct, frozen=True, order=True):
    """A run of a workflow and its attempt: a later one is greater. Zeros outside of one."""

    number: int
    attempt: int


def access(variables: Variables) -> Access:
    """How to call the API. Raises GitHubError naming the variable that is missing, and SettingsError.

    A file in the checkout does not say where the token is sent.
    """
    api = (_from_outside(variables, "GITHUB_API_URL") or "https://api.github.com").rstrip("/")
    graphql = _from_outside(variables, "GITHUB_GRAPHQL_URL") or f"{api.removesuffix('/v3')}/graphql"
    token = (variables.get("GITHUB_TOKEN") or "").strip()
    repository = variables.get("GITHUB_REPOSITORY") or ""
    if not token or not token.isascii() or not token.isprintable():
        raise GitHubError(
            "not set, or not a token", where="GITHUB_TOKEN", remedy="set it in `env:` to ${{ github.token }}"
        )
    if not _REPOSITORY.fullmatch(repository):
        raise GitHubError("expected OWNER/REPOSITORY", where="GITHUB_REPOSITORY", remedy="set it to the repository")
    return Access(api, graphql, repository, token)


def _from_outside(variables: Variables, name: str) -> str | None:
    return variables.get(name) if variables.from_outside(name) else None


def run_url() -> str | None:
    """The page of this run; None outside of a run."""
    get = os.environ.get
    server, repository, run = get("GITHUB_SERVER_URL"), get("GITHUB_REPOSITORY"), get("GITHUB_RUN_ID")
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and run else None


def this_run() -> Run:
    """The run that this process is part of."""
    return Run(*(_number(os.environ.get(name)) for name in ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT")))


def pull_request() -> int | None:
    """The pull request that the run is about; None if it is about none."""
    found = _PULL.match(os.environ.get("GITHUB_REF", ""))
    if found:
        return int(found[1])
    number = _pull_event().get("number")
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else None


def head_commit() -> str | None:
    """The commit that the run is about: the head of the pull request, not its merge into the base."""
    head = _pull_event().get("head")
    commit = head.get("sha") if isinstance(head, dict) else os.environ.get("GITHUB_SHA")
    return commit if isinstance(commit, str) and re.fullmatch("[0-9a-f]{40,64}", commit) else None


def _pull_event() -> dict[str, Any]:
    path = os.environ.get("GITHUB_EVENT_PATH")
    try:
        with Path(path or os.devnull).open("rb") as file:
            event = json.loads(file.read(_EVENT_LIMIT))
    except (OSError, ValueError, RecursionError):
        return {}
    pull = event.get("pull_request") if isinstance(event, dict) else None
    return pull if isinstance(pull, dict) else {}


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 20 else 0
