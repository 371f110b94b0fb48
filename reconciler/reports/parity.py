"""Text of whether targets match. Every `Line` escapes what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.parity import Pairs
from reconciler.reports.difference import declared_disparities, disparities
from reconciler.reports.line import Line, Tone
from reconciler.reports.wording import ignore_block, pairs_summary, parity_steps, parity_summary, unpaired_words

if TYPE_CHECKING:
    from reconciler.model.parity import Parity


def parity_text(parity: Parity | Pairs) -> list[Line]:
    """Whether two targets match, and how they differ; of two patterns each pair, and what has no counterpart."""
    if isinstance(parity, Pairs):
        return _pairs_lines(parity)
    lines = []
    for disparity in disparities(parity):
        lines.append(Line(f"  ~ {disparity.name}  {disparity.how}", Tone.CHANGED))
        lines += [Line(f"      {sign} {text}", Tone.CHANGED) for sign, text in disparity.rows]
    for name, views, reason in declared_disparities(parity):
        lines.append(Line(f"    {name}  {views}, declared exception: {reason}", Tone.FAINT))
    lines += [Line(f"  {step}", Tone.WARNING) for step in parity_steps(parity)]
    block = [Line(text, Tone.FAINT) for text in ignore_block(parity)]
    lines += [Line(""), *block, Line("")] if block else []
    return [*lines, Line(parity_summary(parity), Tone.HEADING)]


def _pairs_lines(pairs: Pairs) -> list[Line]:
    lines = [line for parity in pairs.compared for line in [*parity_text(parity), Line("")]]
    for left in pairs.unpaired:
        lines += [Line(unpaired_words(left), Tone.CHANGED if left.matters else Tone.FAINT), Line("")]
    return [*lines, Line(pairs_summary(pairs), Tone.HEADING)]
