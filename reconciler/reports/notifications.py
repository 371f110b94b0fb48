"""What `state observe` made of notifications, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.reports.line import Line, Tone
from reconciler.reports.visible import visible
from reconciler.reports.wording import times

if TYPE_CHECKING:
    from reconciler.planning.evidence import Evidence


def observed_text(evidence: Evidence) -> list[Line]:
    """What was heard of which address, and what nothing explains."""
    lines = [
        Line(f"  {visible(address)}  {visible(code)}  last {visible(at)}", Tone.ADDED)
        for (address, _, code), at in sorted(evidence.received.items())
    ]
    for one in evidence.unexplained:
        what = f"  warning: {visible(one.code)} at {visible(one.where)}, {times(one.count)}, last {visible(one.last)}"
        if one.ambiguous:
            lines.append(Line(f"{what}: it may be any of {', '.join(map(visible, one.ambiguous))}", Tone.WARNING))
        else:
            lines.append(
                Line(f"{what}: no recorded subscription explains it; one exists that nobody manages", Tone.ERROR)
            )
    return lines or [Line("No notifications.")]
