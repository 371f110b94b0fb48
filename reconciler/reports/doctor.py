"""Builds the documents of `doctor` and `validate`, with failures grouped by cause."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reconciler.model.plan import Health
from reconciler.reports.document import Details, Document, Table, Tone, alerts
from reconciler.reports.words import counted, listed

_WORDS = {Health.OK: "passed", Health.WARNING: "with a warning", Health.SKIPPED: "skipped (-v lists them)"}

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.errors import Message
    from reconciler.model.plan import Finding
    from reconciler.reports.document import Alert


def doctor_document(findings: Sequence[Finding]) -> Document:
    """Return the document that shows the findings of `doctor`. Failures with the same cause form one alert."""
    failed, warnings = _of(findings, Health.FAILED), _of(findings, Health.WARNING)
    counts = Counter(finding.health for finding in findings)
    words = [f"{counts[health]} {_WORDS.get(health, health)}" for health in reversed(Health) if counts[health]]
    if 0 < len(failed) < counts[Health.FAILED]:
        words[0] = f"{words[0]} for {counted(len(failed), 'reason')}"
    fine = tuple(
        (str(finding.health), finding.check, finding.message.located, finding.message.what)
        for finding in findings
        if finding.health in (Health.OK, Health.SKIPPED)
    )
    passed = (Details("Passed or skipped", (Table(("", "check", "where", "what"), fine),)),) if fine else ()
    return Document(
        "doctor",
        f"Checks: {listed(words)}." if words else "Nothing to check.",
        Tone.ERROR if failed else Tone.WARNING if warnings else Tone.ADDED,
        body=(*passed, *failed, *warnings),
    )


def _of(findings: Sequence[Finding], health: Health) -> tuple[Alert, ...]:
    label = "Error" if health is Health.FAILED else "Warning"
    return alerts([finding.message for finding in findings if finding.health is health], label)


def validation_document(
    mistakes: Sequence[Message], warnings: Sequence[Message], subscriptions: int, count: int | None = None
) -> Document:
    """Return the document of `validate`.

    `count` is the total number of mistakes if `mistakes` holds only some of them.
    """
    mistaken = counted(len(mistakes) if count is None else count, "mistake")
    warned = f", {counted(len(warnings), 'warning')}" if warnings else ""
    valid = f"Valid: {counted(subscriptions, 'subscription')}{warned}."
    return Document(
        "validate",
        f"Not valid: {mistaken}{warned}." if mistakes else valid,
        Tone.ERROR if mistakes else Tone.WARNING if warnings else Tone.ADDED,
        body=(*alerts(mistakes), *alerts(warnings, "Warning")),
    )
