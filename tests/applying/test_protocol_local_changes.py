"""The protocol: removals that follow creates, and changes of one address that go together."""

from __future__ import annotations

from msgspec.structs import replace
from support.applying_bench import CREATED, REJECTED, TARGET, Bench, code, known, wanting
from support.desired_values import desired_of, target_of
from support.memory_record import AT

from reconciler.record.facts import RemovalRequested


def moving() -> Bench:
    """Return a run in which the code of `a` moves to `b`, elsewhere; `a` is not desired any more, and follows."""
    desired = desired_of([target_of(TARGET)], {f"{TARGET}/b": ((code("a"),), "https://hooks.example/b")})
    return Bench(desired, known("a"))


def test_a_removal_waits_until_its_codes_are_created_elsewhere() -> None:
    """It is requested once the create that takes its codes over is done."""
    bench = moving().start()
    assert ["intended"] == bench.append()
    assert ["answered", "removal_requested"] == bench.settle(CREATED)
    assert {"create b": "created", "remove a": "requested"} == bench.outcomes


def test_a_removal_is_skipped_if_its_codes_were_not_created() -> None:
    """What delivers them stays."""
    bench = moving().sent()
    assert ["answered"] == bench.settle(REJECTED)
    assert {"create b": "rejected", "remove a": "skipped"} == bench.outcomes
    assert f"waiting for {TARGET}/b, which was not created" == bench.result("a").detail


def test_a_removal_whose_codes_another_run_created_elsewhere_is_requested() -> None:
    """It depends on what the record says by then, no longer on a create of this run."""
    bench = moving().start()
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


def test_changes_of_one_address_are_recorded_together() -> None:
    """Recorded one after the other, the first would make another change of the second."""
    request = RemovalRequested(at=AT, attempt="old-a", codes=(code("a"),), by_plan=True)
    desired = desired_of([target_of(TARGET)], {f"{TARGET}/a": ((code("a"), code("b")), "https://hooks.example/a")})
    bench = Bench(desired, known("a"), request)
    assert ["restore", "extend"] == sorted((change.action.value for change in bench.run.changes), reverse=True)
    bench.start()
    assert ["intended", "removal_cancelled"] == bench.append()
    bench.create_all()
    assert {"extend a": "created", "restore a": "restored"} == bench.outcomes
