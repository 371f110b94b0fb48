"""Takes a plan through the protocol, target by target, and re-reads each record after its run."""

import random
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from reconciler.applying.account import needs_account, refuse_foreign
from reconciler.applying.context import Limits, RunContext
from reconciler.applying.creates import LOST_RESPONSE
from reconciler.applying.driver import Caller, Driver, Inbox, describe
from reconciler.applying.events import ServiceRecords
from reconciler.applying.protocol import TargetRun
from reconciler.applying.verdict import (
    exchanged_urls,
    in_flight,
    is_unresolved,
    restored_attempts,
    verdict_of,
    verdict_without_record,
    with_others_work,
    with_times,
    worst,
)
from reconciler.applying.waiting import unless_interrupted
from reconciler.applying.writing import not_repeated
from reconciler.errors import ReconcilerError, RecordMissing
from reconciler.model.address import Address, TargetName
from reconciler.model.clock import Instant
from reconciler.model.desired import Desired
from reconciler.model.entry import AnyEntry, Settled
from reconciler.model.plan import Plan, TargetPlan
from reconciler.model.record import Attempt, Record
from reconciler.model.result import Applied, Done, Result, Verdict
from reconciler.model.selection import Selection
from reconciler.model.url import service_key
from reconciler.planning.planner import Planner
from reconciler.state.journal.chain import Journal
from reconciler.state.journal.closing import refuse_closed
from reconciler.state.stores.store import Journals

_PATIENCE_WITH_EARLIER = 5.0
"""Seconds that creates are given which were in flight when the plan was made: their run may have died since."""


class Account(Struct, frozen=True):
    """Who a target's creates are made as: the hash of the client id, and what makes the calls."""

    account: str
    caller: Caller


class Apply(Struct, dict=True):
    """One apply of one plan. `prepare` and `conclude` are what happens to each target before and after its run.

    `read` reads a target's journal afresh, and refuses one that is missing, damaged, foreign or rolled back. `reread`
    begins to read records that are only compared with, and gives the function that reads each: the record, `counted`,
    or the same as the last time if it has not changed. `save`
    writes entries that could not be appended, for the reason given, to a recovery file and names it; it raises nothing.
    `reach` is called at every durable step, for tests. `observe` is shown the progress. `pause` waits so many seconds,
    or until interrupted. `patience` is how many seconds another run's creates are given to end. `new_id` gives ids for
    the run and its attempts, `jitter` numbers from 0 to 1. `recorded_services` are the base URLs of the records that
    were read for the plan, and `unread` the targets whose records could not be, which a person accepted. `counted` adds
    to a record the creates that only this machine knows of. `on_reread` is given each record as it is after its run,
    and raises nothing.
    """

    plan: Plan
    desired: Desired
    selection: Selection
    store: Journals
    read: Callable[[TargetName], Journal]
    reread: Callable[[], Callable[[TargetName], Record]]
    accounts: Mapping[TargetName, Account]
    clock: Callable[[], Instant]
    inbox: Inbox
    limits: Limits
    by: Mapping[str, str]
    save: Callable[[TargetName, Record, Sequence[AnyEntry], str], str]
    observe: Callable[[TargetRun], None]
    reach: Callable[[str], None]
    pause: Callable[[float], object]
    patience: float
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex[:16]
    jitter: Callable[[], float] = random.random
    recorded_services: Mapping[TargetName, str] = field(default_factory=dict)
    unread: frozenset[TargetName] = frozenset()
    counted: Callable[[Record], Record] = lambda record: record
    on_reread: Callable[[Record], None] = lambda _record: None
    _run: str = ""
    _results: list[Result] = field(default_factory=list)
    _removal: list[Attempt] = field(default_factory=list)
    _troubles: list[str] = field(default_factory=list)
    _unrecorded: list[str] = field(default_factory=list)
    _problems: list[str] = field(default_factory=list)
    _standings: dict[TargetName, TargetPlan] = field(default_factory=dict)
    _lost_response: bool = False
    _verdicts: list[Verdict] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._run = self.new_id()

    def carry_out(self) -> Applied:
        """Apply the plan. An error on one target, of whatever kind, leaves the others their turn."""
        for name, planned in self.plan.targets.items():
            try:
                self._apply_target(name, planned)
            except Exception as problem:  # noqa: BLE001 - whatever it was, the other targets have their turn
                self._skip(planned, describe(problem))
        return self.applied()

    def applied(self) -> Applied:
        results = sorted(self._results, key=lambda result: (result.address, result.action))
        standings = {**self.plan.targets, **self._standings}.values()
        return Applied(
            tuple(results),
            tuple(self._removal),
            worst(self._verdicts),
            (*self._troubles, *self._unrecorded),
            problems=tuple(dict.fromkeys(self._problems)),
            surplus=sum(len(standing.surplus) for standing in standings),
            awaiting_removal=sum(len(standing.to_remove) for standing in standings),
            restored=tuple(restored_attempts(self.plan.changes, results)),
            unknown=tuple(attempt for standing in standings for attempt in standing.unresolved),
            exchanged=exchanged_urls(self.plan.changes, self._removal),
        )

    def prepare(self, name: TargetName, planned: TargetPlan) -> TargetRun:
        """The run as planned, without what no longer comes out the same. Raises ReconcilerError."""
        account = self.accounts[name].account if name in self.accounts else None
        journal, others = unless_interrupted(lambda: self._read_all(name), self.inbox.interrupted, 0.0)
        context = RunContext(
            limits=self.limits,
            by=self.by,
            run=self._run,
            account=account or "",
            new_id=self.new_id,
            replan=lambda record, others: self._replan(name, record, others, account).changes,
            jitter=self.jitter,
            shares_service=bool(self._same_service_targets(name)),
        )
        run = TargetRun(planned.changes, journal, context)
        run.keep_only(context.replan(journal.record(), others))
        return run

    def read_same_service(self, name: TargetName) -> ServiceRecords:
        """The other records of a target's service, read afresh, for the run of the protocol; raises nothing."""
        try:
            return ServiceRecords(self._same_service_records(name))
        except ReconcilerError as problem:
            return ServiceRecords(problem=str(problem))

    def conclude(self, name: TargetName, planned: TargetPlan, run: TargetRun) -> None:
        """Re-read the record, and add the results of the run; they count even if the record cannot be read."""
        results = self._save_unrecorded(name, run)
        record = run.appends.record
        try:
            kept = {result.address for result in results if not result.recorded}
            record, standing = self._reread(name, planned, kept)
        except Exception as problem:  # noqa: BLE001 - whatever it was, the outcomes count
            detail = not_repeated(describe(problem))
            self._troubles.append(f"{name}: could not re-read the record after the apply: {detail}")
            self._verdicts.append(verdict_without_record(planned.changes, results))
        else:
            left = standing.changes
            self._standings[name] = standing
            wall = self.clock().wall
            self._verdicts.append(verdict_of(planned.changes, results, left, record, wall))
            results = with_others_work(results, left, in_flight(record, left, wall))
            self.on_reread(record)
        if run.failure:
            notice = f"{name}: the apply of this target stopped with {run.failure}; please report this"
            self._troubles.append(notice)
            self._verdicts.append(Verdict.FAILED)
        if run.creates.lost_response:
            self._lost_response = True
            self._verdicts.append(Verdict.FAILED)
        self._results += with_times(results, record)
        self._removal += [record.attempts[attempt] for attempt in run.work.retired if attempt in record.attempts]

    def _apply_target(self, name: TargetName, planned: TargetPlan) -> None:
        """Raises only as long as nothing was done."""
        if not planned.changes:
            return
        if self.inbox.interrupted.is_set():
            self._skip(planned, "interrupted")
            return
        if self._lost_response and needs_account(planned):
            self._skip(planned, LOST_RESPONSE)
            return
        run = self.prepare(name, planned)
        caller = self.accounts[name].caller if name in self.accounts else None
        driver = Driver(
            name,
            self.store,
            caller,
            self.clock,
            self.inbox,
            self.reach,
            read_same_service=lambda: self.read_same_service(name),
        )
        driver.drive(run, self.observe)
        self.conclude(name, planned, run)

    def _skip(self, planned: TargetPlan, detail: str) -> None:
        """Nothing was done about the target."""
        skipped = [Result(change.address, change.action, Done.SKIPPED, detail=detail) for change in planned.changes]
        self._results += skipped
        self._verdicts.append(verdict_without_record(planned.changes, ()))

    def _save_unrecorded(self, name: TargetName, run: TargetRun) -> list[Result]:
        """The results of the run; what could not be recorded is saved first, before anything else can fail."""
        pending = run.appends.to_save
        if not pending:
            return list(run.results.values())
        reason = run.appends.problem or run.failure
        self._problems += [reason] if reason else []
        self._unrecorded.append(self.save(name, run.appends.record, pending, reason))
        self._verdicts.append(Verdict.UNRESOLVED)
        saved = {entry.attempt for entry in pending if isinstance(entry, Settled)}
        return [replace(result, recorded=result.attempt not in saved) for result in run.results.values()]

    def _reread(self, name: TargetName, planned: TargetPlan, kept: set[Address]) -> tuple[Record, TargetPlan]:
        """The record and what is left to do; a create that another run has in flight is given a moment to end.

        Not one whose outcome this run has `kept` elsewhere: nobody is about to record it.
        """
        begun = self.clock().steady
        before = {change.address for change in planned.changes if is_unresolved(change)}
        pause = 0.2
        while True:
            read = unless_interrupted(lambda: self._left(name), self.inbox.interrupted, self.limits.parting)
            now = self.clock()
            under_way = in_flight(read[0], read[1].changes, now.wall) - kept
            patience = self.patience if under_way - before else min(self.patience, _PATIENCE_WITH_EARLIER)
            if not under_way or now.steady - begun >= patience or self.inbox.interrupted.is_set():
                return read
            self.pause(pause)
            pause = min(1.5 * pause, 1.0)  # a read may be a call of a remote store

    def _left(self, name: TargetName) -> tuple[Record, TargetPlan]:
        """The record as it is now, and the plan for what is left to do. Raises ReconcilerError."""
        journal, others = self._read_all(name)
        return journal.record(), self._replan(name, journal.record(), others, None)

    def _replan(self, name: TargetName, record: Record, others: Sequence[Record], account: str | None) -> TargetPlan:
        """The plan of a target for its record and the other records of its service. Raises StateError."""
        refuse_closed(record, self.store.where(name))
        refuse_foreign(self.desired.targets[name], record, account)
        records = {**{other.target: other for other in others}, name: self.counted(record)}
        with self._planning:  # a thread that was not waited for may still plan
            self._planner.use(records)
            return self._planner.plan(name)

    def _read_all(self, name: TargetName) -> tuple[Journal, Sequence[Record]]:
        """A target's journal, and the other records of its service. Raises ReconcilerError."""
        return self.read(name), self._same_service_records(name)

    def _same_service_records(self, name: TargetName) -> tuple[Record, ...]:
        """The records, read afresh, of the other targets that are the same service, as far as they have one."""
        others = [other for other in self._same_service_targets(name) if other not in self.unread]
        if not others:
            return ()
        records, read = [], self.reread()
        for other in others:
            try:
                records.append(read(other))
            except RecordMissing:  # a target that never had one has created nothing
                if other in self.recorded_services:
                    raise
        return tuple(records)

    def _same_service_targets(self, name: TargetName) -> list[TargetName]:
        """The other targets that are the same service, sorted."""
        same = self._targets_of_services[service_key(self.desired.targets[name].base_url)]
        return [other for other in same if other != name]

    @cached_property
    def _targets_of_services(self) -> dict[str, list[TargetName]]:
        services = self.desired.by_service(self.recorded_services)
        return {service: sorted(targets) for service, targets in services.items()}

    @cached_property
    def _planner(self) -> Planner:
        return Planner(self.desired, self.selection)

    @cached_property
    def _planning(self) -> threading.Lock:
        return threading.Lock()
