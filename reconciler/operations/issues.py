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
from reconciler.planning.status import status_of_undeclared
from reconciler.reports.issues import Issue, Kind, Matters, issues

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.record import Record
    from reconciler.model.status import TargetStatus
    from reconciler.operations.workspace import Workspace


def keep_issues(workspace: Workspace, patterns: tuple[str, ...]) -> Iterator[str]:
    """Have the issues say what is the case; what was done with each, in words.

    A witness is shown again what it has not seen, or will not show much longer: this runs daily, whatever is applied.
    While a record cannot be used, its unknown outcomes and changes are not known, so those issues are not closed; and
    none is while the witness cannot be read, since the records may then be older than what it has seen. Raises
    ConfigError, SelectionError, GitHubError, and StoreUnavailable before anything is changed.
    """
    client = Client(access(workspace.variables), PATIENCE)
    matters = _matters(workspace, patterns)
    texts = Texts(client)
    key = sha256(json.dumps([str(workspace.config), *sorted(patterns)]).encode()).hexdigest()[:12]
    for issue in issues(matters):
        doubt = _doubt(issue.kind, matters, is_blind=workspace.heads.is_blind)
        yield f"{issue.title}: {_keep(texts, issue, f'reconciler:issue {issue.kind} {key}', doubt)}"


def _doubt(kind: Kind, matters: Matters, *, is_blind: bool) -> str | None:
    """Why nothing may seem to be the case that is; None if what is known is all."""
    if is_blind:
        return "the witness could not be read completely"
    return "a record cannot be used" if kind is not Kind.RECORD and matters.problems else None


def _keep(texts: Texts, issue: Issue, marker: str, doubt: str | None) -> str:
    written = texts.issues(marker)
    for other in written[1:]:  # of two runs at once
        texts.close_issue(other)
    if issue.text is None:
        if not written:
            return "none"
        if doubt is not None:
            return f"not closed, since {doubt}: {written[0].url}"
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
    usable: dict[TargetName, Record] = {}
    for name in filter(selection.touches, names):
        try:
            journal = workspace.read(name)
            usable[name] = known.add_to(journal.record())
        except StoreUnavailable:
            raise
        except StateError as problem:
            problems[name] = problem
        else:
            workspace.heads.note(journal, workspace.store.place)
    now = datetime.now(UTC)
    return Matters(_standings(workspace, selection, usable, now), problems, now)


def _standings(
    workspace: Workspace, selection: Selection, usable: Mapping[TargetName, Record], now: datetime
) -> list[TargetStatus]:
    """The status of the targets whose record can be used: what waits for a person there may be of none declared."""
    declared = tuple(name for name in usable if name in workspace.desired.targets)
    others = [status_of_undeclared(record, now) for name, record in usable.items() if name not in declared]
    if not declared:
        return others
    planned = survey(workspace, declared, allow_empty=True)
    found = [*standings_of(planned, now), *others]
    return sorted((one for one in found if selection.touches(one.name)), key=lambda standing: standing.name)
