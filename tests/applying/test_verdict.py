"""The verdict: what the results of an apply come to."""

from __future__ import annotations

import pytest
from support.applying_bench import TARGET
from support.scene import USA, Scene, hooks

from reconciler.applying.verdict import unresolved, verdict_of, verdict_without_record
from reconciler.model.address import Address
from reconciler.model.plan import Action, Block, Change, Done, Plan, Result, TargetPlan, Verdict

A, B = Address.of(TARGET, "a"), Address.of(TARGET, "b")


def plan_of(*changes: Change) -> Plan:
    """Return a plan of these changes."""
    target = TargetPlan(None, "", changes, 0)  # type: ignore[arg-type]
    return Plan((), {TARGET: target}, "", "", "", "", 0)


def blocked(address: Address, block: Block, *depends_on: Address) -> Change:
    """Return a blocked change."""
    return Change(address, Action.BLOCKED, block=block, depends_on=depends_on)


def test_an_unknown_create_of_a_target_that_is_declared_no_more() -> None:
    """It counts as it does for a plan: what config/ leaves out is not settled by that."""
    scene = Scene()
    lost = scene.lose(f"{USA}/offers", "ONB10001", hooks("usa"))
    assert [lost] == [attempt.id for attempt in unresolved(scene.plan(), scene.record, scene.now)]
    assert [] == unresolved(scene.plan("europe/*"), scene.record, scene.now)


@pytest.mark.parametrize("outcome", list(Done))
def test_an_outcome_with_nothing_left_to_do(outcome: Done) -> None:
    """Unknown is 3, rejected and not sent 1; a skipped change that is done by now is fine."""
    bad = {Done.UNKNOWN: Verdict.UNRESOLVED, Done.REJECTED: Verdict.FAILED, Done.NOT_SENT: Verdict.FAILED}
    assert bad.get(outcome, Verdict.DONE) is verdict_of([Result(A, Action.CREATE, outcome)], plan_of(), ())


@pytest.mark.parametrize(
    ("block", "verdict"), [(block, Verdict.DONE if block is Block.WAITS else Verdict.FAILED) for block in Block]
)
def test_a_blocked_change_that_is_still_blocked(block: Block, verdict: Verdict) -> None:
    """Only a `wait` that waits is no failure; unknown outcomes come as attempts."""
    result = Result(A, Action.BLOCKED, Done.SKIPPED)
    assert verdict is verdict_of([result], plan_of(blocked(A, block)), ())


@pytest.mark.parametrize(("block", "verdict"), [(Block.WAITS, Verdict.DONE), (Block.GATE, Verdict.FAILED)])
def test_a_removal_that_depends_on_a_blocked_change_follows_that(block: Block, verdict: Verdict) -> None:
    """It waits for whatever that waits for."""
    results = [Result(address, Action.BLOCKED, Done.SKIPPED) for address in (A, B)]
    assert verdict is verdict_of(results, plan_of(blocked(A, Block.DEPENDS, B), blocked(B, block)), ())


def test_a_skipped_change_that_is_left_is_a_failure() -> None:
    """It was planned, and is not done."""
    left = plan_of(Change(A, Action.CREATE))
    assert Verdict.FAILED is verdict_of([Result(A, Action.CREATE, Done.SKIPPED)], left, ())


def test_what_is_left_of_other_addresses_is_no_failure() -> None:
    """Another run, or a person, changed the record meanwhile."""
    left = plan_of(Change(B, Action.CREATE))
    assert Verdict.DONE is verdict_of([Result(A, Action.CREATE, Done.CREATED)], left, ())


def test_an_outcome_that_is_not_in_the_record_is_unresolved() -> None:
    """The record says that it may exist."""
    result = Result(A, Action.CREATE, Done.CREATED, recorded=False)
    assert Verdict.UNRESOLVED is verdict_of([result], plan_of(), ())


def test_without_the_record_a_run_has_failed() -> None:
    """Or is unresolved, if anything is or was."""
    created, unknown = Result(A, Action.CREATE, Done.CREATED), Result(A, Action.CREATE, Done.UNKNOWN)
    assert [Verdict.FAILED, Verdict.UNRESOLVED, Verdict.UNRESOLVED] == [
        verdict_without_record([], [created]),
        verdict_without_record([], [unknown]),
        verdict_without_record([blocked(A, Block.UNRESOLVED)], [created]),
    ]
