"""Lives under thousands of seeds: whatever is pasted that was true when it was named, nothing is created twice."""

from __future__ import annotations

import pytest
from support.lives import acts, broken
from support.lives.acts import Profile
from support.lives.broken import Break
from support.lives.life import live
from support.simulation.world import Violation

_CHUNK = 50


def live_all(seeds: range, profile: Profile | None = None) -> None:
    """Live these lives."""
    for seed in seeds:
        try:
            live(seed, profile=profile)
        except Violation as problem:
            problem.add_note(f"life.shortest({seed}) has the moves that it can do without")
            raise


@pytest.mark.parametrize("first", [0, 10])
def test_advice_is_safe(first: int) -> None:
    """Pasted late and in any order, it ends with nothing created twice, nothing forgotten, and a way on."""
    live_all(range(first, first + 10))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(20, 2_000, _CHUNK))
def test_advice_is_safe_in_many_lives(first: int) -> None:
    """The same for thousands of seeds more."""
    live_all(range(first, min(first + _CHUNK, 2_000)))


def test_a_life_is_the_same_every_time() -> None:
    """A life under one seed is reproduced to the letter."""
    assert live(4).world.trace == live(4).world.trace


# The seed is shortly before one that finds it.
BROKEN: list[tuple[Break, Profile, int]] = [
    (broken.forget_heads, acts.MIXED, 19), (broken.use_closed_places, acts.COPIED, 2),
    (broken.use_files_from_elsewhere, acts.CLONED, 1), (broken.ignore_losses, acts.MIXED, 1),
    (broken.ignore_the_second_place, acts.HASTY, 15), (broken.create_at_other_services, acts.MIXED, 0),
    (broken.create_beside_others, acts.MIXED, 1), (broken.create_beside_unknowns, acts.MIXED, 1),
    (broken.complete_at_once, acts.HASTY, 45), (broken.complete_by_merging, acts.MERGED, 9),
    (broken.resolve_at_once, acts.UNRESOLVED, 2), (broken.copy_from_closed_gates, acts.COPIED, 11),
    (broken.settle_what_was_not_named, acts.MERGED, 16), (broken.name_init_in_ci, acts.MIXED, 8),
]  # fmt: skip


@pytest.mark.parametrize(("break_it", "profile", "first"), BROKEN, ids=[case[0].__name__ for case in BROKEN])
def test_a_broken_rule_is_found(break_it: Break, profile: Profile, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lives that let a program without one of its gates or rules pass would prove nothing; with all, they pass."""
    live(first, profile=profile)
    break_it(monkeypatch)
    with pytest.raises(Violation):
        live_all(range(first, first + 25), profile)
