"""Every order in which the steps of two runs can happen, each with a fault at any of them.

A fault is a crash before or after a step, a lost answer of the service or the store, or an append of somebody else; in
one scene a person who settles an attempt, too, and says what is so.
The numbers are exact: an order more or less means that the protocol takes other steps than it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.simulation.interleaving_scenes import changed_urls, copied_record, one_record, two_targets

if TYPE_CHECKING:
    from support.simulation.sim_interleavings import Explorer


def count(explorer: Explorer) -> tuple[int, int]:
    """How many whole orders there are, and how many different states they lead through."""
    return explorer.explore(), explorer.states


def test_two_creates_in_every_order() -> None:
    """Two runs, two subscriptions, nothing going wrong: 270 orders, none of which creates anything twice."""
    assert (270, 154) == count(one_record(faults=0))


def test_two_creates_in_every_order_with_a_fault() -> None:
    """Two runs, two subscriptions, one fault anywhere: 49,856 orders."""
    assert (49_856, 8_964) == count(one_record())


def test_creates_side_by_side_in_every_order() -> None:
    """Two runs, three subscriptions, two calls in flight."""
    assert (1_968, 622) == count(one_record(3, faults=0, parallelism=2))


def test_replacements_in_every_order_with_a_fault() -> None:
    """Two runs replace one subscription and retire another after its codes are created elsewhere: 65,542 orders."""
    assert (65_542, 9_996) == count(changed_urls())


def test_two_targets_of_a_service_in_every_order_with_a_fault() -> None:
    """A route that one run has on one target, and the other on another, is never created twice: 10,222 orders."""
    assert (10_222, 5_546) == count(two_targets())


def test_a_create_with_a_word_of_people() -> None:
    """Two runs, one subscription, a fault, or a person's word in between: 1,422 orders."""
    assert (1_422, 1_038) == count(one_record(1, people=True))


@pytest.mark.soak
def test_a_create_with_two_faults_and_words_of_people() -> None:
    """Two runs, one subscription, two faults, of which one may be a person's word in between: 85,174 orders."""
    assert (85_174, 18_572) == count(one_record(1, faults=2, people=True))


def test_a_record_that_is_closed_at_any_moment() -> None:
    """Two runs, one subscription, and at any moment the record is closed to be copied: 1,432 orders."""
    assert (1_432, 1_046) == count(one_record(1, copies=True))


@pytest.mark.soak
def test_a_record_that_is_closed_at_any_moment_with_a_fault() -> None:
    """Two runs, one subscription, a fault, and at any moment the record is closed to be copied: 85,052 orders."""
    assert (85_052, 18_041) == count(copied_record())


@pytest.mark.soak
def test_creates_side_by_side_in_every_order_with_a_fault() -> None:
    """Two runs, three subscriptions, two calls in flight, one fault: 478,812 orders."""
    assert (478_812, 44_044) == count(one_record(3, parallelism=2))


@pytest.mark.soak
def test_two_creates_in_every_order_with_two_faults() -> None:
    """Two runs, two subscriptions, two faults: 5,773,690 orders."""
    assert (5_773_690, 276_730) == count(one_record(faults=2))
