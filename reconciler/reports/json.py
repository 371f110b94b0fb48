"""Builds the JSON documents that scripts rely on, directly from the values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from reconciler import __version__
from reconciler.model.plan import SENDS, Action, Done
from reconciler.reports.document import sentence
from reconciler.reports.plan import across_targets
from reconciler.reports.removals import letter_to_delete
from reconciler.reports.words import harmless_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.errors import Message
    from reconciler.model.plan import Applied, Change, Duplicate, Finding, Plan, Request, Surplus
    from reconciler.model.record import Attempt
    from reconciler.model.status import Pairs, ProjectStatus, Removals, TargetStatus

FORMAT = "2.0"

Json = dict[str, Any]


def render(document: Any) -> str:
    """Return a document as indented JSON text."""
    return harmless_json(msgspec.json.format(msgspec.json.encode(document, enc_hook=str), indent=2).decode())


def plan_json(plan: Plan) -> Json:
    """Return the JSON document of a plan, which `plan --out` saves to a file."""
    counts = Counter(change.action for change in plan.changes)
    surplus = across_targets(plan, lambda target: target.surplus)
    duplicates = across_targets(plan, lambda target: target.duplicates)
    awaiting = across_targets(plan, lambda target: target.awaiting_removal)
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
            {"address": attempt.address, "attempt": attempt.id, "eventCodes": attempt.codes, "webhookUrl": attempt.url}
            for attempt in awaiting
        ],
        "surplus": list(map(_surplus, surplus)),
        "duplicates": list(map(_route, duplicates)),
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
        "after": request_json(change.after),
        "request": request_json(change.request),
        "reasons": sorted(map(sentence, change.reasons)),
        "warnings": sorted(map(sentence, change.warnings)),
    }


def attempt_json(attempt: Attempt) -> Json:
    """Return the id, codes, URL and status of an attempt."""
    return {"attempt": attempt.id, "eventCodes": attempt.codes, "webhookUrl": attempt.url, "status": attempt.status}


def request_json(request: Request | None) -> Json | None:
    """Return the codes and the URL of a request, or None if there is no request."""
    return None if request is None else {"eventCodes": request.codes, "webhookUrl": request.template}


def applied_json(applied: Applied, letters: Iterable[tuple[Attempt, str]]) -> Json:
    """Return the JSON document of an apply; `letters` pairs attempts with the letters about them."""
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


def findings_json(findings: Sequence[Finding]) -> Json:
    """Return the JSON document that holds the findings of `doctor`."""
    counts = Counter(str(finding.health) for finding in findings)
    return {"format_version": FORMAT, "findings": findings, "summary": counts}


def validation_json(mistakes: Sequence[Message], warnings: Sequence[Message]) -> Json:
    """Return the JSON document of `validate`."""
    return {"format_version": FORMAT, "valid": not mistakes, "mistakes": mistakes, "warnings": warnings}


def status_json(status: ProjectStatus) -> Json:
    """Return the JSON document of a status.

    Each address has the id of its live attempt, the attempts that the live attempt supersedes, and all its attempts.
    """
    return {
        "format_version": FORMAT,
        "record": plan_json(status.plan)["record"],
        "targets": {target.name: _target(target) for target in status.targets},
        "summary": plan_json(status.plan)["summary"],
    }


def _target(target: TargetStatus) -> Json:
    addresses: dict[str, Json] = {}
    for observed in target.attempts:
        attempt = observed.attempt
        entry = addresses.setdefault(attempt.address, {"live": None, "supersedes": [], "attempts": []})
        if attempt.in_force:
            entry["live"] = attempt.id
            entry["supersedes"] = sorted({*entry["supersedes"], *observed.supersedes})
        received = {code: {"proof": known.proof, "last": known.at or None} for code, known in observed.evidence.items()}
        entry["attempts"].append(
            {**attempt_json(attempt), "at": attempt.at, "superseded_by": attempt.superseded_by, "received": received}
        )
    return {
        "declared": target.declared,
        "addresses": addresses,
        "awaiting_removal": [
            {"address": attempt.address, "attempt": attempt.id} for attempt in target.awaiting_removal
        ],
        "surplus": list(map(_surplus, target.surplus)),
        "duplicates": list(map(_route, target.duplicates)),
        "recorded_twice": list(map(_route, target.recorded_twice)),
        "revived": [attempt.id for attempt in target.revived],
    }


def _surplus(extra: Surplus) -> Json:
    return {"address": extra.address, "attempt": extra.attempt, "eventCodes": extra.codes}


def _route(route: Duplicate) -> Json:
    return {"target": route.target, "eventCode": route.code, "webhookUrl": route.url, "attempts": route.attempts}


def parity_json(pairs: Pairs) -> Json:
    """Return the JSON document of a comparison of targets."""
    known = {"pairs": pairs.compared, "unpaired": pairs.unpaired, "unused": pairs.unused}
    closed = {"foreign": pairs.foreign, "gates": pairs.gates}
    return {"format_version": FORMAT, "in_line": pairs.in_line, **known, **closed}


def removals_json(removals: Sequence[Removals]) -> Json:
    """Return the JSON document of the awaited removals, with the message to the operator for each target."""
    return {
        "format_version": FORMAT,
        "targets": [
            {
                "target": target.target,
                "at": target.at,
                "text": "\n".join(letter_to_delete(target)),
                "awaiting": [
                    {
                        "address": awaiting.attempt.address,
                        "attempt": awaiting.attempt.id,
                        "eventCodes": awaiting.codes,
                        "webhookUrl": awaiting.attempt.url,
                        "since": awaiting.since,
                        "fields": dict(awaiting.attempt.fields),
                    }
                    for awaiting in target.awaiting
                ],
                "keep": [attempt.id for attempt in (*target.restored, *target.cancelled)],
                "unknown": [attempt.id for attempt in target.unknown],
            }
            for target in removals
        ],
    }
