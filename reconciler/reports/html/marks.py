"""What becomes of each route, as a sign and a word: what a cell of the matrix shows."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from reconciler.model.plan import Action
from reconciler.model.record import Status
from reconciler.model.status import Proof
from reconciler.model.url import normal_url
from reconciler.reports.wording import SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reconciler.model.address import Address
    from reconciler.model.overview import TargetOverview
    from reconciler.model.status import ObservedAttempt, TargetStatus


class Kind(StrEnum):
    """What becomes of a route, in the order of the legend."""

    CREATE = "create"
    EXTEND = "extend"
    REPLACE = "replace"
    RESTORE = "restore"
    RETIRE = "retire"
    BLOCKED = "blocked"
    OLD = "old"
    UNKNOWN = "unknown"
    LEAVING = "leaving"
    SURPLUS = "surplus"
    PROVEN = "proven"
    SILENT = "silent"
    UNSEEN = "unseen"


STEADY = (Kind.PROVEN, Kind.SILENT, Kind.UNSEEN)
"""In force, as desired."""

_OF_ACTION = {action: Kind(action.value) for action in Action}
_OF_PROOF = {Proof.PROVEN: Kind.PROVEN, Proof.SILENT: Kind.SILENT, Proof.NEVER_SEEN: Kind.UNSEEN}

SIGN = {
    **{_OF_ACTION[action]: sign for action, sign in SIGNS.items()},
    Kind.OLD: "-",
    Kind.UNKNOWN: "?",
    Kind.LEAVING: "…",
    Kind.SURPLUS: "*",
    **dict.fromkeys(STEADY, "="),
}
WORD = {
    **{kind: kind.value for kind in _OF_ACTION.values()},
    Kind.BLOCKED: "not sent",
    Kind.OLD: "old",
    Kind.UNKNOWN: "outcome unknown",
    Kind.LEAVING: "awaiting removal",
    Kind.SURPLUS: "surplus",
    Kind.PROVEN: "seen (30 days)",
    Kind.SILENT: "silent",
    Kind.UNSEEN: "never seen",
}
MEANING = {
    Kind.CREATE: "a new subscription will be sent",
    Kind.EXTEND: "one more subscription will be sent, with the codes that are missing at this URL",
    Kind.REPLACE: "a subscription will be sent for another URL; the old one stays",
    Kind.RESTORE: "stays, without a call",
    Kind.RETIRE: "not in config/ any more: is subscribed until the service's operator deletes it",
    Kind.BLOCKED: "desired, and not sent by this plan: a person must act first",
    Kind.OLD: "the subscription that is replaced: is subscribed until the service's operator deletes it",
    Kind.UNKNOWN: "an earlier create was sent, or may have been: it is not known whether the subscription exists",
    Kind.LEAVING: "the service's operator was asked to delete it; is subscribed until then",
    Kind.SURPLUS: "in force, not asked for by config/",
    Kind.PROVEN: "in force, received within 30 days",
    Kind.SILENT: "in force, received before, and not within 30 days",
    Kind.UNSEEN: "in force by the record; no notification of it was ever recorded",
}


class Mark(NamedTuple):
    """What becomes of a route at one URL."""

    kind: Kind
    url: str


Routes = dict[str, dict[str, tuple[Mark, ...]]]
"""The marks of each name and code of one target."""


def routes_of(target: TargetOverview) -> Routes:
    """What becomes of each route of a target, by name and code: first what is desired of it, then what there is."""
    routes: dict[str, dict[str, list[Mark]]] = defaultdict(lambda: defaultdict(list))
    standing = target.standing
    for address, code, mark in (*_planned(standing), *_blocked(standing), *_existing(standing)):
        marks = routes[address.name][code]
        if mark not in marks:
            marks.append(mark)
    return {name: {code: tuple(marks) for code, marks in codes.items()} for name, codes in routes.items()}


def _planned(standing: TargetStatus) -> Iterator[tuple[Address, str, Mark]]:
    for change in standing.plan.changes:
        if change.request is not None:
            for code in change.request.codes:
                yield change.address, code, Mark(_OF_ACTION[change.action], change.request.url)


def _existing(standing: TargetStatus) -> Iterator[tuple[Address, str, Mark]]:
    concerned = concerned_attempts(standing)
    replaced = _replaced(standing)
    surplus = {extra.attempt: extra.codes for extra in standing.plan.surplus}
    for observed in standing.attempts:
        attempt = observed.attempt
        for code in attempt.codes:
            kind = _kind(observed, code, concerned)
            if kind is Kind.RETIRE and (attempt.id, code) in replaced:
                kind = Kind.OLD
            if kind in STEADY and code in surplus.get(attempt.id, ()):
                kind = Kind.SURPLUS
            yield attempt.address, code, Mark(kind, attempt.url)


def _blocked(standing: TargetStatus) -> Iterator[tuple[Address, str, Mark]]:
    for change in standing.plan.changes:
        if change.action is Action.BLOCKED and change.after is not None:
            there = {route for attempt in change.before if attempt.in_force for route in attempt.routes}
            for code in change.after.codes:
                if (code, normal_url(change.after.url)) not in there:
                    yield change.address, code, Mark(Kind.BLOCKED, change.after.url)


def _replaced(standing: TargetStatus) -> set[tuple[str, str]]:
    """The attempts and codes that another subscription takes over."""
    return {
        (attempt, code)
        for change in standing.plan.changes
        if change.action is Action.REPLACE and change.request is not None
        for attempt in change.concerns
        for code in change.request.codes
    }


def concerned_attempts(standing: TargetStatus) -> dict[str, Action]:
    """What the plan does with attempts in force: restored, or to be deleted by the operator, by attempt."""
    concerning = (Action.REPLACE, Action.RESTORE, Action.RETIRE)  # what a BLOCKED one is about stays as it is
    planned = (change for change in standing.plan.changes if change.action in concerning)
    return {attempt: change.action for change in planned for attempt in change.concerns}


def _kind(observed: ObservedAttempt, code: str, concerned: Mapping[str, Action]) -> Kind:
    attempt = observed.attempt
    if attempt.unresolved:
        return Kind.UNKNOWN
    if concerned.get(attempt.id) is Action.RESTORE:
        return Kind.RESTORE
    if attempt.status is Status.AWAITING_REMOVAL:
        return Kind.LEAVING
    if attempt.id in concerned:
        return Kind.RETIRE
    return _OF_PROOF[observed.evidence[code].proof]
