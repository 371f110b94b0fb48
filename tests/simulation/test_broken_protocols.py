"""Each broken protocol is found out: by one of so many seeds, and most of them by every order of two runs as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import broken_protocols as broken
import pytest
from interleaving_scenes import one_record, two_targets
from sim_service import Violation
from test_simulation import run_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from broken_protocols import Break
    from sim_interleavings import Explorer

FOUND_BY_SEEDS: list[tuple[Break, range]] = [
    (broken.forget_outcomes, range(10)),
    (broken.send_first, range(10)),
    (broken.append_without_comparing, range(10)),
    (broken.take_unknown_for_rejected, range(10)),
    (broken.repeat_unknown, range(20)),
    (broken.keep_to_the_old_plan, range(50)),
    (broken.trust_a_plan_of_yesterday, range(50)),
    (broken.forget_the_window, range(50)),
    (broken.repeat_without_a_look, range(440, 460)),
    (broken.send_after_a_stale_append, range(440, 460)),
    (broken.forget_the_wall_clock, range(20)),
    (broken.keep_outcomes_without_intents, range(20)),
    (broken.trust_any_record_in_flight, range(200)),
    (broken.look_at_ones_own_attempt_only, range(260, 270)),
    (broken.open_many_intents, range(10)),
    (broken.write_anew_after_a_failure, range(100)),
    (broken.mistake_an_outcome, range(20)),
    (broken.give_up_what_is_owed, range(700)),
    (broken.adopt_any_head, range(2_400, 2_700)),
]

FOUND_BY_ORDERS: list[tuple[Break, Callable[[], Explorer]]] = [
    (broken.forget_outcomes, one_record),
    (broken.take_unknown_for_rejected, one_record),
    (broken.repeat_unknown, one_record),
    (broken.keep_to_the_old_plan, one_record),
    (broken.trust_a_plan_of_yesterday, one_record),
    (broken.adopt_any_head, one_record),
    (broken.write_anew_after_a_failure, one_record),
    (broken.open_many_intents, one_record),
    (broken.ignore_other_targets, two_targets),
]


def name(value: object) -> str | None:
    """What a case is called."""
    return getattr(value, "__name__", None)


@pytest.mark.parametrize(("break_it", "seeds"), FOUND_BY_SEEDS, ids=name)
def test_a_broken_protocol_is_found_by_a_seed(break_it: Break, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation that lets a broken protocol pass would prove nothing."""
    break_it(monkeypatch)
    with pytest.raises(Violation):
        run_seeds(seeds)


@pytest.mark.parametrize(("break_it", "scene"), FOUND_BY_ORDERS, ids=name)
def test_a_broken_protocol_is_found_in_some_order(
    break_it: Break, scene: Callable[[], Explorer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among all orders of two runs with one fault there is one that shows it."""
    break_it(monkeypatch)
    with pytest.raises(Violation):
        scene().explore()
