"""Computes the changes to one address from its desired subscription and its attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reconciler.model.desired import Overlap, Replace, Unknown
from reconciler.model.plan import Action, Block, Change, Request
from reconciler.model.record import Status
from reconciler.planning import reasons
from reconciler.planning.duplicates import outlived

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reconciler.errors import Message
    from reconciler.model.address import Address
    from reconciler.model.desired import Subscription, Target
    from reconciler.model.record import Attempt, Record
    from reconciler.planning.routes import Routes

RETRIES = 3
"""The number of consecutive retries of an unknown create before a person must resolve its outcome."""


def is_as_desired(subscription: Subscription, attempt: Attempt) -> bool:
    """True if the only attempt of an address is live and exactly as desired: a fast check of the common case."""
    return (
        attempt.status is Status.LIVE
        and attempt.codes == subscription.codes
        and not attempt.requested_codes
        and attempt.is_at(subscription.template)
    )


class Case(Struct, frozen=True):
    """An address with its desired subscription and its attempts (oldest first), and the context for its plan."""

    address: Address
    after: Request | None
    attempts: Sequence[Attempt]
    target: Target
    record: Record
    routes: Routes
    now: float
    retried: tuple[Attempt, ...] = ()

    def change(
        self,
        action: Action,
        *why: Message,
        request: Request | None = None,
        concerns: Iterable[Attempt] = (),
        block: Block | None = None,
        blocking: Iterable[Attempt] = (),
        warnings: Iterable[Message] = (),
    ) -> Change:
        """Return a change to this address with these fields."""
        in_force = (attempt for attempt in self.attempts if attempt.in_force)
        consequences = (reasons.STILL_DELIVERS,) if action is Action.REMOVE else ()
        return Change(
            self.address,
            action,
            request,
            concerns=tuple(sorted(attempt.id for attempt in concerns)),
            block=block,
            blocking=tuple(blocking),
            before=tuple(sorted(in_force, key=lambda attempt: attempt.id)),
            after=self.after,
            reasons=why,
            warnings=(*warnings, *consequences),
        )


def changes_of(case: Case) -> list[Change]:
    """Return the changes to one address: usually none or one, but several if some attempts stay and others go."""
    blocking = [attempt for attempt in case.attempts if attempt.blocks]
    if not blocking:
        return _settled(case)
    if case.after is not None and all(_may_retry(case, attempt) for attempt in blocking):
        changes = _settled(replace(case, retried=tuple(blocking)))
        if any(change.action is Action.RETRY for change in changes):
            after = max(attempt.settled_by for attempt in blocking)
            if case.now >= after:
                return changes
            why = (reasons.sent_again_later(attempt, after, case.now) for attempt in blocking)
            return [_unresolved(case, blocking, why)]
    return [_unresolved(case, blocking, _doubts(case, blocking))]


def _may_retry(case: Case, attempt: Attempt) -> bool:
    """True if an unknown create may be retried. Under `replace: wait`, its URL must be the desired URL."""
    return (
        case.target.unknown is Unknown.RETRY
        and attempt.own_url
        and attempt.retries < RETRIES
        and (case.target.replace is Replace.OVERLAP or attempt.is_at(case.after.template if case.after else ""))
    )


def _doubts(case: Case, attempts: Iterable[Attempt]) -> Iterator[Message]:
    return (reasons.unresolved(attempt, case.record.received_by(attempt), case.now) for attempt in attempts)


def _unresolved(case: Case, blocking: Sequence[Attempt], why: Iterable[Message]) -> Change:
    in_flight = all(attempt.in_flight(case.now) for attempt in blocking)
    block = Block.IN_FLIGHT if in_flight else Block.UNRESOLVED
    return case.change(Action.BLOCKED, *why, block=block, blocking=blocking)


def _settled(case: Case) -> list[Change]:
    """Return the changes to an address that is not blocked by an unknown outcome.

    They restore attempts where possible, create what is missing, and remove attempts at old URLs.
    """
    live = [a for a in case.attempts if a.status is Status.LIVE and not case.routes.is_kept_elsewhere(a)]
    if case.after is None:
        return [case.change(Action.REMOVE, reasons.NOT_DESIRED, concerns=live)] if live else []
    old_retries = outlived(case.after, case.attempts)
    here = [attempt for attempt in live if attempt.is_at(case.after.template) and attempt not in old_retries]
    old = [attempt for attempt in live if not attempt.is_at(case.after.template) and attempt not in old_retries]
    restored = _restorable(case, case.after, here)
    kept = [*here, *restored]
    changes = [_restore(case, case.after, here, restored)] if restored else []
    if old_retries:
        changes.append(case.change(Action.REMOVE, reasons.SUPERSEDED, concerns=old_retries))
    staying = {
        code for attempt in kept for code in attempt.codes if attempt in restored or code not in attempt.requested_codes
    }
    leaving = _leaving(case, case.after, staying)
    missing = sorted(set(case.after.codes) - staying)
    if leaving:
        why = (reasons.leaving(attempt, codes) for attempt, codes in leaving)
        blocking = (attempt for attempt, _ in leaving)
        changes.append(case.change(Action.BLOCKED, *why, block=Block.WAITS, blocking=blocking))
    elif missing:
        changes += _deliver(case, Request(tuple(missing), case.after.template), kept, old)
    elif old:
        changes.append(case.change(Action.REMOVE, reasons.already_delivered(case.after, old), concerns=old))
    return _with_one_removal(changes) if len(changes) > 1 else changes


def _with_one_removal(changes: Sequence[Change]) -> list[Change]:
    """Return the changes with all removals merged into one."""
    removals = [change for change in changes if change.action is Action.REMOVE]
    if len(removals) < 2:
        return [*changes]
    concerns = tuple(sorted(attempt for change in removals for attempt in change.concerns))
    why = tuple(message for change in removals for message in change.reasons)
    rest = [change for change in changes if change.action is not Action.REMOVE]
    return [*rest, replace(removals[0], concerns=concerns, reasons=why)]


def _leaving(case: Case, after: Request, staying: set[str]) -> list[tuple[Attempt, list[str]]]:
    """Return the attempts awaiting removal at the desired URL, with the desired codes that they still deliver.

    These codes are in force, so they are not created again until a person cancels or confirms the removal.
    """
    found = []
    for attempt in case.attempts:
        if attempt.in_force and attempt.is_at(after.template):
            codes = [code for code in attempt.requested_codes if code in after.codes and code not in staying]
            if codes:
                found.append((attempt, codes))
    return found


def _restorable(case: Case, after: Request, here: Sequence[Attempt]) -> list[Attempt]:
    """Return the attempts to restore. A plan requested their removal, and they deliver desired codes that are not live.

    An attempt with an undesired code may be chosen; that code is then surplus.
    """
    codes = set(after.codes).difference(*(attempt.codes for attempt in here))
    awaiting = [attempt for attempt in case.attempts if attempt.status is Status.AWAITING_REMOVAL]
    left = [attempt for attempt in awaiting if attempt.by_plan and attempt.is_at(after.template)]
    restorable = []
    while useful := [attempt for attempt in left if not codes.isdisjoint(attempt.codes)]:
        best = max(useful, key=lambda attempt: (len(codes.intersection(attempt.codes)), -len(attempt.codes)))
        restorable.append(best)
        codes.difference_update(best.codes)
    return restorable


def _deliver(case: Case, request: Request, kept: Sequence[Attempt], old: Sequence[Attempt]) -> list[Change]:
    """Return the change that sends a request (or is BLOCKED), and the changes that affect attempts at old URLs."""
    moving = case.routes.moving(case.address, request)
    unmanaged = [attempt for attempt in moving if case.routes.is_unmanaged(attempt, request)]
    blocked = _blocked_elsewhere(case, request, unmanaged)
    if blocked is not None:
        return [blocked]
    replaced = [
        attempt
        for attempt in case.attempts
        if attempt.in_force
        and attempt not in kept
        and not attempt.is_at(request.template)
        and (not kept or not set(attempt.codes).isdisjoint(request.codes))
    ]
    if case.target.replace is Replace.WAIT and (replaced or moving):
        waits = case.change(Action.BLOCKED, block=Block.WAITS, blocking=[*replaced, *moving])
        return [waits, case.change(Action.REMOVE, reasons.TO_BE_REPLACED, concerns=old)] if old else [waits]
    has_secret = any(attempt.is_at(request.template) for attempt in case.attempts if attempt.in_force)
    warnings = [*([reasons.SECOND_SECRET] if has_secret and not case.retried else [])]
    warnings += (_unmanaged(case, request, attempt) for attempt in unmanaged)
    also = (*moving, *case.routes.superseded(case.address, request))
    warnings += (reasons.moving(request, attempt) for attempt in also if attempt not in unmanaged)
    declared = (a for a in case.attempts if a.absent and a.status is Status.GONE and a.is_at(request.template))
    warnings += (reasons.declared_absent(attempt) for attempt in declared if {*attempt.codes} & {*request.codes})
    if replaced:
        warnings.insert(0, reasons.BOTH_DELIVER)
    if case.retried:
        why = reasons.sent_again(case.retried)
        return [case.change(Action.RETRY, why, request=request, concerns=case.retried, warnings=warnings)]
    if replaced:
        why = reasons.url_changed(attempt.template for attempt in replaced)
        return [case.change(Action.REPLACE, why, request=request, concerns=old, warnings=warnings)]
    if kept:
        added = case.change(Action.EXTEND, reasons.missing_codes(request.codes), request=request, warnings=warnings)
    else:
        added = case.change(Action.CREATE, reasons.NOTHING_IN_FORCE, request=request, warnings=warnings)
    if not old:
        return [added]
    return [added, case.change(Action.REMOVE, reasons.already_delivered(case.after or request, old), concerns=old)]


def _blocked_elsewhere(case: Case, request: Request, unmanaged: Sequence[Attempt]) -> Change | None:
    elsewhere = case.routes.elsewhere(case.address, request)
    refuses = case.target.overlap is Overlap.REFUSE and case.target.replace is Replace.OVERLAP
    lasting = [attempt for attempt in unmanaged if refuses and attempt not in elsewhere]
    unresolved = [attempt for attempt in (*elsewhere, *lasting) if attempt.unresolved]
    if unresolved:
        return _unresolved(case, unresolved, _doubts(case, unresolved))
    rival = None if elsewhere else case.routes.rival(case.address, request)
    if not elsewhere and not lasting and rival is None:
        return None
    why = [reasons.elsewhere(request, attempt, case.routes.renaming(attempt, case.address)) for attempt in elsewhere]
    why += (_unmanaged(case, request, attempt) for attempt in lasting)
    if rival is not None:
        why.append(reasons.rival((code for code in request.codes if code in rival.codes), rival.address))
    return case.change(Action.BLOCKED, *why, block=Block.ELSEWHERE, blocking=[*elsewhere, *lasting])


def _unmanaged(case: Case, request: Request, attempt: Attempt) -> Message:
    return reasons.unmanaged(request, attempt, case.routes.renaming(attempt, case.address))


def _restore(case: Case, after: Request, here: Sequence[Attempt], restored: Sequence[Attempt]) -> Change:
    codes = {code for attempt in restored for code in attempt.codes}
    delivered = {code for attempt in here for code in attempt.codes}
    warnings = (
        *(reasons.cancel_removal(attempt) for attempt in sorted(restored, key=lambda each: each.id)),
        *reasons.also_delivers(codes.difference(after.codes), "not in config/"),
        *reasons.also_delivers(codes & delivered.intersection(after.codes), "also delivered by another subscription"),
    )
    return case.change(Action.RESTORE, reasons.WANTED_AGAIN, concerns=restored, warnings=warnings)
