"""JSON documents, from the values themselves: what scripts may rely on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from reconciler import __version__
from reconciler.model.clock import stamp
from reconciler.model.plan import SENDS, Action
from reconciler.model.record import Status
from reconciler.model.result import Done
from reconciler.reports.messages import sentence
from reconciler.reports.plan import awaiting_of, duplicates_of, surplus_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.errors import Message
    from reconciler.model.plan import Change, Plan, Request
    from reconciler.model.record import Attempt
    from reconciler.model.result import Applied, Finding

FORMAT = "2.0"

Json = dict[str, Any]


def render(document: Any) -> str:
    """Return a document as text: indented, and without `##[`, which a runner of Actions takes for a command."""
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    return text.replace("##[", r"##\u005b")


def plan_json(plan: Plan) -> Json:
    """Return the document of a plan, which `plan --out` saves as well."""
    counts = Counter(change.action for change in plan.changes)
    surplus, duplicates, awaiting = surplus_of(plan), duplicates_of(plan), awaiting_of(plan)
    return {
        "format_version": FORMAT,
        "tool_version": __version__,
        "digest": plan.digest,
        "selection": sorted(plan.selection),
        "record": {
            "place": plan.place,
            "id": plan.record,
            "head": plan.head,
            "entries": plan.entries,
            "losses_open": sorted(plan.losses_open),
            "heads_missing": sorted(plan.heads_missing),
        },
        "targets": {
            name: {
                "digest": planned.digest,
                "base_url": planned.target.base_url,
                "auth_url": planned.target.auth_url,
                "audience_base": planned.target.audience_base,
            }
            for name, planned in sorted(plan.targets.items())
        },
        "recipients": sorted(plan.recipients),
        "changes": [_change(change) for change in plan.changes],
        "awaiting_removal": [
            {
                "address": attempt.address,
                "attempt": attempt.id,
                "eventCodes": attempt.codes,
                "webhookUrl": attempt.url,
            }
            for attempt in awaiting
        ],
        "surplus": [
            {"address": extra.address, "attempt": extra.attempt, "eventCodes": extra.codes} for extra in surplus
        ],
        "duplicates": [
            {"target": route.target, "eventCode": route.code, "webhookUrl": route.url, "attempts": route.attempts}
            for route in duplicates
        ],
        "summary": {
            **{str(action): counts[action] for action in Action},
            "unchanged": plan.unchanged,
            "creates": sum(change.action in SENDS for change in plan.changes),
            "surplus": len(surplus),
            "duplicates": len(duplicates),
            "awaiting_removal": len(awaiting),
        },
    }


def _change(change: Change) -> Json:
    return {
        "address": change.address,
        "digest": change.digest,
        "action": change.action,
        "before": [attempt_json(attempt) for attempt in change.before],
        "after": _request(change.after),
        "request": _request(change.request),
        "reasons": sorted(map(sentence, change.reasons)),
        "warnings": sorted(map(sentence, change.warnings)),
    }


def attempt_json(attempt: Attempt) -> Json:
    """Return an attempt with what it delivers where."""
    return {
        "attempt": attempt.id,
        "eventCodes": attempt.codes,
        "webhookUrl": attempt.url,
        "status": attempt.status,
    }


def _request(request: Request | None) -> Json | None:
    return None if request is None else {"eventCodes": request.codes, "webhookUrl": request.template}


def applied_json(applied: Applied, letters: Iterable[tuple[Attempt, str]]) -> Json:
    """Return the document of an apply; `letters` are the texts to the operator, each with the attempt it is about."""
    counts = Counter(result.outcome for result in applied.results)
    return {
        "format_version": FORMAT,
        "results": [
            {
                "address": result.address,
                "action": result.action,
                "outcome": result.outcome,
                "status": result.status,
                "attempt": result.attempt,
                "detail": result.detail,
            }
            for result in applied.results
        ],
        "removal_requests": [
            {"address": attempt.address, "attempt": attempt.id, "text": text} for attempt, text in letters
        ],
        "summary": {str(done): counts[done] for done in Done},
    }


def record_json(attempts: Iterable[Attempt]) -> list[Json]:
    """Return what is in force, or may be, as `state show` prints it."""
    return [
        {
            "address": attempt.address,
            **attempt_json(attempt),
            "status": Status.UNKNOWN if attempt.unresolved else attempt.status,
            "at": attempt.at,
            "fields": dict(attempt.fields),
        }
        for attempt in attempts
    ]


def findings_json(findings: Sequence[Finding]) -> Json:
    """Return what `doctor` found."""
    counts = Counter(finding.health for finding in findings)
    return {
        "format_version": FORMAT,
        "findings": [
            {"check": finding.check, "health": finding.health, **message_json(finding.message)} for finding in findings
        ],
        "summary": {str(health): count for health, count in sorted(counts.items())},
    }


def message_json(message: Message) -> Json:
    """Return a message with its place and the steps to take."""
    place = message.place
    return {
        "name": message.name,
        "what": message.what,
        "where": message.where,
        "place": place and {"file": place.file, "line": place.line, "column": place.column},
        "steps": [{"text": step.text, "command": list(step.command)} for step in message.steps],
    }


def at(wall: float) -> str | None:
    """Return epoch seconds as documents write them, None for never."""
    return stamp(wall) if wall else None
