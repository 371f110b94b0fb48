"""The verdict: what the results of an apply come to."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.applying_bench import TARGET
from support.scene import USA, Scene, hooks

from reconciler.applying import verdict as judge
from reconciler.errors import Message
from reconciler.model.address import Address
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Block, Change, Done, Plan, Result, TargetPlan, Verdict

A, B = Address.of(TARGET, "a"), Address.of(TARGET, "b")


def plan_of(*changes: Change) -> Plan:
    """Return a plan of these changes."""
    target = TargetPlan(None, "", changes, 0)  # type: ignore[arg-type]
    return Plan((), {TARGET: target}, "", "", "", "", 0)


def blocked(address: Address, block: Block, *depends_on: Address) -> Change:
    """Return a blocked change."""
    return Change(address, Action.BLOCKED, block=block, depends_on=depends_on)


def test_an_apply_names_each_closed_gate_of_the_plan() -> None:
    """Another account too, if an unknown create blocks the only change of its target."""
    gate, foreign = (Message(name, "closed") for name in ("loss-open", "other-account"))
    plan = plan_of(blocked(A, Block.UNRESOLVED))
    target = replace(plan.targets[TARGET], foreign=(foreign,))
    assert [gate, foreign] == judge.closed_gates(replace(plan, gates=(gate,), targets={TARGET: target}))


def test_an_unknown_create_of_a_target_that_is_declared_no_more() -> None:
    """It counts as it does for a plan: what config/ leaves out is not settled by that."""
    scene = Scene()
    lost = scene.lose(f"{USA}/offers", "ONB10001", hooks("usa"))
    assert [lost] == [attempt.id for attempt in judge.unresolved(scene.plan(), scene.record, scene.now)]
    assert [] == judge.unresolved(scene.plan("europe/*"), scene.record, scene.now)
    retried = scene.lose(f"{USA}/offers", "ONB10001", hooks("usa"), supersedes=(lost,))
    assert [retried] == [attempt.id for attempt in judge.unresolved(scene.plan(), scene.record, scene.now)]


@pytest.mark.parametrize("outcome", list(Done))
def test_an_outcome_with_nothing_left_to_do(outcome: Done) -> None:
    """Unknown is 3, rejected and not sent 1; a skipped change that is done by now is fine."""
    bad = {Done.UNKNOWN: Verdict.UNRESOLVED, Done.REJECTED: Verdict.FAILED, Done.NOT_SENT: Verdict.FAILED}
    assert bad.get(outcome, Verdict.DONE) is judge.verdict_of([Result(A, Action.CREATE, outcome)], plan_of(), ())


@pytest.mark.parametrize("one", list(Done))
@pytest.mark.parametrize("other", list(Done))
def test_two_outcomes_at_once(one: Done, other: Done) -> None:
    """The worse of the two counts, whichever comes first: 3 over 1 over 0."""
    both = [Result(A, Action.CREATE, one), Result(B, Action.CREATE, other)]
    left = plan_of(Change(A, Action.CREATE), Change(B, Action.CREATE))
    alone = [judge.verdict_of([result], left, ()) for result in both]
    worst = next(verdict for verdict in (Verdict.UNRESOLVED, Verdict.FAILED, Verdict.DONE) if verdict in alone)
    assert (worst, worst) == (judge.verdict_of(both, left, ()), judge.verdict_of(both[::-1], left, ()))


@pytest.mark.parametrize("one", list(Block))
@pytest.mark.parametrize("other", [*Block, None])
def test_what_is_still_blocked(one: Block, other: Block | None) -> None:
    """Only what waits as configured, and is blocked by nothing else, is no failure; an unknown outcome is over all."""
    blocks = [one] if other is None else [one, other]
    patient = Block.WAITS in blocks and {*blocks} <= {Block.WAITS, Block.DEPENDS}
    expected = Verdict.UNRESOLVED if Block.UNRESOLVED in blocks else Verdict.DONE if patient else Verdict.FAILED
    left = plan_of(*(blocked(A, block) for block in blocks))
    assert expected is judge.verdict_of([Result(A, Action.BLOCKED, Done.SKIPPED)], left, ())
    impatient = Verdict.FAILED if expected is Verdict.DONE else expected
    assert impatient is judge.verdict_of([Result(A, Action.CREATE, Done.SKIPPED)], left, ())


@pytest.mark.parametrize(("block", "verdict"), [(Block.WAITS, Verdict.DONE), (Block.GATE, Verdict.FAILED)])
def test_a_removal_that_depends_on_a_blocked_change_follows_that(block: Block, verdict: Verdict) -> None:
    """It waits for whatever that waits for."""
    results = [Result(address, Action.BLOCKED, Done.SKIPPED) for address in (A, B)]
    assert verdict is judge.verdict_of(results, plan_of(blocked(A, Block.DEPENDS, B), blocked(B, block)), ())


def test_an_apply_that_ends_behind_a_closed_gate_is_a_failure() -> None:
    """What exists is not known, so nobody can say that all is as desired."""
    closed = replace(plan_of(), gates=(Message("heads-missing", "1 head is missing"),))
    for ended in ([], [Result(A, Action.CREATE, Done.CREATED)], [Result(A, Action.REMOVE, Done.REQUESTED)]):
        assert Verdict.FAILED is judge.verdict_of(ended, closed, ())


@pytest.mark.parametrize(("result", "left", "verdict"), [
    (Result(A, Action.CREATE, Done.SKIPPED), [A], Verdict.FAILED),
    (Result(A, Action.CREATE, Done.CREATED), [B], Verdict.DONE),
    (Result(A, Action.CREATE, Done.CREATED, recorded=False), [], Verdict.UNRESOLVED),
])  # fmt: skip
def test_what_is_left(result: Result, left: list[Address], verdict: Verdict) -> None:
    """A skipped change fails; that of another address was made meanwhile; what is not recorded may exist."""
    assert verdict is judge.verdict_of([result], plan_of(*(Change(address, Action.CREATE) for address in left)), ())


@pytest.mark.parametrize("others_too", [True, False])
def test_what_is_under_way(others_too: bool) -> None:
    """An address whose change is blocked by a create of another run that may be in flight; nothing else waits."""
    scene = Scene()
    flying, own, settled = (scene.attempt(scene.begin(name, "ONB10011", hooks(name))) for name in ("a", "b", "c"))
    wall = flying.settled_by - 1
    settled = replace(settled, settled_by=wall)
    blocking = {A: (settled, flying), B: (own,), Address.of(TARGET, "c"): (settled,)}
    left = plan_of(*(Change(address, Action.BLOCKED, blocking=found) for address, found in blocking.items()))
    assert {A} == judge.under_way(left, blocking, {own.id}, wall)
    assert ({A, B} if others_too else {B}) == judge.under_way(left, {A, B} if others_too else {B}, (), wall)


RESULT = Result(A, Action.CREATE, Done.SKIPPED, detail="because")
DONE_BY_OTHERS, UNDER_WAY = "already done by another run", "another run is still applying this address"


@pytest.mark.parametrize(("result", "is_left", "waits", "detail"), [
    (RESULT, False, False, DONE_BY_OTHERS), (RESULT, False, True, DONE_BY_OTHERS), (RESULT, True, True, UNDER_WAY),
    (RESULT, True, False, "because"), (RESULT, None, True, "because"),
    *((replace(RESULT, action=Action.BLOCKED), on, True, x) for on, x in ((True, "because"), (False, DONE_BY_OTHERS))),
    *((replace(RESULT, outcome=outcome), False, True, "because") for outcome in Done if outcome is not Done.SKIPPED),
])  # fmt: skip
def test_what_the_record_says_of_a_result(result: Result, is_left: bool | None, waits: bool, detail: str) -> None:
    """A skipped change is done if nothing is left at its address; where one waits for another run, that is said."""
    left = None if is_left is None else plan_of(*[Change(A, Action.CREATE)] * is_left)
    (shown,) = judge.completed([result], left, Scene().record, {A} if waits else ())
    assert str(shown.detail).startswith(detail)
    assert replace(shown, detail=result.detail) == result


@pytest.mark.parametrize("has_outcome", [True, False, None])
def test_a_result_that_was_saved_elsewhere(has_outcome: bool | None) -> None:
    """It is recorded if the record has the outcome after all; an unknown one gets the time until which it may fly."""
    scene = Scene()
    attempt = "f" * 32 if has_outcome is None else scene.begin("a", "ONB10011", hooks("a"))
    if has_outcome:
        scene.hear(attempt, Outcome.CREATED)
    saved = Result(A, Action.CREATE, Done.CREATED, attempt=attempt, recorded=False)
    unknown = replace(saved, outcome=Done.UNKNOWN)
    shown = judge.completed([saved, unknown, replace(unknown, recorded=True)], None, scene.record, ())
    until = 0.0 if has_outcome is None else scene.attempt(attempt).settled_by
    assert [has_outcome is True, has_outcome is True, True] == [result.recorded for result in shown]
    assert [0.0, until, until] == [result.settled_by for result in shown]


def test_without_the_record_a_run_has_failed() -> None:
    """Or is unresolved, if anything is or was."""
    created, unknown = Result(A, Action.CREATE, Done.CREATED), Result(A, Action.CREATE, Done.UNKNOWN)
    was, now = blocked(A, Block.UNRESOLVED), blocked(A, Block.IN_FLIGHT)
    given = [([now], created), ([], created), ([], unknown), ([], replace(created, recorded=False)), ([was], created)]
    expected = [Verdict.FAILED] * 2 + [Verdict.UNRESOLVED] * 3
    assert expected == [judge.verdict_without_record(planned, [result]) for planned, result in given]
