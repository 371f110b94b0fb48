"""The protocol: changes that take no call, and those that wait for others."""

from __future__ import annotations

import pytest
from support.applying_bench import CREATED, REJECTED, WALL, Bench, code, journal_of, kinds, known, moving, wanting
from support.journal_samples import AT, BY, TARGET

from reconciler.applying.writing import local_entries
from reconciler.model.address import Address
from reconciler.model.clock import Instant
from reconciler.model.desired import Replace
from reconciler.model.entry import Imported, Intent, Retired
from reconciler.model.plan import Action, Change

A, B = (Address.of(TARGET, name) for name in "ab")


def test_what_is_blocked_is_skipped_and_says_why() -> None:
    """A change that waits for a person is no work for a run."""
    pending = Intent(
        at=AT, by=BY, attempt="p", address=A, action="create", codes=(code(97),), url="https://hooks.example/a",
        send_by=0.0, settled_by=0.0,
    )  # fmt: skip
    bench = Bench(wanting("a"), journal_of(pending))
    bench.begin()
    assert ({"blocked a": "skipped"}, True) == (bench.outcomes, bench.run.finished)
    assert bench.run.changes[0].reasons[0] == bench.result("a").detail


def test_what_is_no_longer_wanted_is_retired() -> None:
    """A retire is an entry for each attempt, and names them for the request to the operator."""
    bench = Bench(wanting("a"), journal_of(known("a"), known("b"), known("b", attempt="other")))
    bench.begin()
    entries = bench.append()
    assert [("retired", "no longer in config/")] * 2 == [(one.kind, getattr(one, "reason", None)) for one in entries]
    assert ({"retire b": "retired"}, ["old-b", "other"]) == (bench.outcomes, bench.run.work.retired)


def test_what_is_wanted_again_is_restored() -> None:
    """A restore is an entry, and no call."""
    bench = Bench(wanting("a"), journal_of(known("a"), Retired(at=AT, by=BY, attempt="old-a")))
    bench.begin()
    assert ["restored"] == kinds(bench.append())
    assert ({"restore a": "restored"}, {"old-a": "live"}) == (bench.outcomes, bench.statuses())


def test_what_was_replaced_is_retired_with_the_outcome() -> None:
    """Once the new one is created, the old one is asked to be removed, in the same append."""
    bench = Bench(wanting("a"), journal_of(known("a", host="old")))
    bench.start()
    bench.append()
    bench.answer(CREATED)
    assert ["outcome", "retired"] == kinds(bench.append())
    assert ({"replace a": "created"}, ["old-a"]) == (bench.outcomes, bench.run.work.retired)


def test_what_was_not_replaced_stays() -> None:
    """Where the new one was rejected, the old one is not retired."""
    bench = Bench(wanting("a"), journal_of(known("a", host="old")))
    bench.start()
    bench.append()
    bench.answer(REJECTED)
    assert ["outcome"] == kinds(bench.append())
    assert [] == bench.run.work.retired


def test_a_retire_waits_for_who_takes_its_codes_over() -> None:
    """No event falls between the two: the retire is appended once its codes are created elsewhere."""
    bench = moving()
    bench.start()
    assert ["bound", "intent"] == kinds(bench.append())
    bench.answer(CREATED)
    assert ["outcome", "retired"] == kinds(bench.append())
    assert {"create b": "created", "retire a": "retired"} == bench.outcomes


def test_a_retire_whose_codes_nobody_takes_is_skipped() -> None:
    """Where the create fails, what it was to take over stays."""
    bench = moving()
    bench.start()
    bench.append()
    bench.answer(REJECTED)
    bench.append()
    assert {"create b": "rejected", "retire a": "skipped"} == bench.outcomes
    assert f"{B} did not take over its event codes" == bench.result("a").detail


def test_a_retire_goes_on_once_another_run_has_created_what_it_waits_for() -> None:
    """After a move the retire is as it is planned then: with nobody to wait for."""
    bench = moving()
    bench.start()
    other = Imported(at=AT, by=BY, attempt="x", address=B, codes=(code(97),), url="https://hooks.example/b")
    bench.overtake(other)
    bench.wait_its_turn()
    assert ["retired"] == kinds(bench.append())
    assert {"create b": "skipped", "retire a": "retired"} == bench.outcomes


def test_a_retire_that_waits_for_nobody_of_this_run_is_skipped() -> None:
    """A retire that is to wait for a create which this run does not make is left for the next apply."""
    bench = Bench(wanting("b"), journal_of(known("a"), known("b")))
    bench.begin()
    bench.desired = moving().desired
    bench.overtake(Retired(at=AT, by=BY, attempt="old-b"))
    assert ({"retire a": "skipped"}, True) == (bench.outcomes, bench.run.finished)


def test_a_wait_retires_and_is_blocked() -> None:
    """With replace: wait the old one is retired, and the create waits for its removal."""
    bench = Bench(wanting("a", replace_by=Replace.WAIT), journal_of(known("a", host="old")))
    bench.begin()
    bench.append()
    assert {"retire a": "retired", "blocked a": "skipped"} == bench.outcomes


@pytest.mark.parametrize("action", [Action.CREATE, Action.EXTEND, Action.REPLACE, Action.BLOCKED])
def test_no_other_action_is_taken_for_a_local_change(action: Action) -> None:
    """Only RESTORE and RETIRE have entries of their own; any other action must never become a retirement."""
    change = Change(A, action, concerns=("old",), reasons=("reason",))
    with pytest.raises(ValueError, match=action):
        local_entries(change, Bench(wanting("a")).run.context, Instant(WALL, 0.0))
