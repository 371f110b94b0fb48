"""How things stand, as text: `status`, and what `state observe` made of notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.record import Status
from reconciler.model.standing import Proof
from reconciler.reports.line import Line, Tone
from reconciler.reports.text import removal_text, surplus_lines
from reconciler.reports.visible import visible
from reconciler.reports.wording import settle_advice, status_word, times

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.standing import AttemptStanding, TargetStanding
    from reconciler.planning.evidence import Evidence

_TONES = {Proof.PROVEN: Tone.ADDED, Proof.SILENT: Tone.WARNING, Proof.NEVER_SEEN: Tone.PLAIN}


def status_text(standings: Iterable[TargetStanding]) -> list[Line]:
    """Every target: what is in force and how it has proven, what waits for a person, and how many changes are left."""
    lines: list[Line] = []
    for standing in standings:
        lines.append(Line(visible(standing.name), Tone.HEADING))
        lines += [line for one in standing.attempts for line in _attempt_lines(one)]
        lines += [line for extra in standing.plan.surplus for line in surplus_lines(extra)]
        lines += removal_text(standing.plan.awaiting_removal)
        lines += [_left_line(standing), Line("")]
    return lines[:-1]


def _attempt_lines(standing: AttemptStanding) -> list[Line]:
    one = standing.attempt
    tone = Tone.ERROR if one.unsettled else Tone.FAINT if one.status is Status.AWAITING_REMOVAL else Tone.PLAIN
    lines = [Line(f"  {visible(one.address)}  {status_word(one)}  -> {visible(one.url)}  (attempt {one.id})", tone)]
    for code, heard in standing.heard.items():
        when = "" if heard.at is None else f", last {visible(heard.at)}"
        lines.append(Line(f"      {code}  {heard.proof}{when}", _TONES[heard.proof]))
    if one.unsettled:
        lines.append(Line(f"      {visible(settle_advice(standing))}", Tone.WARNING))
    return lines


def _left_line(standing: TargetStanding) -> Line:
    if not standing.declared:
        return Line("  not declared in config/: nothing is planned for it", Tone.WARNING)
    count = len(standing.plan.changes)
    if not count:
        return Line("  as desired", Tone.ADDED)
    return Line(f"  {count} change{'' if count == 1 else 's'} to make or to settle: reconciler plan", Tone.WARNING)


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
