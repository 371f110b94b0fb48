"""The changes of one address: what is wanted of it against the attempts it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reconciler.model.desired import Replace
from reconciler.model.plan import Action, Block, Change, Request, Surplus
from reconciler.model.record import Status
from reconciler.model.url import normal_url
from reconciler.planning import reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.address import Address
    from reconciler.model.desired import Subscription
    from reconciler.model.record import Attempt
    from reconciler.planning.routes import Routes


def is_as_wanted(wanted: Subscription | None, attempts: Sequence[Attempt]) -> bool:
    """The common case, decided quickly: one live attempt, exactly as wanted."""
    return (
        wanted is not None
        and len(attempts) == 1
        and attempts[0].status is Status.LIVE
        and attempts[0].codes == wanted.codes
        and (attempts[0].url == wanted.url or normal_url(attempts[0].url) == normal_url(wanted.url))
    )


def changes_of(
    address: Address, wanted: Subscription | None, attempts: Sequence[Attempt], routes: Routes, mode: Replace
) -> list[Change]:
    """The changes of one address: mostly none or one; more where something stays, something is added, and some goes."""
    case = _Case(address, Request(wanted.codes, wanted.url) if wanted else None, attempts)
    unresolved = [attempt for attempt in attempts if attempt.unresolved]
    if unresolved:
        why = [reasons.unresolved(attempt) for attempt in unresolved]
        blocked = case.change(Action.BLOCKED, block=Block.UNRESOLVED, concerns=unresolved, why=why)
        return [replace(blocked, unresolved=tuple(unresolved))]
    live = [attempt for attempt in attempts if attempt.status is Status.LIVE]
    if case.wanted is None:
        return _retire(case, live, "no longer in config/")
    return _fulfil(case, case.wanted, live, routes, mode)


def surplus_of(wanted: Subscription, attempts: Sequence[Attempt]) -> list[Surplus]:
    """Codes that are live at the wanted URL but no longer wanted, or live there a second time."""
    url = normal_url(wanted.url)
    delivered: set[str] = set()
    surplus = []
    twins = {twin.attempt: twin for twin in duplicates_of(attempts)}
    for attempt in _kept_first(attempts):
        if attempt.status is Status.LIVE and normal_url(attempt.url) == url:
            extra = tuple(code for code in attempt.codes if code not in wanted.codes or code in delivered)
            delivered.update(attempt.codes)
            if extra:
                found = Surplus(wanted.address, attempt.id, extra)
                surplus.append(twins.get(attempt.id, found) if extra == attempt.codes else found)
    return sorted(surplus, key=lambda one: one.attempt)


def duplicates_of(attempts: Sequence[Attempt]) -> list[Surplus]:
    """Those of one address that are live and deliver just what another one does, which is to be kept."""
    kept: dict[tuple[tuple[str, ...], str], Attempt] = {}
    duplicates = []
    for attempt in _kept_first([attempt for attempt in attempts if attempt.status is Status.LIVE]):
        first = kept.setdefault((attempt.codes, normal_url(attempt.url)), attempt)
        if first is not attempt:
            only = _has_secret(first) and not _has_secret(attempt)
            duplicates.append(Surplus(attempt.address, attempt.id, attempt.codes, first.id, only))
    return duplicates


def _kept_first(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Of those that deliver the same, first the ones whose secret is stored: without it, nothing can be verified."""
    if len(attempts) < 2:  # as of almost every address of a plan
        return list(attempts)
    alike: dict[tuple[tuple[str, ...], str, Status], list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda attempt: not _has_secret(attempt)):
        alike.setdefault(_what(attempt), []).append(attempt)
    return [alike[_what(attempt)].pop(0) for attempt in attempts]


def _what(attempt: Attempt) -> tuple[tuple[str, ...], str, Status]:
    return attempt.codes, normal_url(attempt.url), attempt.status


def _has_secret(attempt: Attempt) -> bool:
    return bool(attempt.response or attempt.secrets)


class _Case(Struct, frozen=True):
    """An address with what is wanted of it and its attempts that are not gone, oldest first."""

    address: Address
    wanted: Request | None
    attempts: Sequence[Attempt]

    @property
    def in_force(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.in_force]

    def change(
        self,
        action: Action,
        *,
        request: Request | None = None,
        concerns: Iterable[Attempt] = (),
        block: Block | None = None,
        why: Iterable[str] = (),
        warnings: Iterable[str] = (),
    ) -> Change:
        return Change(
            self.address,
            action,
            request,
            concerns=tuple(sorted(attempt.id for attempt in concerns)),
            block=block,
            after=self.wanted,
            before=tuple(sorted(self.in_force, key=lambda attempt: attempt.id)),
            reasons=tuple(why),
            warnings=tuple(warnings),
        )

    def waiting(self, hindering: Sequence[Attempt]) -> Change:
        """The change that waits until `hindering` is gone; its reasons depend on what else the plan does."""
        blocked = self.change(Action.BLOCKED, block=Block.WAITS, concerns=hindering)
        unresolved = tuple(attempt for attempt in hindering if attempt.unresolved)
        return replace(blocked, waits_for=tuple(hindering), unresolved=unresolved)


def _fulfil(case: _Case, wanted: Request, live: Sequence[Attempt], routes: Routes, mode: Replace) -> list[Change]:
    """Keep what is live at the wanted URL, restore what can be, create what is missing then, retire the rest."""
    here = [attempt for attempt in live if _is_at(wanted.url, attempt)]
    old = [attempt for attempt in live if not _is_at(wanted.url, attempt)]
    restored = _restorable(case, wanted, here)
    kept = [*here, *restored]
    changes = _restore(case, wanted, here, restored)
    missing = sorted(set(wanted.codes).difference(*(attempt.codes for attempt in kept)))
    if missing:
        return changes + _deliver(case, Request(tuple(missing), wanted.url), kept, old, routes, mode)
    return changes + _retire(case, old, f"superseded: everything desired is delivered to {wanted.url}")


def _restorable(case: _Case, wanted: Request, here: Sequence[Attempt]) -> list[Attempt]:
    """What a plan retired and still delivers what is wanted and not live: few that deliver much, with little beyond it.

    A code too many is no reason to create the others a second time: it is surplus.
    """
    codes = set(wanted.codes).difference(*(attempt.codes for attempt in here))
    left = [attempt for attempt in case.attempts if _is_retired_by_plan(attempt) and _is_at(wanted.url, attempt)]
    restorable = []
    while useful := [attempt for attempt in left if not codes.isdisjoint(attempt.codes)]:
        best = max(useful, key=lambda attempt: (len(codes.intersection(attempt.codes)), -len(attempt.codes)))
        restorable.append(best)
        codes.difference_update(best.codes)
    return restorable


def _is_retired_by_plan(attempt: Attempt) -> bool:
    return attempt.status is Status.AWAITING_REMOVAL and not attempt.on_purpose


def _deliver(
    case: _Case,
    request: Request,
    kept: Sequence[Attempt],
    old: Sequence[Attempt],
    routes: Routes,
    mode: Replace,
) -> list[Change]:
    """The change that creates `request`, or what stands in its way; and what becomes of the `old` URL's attempts."""
    elsewhere = routes.elsewhere(case.address, request)
    if elsewhere:
        return [_blocked_elsewhere(case, request, elsewhere, routes)]
    supplanted = _supplanted(case, request, kept)
    moving = routes.moving(case.address, request)
    if mode is Replace.WAIT and (supplanted or moving):
        return [*_retire(case, old, "to be replaced after its removal"), case.waiting([*supplanted, *moving])]
    if supplanted:
        return [_replace(case, request, supplanted, old, moving)]
    renamed = [
        reasons.renamed_with_url(source, case.address, routes.template(case.address))
        for source in routes.renamed_with_url(case.address, moving)
    ]
    added = _add(case, request, moving, renamed)
    return [added, *_retire(case, old, f"superseded: already delivered to {request.url}")]


def _supplanted(case: _Case, request: Request, kept: Sequence[Attempt]) -> list[Attempt]:
    """What a create of `request` comes in place of: what delivers its codes, and where nothing stays, another URL."""
    return [
        attempt
        for attempt in case.in_force
        if attempt not in kept
        and (not set(attempt.codes).isdisjoint(request.codes) or not (kept or _is_at(request.url, attempt)))
    ]


def _replace(
    case: _Case,
    request: Request,
    supplanted: Sequence[Attempt],
    old: Sequence[Attempt],
    moving: Sequence[Attempt],
) -> Change:
    urls = sorted({attempt.url for attempt in supplanted if not _is_at(request.url, attempt)})
    why = f"the URL changed from {', '.join(urls)}" if urls else "its current subscription awaits removal"
    return case.change(
        Action.REPLACE,
        request=request,
        concerns=old,
        why=[why],
        warnings=[
            reasons.BOTH_DELIVER,
            *_warnings(case, request, moving),
        ],
    )


def _add(case: _Case, request: Request, moving: Sequence[Attempt], renamed: Sequence[str]) -> Change:
    """The change that creates `request` beside what is in force, or where nothing is."""
    warnings = [*_warnings(case, request, moving), *renamed]
    if case.in_force:
        why = f"new event codes: {', '.join(request.codes)}"
        return case.change(Action.EXTEND, request=request, why=[why], warnings=warnings)
    return case.change(Action.CREATE, request=request, why=["no subscription in force"], warnings=warnings)


def _warnings(case: _Case, request: Request, moving: Sequence[Attempt]) -> list[str]:
    has_secret = any(_is_at(request.url, attempt) for attempt in case.in_force)
    return [*([reasons.second_secret(request.url)] if has_secret else []), *reasons.moving(request, moving)]


def _restore(case: _Case, wanted: Request, here: Sequence[Attempt], restored: Sequence[Attempt]) -> list[Change]:
    if not restored:
        return []
    warnings = [
        reasons.cancel_removal(case.address, attempt_id) for attempt_id in sorted(attempt.id for attempt in restored)
    ]
    codes = {code for attempt in restored for code in attempt.codes}
    delivered = {code for attempt in here for code in attempt.codes}
    warnings += reasons.also_delivered(codes.difference(wanted.codes), "not in config/")
    warnings += reasons.also_delivered(
        codes & delivered.intersection(wanted.codes), "another subscription delivers it too"
    )
    why = "it awaits removal but is in config/ again"
    return [case.change(Action.RESTORE, concerns=restored, why=[why], warnings=warnings)]


def _retire(case: _Case, going: Sequence[Attempt], reason: str) -> list[Change]:
    return [case.change(Action.RETIRE, concerns=going, why=[reason])] if going else []


def _blocked_elsewhere(case: _Case, request: Request, elsewhere: Sequence[Attempt], routes: Routes) -> Change:
    unresolved = [attempt for attempt in elsewhere if attempt.unresolved]
    blocked = case.change(
        Action.BLOCKED,
        block=Block.UNRESOLVED if unresolved else Block.ELSEWHERE,
        concerns=unresolved,
        why=[
            reasons.elsewhere(case.address, request, attempt, routes.renaming(attempt.address, case.address))
            for attempt in elsewhere
        ],
    )
    return replace(blocked, unresolved=tuple(unresolved))


def _is_at(url: str, attempt: Attempt) -> bool:
    return normal_url(attempt.url) == normal_url(url)
