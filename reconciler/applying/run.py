"""Takes a plan through the protocol, target by target, and reads the record a last time."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reconciler.applying.driver import Driver, told
from reconciler.applying.events import Siblings
from reconciler.applying.protocol import LOST_RESPONSE, TargetRun
from reconciler.applying.terms import Terms
from reconciler.applying.verdict import is_in_flight, verdict_of, verdict_without_record, with_others_work, worst
from reconciler.applying.waiting import unless_interrupted
from reconciler.errors import ReconcilerError, RecordForeign, RecordMissing
from reconciler.model.entry import Settled
from reconciler.model.plan import SENDS
from reconciler.model.result import Applied, Done, Result, Verdict
from reconciler.model.url import same_service
from reconciler.planning.planner import plan_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reconciler.applying.driver import Caller, Inbox
    from reconciler.applying.terms import Limits
    from reconciler.model.address import TargetName
    from reconciler.model.clock import Instant
    from reconciler.model.desired import Desired, Target
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Change, Plan, TargetPlan
    from reconciler.model.record import Attempt, Record
    from reconciler.model.selection import Selection
    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.store import Store


@dataclass(frozen=True, slots=True)
class Account:
    """Who a target's creates are made as: the hash of the client id, and what makes the calls."""

    account: str
    caller: Caller


@dataclass(frozen=True, slots=True)
class Workplace:
    """What an apply works with; everything that is not a value.

    `read` reads a target's journal afresh, and refuses one that is missing, damaged, foreign or rolled back. `keep`
    puts entries that could not be appended, for the reason given, somewhere safe and says where; it raises nothing.
    `reach` is told of every durable step, for tests. `observe` is told of progress. `pause` waits so many seconds, or
    until interrupted. `patience` is how many seconds another run's creates are given to settle. `new_id` gives ids for
    the run and its attempts. `neighbours` are the records that were read for the plan, each with the service it is
    bound to, and `unread` the targets whose records could not be, which a person accepted. `counting` adds to a record
    the creates that only this machine knows of. `recorded` is told of each record as it was read a last time, and
    raises nothing.
    """

    store: Store
    read: Callable[[TargetName], Journal]
    accounts: Mapping[TargetName, Account]
    clock: Callable[[], Instant]
    inbox: Inbox
    limits: Limits
    by: Mapping[str, str]
    keep: Callable[[TargetName, Record, Sequence[AnyEntry], str], str]
    observe: Callable[[TargetRun], None]
    reach: Callable[[str], None]
    pause: Callable[[float], object]
    patience: float = 5.0
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex[:16]
    neighbours: Mapping[TargetName, str] = field(default_factory=dict)
    unread: frozenset[TargetName] = frozenset()
    counting: Callable[[Record], Record] = lambda record: record
    recorded: Callable[[Record], None] = lambda _record: None


def refuse_foreign(target: Target, record: Record, account: str | None) -> None:
    """Raises RecordForeign where the record belongs to another service, or to another account than `account`."""
    if not same_service(record.base_url, target.base_url):
        problem = f"the record belongs to the service at {record.base_url}, the settings name {target.base_url}"
    elif account is not None and record.account not in (None, account):
        problem = "the record belongs to another account: its creates were made with another client id"
    else:
        return
    raise RecordForeign(problem, where=target.name, remedy="if that is meant: reconciler state rebind")


class Apply:
    """One apply of one plan. `prepare` and `conclude` are what happens to each target before and after its run."""

    def __init__(self, plan: Plan, desired: Desired, selection: Selection, workplace: Workplace) -> None:
        self._plan = plan
        self._desired = desired
        self._selection = selection
        self._at = workplace
        self._run = workplace.new_id()
        self._results: list[Result] = []
        self._removal: list[Attempt] = []
        self._unrecorded: list[str] = []
        self._lost_response = False
        self._verdicts: list[Verdict] = []

    def carry_out(self) -> Applied:
        """Carry the plan out. Raises nothing that would keep the targets still to come from their turn."""
        for name, target in self._plan.targets.items():
            try:
                self._apply_target(name, target)
            except Exception as problem:  # noqa: BLE001 - whatever it was, the other targets have their turn
                self._skip(target, told(problem))
        return self.applied()

    def applied(self) -> Applied:
        """What it came to so far."""
        results = sorted(self._results, key=lambda result: (result.address, result.action))
        return Applied(tuple(results), tuple(self._removal), worst(self._verdicts), tuple(self._unrecorded))

    def _skip(self, target: TargetPlan, detail: str) -> None:
        """Nothing was done about the target."""
        self._results += [Result(one.address, one.action, Done.SKIPPED, detail=detail) for one in target.changes]
        self._verdicts.append(verdict_without_record(target.changes, ()))

    def _apply_target(self, name: TargetName, planned: TargetPlan) -> None:
        """Raises only as long as nothing was done."""
        if not planned.changes:
            return
        if self._at.inbox.interrupted.is_set():
            self._skip(planned, "interrupted")
            return
        if self._lost_response and needs_account(planned):
            self._skip(planned, LOST_RESPONSE)
            return
        run = self.prepare(name, planned)
        account = self._at.accounts.get(name)
        caller = account.caller if account else None
        driver = Driver(
            name,
            self._at.store,
            caller,
            self._at.clock,
            self._at.inbox,
            self._at.reach,
            siblings=lambda: self.siblings(name),
        )
        driver.drive(run, self._at.observe)
        self.conclude(name, planned, run)

    def prepare(self, name: TargetName, planned: TargetPlan) -> TargetRun:
        """The run as planned, or, where a record moved since, with what comes out the same. Raises ReconcilerError."""
        account = self._at.accounts.get(name)
        client = None if account is None else account.account
        journal, siblings = unless_interrupted(lambda: self._read_all(name), self._at.inbox.interrupted, 0.0)
        terms = Terms(
            limits=self._at.limits,
            by=self._at.by,
            run=self._run,
            account=client or "",
            new_id=self._at.new_id,
            replan=lambda record, siblings: self._replan(name, record, siblings, client),
            shares=bool(self._service_mates(name)),
        )
        run = TargetRun(planned.changes, journal, terms)
        run.keep_only(terms.replan(journal.record(), siblings))
        return run

    def siblings(self, name: TargetName) -> Siblings:
        """The records, read afresh, that count beside a target's own, for the run of the protocol; raises nothing."""
        try:
            return Siblings(tuple(self._siblings(name).values()))
        except ReconcilerError as problem:
            return Siblings(problem=str(problem))

    def _read_all(self, name: TargetName) -> tuple[Journal, Sequence[Record]]:
        """A target's journal, and the records that count beside it. Raises ReconcilerError."""
        return self._at.read(name), tuple(self._siblings(name).values())

    def _replan(
        self, name: TargetName, record: Record, siblings: Sequence[Record], client: str | None
    ) -> Sequence[Change]:
        """The changes of a target for its record and those of its siblings. Raises RecordForeign."""
        refuse_foreign(self._desired.targets[name], record, client)
        records = {**{sibling.target: sibling for sibling in siblings}, name: self._at.counting(record)}
        return plan_target(name, self._desired, records, self._selection).changes

    def _service_mates(self, name: TargetName) -> set[TargetName]:
        """The other targets that are the same service."""
        base_url = self._desired.targets[name].base_url
        declared = [(other, target.base_url) for other, target in self._desired.targets.items()]
        others = {other for other, at in (*declared, *self._at.neighbours.items()) if same_service(at, base_url)}
        return others - {name}

    def _siblings(self, name: TargetName) -> dict[TargetName, Record]:
        """The records, read afresh, of the other targets that are the same service, as far as they have one."""
        records = {}
        for other in sorted(self._service_mates(name) - self._at.unread):
            try:
                records[other] = self._at.counting(self._at.read(other).record())
            except RecordMissing:  # where none ever was, nothing was created that stands in the way
                if other in self._at.neighbours:
                    raise
        return records

    def conclude(self, name: TargetName, planned: TargetPlan, run: TargetRun) -> None:
        """Read the record a last time, and say what the run came to; its outcomes stand, whatever can be read."""
        results = self._saved(name, run)
        record = run.record
        try:
            record, left = self._look_again(name)
        except Exception as problem:  # noqa: BLE001 - whatever it was, the outcomes stand
            self._unrecorded.append(f"{name}: the record could not be read a last time: {told(problem)}")
            self._verdicts.append(verdict_without_record(planned.changes, results))
        else:
            self._verdicts.append(verdict_of(planned.changes, results, left, record, self._at.clock().wall))
            results = with_others_work(results, left)
            self._at.recorded(record)
        if run.failure:
            self._unrecorded.append(f"{name}: {run.failure} ended the apply of this target; please report it")
            self._verdicts.append(Verdict.FAILED)
        if run.lost_response:
            self._lost_response = True
            self._verdicts.append(Verdict.FAILED)
        self._results += results
        self._removal += [record.attempts[one] for one in run.retired if one in record.attempts]

    def _saved(self, name: TargetName, run: TargetRun) -> list[Result]:
        """The results of the run; what could not be recorded is kept first of all, before anything else can fail."""
        if not run.unrecorded:
            return list(run.results.values())
        self._unrecorded.append(self._at.keep(name, run.record, run.unrecorded, run.problem or run.failure))
        self._verdicts.append(Verdict.UNRESOLVED)
        kept = {entry.attempt for entry in run.unrecorded if isinstance(entry, Settled)}
        return [replace(result, recorded=result.attempt not in kept) for result in run.results.values()]

    def _look_again(self, name: TargetName) -> tuple[Record, Sequence[Change]]:
        """The record and what is left to do; a create that another run has in flight is given a moment to settle."""
        until = self._at.clock().steady + self._at.patience
        while True:
            record, left = unless_interrupted(
                lambda: self._left(name), self._at.inbox.interrupted, self._at.limits.parting
            )
            now = self._at.clock()
            if now.steady >= until or self._at.inbox.interrupted.is_set() or not is_in_flight(record, left, now.wall):
                return record, left
            self._at.pause(0.2)

    def _left(self, name: TargetName) -> tuple[Record, Sequence[Change]]:
        """The record as it is now, and what is left to do. Raises ReconcilerError."""
        journal, siblings = self._read_all(name)
        return journal.record(), self._replan(name, journal.record(), siblings, None)


def needs_account(target: TargetPlan) -> bool:
    """Whether carrying the target's plan out takes credentials."""
    return any(change.action in SENDS for change in target.changes)
