"""The JSON documents, as plain data: what `--format json` prints and `--out` writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reconciler import __version__
from reconciler.model.parity import Pairs, View
from reconciler.model.plan import SENDS, Action, Change, Plan, Request, Surplus, TargetPlan
from reconciler.model.result import Applied, Done, Health, Result
from reconciler.reports.letters import (
    after_keeping,
    keeping_request,
    removal_request,
)
from reconciler.reports.visible import without_commands
from reconciler.reports.wording import listed, resolve_advice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.mistake import Mistake, Validation
    from reconciler.model.parity import Difference, Parity
    from reconciler.model.record import Attempt, Record
    from reconciler.model.removal import RemovalRequest
    from reconciler.model.result import Finding
    from reconciler.model.status import ObservedAttempt, TargetStatus

FORMAT_VERSION = "1.0"


def render(document: object) -> str:
    """A document as text: ASCII, two spaces deep, one newline at the end.

    Characters beyond ASCII can reverse or hide text.
    """
    return without_commands(json.dumps(document, indent=2)) + "\n"


def plan_document(plan: Plan) -> dict[str, object]:
    """A plan; sorted throughout, and the same from run to run."""
    changes = plan.changes
    targets = [plan.targets[name] for name in sorted(plan.targets)]
    counts = {action.value: sum(change.action is action for change in changes) for action in Action}
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "digest": plan.digest,
        "selection": list(plan.selection),
        "targets": {target.name: _target(target) for target in targets},
        "recipients": list(plan.recipients),
        "changes": [_change(change) for change in changes],
        "awaiting_removal": [_attempt(attempt) for target in targets for attempt in target.awaiting_removal],
        "surplus": [_surplus(surplus) for target in targets for surplus in target.surplus],
        "summary": {
            **counts,
            "unchanged": plan.unchanged,
            "creates": sum(change.action in SENDS for change in changes),
            "surplus": plan.surplus,
            "awaiting_removal": sum(len(target.awaiting_removal) for target in targets),
        },
    }


def _target(target: TargetPlan) -> dict[str, object]:
    there = target.destination
    return {
        "digest": target.digest,
        "head": target.head,
        "entries": target.entries,
        "base_url": there and there.base_url,
        "auth_url": there and there.auth_url,
        "audience_base": there and there.audience_base,
    }


def _change(change: Change) -> dict[str, object]:
    return {
        "address": change.address,
        "action": change.action.value,
        "before": [
            {"attempt": attempt.id, **_call(attempt), "status": attempt.status.value} for attempt in change.before
        ],
        "after": change.after and _call(change.after),
        "request": change.request and _call(change.request),
        "reasons": list(change.reasons),
        "warnings": list(change.warnings),
    }


def _call(call: Request | Attempt) -> dict[str, object]:
    return {"eventCodes": list(call.codes), "webhookUrl": call.url}


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {"address": attempt.address, "attempt": attempt.id, **_call(attempt)}


def _surplus(surplus: Surplus) -> dict[str, object]:
    return {"address": surplus.address, "attempt": surplus.attempt, "eventCodes": list(surplus.codes)}


def applied_document(applied: Applied) -> dict[str, object]:
    """The results of an apply. `not_recorded` are the attempts whose outcomes could not be saved to the record."""
    counts = {outcome.value: sum(result.outcome is outcome for result in applied.results) for outcome in Done}
    return {
        "format_version": FORMAT_VERSION,
        "results": [_result(result) for result in applied.results],
        "removal_requests": [
            {"address": attempt.address, "attempt": attempt.id, "text": removal_request(attempt)}
            for attempt in applied.removal
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
    """The subscriptions that exist, or may, by the record: `state list`."""
    return [
        {
            **_attempt(attempt),
            "status": "unknown" if attempt.unresolved else attempt.status.value,
            "at": attempt.at,
            "fields": dict(attempt.fields),
        }
        for attempt in listed(records)
    ]


def validation_document(validation: Validation) -> dict[str, object]:
    """What checking the configuration came to."""
    return {
        "format_version": FORMAT_VERSION,
        "valid": not validation.mistakes,
        "mistakes": [_mistake(mistake) for mistake in validation.mistakes],
        "warnings": [_mistake(warning) for warning in validation.warnings],
    }


def _mistake(mistake: Mistake) -> dict[str, object]:
    place = mistake.place
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "what": mistake.what,
        "remedy": mistake.remedy,
    }


def parity_document(parity: Parity | Pairs) -> dict[str, object]:
    """Whether two targets match, or the targets of two patterns pair by pair."""
    if isinstance(parity, Pairs):
        return _pairs(parity)
    return {
        "format_version": FORMAT_VERSION,
        "a": parity.a,
        "b": parity.b,
        "in_line": parity.in_line,
        "differences": [_difference(difference) for difference in parity.differences],
        "ignored": [
            {**_difference(difference), "reason": exception.reason} for difference, exception in parity.ignored
        ],
        "unused": [{"address": exception.address, "reason": exception.reason} for exception in parity.unused],
    }


def _pairs(pairs: Pairs) -> dict[str, object]:
    return {
        "format_version": FORMAT_VERSION,
        "in_line": pairs.in_line,
        "pairs": [parity_document(parity) for parity in pairs.compared],
        "unpaired": [{"target": left.target, "counterpart": left.counterpart} for left in pairs.unpaired],
    }


def _difference(difference: Difference) -> dict[str, object]:
    unproven = {"unproven": dict(difference.unproven)} if difference.what is View.PROVEN else {}
    return {
        "name": difference.name,
        "what": difference.what,
        "a": None if difference.a is None else dict(difference.a),
        "b": None if difference.b is None else dict(difference.b),
        **unproven,
    }


def status_document(standings: Iterable[TargetStatus]) -> dict[str, object]:
    """The status of every target that has a record."""
    targets = {standing.name: _standing(standing) for standing in standings if standing.recorded}
    return {"format_version": FORMAT_VERSION, "targets": targets}


def _standing(standing: TargetStatus) -> dict[str, object]:
    in_force = [known for known in standing.attempts if not known.attempt.unresolved]
    unknown = [known for known in standing.attempts if known.attempt.unresolved]
    return {
        "in_force": [{**_heard(known), "status": known.attempt.status.value} for known in in_force],
        "unknown": [
            {**_heard(known), "since": known.attempt.since, "suggestion": resolve_advice(known)} for known in unknown
        ],
        "awaiting_removal": [
            {**_attempt(attempt), "text": removal_request(attempt, [known.attempt for known in in_force])}
            for attempt in standing.plan.awaiting_removal
        ],
        "surplus": [_surplus(surplus) for surplus in standing.plan.surplus],
        "changes": len(standing.plan.changes),
        "declared": standing.declared,
    }


def _heard(standing: ObservedAttempt) -> dict[str, object]:
    heard = {code: {"proof": heard.proof.value, "at": heard.at} for code, heard in standing.evidence.items()}
    return {**_attempt(standing.attempt), "heard": heard}


def removals_document(requests: Iterable[RemovalRequest]) -> dict[str, object]:
    """The requests to the operator, by target: the message, and what it asks to delete."""
    requests = list(requests)
    return {
        "format_version": FORMAT_VERSION,
        "targets": {request.target: _request(request) for request in requests if request.awaiting},
        "withdrawn": [_withdrawn(attempt) for request in requests for attempt in request.withdrawn],
    }


def _withdrawn(attempt: Attempt) -> dict[str, object]:
    return {
        **_attempt(attempt),
        "requested": attempt.requested,
        "withdrawn": attempt.withdrawn,
        "text": keeping_request(attempt),
        "if_deleted": after_keeping(attempt),
    }


def _request(request: RemovalRequest) -> dict[str, object]:
    from reconciler.reports.removals import removal_message, removed_command  # noqa: PLC0415 - only `removals` needs it

    return {
        "text": "\n".join(removal_message(request)) if request.to_delete else "",
        "after_deletion": removed_command(request) if request.to_delete else "",
        "wanted_again": sorted(request.wanted & {awaiting.attempt.id for awaiting in request.awaiting}),
        "awaiting_removal": [
            {
                **_attempt(awaiting.attempt),
                "fields": dict(awaiting.attempt.fields),
                "since": awaiting.attempt.since,
                "requested": awaiting.attempt.at,
                "delivered_twice": {code: list(urls) for code, urls in awaiting.elsewhere.items()},
            }
            for awaiting in request.awaiting
        ],
    }


def findings_document(findings: Iterable[Finding]) -> dict[str, object]:
    """What checks of the set-up found."""
    listed_findings = list(findings)
    return {
        "format_version": FORMAT_VERSION,
        "findings": [
            {
                "check": finding.check,
                "about": finding.about,
                "result": finding.health.value,
                "what": finding.what,
                "remedy": finding.remedy,
            }
            for finding in listed_findings
        ],
        "summary": {health.value: sum(finding.health is health for finding in listed_findings) for health in Health},
    }
