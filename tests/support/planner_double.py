"""A double of the planner, for as long as there is none."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from reconciler.errors import Message
from reconciler.model.desired import Replace
from reconciler.model.plan import Action, Block, Change, Plan, Request, TargetPlan
from reconciler.model.record import Status
from reconciler.model.url import has_attempt, normal_url

if TYPE_CHECKING:
    from reconciler.model.desired import Desired
    from reconciler.model.record import Record
    from reconciler.model.selection import Selection
    from reconciler.record.gates import Standing


def plan(desired: Desired, record: Record, standing: Standing, selection: Selection, *, now: float, **_: Any) -> Plan:
    """Return a plan."""
    gates = tuple(Message(str(obstacle), str(obstacle)) for obstacle in standing.obstacles)
    targets = {}
    for name, target in desired.targets.items():
        names = {a for a in desired.subscriptions if a.target == name}
        names |= {a.address for a in record.attempts.values() if a.address.target == name}
        changes = [
            c for a in sorted(names) if selection.has(a) for c in _changes(desired, record, a, target, gates, now)
        ]
        targets[name] = TargetPlan(target, "", tuple(changes), 0)
    return Plan(selection.patterns, targets, "", "", record.id, record.head, record.entries, gates)


def _changes(desired: Any, record: Any, address: Any, target: Any, gates: Any, now: float) -> list[Change]:
    attempts = record.at_address(address)
    force = [a for a in attempts if a.in_force]
    sub = desired.subscriptions.get(address)
    out = []

    def change(action: Action, request: Any = None, **rest: Any) -> Change:
        text = repr((address, action, request, [(a.id, a.status, a.codes, a.url) for a in attempts], record.id))
        return Change(address, action, request, digest=sha256(text.encode()).hexdigest(), **rest)

    def gated(action: Action, request: Request, **rest: Any) -> Change:
        blocking = [a for a in attempts if a.blocks]
        if (
            target.unknown == "retry"
            and blocking
            and all(
                has_attempt(a.template) and not a.in_flight(now) and a.settled(now) and a.retries < 3 for a in blocking
            )
        ):
            return change(Action.RETRY, request, concerns=tuple(a.id for a in blocking))
        if blocking:
            flight = any(a.in_flight(now) for a in blocking)
            return change(
                Action.BLOCKED,
                block=Block.IN_FLIGHT if flight else Block.UNRESOLVED,
                blocking=tuple(blocking),
                reasons=(Message("x", "blocked"),),
            )
        if gates:
            return change(Action.BLOCKED, block=Block.GATE, reasons=gates)
        url = normal_url(request.template)
        routes = record.routes_at(record.service_of(target.base_url))
        others = [a for code in request.codes for a in routes.get((code, url), ())]
        if others:
            return change(
                Action.BLOCKED, block=Block.ELSEWHERE, blocking=tuple(others), reasons=(Message("x", "elsewhere"),)
            )
        return change(action, request, before=tuple(force), **rest)

    if sub is None:
        gone = [a for a in force if a.status is Status.LIVE]
        return (
            [change(Action.REMOVE, concerns=tuple(a.id for a in gone), reasons=(Message("x", "not desired"),))]
            if gone
            else []
        )
    same = [a for a in force if normal_url(a.template) == normal_url(sub.template)]
    old = [a for a in force if a not in same]
    waits = [a for a in same if a.status is Status.AWAITING_REMOVAL and set(a.codes) & set(sub.codes)]
    if waits and waits[0].by_plan:
        out.append(change(Action.RESTORE, concerns=tuple(a.id for a in waits), before=tuple(force)))
    have = {c for a in same for c in a.codes}
    missing = tuple(c for c in sub.codes if c not in have)
    live_old = tuple(a.id for a in old if a.status is Status.LIVE)
    if not missing:
        if live_old:
            out.append(change(Action.REMOVE, concerns=live_old, reasons=(Message("x", "replaced"),)))
        return out
    if same:
        return [*out, gated(Action.EXTEND, Request(missing, sub.template))]
    if old and target.replace is Replace.WAIT:
        if live_old:
            out.append(change(Action.REMOVE, concerns=live_old, reasons=(Message("x", "waits"),)))
        return [*out, change(Action.BLOCKED, block=Block.WAITS, reasons=(Message("x", "waits"),))]
    if old:
        return [gated(Action.REPLACE, Request(missing, sub.template), concerns=live_old)]
    return [gated(Action.CREATE, Request(missing, sub.template))]
