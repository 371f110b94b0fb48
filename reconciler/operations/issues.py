"""Opens, updates and closes the issues about what waits for a person."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from reconciler.errors import StateError, StoreUnavailable
from reconciler.github.client import Client
from reconciler.github.texts import Texts
from reconciler.model.selection import Selection
from reconciler.operations.github_settings import access
from reconciler.operations.known_results import KnownResults
from reconciler.operations.plan import survey
from reconciler.operations.pull_request_comment import PATIENCE
from reconciler.operations.selecting import refuse_unmatched
from reconciler.operations.status import standings_of
from reconciler.reports.issues import Issue, Kind, Matters, issues

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.address import TargetName
    from reconciler.model.status import TargetStatus
    from reconciler.operations.workspace import Workspace


def keep_issues(workspace: Workspace, patterns: tuple[str, ...]) -> Iterator[str]:
    """Have the issues say what is the case; what was done with each, in words.

    A witness is shown again what it has not seen, or will not show much longer: this runs daily, whatever is applied.
    While a record cannot be used, its unknown outcomes and changes are not known, so those issues are not closed.
    Raises ConfigError, SelectionError, GitHubError, and StoreUnavailable before anything is changed.
    """
    client = Client(access(workspace.variables), PATIENCE)
    matters = _matters(workspace, patterns)
    texts = Texts(client)
    key = sha256(json.dumps([str(workspace.config), *sorted(patterns)]).encode()).hexdigest()[:12]
    for issue in issues(matters):
        certain = issue.kind is Kind.RECORD or not matters.problems
        yield f"{issue.title}: {_keep(texts, issue, f'reconciler:issue {issue.kind} {key}', certain=certain)}"


def _keep(texts: Texts, issue: Issue, marker: str, *, certain: bool) -> str:
    written = texts.issues(marker)
    for other in written[1:]:  # of two runs at once
        texts.close_issue(other)
    if issue.text is None:
        if not written:
            return "none"
        if not certain:
            return f"not closed, since a record cannot be used: {written[0].url}"
        texts.close_issue(written[0])
        return f"closed: {written[0].url}"
    body = f"<!-- {marker} {issue.digest} -->\n{issue.text}"
    if not written:
        return f"opened: {texts.open_issue(issue.title, body)}"
    if written[0].rest == issue.digest:
        return f"unchanged: {written[0].url}"
    texts.edit_issue(written[0], issue.title, body)
    return f"updated: {written[0].url}"


def _matters(workspace: Workspace, patterns: tuple[str, ...]) -> Matters:
    selection = Selection.of(patterns)
    names = sorted({*workspace.desired.targets, *workspace.store.targets(), *workspace.targets_seen()})
    refuse_unmatched(selection, names, [])
    known = KnownResults(workspace)
    problems: dict[TargetName, StateError] = {}
    usable: list[TargetName] = []
    for name in filter(selection.touches, names):
        try:
            journal = workspace.read(name)
            known.add_to(journal.record())
        except StoreUnavailable:
            raise
        except StateError as problem:
            problems[name] = problem
        else:
            usable.append(name)
            workspace.heads.note(journal, workspace.store.place)
    return Matters(_standings(workspace, selection, usable), problems, datetime.now(UTC))


def _standings(workspace: Workspace, selection: Selection, usable: list[TargetName]) -> list[TargetStatus]:
    """The status of the targets whose record can be used."""
    declared = tuple(name for name in usable if name in workspace.desired.targets)
    if not declared:
        return []
    planned = survey(workspace, declared, allow_empty=True)
    return [standing for standing in standings_of(planned, datetime.now(UTC)) if selection.touches(standing.name)]
