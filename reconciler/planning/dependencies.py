"""Codes that move from one subscription of a target to another: what goes after what, and who sees to that.

Nothing goes before what takes its codes over, unless that in turn waits for it to be gone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reconciler.model.plan import SENDS, Action, Block
from reconciler.model.record import Status
from reconciler.planning.reasons import waiting

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from reconciler.model.address import Address
    from reconciler.model.plan import Change
    from reconciler.model.record import Attempt
    from reconciler.model.selection import Selection


def with_dependencies(changes: Sequence[Change], selection: Selection) -> list[Change]:
    """`changes` of one target, each RETIRE after the creates that take its codes over, so that no event falls between.

    A REPLACE that would retire such codes leaves that to a RETIRE of its own. Not waited for is a change that itself
    waits for the removal, and one that is not selected, which is warned of. What waits for a removal says who sees to
    it: whether one of `changes`, as far as they are selected, retires what it waits for.
    """
    takers = _takers(changes)
    going, staying = _going(changes, selection), _staying(changes, selection)
    return [one for change in changes for one in _ordered(_told(change, going, staying), takers, selection)]


def _ordered(change: Change, takers: Mapping[str, set[Address]], selection: Selection) -> list[Change]:
    waits_for = sorted({taker for code in _leaving(change) for taker in takers.get(code, ())} - {change.address})
    if change.action is Action.RETIRE and waits_for:
        return [_after(change, waits_for, selection)]
    if change.action is Action.REPLACE and waits_for:
        retire = replace(
            change,
            action=Action.RETIRE,
            request=None,
            reasons=("its event codes move to another subscription",),
            warnings=(),
        )
        return [replace(change, concerns=()), _after(retire, [change.address, *waits_for], selection)]
    return [change]


def _going(changes: Iterable[Change], selection: Selection) -> set[str]:
    """The attempts that are retired, now or after a create."""
    retiring = (one for one in changes if one.action in (Action.RETIRE, Action.REPLACE) and selection.has(one.address))
    return {attempt for one in retiring for attempt in one.concerns}


def _staying(changes: Iterable[Change], selection: Selection) -> set[str]:
    """The attempts that await removal, and are restored."""
    restoring = (one for one in changes if one.action is Action.RESTORE and selection.has(one.address))
    return {attempt for one in restoring for attempt in one.concerns}


def _told(change: Change, going: Collection[str], staying: Collection[str]) -> Change:
    if change.block is not Block.WAITS:
        return change

    def is_going(one: Attempt) -> bool:
        return one.id in going or (one.status is Status.AWAITING_REMOVAL and one.id not in staying)

    return replace(change, reasons=tuple(waiting(one, is_going=is_going(one)) for one in change.waits_for))


def _takers(changes: Iterable[Change]) -> dict[str, set[Address]]:
    """Which addresses create, or would if they were not blocked, each code."""
    found: dict[str, set[Address]] = {}
    for change in changes:
        taken = change.request if change.action in SENDS else None
        if change.block in (Block.ELSEWHERE, Block.UNRESOLVED):
            taken = change.after
        for code in taken.codes if taken else ():
            found.setdefault(code, set()).add(change.address)
    return found


def _after(change: Change, waits_for: Sequence[Address], selection: Selection) -> Change:
    selected = tuple(taker for taker in waits_for if selection.has(taker))
    others = [taker for taker in waits_for if taker not in selected]
    reasons, warnings = change.reasons, change.warnings
    if selected:
        reasons = (*reasons, f"after its event codes are taken over by {', '.join(selected)}")
    if others:
        names = ", ".join(others)
        warnings = (*warnings, f"its event codes move to {names}, not selected: apply {names} first")
    return replace(change, depends_on=selected, reasons=reasons, warnings=warnings)


def _leaving(change: Change) -> set[str]:
    """The codes of what a change retires, without those that its own address still wants, and sees to itself."""
    kept = change.after.codes if change.after else ()
    return {code for one in change.before if one.id in change.concerns for code in one.codes if code not in kept}
