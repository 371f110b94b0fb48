"""Text of what `doctor` found. Every `Line` escapes what is in it."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from reconciler.model.result import Finding, Health
from reconciler.reports.line import Line, Tone
from reconciler.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEALTH_TONES = {
    Health.OK: Tone.PLAIN,
    Health.SKIPPED: Tone.FAINT,
    Health.WARNING: Tone.WARNING,
    Health.FAILED: Tone.ERROR,
}


def findings_text(findings: Iterable[Finding]) -> list[Line]:
    """A table of what checks found. What needs attention comes last, where a terminal shows it, with what to do.

    What failed is counted in the first line too: of a long table, a reader may see the beginning only.

    A remedy of several that follow each other is given once; what was skipped for one reason is one line.
    """
    order = list(Health)
    by_health = sorted(findings, key=lambda finding: order.index(finding.health))
    widths = [
        max((len(text) for text in column), default=0) for column in zip(*map(_first_columns, by_health), strict=True)
    ]
    lines = _failures(by_health)
    for (health, check, what, remedy), group in groupby(by_health, _what_is_said):
        columns = "  ".join(f"{text:<{width}}" for text, width in zip((health, check), widths, strict=True))
        about = [finding.about for finding in group]
        texts = [f"{name}: {what}" for name in about]
        if health is Health.SKIPPED and len(about) > 1:
            texts = [f"{what}: {about[0]} and {len(about) - 1} more"]
        lines += [Line(f"  {columns}  {text}", _HEALTH_TONES[health]) for text in texts]
        if remedy is not None:
            lines.append(Line(f"      {remedy}"))
    return [*lines, Line(_health_summary(by_health), Tone.HEADING)]


def _first_columns(finding: Finding) -> tuple[str, str]:
    return finding.health, finding.check


def _what_is_said(finding: Finding) -> tuple[Health, str, str, str | None]:
    return finding.health, finding.check, finding.what, finding.remedy


def _failures(findings: Iterable[Finding]) -> list[Line]:
    """How many checks have failed, if any, and where they are."""
    count = sum(finding.health is Health.FAILED for finding in findings)
    if not count:
        return []
    they_are = "it is" if count == 1 else "they are"
    return [Line(f"{counted(count, 'check')} failed; {they_are} listed last, with what to do.", Tone.ERROR)]


def _health_summary(findings: Iterable[Finding]) -> str:
    """How many checks came to what, in a sentence."""
    counts = Counter(finding.health for finding in findings)
    words = [f"{counts[health]} {health}" for health in Health if counts[health]]
    return f"Checked: {', '.join(words)}." if words else "Nothing to check."
