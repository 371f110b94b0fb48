"""The order of a target's changes where event codes move from one of its subscriptions to another.

A subscription is retired after others have taken over its codes, unless one of those waits for its removal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from reconciler.model.plan import Action, Block
from reconciler.model.record import Status
from reconciler.planning.reasons import waiting

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from reconciler.model.address import Address
    from reconciler.model.plan import Change
    from reconciler.model.record import Attempt
    from reconciler.model.selection import Selection


def with_dependencies(changes: Sequence[Change], selection: Selection) -> list[Change]:
    """`changes` of one target, each RETIRE depending on the creates that take its codes over, so that no event is lost.

    A REPLACE that would retire such codes leaves that to a RETIRE of its own. A RETIRE does not depend on a change that
    waits for the removal, nor on one that is not selected; the latter is a warning. The reasons of a change that waits
    for a removal tell whether one of the selected `changes` requests that removal.
    """
    takers = _takers(changes)
    selected = [change for change in changes if selection.has(change.address)]
    retired = _concerned(selected, (Action.RETIRE, Action.REPLACE))
    restored = _concerned(selected, (Action.RESTORE,))
    explained = (_explained(change, retired, restored) for change in changes)
    return [ordered for change in explained for ordered in _ordered(change, takers, selection)]


def _ordered(change: Change, takers: Mapping[str, set[Address]], selection: Selection) -> list[Change]:
    taking = sorted({taker for code in _leaving(change) for taker in takers.get(code, ())} - {change.address})
    if not taking:
        return [change]
    match change.action:
        case Action.RETIRE:
            return [_after(change, taking, selection)]
        case Action.REPLACE:
            reason = "its event codes move to another subscription"
            retire = replace(change, action=Action.RETIRE, request=None, reasons=(reason,), warnings=())
            return [replace(change, concerns=()), _after(retire, [change.address, *taking], selection)]
        case Action.CREATE | Action.EXTEND | Action.RESTORE | Action.BLOCKED:
            return [change]
        case _:
            assert_never(change.action)


def _concerned(changes: Iterable[Change], actions: Collection[Action]) -> set[str]:
    """The attempts that changes with one of these actions are about."""
    return {attempt for change in changes if change.action in actions for attempt in change.concerns}


def _explained(change: Change, retired: Collection[str], restored: Collection[str]) -> Change:
    """A change that waits, with its reasons: they depend on what the other changes do."""
    if change.block is not Block.WAITS:
        return change

    def is_going(attempt: Attempt) -> bool:
        is_awaiting = attempt.status is Status.AWAITING_REMOVAL and attempt.id not in restored
        return attempt.id in retired or is_awaiting

    return replace(change, reasons=tuple(waiting(attempt, is_going=is_going(attempt)) for attempt in change.waits_for))


def _takers(changes: Iterable[Change]) -> dict[str, set[Address]]:
    """Which addresses create each code, or will when they are no longer blocked."""
    takers: dict[str, set[Address]] = {}
    for change in changes:
        for code in _taken(change):
            takers.setdefault(code, set()).add(change.address)
    return takers


def _taken(change: Change) -> tuple[str, ...]:
    match change.block:
        case None:
            taken = change.request
        case Block.ELSEWHERE | Block.UNRESOLVED:
            taken = change.after
        case Block.WAITS:
            taken = None
        case _:
            assert_never(change.block)
    return taken.codes if taken else ()


def _after(change: Change, takers: Sequence[Address], selection: Selection) -> Change:
    selected = tuple(taker for taker in takers if selection.has(taker))
    names = ", ".join(taker for taker in takers if taker not in selected)
    reasons, warnings = change.reasons, change.warnings
    if selected:
        reasons = (*reasons, f"after its event codes are taken over by {', '.join(selected)}")
    if names:
        warnings = (*warnings, f"its event codes move to {names}, not selected: apply {names} first")
    return replace(change, depends_on=selected, reasons=reasons, warnings=warnings)


def _leaving(change: Change) -> set[str]:
    """The codes of the attempts that a change retires, without those that its own address still has in config/."""
    staying = change.after.codes if change.after else ()
    codes = (code for attempt in change.before if attempt.id in change.concerns for code in attempt.codes)
    return {code for code in codes if code not in staying}
