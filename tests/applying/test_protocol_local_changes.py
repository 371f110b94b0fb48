"""The protocol: removals that follow creates, and changes of one address that go together."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.applying_bench import CREATED, REJECTED, TARGET, UNKNOWN, Bench, code, known, wanting
from support.desired_values import desired_of, target_of
from support.memory_record import AT

from reconciler.applying.calls import local_facts
from reconciler.applying.events import Authorised, Limits, Unauthorised
from reconciler.errors import Message
from reconciler.model.outcome import Answer
from reconciler.record.facts import RemovalRequested


def moving(*names: str) -> Bench:
    """Return a run in which the codes of `a` move to these, elsewhere; `a` is not desired any more, and follows."""
    wanted = {
        f"{TARGET}/{name}": ((f"{code('a')}{at or ''}",), f"https://hooks.example/{name}")
        for at, name in enumerate(names)
    }
    what = replace(known("a").what, codes=tuple(code for codes, _ in wanted.values() for code in codes))
    return Bench(desired_of([target_of(TARGET)], wanted), replace(known("a"), what=what), limits=Limits(in_a_row=9))


def test_a_removal_waits_until_its_codes_are_created_elsewhere() -> None:
    """It is requested once the create that takes its codes over is done."""
    bench = moving("b").start()
    assert ["intended"] == bench.append()
    assert ["answered", "removal_requested"] == bench.settle(CREATED)
    assert {"create b": "created", "remove a": "requested"} == bench.outcomes


@pytest.mark.parametrize("answer", [REJECTED, UNKNOWN])
def test_a_removal_is_skipped_if_its_codes_were_not_created(answer: Answer) -> None:
    """What delivers them stays, and all creates that it would have needed are named."""
    bench = moving("b", "c", "d").sent(CREATED, answer)
    assert "remove a" not in bench.outcomes
    assert ["answered"] == bench.settle(answer)
    ends = {"create b": "created"} | dict.fromkeys(("create c", "create d"), str(answer.outcome))
    assert ends | {"remove a": "skipped"} == bench.outcomes
    assert f"its event codes were not taken over by {TARGET}/c, {TARGET}/d" == bench.result("a").detail


@pytest.mark.parametrize(("skipped", "end"), [("c", "skipped"), ("", "requested")])
def test_a_removal_is_skipped_if_a_create_that_it_waits_for_is(skipped: str, end: str) -> None:
    """The run ends with that. What sends nothing is not stopped by a response that was lost."""
    bench = moving("b", *skipped).sent()
    bench.answer(CREATED, lost=True)
    bench.append()
    ends = {"create b": "created", **{f"create {name}": "skipped" for name in skipped}, "remove a": end}
    assert (ends, True) == (bench.outcomes, bench.run.finished)


def test_a_removal_is_requested_of_what_the_change_concerns() -> None:
    """Of no other attempt of its address, for the first of its reasons, and so that a plan may take it back."""
    bench = Bench(wanting(), known("a"), known("a", host="other", attempt="other"))
    reasons = (Message("first", "the first"), Message("second", "the second"))
    change = replace(bench.run.changes[0], concerns=("old-a",), reasons=reasons)
    expected = RemovalRequested(
        at="2027-01-15T08:00:00Z", by={"user": "bench"}, attempt="old-a", codes=(code("a"),), reason="the first",
        by_plan=True,
    )  # fmt: skip
    assert (expected,) == local_facts(change, bench.run.context, bench.now)


def test_a_removal_beside_a_create_waits_for_its_own_codes() -> None:
    """Though it has the same address: they move to another one."""
    wanted = {"a": ((code("a"), code("b")), "https://hooks.example/a"), "b": ((code("x"),), "https://hooks.example/b")}
    desired = desired_of([target_of(TARGET)], {f"{TARGET}/{name}": request for name, request in wanted.items()})
    bench = Bench(desired, known("a"), known("x", address=f"{TARGET}/a")).sent(CREATED, REJECTED)
    assert {"extend a": "created", "create b": "rejected", "remove a": "skipped"} == bench.outcomes


def test_a_removal_whose_codes_another_run_created_elsewhere_is_requested() -> None:
    """It depends on what the record says by then, no longer on a create of this run."""
    bench = moving("b").start()
    bench.overtake(replace(known("b"), what=replace(known("b").what, codes=(code("a"),))))
    bench.create_all()
    assert {"create b": "skipped", "remove a": "requested"} == bench.outcomes


def test_a_restore_withdraws_the_requests_that_another_run_has_made_since() -> None:
    """Those that the record has by then, not those of the plan."""
    request = RemovalRequested(at=AT, attempt="old-a", codes=(code("a"),), by_plan=True)
    bench = Bench(wanting("a"), known("a"), request)
    bench.begin()
    bench.overtake(replace(request, by={"user": "theirs"}))
    bench.create_all()
    assert ({"restore a": "restored"}, {"old-a": "live"}) == (bench.outcomes, bench.statuses())


@pytest.mark.parametrize("fails", ["", "run", "token"])
def test_changes_of_one_address_are_recorded_together(fails: str) -> None:
    """Recorded one after the other, the first would make another change of the second. Each has a result of its own."""
    request = RemovalRequested(at=AT, attempt="old-a", codes=(code("a"),), by_plan=True)
    desired = desired_of([target_of(TARGET)], {f"{TARGET}/a": ((code("a"), code("b")), "https://hooks.example/a")})
    bench = Bench(desired, known("a"), request)
    bench.begin()
    bench.hear(Unauthorised(TARGET, Message("no-token", "refused")) if fails == "token" else Authorised(TARGET))
    if fails == "run":
        bench.run.salvage([], "internal error (KeyError)", bench.now)
        assert {"extend a": "not_sent", "restore a": "skipped"} == bench.outcomes
        return
    assert [*["intended"] * (not fails), "removal_cancelled"] == bench.append()
    bench.create_all()
    assert {"extend a": "not_sent" if fails else "created", "restore a": "restored"} == bench.outcomes
