"""Keeps a plan as one comment on a pull request."""

from __future__ import annotations

import json
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import ReconcilerError, Refused
from reconciler.github.client import Client
from reconciler.github.texts import Texts, Written
from reconciler.model.plan import Plan
from reconciler.operations.github_settings import Run, access, head_commit, pull_request, run_url, this_run
from reconciler.operations.plan import Planned, make
from reconciler.reports.comments import comment, page_in_artifact, plan_report, uninitialized

if TYPE_CHECKING:
    from reconciler.operations.workspace import Workspace

PATIENCE = 60.0
"""Seconds to wait in all where GitHub limits the rate of calls."""


class When(StrEnum):
    """When there is to be a comment."""

    ALWAYS = "always"
    CHANGES_ONLY = "changes-only"
    NEVER = "never"


class Kept(Struct, frozen=True):
    """What was done, in words, and the error that stopped the plan; None if there is a plan."""

    what: str
    problem: ReconcilerError | None = None


def keep_comment(
    workspace: Workspace,
    patterns: tuple[str, ...],
    when: When,
    number: int | None,
    *,
    has_page: bool,
    skips_uninitialized: bool = False,
) -> Kept:
    """Plan, and show that in the comment on a pull request, by default the one that the run is about.

    It names the page of the plan if the run's artifact has one (`has_page`). What is shown of a later run, or of a
    commit that is not the latest any more, is left as it is. Raises GitHubError, and Refused if
    there is no pull request.
    """
    if when is When.NEVER:
        return Kept("no comment: --when never")
    number = number or pull_request()
    if number is None:
        raise Refused("this run is not about a pull request", remedy="use --pull-request N")
    client = Client(access(workspace.variables), PATIENCE)
    made = _made(workspace, patterns, skips_uninitialized=skips_uninitialized)
    planned = made.plan if isinstance(made, Planned) else made
    problem = None if isinstance(planned, Plan) else planned
    commit = head_commit()
    if commit is not None and _latest(client, number) not in (None, commit):
        return Kept("comment not changed: the pull request has a newer commit", problem)
    marker = f"reconciler:comment {_key(workspace, patterns)}"
    run = this_run()
    page = [page_in_artifact(run_url())] if has_page and isinstance(planned, Plan) else []
    left_out = [uninitialized(made.selection.left_out)] if isinstance(made, Planned) and made.selection.left_out else []
    report = "\n\n".join([*page, *left_out, plan_report(planned)])
    body = comment(f"<!-- {marker} run {run.number} attempt {run.attempt} -->", commit, run_url(), report)
    is_needed = when is When.ALWAYS or problem is not None or (isinstance(planned, Plan) and bool(planned.changes))
    return Kept(_keep(Texts(client), number, marker, run, body, is_needed=is_needed), problem)


def _keep(texts: Texts, number: int, marker: str, run: Run, body: str, *, is_needed: bool) -> str:
    written = sorted(texts.comments(number, marker), key=_run_of)
    if not written:
        return f"comment created: {texts.add_comment(number, body)}" if is_needed else "no comment: no changes"
    *others, latest = written
    if _run_of(latest) > run:  # or says so, which is no reason to delete anything
        return f"comment not changed: a later run has written it: {latest.url}"
    for other in others:  # of two runs at once
        texts.delete_comment(other)
    if latest.body == body:
        return f"comment unchanged: {latest.url}"
    texts.edit_comment(latest, body)
    return f"comment updated: {latest.url}"


def _made(workspace: Workspace, patterns: tuple[str, ...], *, skips_uninitialized: bool) -> Planned | ReconcilerError:
    try:
        return make(workspace, patterns, (), allow_empty=False, skips_uninitialized=skips_uninitialized)
    except ReconcilerError as problem:
        return problem


def _latest(client: Client, number: int) -> str | None:
    """The latest commit of a pull request."""
    match client.get(f"/pulls/{number}"):
        case {"head": {"sha": str(commit)}}:
            return commit
    return None


def _key(workspace: Workspace, patterns: tuple[str, ...]) -> str:
    """What tells the comments of several configurations and selections apart."""
    return sha256(json.dumps([str(workspace.config), *sorted(patterns)]).encode()).hexdigest()[:12]


def _run_of(written: Written) -> Run:
    words = written.rest.split()
    match words:
        case ["run", number, "attempt", attempt] if number.isdecimal() and attempt.isdecimal() and len(number) < 20:
            return Run(int(number), int(attempt[:9]))
    return Run(0, 0)
