"""The JSON documents, as plain data: what `--format json` prints and `--out` writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reconciler import __version__
from reconciler.model.plan import Action
from reconciler.model.result import Done
from reconciler.reports.wording import listed, removal_request, resolve_advice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.parity import Difference, Parity
    from reconciler.model.plan import Change, Plan, Request
    from reconciler.model.record import Attempt, Record
    from reconciler.model.result import Applied, Result
    from reconciler.model.standing import AttemptStanding, TargetStanding

FORMAT_VERSION = "1.0"


def render(document: object) -> str:
    """A document as text: ASCII, two spaces deep, one newline at the end.

    Beyond ASCII are letters that would turn or hide what is read. `##[`, which can stand in a string only, would be a
    command to a runner of GitHub Actions.
    """
    return json.dumps(document, indent=2).replace("##[", r"##\u005b") + "\n"


def plan_document(plan: Plan) -> dict[str, object]:
    """A plan. Sorted throughout, and the same from run to run."""
    changes = plan.changes
    targets = [plan.targets[name] for name in sorted(plan.targets)]
    counts = {action.value: sum(change.action is action for change in changes) for action in Action}
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "digest": plan.digest,
        "selection": list(plan.selection),
        "targets": {one.name: {"digest": one.digest, "head": one.head, "entries": one.entries} for one in targets},
        "changes": [_change(change) for change in changes],
        "awaiting_removal": [_in_brief(attempt) for one in targets for attempt in one.awaiting_removal],
        "surplus": [
            {"address": extra.address, "attempt": extra.attempt, "eventCodes": list(extra.codes)}
            for one in targets
            for extra in one.surplus
        ],
        "summary": {**counts, "unchanged": plan.unchanged},
    }


def _change(change: Change) -> dict[str, object]:
    return {
        "address": change.address,
        "action": change.action.value,
        "before": [
            {
                "attempt": one.id,
                "eventCodes": list(one.codes),
                "webhookUrl": one.url,
                "status": one.status.value,
            }
            for one in change.before
        ],
        "after": _request(change.after),
        "request": _request(change.request),
        "reasons": list(change.reasons),
        "warnings": list(change.warnings),
    }


def _request(request: Request | None) -> dict[str, object] | None:
    return None if request is None else {"eventCodes": list(request.codes), "webhookUrl": request.url}


def _in_brief(attempt: Attempt) -> dict[str, object]:
    return {
        "address": attempt.address,
        "attempt": attempt.id,
        "eventCodes": list(attempt.codes),
        "webhookUrl": attempt.url,
    }


def applied_document(applied: Applied) -> dict[str, object]:
    """What an apply came to. `not_recorded` are the attempts whose outcomes could not be saved to the record."""
    counts = {outcome.value: sum(one.outcome is outcome for one in applied.results) for outcome in Done}
    return {
        "format_version": FORMAT_VERSION,
        "results": [_result(result) for result in applied.results],
        "removal_requests": [
            {"address": one.address, "attempt": one.id, "text": removal_request(one)} for one in applied.removal
        ],
        "summary": counts,
        "not_recorded": [result.attempt for result in applied.results if not result.recorded],
    }


def _result(result: Result) -> dict[str, object]:
    return {
        "address": result.address,
        "action": result.action.value,
        "outcome": result.outcome.value,
        "status": result.status,
        "attempt": result.attempt,
        "detail": result.detail,
    }


def list_document(records: Iterable[Record]) -> list[dict[str, object]]:
    """What the record knows to exist, or cannot rule out: `state list`."""
    return [
        {
            **_in_brief(attempt),
            "status": "unknown" if attempt.unsettled else attempt.status.value,
            "at": attempt.at,
            "fields": dict(attempt.fields),
        }
        for attempt in listed(records)
    ]


def parity_document(parity: Parity) -> dict[str, object]:
    """Whether two targets are in line."""
    return {
        "format_version": FORMAT_VERSION,
        "a": parity.a,
        "b": parity.b,
        "in_line": parity.in_line,
        "differences": [_difference(one) for one in parity.differences],
        "ignored": [{**_difference(one), "reason": declared.reason} for one, declared in parity.ignored],
        "unused": [{"address": one.address, "reason": one.reason} for one in parity.unused],
    }


def _difference(difference: Difference) -> dict[str, object]:
    return {
        "name": difference.name,
        "what": difference.what,
        "a": None if difference.a is None else dict(difference.a),
        "b": None if difference.b is None else dict(difference.b),
    }


def status_document(standings: Iterable[TargetStanding]) -> dict[str, object]:
    """How every target stands."""
    return {"format_version": FORMAT_VERSION, "targets": {one.name: _standing(one) for one in standings}}


def _standing(standing: TargetStanding) -> dict[str, object]:
    known = [one for one in standing.attempts if not one.attempt.unsettled]
    return {
        "in_force": [{**_heard(one), "status": one.attempt.status.value} for one in known],
        "unknown": [
            {**_heard(one), "since": one.attempt.since, "suggestion": resolve_advice(one)}
            for one in standing.attempts
            if one.attempt.unsettled
        ],
        "awaiting_removal": [
            {**_in_brief(one), "text": removal_request(one)} for one in standing.plan.awaiting_removal
        ],
        "surplus": [
            {"address": extra.address, "attempt": extra.attempt, "eventCodes": list(extra.codes)}
            for extra in standing.plan.surplus
        ],
        "changes": len(standing.plan.changes),
        "declared": standing.declared,
    }


def _heard(standing: AttemptStanding) -> dict[str, object]:
    heard = {code: {"proof": one.proof.value, "at": one.at} for code, one in standing.heard.items()}
    return {**_in_brief(standing.attempt), "heard": heard}
