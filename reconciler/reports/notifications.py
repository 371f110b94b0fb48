"""Observed notifications as text: `state observe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.reports.line import Line, Tone
from reconciler.reports.visible import visible
from reconciler.reports.wording import times

if TYPE_CHECKING:
    from reconciler.model.status import Unexplained
    from reconciler.planning.evidence import Matches


def observed_text(evidence: Matches) -> list[Line]:
    """The notifications received for each address, and those that match no recorded subscription."""
    lines = [
        Line(f"  {visible(address)}  {visible(code)}  last {visible(at)}", Tone.ADDED)
        for (address, _, code), at in sorted(evidence.received.items())
    ]
    return lines + [_unexplained_line(unexplained) for unexplained in evidence.unexplained] or [
        Line("No notifications.")
    ]


def _unexplained_line(unexplained: Unexplained) -> Line:
    code, where, last = visible(unexplained.code), visible(unexplained.where), visible(unexplained.last)
    what = f"  warning: {code} at {where}, {times(unexplained.count)}, last {last}"
    if unexplained.ambiguous:
        addresses = ", ".join(map(visible, unexplained.ambiguous))
        return Line(f"{what}: it matches several subscriptions: {addresses}", Tone.WARNING)
    return Line(f"{what}: it matches no recorded subscription: an unmanaged subscription exists", Tone.ERROR)
