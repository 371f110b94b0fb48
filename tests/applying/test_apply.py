"""A whole apply over several targets: real threads, real planner; stores in memory and as files."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from support.applying_bench import SERVICE, code
from support.applying_doubles import MemoryStore, ScriptedCaller, now
from support.journal_samples import AT, BY, OTHER, TARGET, begun, journal_bytes
from support.simulation.sim_configs import desired_of, target_of

from reconciler.applying.account import needs_account, refuse_foreign
from reconciler.applying.context import Limits
from reconciler.applying.driver import Inbox
from reconciler.applying.run import Account, Apply
from reconciler.errors import RecordForeign, RecordMissing, StoreUnavailable
from reconciler.model.address import Address, TargetName
from reconciler.model.clock import Instant
from reconciler.model.entry import Begun, Bound, Imported, Intent, Settled
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Action
from reconciler.model.record import Status
from reconciler.model.result import Verdict
from reconciler.model.selection import Selection
from reconciler.planning.planner import make_plan
from reconciler.state.journal.chain import link, parse
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from reconciler.applying.protocol import TargetRun
    from reconciler.model.desired import Desired
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Plan
    from reconciler.model.record import Record
    from reconciler.model.result import Applied
    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.store import Journals

THIRD = TargetName("usa/staging")
SERVICES = {TARGET: SERVICE, OTHER: "https://api.us.example", THIRD: SERVICE}
INTERRUPTED = "interrupted"


@dataclass
class Office:
    """Everything an apply needs; `wants` says which subscriptions each target is to have."""

    wants: dict[TargetName, str]
    store: MemoryStore = field(default_factory=MemoryStore)
    caller: ScriptedCaller = field(default_factory=ScriptedCaller)
    inbox: Inbox = field(default_factory=Inbox)
    limits: Limits = field(default_factory=lambda: Limits(backoff=(0.01,)))
    kept: list[tuple[TargetName, TargetName, int, str]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    read: Callable[[TargetName], Journal] | None = None
    clock: Callable[[], Instant] = now
    observe: Callable[[TargetRun], None] = lambda _run: None
    on_pause: Callable[[], None] = lambda: None
    patience: float = 0.5
    recorded_services: dict[TargetName, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.wants:
            self.begin(name)

    def begin(self, name: TargetName, *entries: AnyEntry) -> None:
        """Begin a journal."""
        first = Begun(at=AT, by=BY, record=begun().record, target=name, base_url=SERVICES[name])
        self.store.declare_journal(journal_bytes([first, *entries]), name)

    def record(self, name: TargetName, *entries: AnyEntry) -> None:
        """Somebody appends."""
        journal = self.store.journal(name)
        self.store.data[name] += link(journal.head, len(journal.lines), entries)[0]

    @property
    def desired(self) -> Desired:
        wanted = {
            Address.of(target, name): ((code(index),), f"https://hooks.example/{target}/{name}")
            for index, (target, name) in enumerate(
                (target, name) for target, names in self.wants.items() for name in names
            )
        }
        return desired_of([target_of(name, SERVICES[name]) for name in self.wants], wanted)

    def plan(self) -> Plan:
        records = {name: self.store.record(name) for name in self.wants if name in self.store.data}
        return make_plan(self.desired, records, Selection())

    def apply(self, plan: Plan | None = None, store: Journals | None = None) -> Applied:
        """Apply the plan that is given, or one made now."""
        plan = plan or self.plan()
        return Apply(
            plan,
            self.desired,
            Selection(),
            store=store or self.store,
            read=self.read or self.store.journal,
            reread=lambda: lambda name: (self.read or self.store.journal)(name).record(),
            accounts={
                name: Account("account1", self.caller) for name, target in plan.targets.items() if needs_account(target)
            },
            clock=self.clock,
            inbox=self.inbox,
            limits=self.limits,
            by={"user": "office"},
            save=self._save,
            observe=self.observe,
            reach=lambda _step: None,
            pause=self._pause,
            patience=self.patience,
            recorded_services=self.recorded_services,
        ).carry_out()

    def _save(self, target: TargetName, record: Record, entries: Sequence[AnyEntry], reason: str) -> str:
        self.kept.append((target, record.target, len(entries), reason))
        return f"{target}: kept"

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.on_pause()


def outcomes(applied: Applied) -> dict[str, str]:
    """What became of each address."""
    return {str(one.address): str(one.outcome) for one in applied.results}


def imported(target: TargetName, name: str, index: int, url: str | None = None, attempt: str = "old") -> Imported:
    """What an office that wants it would have created, or an older form of it."""
    address = Address.of(target, name)
    return Imported(
        at=AT,
        by=BY,
        attempt=attempt,
        address=address,
        codes=(code(index),),
        url=url or f"https://hooks.example/{target}/{name}",
    )


def test_every_target_has_its_turn() -> None:
    """All that is planned is created, results are sorted by address, and a second apply has nothing to do."""
    office = Office({TARGET: "ba", OTHER: "c"})
    applied = office.apply()
    assert [f"{TARGET}/a", f"{TARGET}/b", f"{OTHER}/c"] == [str(one.address) for one in applied.results]
    assert ({"created"}, Verdict.DONE, ()) == ({*outcomes(applied).values()}, applied.verdict, applied.unrecorded)
    intents = [one for name in office.wants for one, _ in office.store.journal(name).lines if isinstance(one, Intent)]
    assert (3, 1, {16}) == (len(intents), len({one.run for one in intents}), {len(one.run or "") for one in intents})
    assert {"account1"} == {office.store.record(name).account for name in office.wants}
    again = office.apply()
    assert ((), Verdict.DONE, 3) == (again.results, again.verdict, len(office.caller.sent))


def test_journals_as_files_do_as_well(tmp_path: Path) -> None:
    """The same with a real store."""
    office = Office({TARGET: "ab"})
    store = FileStore(tmp_path / "state")
    store.append(TARGET, None, 1, office.store.data[TARGET], "")

    def read(target: TargetName) -> Journal:
        data = store.read(target)
        assert data is not None
        return parse(data, target, store.location)

    office.read = read
    assert Verdict.DONE is office.apply(store=store).verdict
    assert 2 == sum(one.status is Status.LIVE for one in read(TARGET).record().attempts.values())


def test_one_target_that_cannot_be_read_does_not_stop_the_others() -> None:
    """What is wrong with one record is told of its changes, and makes the verdict a failure."""
    office = Office({TARGET: "a", OTHER: "b"})
    plan = office.plan()
    broken = StoreUnavailable("no disk", where=TARGET)

    def read(target: TargetName) -> Journal:
        if target == TARGET:
            raise broken
        return office.store.journal(target)

    office.read = read
    applied = office.apply(plan)
    assert ({f"{TARGET}/a": "skipped", f"{OTHER}/b": "created"}, Verdict.FAILED) == (outcomes(applied), applied.verdict)
    (skipped,) = (one for one in applied.results if one.address.target == TARGET)
    assert (str(broken), Action.CREATE) == (skipped.detail, skipped.action)


def test_a_record_of_another_account_is_not_written_to() -> None:
    """Where the record belongs to somebody else, nothing is sent."""
    office = Office({TARGET: "a"})
    plan = office.plan()
    office.record(TARGET, Bound(at=AT, by=BY, base_url=SERVICE, account="theirs"))
    applied = office.apply(plan)
    assert ({f"{TARGET}/a": "skipped"}, Verdict.FAILED, []) == (outcomes(applied), applied.verdict, office.caller.sent)
    assert "belongs to another account" in str(applied.results[0].detail)


NEW_ID = "if the operator has issued a new client id for the same subscriptions"


@pytest.mark.parametrize(
    ("base_url", "bound", "account", "told", "remedy"),
    [
        (
            "https://api.other.example",
            None,
            None,
            f"the service at {SERVICE}, but the current settings use https://api.other.example",
            "check `base_url` in config/ and {}BASE_URL, which may be of another target; only if the service has moved",
        ),
        (
            SERVICE,
            f"sha256:{'0123456789abcdef' * 4}",
            "mine",
            "another account: it was created with another client id (sha256:0123456789ab…, not mine)",
            "check {}CLIENT_ID, which may be of another environment; only {NEW_ID}",
        ),
        (f"{SERVICE}/", "mine", "mine", None, ""),
        (SERVICE, "theirs", None, None, ""),
    ],
)
def test_a_record_belongs_to_one_service_and_account(
    base_url: str, bound: str | None, account: str | None, told: str | None, remedy: str
) -> None:
    """Another service or another account is refused, and the settings are to be checked before the record is changed.

    Who sends nothing has no account to differ in.
    """
    lines = journal_bytes([replace(begun(), base_url=SERVICE), Bound(at=AT, by=BY, base_url=SERVICE, account=bound)])
    record = parse(lines, TARGET, "memory").record()
    target = target_of(TARGET, base_url)
    if told is None:
        refuse_foreign(target, record, account)
    else:
        with pytest.raises(RecordForeign) as raised:
            refuse_foreign(target, record, account)
        rebind = f", run: reconciler state rebind -t {TARGET}"
        remedy = remedy.format(TARGET.variable_prefix, NEW_ID=NEW_ID)
        assert f"{TARGET}: the record belongs to {told}; {remedy}{rebind}" == str(raised.value)


def test_a_plan_of_yesterday_is_carried_out_as_far_as_it_still_holds() -> None:
    """What the record says by now is skipped, and counts as done where it is as desired."""
    office = Office({TARGET: "ab"})
    plan = office.plan()
    office.record(TARGET, imported(TARGET, "a", 0))
    applied = office.apply(plan)
    assert ({f"{TARGET}/a": "skipped", f"{TARGET}/b": "created"}, Verdict.DONE) == (outcomes(applied), applied.verdict)
    assert "already done by another run" == applied.results[0].detail


def test_an_interrupt_keeps_the_other_targets_from_their_turn() -> None:
    """After a signal no further target is begun."""
    office = Office({TARGET: "a", OTHER: "b"})
    office.caller.before = lambda _name: office.inbox.interrupt()
    applied = office.apply()
    assert {f"{TARGET}/a": "not_sent", f"{OTHER}/b": "skipped"} == outcomes(applied)
    assert INTERRUPTED == next(one for one in applied.results if one.address.target == OTHER).detail


def test_an_unknown_outcome_is_3() -> None:
    """A create that nobody knows of waits for a person."""
    office = Office({TARGET: "ab", OTHER: "c"})
    office.caller.declare_answer("a", Answer(Outcome.UNKNOWN))
    office.caller.declare_answer("b", Answer(Outcome.REJECTED, 400))
    assert Verdict.UNRESOLVED is office.apply().verdict


def test_a_retire_takes_no_account() -> None:
    """A plan without creates needs no credentials; what has to be removed is given for the request to the operator."""
    office = Office({TARGET: ""})
    office.record(TARGET, imported(TARGET, "z", 0))
    applied = office.apply()
    assert ({f"{TARGET}/z": "retired"}, Verdict.DONE, ["old"]) == (
        outcomes(applied),
        applied.verdict,
        [one.id for one in applied.removal],
    )


def test_what_was_replaced_is_to_be_removed() -> None:
    """The attempts for whose removal the operator has to be asked are given as they stand."""
    office = Office({TARGET: "a"})
    office.record(TARGET, imported(TARGET, "a", 0, url="https://old.example/"))
    applied = office.apply()
    assert [("old", Status.AWAITING_REMOVAL)] == [(one.id, one.status) for one in applied.removal]
    assert (1, 1) == (applied.awaiting_removal, office.apply().awaiting_removal)


def test_what_is_to_be_removed_is_told_of_every_target() -> None:
    """One request to the operator names it all."""
    office = Office({TARGET: "", OTHER: ""})
    for target in office.wants:
        office.record(target, imported(target, "z", 0, attempt=f"old-{target.partition('/')[0]}"))
    assert ["old-europe", "old-usa"] == sorted(one.id for one in office.apply().removal)


def in_flight(seconds: float) -> Intent:
    """A create of another run."""
    wall = now().wall
    return Intent(
        at=AT, by=BY, attempt="theirs", address=Address.of(TARGET, "a"), action="create", codes=(code(0),),
        url=f"https://hooks.example/{TARGET}/a", send_by=wall, settled_by=wall + seconds,
    )  # fmt: skip


def test_another_runs_create_is_given_a_moment_to_settle() -> None:
    """At the end the record is read until what another run took has settled, for a while."""
    office = Office({TARGET: "a"})
    office.record(TARGET, in_flight(60))
    plan = office.plan()

    def settle() -> None:
        office.record(TARGET, Settled(at=AT, by=BY, attempt="theirs", outcome=Outcome.CREATED))

    office.on_pause = settle
    applied = office.apply(plan)
    assert (Verdict.DONE, [0.2]) == (applied.verdict, office.pauses)


def test_another_runs_create_is_not_waited_for_for_ever() -> None:
    """What has not settled by then is told as it is."""
    office = Office({TARGET: "a"})
    office.record(TARGET, in_flight(60))
    moments = iter(range(100))
    office.clock = lambda: Instant(now().wall, float(next(moments)) / 5)
    assert (Verdict.UNRESOLVED, 2) == (office.apply().verdict, len(office.pauses))


@pytest.mark.parametrize(("planned_before", "pauses"), [(True, 59), (False, 4)], ids=["lost to it", "planned later"])
def test_what_was_in_flight_before_the_plan_is_given_less(planned_before: bool, pauses: int) -> None:
    """A run that took a change from this one is at work; one from before may have died, so patience with it ends."""
    office = Office({TARGET: "a"}, patience=60)
    plan = office.plan()
    office.record(TARGET, in_flight(1000))
    moments = iter(range(1000))
    office.clock = lambda: Instant(now().wall, float(next(moments)))
    office.apply(plan if planned_before else None)
    assert abs(pauses - len(office.pauses)) <= 1


def test_a_record_that_can_no_longer_be_read_does_not_undo_what_was_done() -> None:
    """The outcomes stand, what was replaced is to be removed, and the verdict is a failure."""
    office = Office({TARGET: "a"})
    office.record(TARGET, imported(TARGET, "a", 0, url="https://old.example/"))
    plan = office.plan()
    reads = iter([office.store.journal(TARGET)])

    def read(target: TargetName) -> Journal:
        for journal in reads:
            return journal
        raise StoreUnavailable("no network", where=target)

    office.read = read
    applied = office.apply(plan)
    assert ({f"{TARGET}/a": "created"}, Verdict.FAILED) == (outcomes(applied), applied.verdict)
    assert (f"{TARGET}: could not re-read the record after the apply: {TARGET}: no network",) == applied.unrecorded
    assert ["old"] == [one.id for one in applied.removal]


def test_an_unknown_outcome_is_3_even_where_the_record_cannot_be_read() -> None:
    """What the run knows of itself decides then."""
    office = Office({TARGET: "a"})
    plan = office.plan()
    office.caller.declare_answer("a", Answer(Outcome.UNKNOWN))
    reads = iter([office.store.journal(TARGET)])
    office.read = lambda target: next(reads, None) or _fail(target)
    assert Verdict.UNRESOLVED is office.apply(plan).verdict


@pytest.mark.parametrize("reads", [0, 1], ids=["at all", "a last time"])
def test_what_was_open_from_the_start_is_3_even_where_the_record_cannot_be_read(reads: int) -> None:
    """What the plan knew to be unknown still waits for a person, whatever became of the store."""
    office = Office({TARGET: "a"})
    office.record(TARGET, in_flight(-60))
    plan = office.plan()
    seen = iter([office.store.journal(TARGET)] * reads)
    office.read = lambda target: next(seen, None) or _fail(target)
    assert Verdict.UNRESOLVED is office.apply(plan).verdict


def _fail(target: TargetName) -> Journal:
    """Stands for a store that cannot be read."""
    raise StoreUnavailable("no network", where=target)


def test_a_response_that_is_lost_ends_the_creates_of_every_target() -> None:
    """What is created is recorded; what would be lost too is not begun; retires need no response; and it is 1."""
    office = Office({TARGET: "ab", OTHER: "c", THIRD: ""})
    office.record(THIRD, imported(THIRD, "z", 0, url="https://old.example/"))
    office.caller.loses = True
    applied = office.apply()
    assert {
        f"{TARGET}/a": "created", f"{TARGET}/b": "skipped", f"{OTHER}/c": "skipped", f"{THIRD}/z": "retired",
    } == outcomes(applied)  # fmt: skip
    assert (Verdict.FAILED, ["a"]) == (applied.verdict, office.caller.sent)


def test_a_lost_response_is_1_though_all_is_created() -> None:
    """Somebody has to ask the operator for the secret."""
    office = Office({TARGET: "a"})
    office.caller.loses = True
    assert Verdict.FAILED is office.apply().verdict


def test_what_could_not_be_recorded_is_kept_and_is_3() -> None:
    """A create whose outcome is not in the record may be in flight for all the record knows: 3, and a notice."""
    office = Office({TARGET: "a"})
    office.caller.before = lambda _name: office.store.declare_failures(*[StoreUnavailable("disk full")] * 9)
    applied = office.apply()
    assert ({f"{TARGET}/a": "created"}, Verdict.UNRESOLVED) == (outcomes(applied), applied.verdict)
    assert ((f"{TARGET}: kept",), [(TARGET, TARGET, 2, "disk full")]) == (applied.unrecorded, office.kept)
    assert [] == office.pauses, "nobody else records it"
    assert [False] == [result.recorded for result in applied.results]
    assert ("disk full",) == applied.problems


def test_what_another_target_of_the_service_has_is_not_created() -> None:
    """A route that turns up on another target of the service after the plan was made is not created a second time."""
    office = Office({TARGET: "a", THIRD: ""})
    plan = office.plan()
    office.record(THIRD, imported(THIRD, "a", 0, url=f"https://hooks.example/{TARGET}/a"))
    applied = office.apply(plan)
    assert (Verdict.FAILED, []) == (applied.verdict, office.caller.sent)


def test_what_another_target_of_the_service_intends_meanwhile_is_not_sent() -> None:
    """Two intents of one route on two targets: whoever finds the other's does not send."""
    office = Office({TARGET: "a", THIRD: ""})

    def intend() -> None:
        office.store.appended = lambda: None
        office.record(THIRD, replace(in_flight(60), address=Address.of(THIRD, "a")))

    office.store.appended = intend
    applied = office.apply()
    assert ({f"{TARGET}/a": "not_sent"}, []) == (outcomes(applied), office.caller.sent)
    assert f"delivered, by {THIRD}/a" in str(applied.results[0].detail)


def test_a_record_whose_target_is_declared_no_more_counts_as_well() -> None:
    """Where its record is bound to the service, what turns up there meanwhile is not created a second time."""
    office = Office({TARGET: "a"})
    office.begin(THIRD)
    office.recorded_services = {THIRD: SERVICE, OTHER: SERVICES[OTHER]}

    def intend() -> None:
        office.store.appended = lambda: None
        office.record(THIRD, replace(in_flight(60), address=Address.of(THIRD, "a")))

    office.store.appended = intend
    assert ({f"{TARGET}/a": "not_sent"}, []) == (outcomes(office.apply()), office.caller.sent)


def test_another_target_of_the_service_that_cannot_be_read_forbids_to_send() -> None:
    """Where nobody can say what another target has, nothing is sent."""
    office = Office({TARGET: "a", THIRD: ""})
    plan = office.plan()
    problem: list[Exception] = []

    def read(target: TargetName) -> Journal:
        if target == THIRD and problem:
            raise problem[0]
        return office.store.journal(target)

    office.read = read
    office.store.appended = lambda: problem.append(StoreUnavailable("no network", where=THIRD))
    applied = office.apply(plan)
    assert ({f"{TARGET}/a": "not_sent"}, []) == (outcomes(applied), office.caller.sent)


def test_another_target_of_the_service_without_a_record_is_in_nobodys_way() -> None:
    """Where nothing was ever created, nothing can be in force."""
    office = Office({TARGET: "a", THIRD: ""})
    plan = office.plan()

    def read(target: TargetName) -> Journal:
        if target == THIRD:
            raise RecordMissing("there is none", where=THIRD)
        return office.store.journal(target)

    office.read = read
    assert Verdict.DONE is office.apply(plan).verdict


def test_a_record_that_was_read_for_the_plan_and_is_missing_forbids_to_send() -> None:
    """It was there: what it holds stands in the way, whether or not anybody can read it by now."""
    office = Office({TARGET: "a", THIRD: ""})
    office.recorded_services = {THIRD: SERVICE}
    plan = office.plan()

    def read(target: TargetName) -> Journal:
        if target == THIRD:
            raise RecordMissing("there is none", where=THIRD)
        return office.store.journal(target)

    office.read = read
    assert (Verdict.FAILED, []) == (office.apply(plan).verdict, office.caller.sent)


def test_an_id_is_new_every_time() -> None:
    """Attempts and runs have ids that nobody else gives."""
    office = Office({TARGET: "abcdef"})
    office.apply()
    ids = [one.id for one in office.store.record(TARGET).attempts.values()]
    assert (6, {16}) == (len({*ids}), {len(one) for one in ids})


def test_a_bug_costs_nothing_that_was_answered_and_no_other_target() -> None:
    """What the call in flight came to is kept, what was not begun is skipped, and the other targets have their turn."""
    office = Office({TARGET: "ab", OTHER: "c"})

    def fail(run: TargetRun) -> None:
        if run.in_flight and run.journal.target == TARGET:
            office.caller.wait_until_sent()
            raise KeyError("a bug")

    office.observe = fail
    applied = office.apply()
    expected = {f"{TARGET}/a": "created", f"{TARGET}/b": "skipped", f"{OTHER}/c": "created"}
    assert (expected, Verdict.UNRESOLVED) == (outcomes(applied), applied.verdict)
    assert [(TARGET, TARGET, 2, "internal error (KeyError)")] == office.kept
    assert (
        f"{TARGET}: the apply of this target stopped with internal error (KeyError); please report this"
        in applied.unrecorded
    )
    assert ["a", "c"] == office.caller.sent


def test_a_bug_leaves_a_call_that_hangs_unknown() -> None:
    """What is not answered by the time that an interrupted run would wait is kept as unknown."""
    office = Office({TARGET: "a"}, limits=Limits(grace=0.1))
    release = office.caller.hold("a")

    def fail(run: TargetRun) -> None:
        if run.in_flight:
            office.caller.wait_until_sent()
            raise MemoryError

    office.observe = fail
    applied = office.apply()
    assert ({f"{TARGET}/a": "unknown"}, Verdict.UNRESOLVED) == (outcomes(applied), applied.verdict)
    assert [(TARGET, TARGET, 2, "internal error (MemoryError)")] == office.kept
    release.set()


def test_a_bug_before_the_run_skips_its_target_only() -> None:
    """Where nothing was begun, that is what is said, whatever was raised."""
    office = Office({TARGET: "a", OTHER: "c"})
    plan = office.plan()

    def read(target: TargetName) -> Journal:
        if target == TARGET:
            raise KeyError("a bug")
        return office.store.journal(target)

    office.read = read
    applied = office.apply(plan)
    assert ({f"{TARGET}/a": "skipped", f"{OTHER}/c": "created"}, Verdict.FAILED) == (outcomes(applied), applied.verdict)
    assert ["internal error (KeyError)", None] == [result.detail for result in applied.results]


def test_a_bug_in_the_last_look_leaves_the_outcomes_as_they_are() -> None:
    """Reading the record a last time is no reason to forget what was done."""
    office = Office({TARGET: "a"})
    plan, reads = office.plan(), []

    def read(target: TargetName) -> Journal:
        reads.append(target)
        if len(reads) > 1:
            raise KeyError("a bug")
        return office.store.journal(target)

    office.read = read
    applied = office.apply(plan)
    assert ({f"{TARGET}/a": "created"}, Verdict.FAILED) == (outcomes(applied), applied.verdict)


@pytest.mark.parametrize(("hangs_at", "outcome"), [(1, "skipped"), (2, "created")], ids=["before a run", "after it"])
def test_reading_a_record_that_hangs_does_not_outlast_an_interrupt(hangs_at: int, outcome: str) -> None:
    """It is waited for only as long as nobody interrupts; what was done stands."""
    office, released = Office({TARGET: "a"}, limits=Limits(parting=0.1)), threading.Event()
    plan, reads = office.plan(), []

    def read(target: TargetName) -> Journal:
        reads.append(target)
        if len(reads) == hangs_at:
            office.inbox.interrupt()
            released.wait(20)
        return office.store.journal(target)

    office.read = read
    applied = office.apply(plan)
    assert {f"{TARGET}/a": outcome} == outcomes(applied)
    details = [*applied.unrecorded, *(str(result.detail) for result in applied.results)]
    assert any("interrupted while reading the state record" in detail for detail in details)
    released.set()


def test_other_records_are_read_without_holding_up_the_run() -> None:
    """A sibling whose record hangs does not keep an interrupted run from ending with its outcomes."""
    office = Office({TARGET: "a", THIRD: ""}, limits=Limits(closing=0.1, grace=0.1, parting=0.1))
    plan, reads, done = office.plan(), [], threading.Event()

    def read(target: TargetName) -> Journal:
        reads.append(target)
        if target == THIRD and reads.count(THIRD) == 2:
            office.inbox.interrupt()
            done.wait(20)
        return office.store.journal(target)

    office.read = read
    applied = office.apply(plan)
    assert ({f"{TARGET}/a": "not_sent"}, Verdict.UNRESOLVED, []) == (
        outcomes(applied),
        applied.verdict,
        office.caller.sent,
    )
    assert [(TARGET, TARGET, 2)] == [kept[:3] for kept in office.kept]
    done.set()
