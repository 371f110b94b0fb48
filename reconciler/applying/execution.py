"""Carries out a plan: reads the record, runs the plan through the protocol, and reads the record again."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.applying.creates import LOST_RESPONSE
from reconciler.applying.driver import Ports, drive, message_of, unless_interrupted
from reconciler.applying.events import Context
from reconciler.applying.protocol import Run
from reconciler.applying.verdict import (
    closed_gates,
    completed,
    under_way,
    unresolved,
    verdict_of,
    verdict_without_record,
)
from reconciler.errors import Message, ReconcilerError, Refused
from reconciler.model.plan import Applied, Block, Done, Result, Verdict
from reconciler.record.chain import link
from reconciler.record.facts import Answered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.applying.events import Limits
    from reconciler.model.plan import Plan
    from reconciler.record.journal import Reading

_PATIENCE_WITH_EARLIER = 5.0
"""The longest wait, in seconds, for creates that were in flight when the plan was made.

The run that sent them may have been killed.
"""


def carry_out(plan: Plan, reading: Reading, ports: Ports, limits: Limits) -> Applied:
    """Carry out an approved plan that was made from `reading`. Raises only exceptions that end the process.

    The record is read again first. Approved changes that a new plan no longer contains are skipped.
    """
    try:
        run = begin(plan, reading, ports, limits)
    except Exception as problem:  # noqa: BLE001 - whatever it was, nothing was done
        problems = getattr(problem, "messages", None) or (message_of(problem),)
        results = tuple(
            Result(change.address, change.action, Done.SKIPPED, detail=problems[0].what) for change in plan.changes
        )
        return Applied(results, verdict_without_record(plan.changes, results), messages=tuple(problems))
    drive(run, ports)
    return conclude(run, ports)


def begin(plan: Plan, reading: Reading, ports: Ports, limits: Limits) -> Run:
    """Read the record again, and return a run that carries out the plan on it.

    Raises ReconcilerError if the record cannot be read, or does not contain the head that the plan was made from.
    """
    now = unless_interrupted(ports.read, ports.inbox.interrupted, 0.0)
    if not now.record.contains(reading.record.head):
        what = "the record no longer contains the entries that the plan is based on; nothing was sent"
        raise Refused(Message("record-replaced", what, now.standing.place))
    context = Context(
        plan=plan,
        replan=ports.replan,
        limits=limits,
        by=ports.by,
        run=ports.new_id(),
        account=ports.account,
        new_id=ports.new_id,
        jitter=ports.jitter,
    )
    return Run(now, context)


def conclude(run: Run, ports: Ports) -> Applied:
    """Save the facts that could not be recorded, read the record again, and return the result of the run."""
    plan = run.context.plan
    messages = list(run.messages)
    results = _save_unrecorded(run, ports, messages)
    wall = ports.clock().wall
    left, open_attempts, record = None, [], run.appends.reading.record
    try:
        reading, left = _settle(run, ports, results)
    except Exception as problem:  # noqa: BLE001 - whatever it was, the outcomes count
        messages.append(message_of(problem))
        verdict = verdict_without_record(plan.changes, results)
        results = completed(results, None, record, ())
    else:
        wall, record = ports.clock().wall, reading.record
        open_attempts = unresolved(plan, record, wall)
        addresses = {result.address for result in results}
        results = completed(results, left, record, under_way(left, addresses, (), wall))
        verdict = verdict_of(results, left, open_attempts)
        messages += closed_gates(left)
    if strays := run.stray_outcomes(None if left is None else record, ports.clock()):
        messages.append(ports.save(strays, messages[-1].what if left is None else "the append failed"))
    if run.failure:
        messages.append(Message("apply-failed", f"the apply stopped with {run.failure}; please report this"))
    if run.creates.lost_response:
        messages.append(Message("response-lost", LOST_RESPONSE))
    if verdict is Verdict.DONE and (run.failure or run.creates.lost_response):
        verdict = Verdict.FAILED
    attempts = record.attempts
    return Applied(
        results=tuple(sorted(results, key=lambda result: (result.address, result.action))),
        verdict=verdict,
        removal=tuple(attempts[attempt] for attempt in run.work.requested if attempt in attempts),
        restored=tuple(attempts[attempt] for attempt in run.work.restored if attempt in attempts),
        unresolved=tuple(open_attempts),
        left=left,
        messages=tuple(dict.fromkeys(messages)),
    )


def _save_unrecorded(run: Run, ports: Ports, messages: list[Message]) -> list[Result]:
    """Save the facts that could not be recorded, before anything else can fail, and return the results of the run."""
    pending = run.appends.unrecorded
    if not pending:
        return list(run.results.values())
    problem = None if run.failure else run.appends.problem  # with a failure, it may be an old problem
    messages.append(ports.save(pending, problem.what if problem else run.failure))
    saved = {fact.attempt for fact in pending if isinstance(fact, Answered)}
    return [replace(result, recorded=result.attempt not in saved) for result in run.results.values()]


def _settle(run: Run, ports: Ports, results: Sequence[Result]) -> tuple[Reading, Plan]:
    """Return the record and a plan of the remaining changes, after a short wait for other runs' creates in flight."""
    interrupted, last_grace = ports.inbox.interrupted, run.context.limits.last_grace
    addresses = {result.address for result in results}
    own = {result.attempt for result in results if result.attempt is not None}
    earlier = {change.address for change in run.changes if change.block is Block.IN_FLIGHT}
    begun, pause, tried = ports.clock().steady, 0.2, False
    while True:
        reading = unless_interrupted(ports.read, interrupted, last_grace)
        strays, head = run.stray_outcomes(reading.record, ports.clock()), reading.record.head
        if strays and not tried:
            tried, new = True, link(head, len(reading.lines), strays)
            with suppress(ReconcilerError):
                extend = partial(ports.extend, reading, head, len(reading.lines) + 1, new, "not sent")
                unless_interrupted(extend, interrupted, last_grace)
            continue
        left = ports.replan(reading)
        now = ports.clock()
        waiting = under_way(left, addresses, own, now.wall)
        patience = ports.patience if waiting - earlier else min(ports.patience, _PATIENCE_WITH_EARLIER)
        if not waiting or now.steady - begun >= patience or interrupted.is_set:
            return reading, left
        ports.pause(pause)
        pause = min(1.5 * pause, 1.0)  # each reading may be a call to a remote store
