"""Each broken protocol is found out: by one of so many seeds, and most of them by every order of two runs as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.simulation import broken_protocols as broken
from support.simulation.interleaving_scenes import copied_record, one_record, two_targets
from support.simulation.sim_service import Promise, Violation
from support.simulation.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.simulation.broken_protocols import Break
    from support.simulation.sim_interleavings import Explorer

Odds = dict[str, float]
LOSSES: Odds = {"roll_back": 0.05}
FOUND_AGAIN: Odds = {
    "roll_back": 0.1, "give_up": 0.0, "vanish": 0.0, "crash": 0.0, "interrupt": 0.0, "slow": 0.3, "busy": 0.5,
    "no_connection": 0.3,
}  # fmt: skip
LOST_FOR_GOOD: Odds = {"roll_back": 0.05, "give_up": 1.0, "crash": 0.0, "vanish": 0.0, "take_over": 0.0}
LOST_APPENDS: Odds = {"append_lost": 0.3, "append_late": 0.3}
UNTENDED_CLOCKS: Odds = {"neglect": 1.0, "set_clock": 0.1, "slow": 0.3, "busy": 0.4, "no_connection": 0.2}

# Each range begins shortly before the seed that finds it first.
FOUND_BY_SEEDS: list[tuple[Break, Promise, range, Odds]] = [
    (broken.forget_outcomes, Promise.SAVED, range(20), {}),
    (broken.send_first, Promise.INTENT_FIRST, range(20), {}),
    (broken.append_without_comparing, Promise.SOUND, range(20), {}),
    (broken.take_unknown_for_rejected, Promise.NOT_FORGOTTEN, range(50), {}),
    (broken.retry_unknown, Promise.ONCE, range(50), {}),
    (broken.keep_to_the_old_plan, Promise.ONCE, range(50), {}),
    (broken.trust_a_plan_of_yesterday, Promise.ONCE, range(100), {}),
    (broken.forget_the_window, Promise.IN_TIME, range(100), {}),
    (broken.retry_without_a_reread, Promise.FRESH, range(150, 550), UNTENDED_CLOCKS),
    (broken.send_after_a_stale_append, Promise.FRESH, range(100, 500), UNTENDED_CLOCKS),
    (broken.forget_the_wall_clock, Promise.IN_TIME, range(60, 160), {}),
    (broken.keep_outcomes_without_intents, Promise.SAVED, range(100), {}),
    (broken.trust_any_record_in_flight, Promise.ONCE, range(200), LOSSES),
    (broken.check_ones_own_attempt_only, Promise.ONCE, range(180, 500), FOUND_AGAIN),
    (broken.open_many_intents, Promise.FEW_OPEN, range(50), {}),
    (broken.write_anew_after_a_failure, Promise.FEW_OPEN, range(30, 130), LOST_APPENDS),
    (broken.mistake_an_outcome, Promise.NOT_FORGOTTEN, range(50), {}),
    (broken.give_up_what_is_pending, Promise.SAVED, range(100), {}),
    (broken.adopt_any_head, Promise.ONCE, range(500, 2_060), LOST_APPENDS),
    (broken.plan_on_the_record_alone, Promise.KEPT, range(30, 230), LOST_FOR_GOOD),
    (broken.know_records_by_their_id_alone, Promise.ONCE, range(100), {}),
    (broken.praise_every_run, Promise.TRUTHFUL, range(20), {}),
    (broken.carry_nothing_out, Promise.AT_REST, range(20), {}),
]

FOUND_BY_ORDERS: list[tuple[Break, Callable[[], Explorer]]] = [
    (broken.forget_outcomes, one_record),
    (broken.take_unknown_for_rejected, one_record),
    (broken.retry_unknown, one_record),
    (broken.keep_to_the_old_plan, one_record),
    (broken.trust_a_plan_of_yesterday, one_record),
    (broken.adopt_any_head, one_record),
    (broken.write_anew_after_a_failure, one_record),
    (broken.open_many_intents, one_record),
    (broken.ignore_other_targets, two_targets),
    (broken.append_to_a_closed_record, copied_record),
    (broken.save_nothing_of_a_closed_record, copied_record),
]


def name_of(value: object) -> str | None:
    """What a case is called."""
    return getattr(value, "__name__", None)


def breaks(promise: Promise, seeds: range, odds: Odds) -> bool:
    """Whether one of these simulations breaks just that promise."""
    for seed in seeds:
        try:
            Simulation(seed, odds=odds).run()
        except Violation as violation:
            if violation.promise is promise:
                return True
        except KeyError:
            continue  # send_first, which answers calls that were never begun
    return False


@pytest.mark.parametrize(("break_it", "promise", "seeds", "odds"), FOUND_BY_SEEDS, ids=name_of)
def test_a_broken_protocol_is_found_by_a_seed(
    break_it: Break, promise: Promise, seeds: range, odds: Odds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simulation that lets a broken protocol pass would prove nothing."""
    break_it(monkeypatch)
    why = f"no seed of {seeds} broke {promise.name}: do the simulation's times still go beyond those of Limits?"
    assert breaks(promise, seeds, odds), why


def test_each_promise_has_a_protocol_that_breaks_it() -> None:
    """A promise that nothing breaks may not be looked after at all."""
    assert set(Promise) == {promise for _, promise, _, _ in FOUND_BY_SEEDS}


@pytest.mark.parametrize(("break_it", "scene"), FOUND_BY_ORDERS, ids=name_of)
def test_a_broken_protocol_is_found_in_some_order(
    break_it: Break, scene: Callable[[], Explorer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among all orders of two runs with one fault there is one that shows it."""
    break_it(monkeypatch)
    with pytest.raises(Violation):
        scene().explore()
