"""Orders the changes of a plan: a removal depends on the creates that take over its codes.

A removal that depends on a blocked or unselected change is itself blocked, so that no event is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.errors import Message
from reconciler.model.plan import Action, Block
from reconciler.model.record import Status
from reconciler.model.url import normal_url
from reconciler.planning import reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reconciler.model.address import Address, Selection
    from reconciler.model.plan import Change
    from reconciler.planning.routes import Routes

_MOVED = Message("codes-move", "its event codes move to another subscription")


def ordered(changes: Sequence[Change], routes: Routes, selection: Selection) -> list[Change]:
    """Return the selected changes, sorted, with their dependencies and the reasons that follow from them."""
    # No removal of this plan unblocks these. A change under `replace: wait` gets its reasons later.
    stuck = {each.address for each in changes if each.block and (each.block is not Block.WAITS or each.reasons)}
    takers = _takers(changes, stuck, routes)
    pairs = _exchanged(changes, routes) if len(changes) > 1 else {}
    selected = [
        _warned(part, pairs) if pairs else part
        for change in changes
        if selection.has(change.address)
        for part in _after_takers(change, takers, stuck, routes, selection)
    ]
    going = {attempt for change in selected if change.action in _REMOVING for attempt in change.concerns}
    restored = {attempt for change in selected if change.action is Action.RESTORE for attempt in change.concerns}
    explained = [
        _explained(change, going, restored, routes) if change.block is Block.WAITS and not change.reasons else change
        for change in selected
    ]
    if len(explained) > 1:
        explained = _one_block(explained)
    return sorted(explained, key=lambda change: (change.address, change.action))


_REMOVING = (Action.REMOVE, Action.REPLACE)


def _takers(changes: Sequence[Change], stuck: set[Address], routes: Routes) -> dict[tuple[str, str], set[Address]]:
    """Return, for each code on each service, the addresses that are to create it, including blocked addresses."""
    takers: dict[tuple[str, str], set[Address]] = {}
    for change in changes:
        taken = change.after if change.block and change.address in stuck else change.request
        for code in taken.codes if taken else ():
            takers.setdefault((routes.services[change.address.target], code), set()).add(change.address)
    return takers


def _after_takers(
    change: Change,
    takers: Mapping[tuple[str, str], set[Address]],
    stuck: set[Address],
    routes: Routes,
    selection: Selection,
) -> Iterator[Change]:
    """Yield a change with its dependencies; a REPLACE whose removal depends on other addresses is split in two."""
    if change.action not in _REMOVING or not change.concerns:
        yield change
        return
    service = routes.services[change.address.target]
    staying = change.after.codes if change.after else ()
    going = (attempt for attempt in change.before if attempt.id in change.concerns)
    codes = {code for attempt in going for code in attempt.codes if code not in staying}
    taking = sorted({taker for code in codes for taker in takers.get((service, code), ())} - {change.address})
    own = change.address in stuck and change.action is Action.REMOVE
    if not taking and not own:
        yield change
        return
    removal = change
    if change.action is Action.REPLACE:
        yield replace(change, concerns=())
        warnings = (reasons.STILL_DELIVERS,)
        removal = replace(change, action=Action.REMOVE, request=None, reasons=(_MOVED,), warnings=warnings)
        taking = sorted({change.address, *taking})
    elsewhere = [taker for taker in taking if taker in stuck]
    unselected = [taker for taker in taking if not selection.has(taker) and taker not in stuck]
    if own or elsewhere or unselected:
        removal = replace(removal, action=Action.BLOCKED, block=Block.DEPENDS, concerns=(), warnings=())
        taking = [*elsewhere, *unselected, *([change.address] if own else ())]
        why = reasons.depends(elsewhere, unselected)
    else:
        why = (reasons.after(taking),)
    yield replace(removal, depends_on=tuple(taking), reasons=(*removal.reasons, *why))


def _one_block(changes: Iterable[Change]) -> list[Change]:
    """Return the changes with the BLOCKED changes of each address merged into one.

    The merged change keeps the fields of the blocked create, if there is one, and has the reasons of all the changes.
    """
    by_address: dict[Address, Change] = {}
    rest = []
    for change in changes:
        first = by_address.get(change.address)
        if change.action is not Action.BLOCKED:
            rest.append(change)
        elif first is None:
            by_address[change.address] = change
        else:
            main, other = (change, first) if first.block is Block.DEPENDS else (first, change)
            why = tuple(dict.fromkeys((*main.reasons, *other.reasons)))
            by_address[change.address] = replace(main, reasons=why)
    return [*rest, *by_address.values()]


def _explained(change: Change, going: set[str], restored: set[str], routes: Routes) -> Change:
    """Return a waiting change with its reasons, which depend on the other changes."""
    why = []
    for attempt in change.blocking:
        if attempt.id in going:
            why.append(reasons.removed_first(attempt))
        else:
            is_own = attempt.address == change.address
            codes = attempt.codes if is_own else routes.leaving(attempt, change.after.codes if change.after else ())
            why.append(reasons.waiting(attempt, codes, is_staying=attempt.id in restored))
    return replace(change, reasons=tuple(why))


def _exchanged(changes: Sequence[Change], routes: Routes) -> dict[Address, Address]:
    """Return a map in which two addresses that swap their URLs are mapped to each other."""
    moves: dict[tuple[str, str, str], Address] = {}
    for change in changes:
        if change.after is not None and (change.action is Action.REPLACE or change.block is Block.WAITS):
            new, service = normal_url(change.after.template), routes.services[change.address.target]
            for attempt in change.before:
                if attempt.status is Status.LIVE and not attempt.is_at(change.after.template):
                    moves[service, normal_url(attempt.template), new] = change.address
    return {
        address: moves[service, new, old]
        for (service, old, new), address in moves.items()
        if (service, new, old) in moves
    }


def _warned(change: Change, pairs: Mapping[Address, Address]) -> Change:
    other = pairs.get(change.address)
    if other is None or not (change.action is Action.REPLACE or change.block is Block.WAITS):
        return change
    return replace(change, warnings=(*change.warnings, reasons.exchanged(*sorted((change.address, other)))))
