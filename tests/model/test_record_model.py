"""The design of the record holds in the model, and each of its rules is needed there."""

from __future__ import annotations

import pytest

from model.record_model import Bounds, Model, Rules, search, walk

GIT = Bounds()
FILE = Bounds(is_file=True)
LONG = Bounds(rollbacks=2, replaced=1, losses=3, attempts=4, pastes=1)

WORLDS = {
    "git, two machines": GIT,
    "two intents in one append": GIT._replace(batch=2, routes="RQ"),
    "a file, with a machine replaced": FILE._replace(replaced=1),
    "a copy to another place": GIT._replace(places=2, copies=1, losses=1, kills=0),
    "a subscription renamed": GIT._replace(renames=1, rollbacks=0),
    "a service under another address": GIT._replace(moved_services=2, rollbacks=0),
    "a URL of its own for each create, and retries": GIT._replace(own_urls=True, retries=1, attempts=3, rollbacks=0),
}

FEW = GIT._replace(kills=0, recoveries=0, losses=0)
NEEDED = {
    "intent_first": FEW._replace(rollbacks=0), "notes_count": FILE._replace(machines=1),
    "note_before_call": FILE._replace(machines=1, losses=0), "second_place": FEW, "second_before_call": FEW,
    "files_need_notes": FEW._replace(is_file=True), "loss_stops_creates": FEW._replace(losses=1),
    "complete_waits": FEW._replace(losses=1), "unknown_blocks": FEW._replace(rollbacks=0),
    "routes_of_all_addresses": FEW._replace(renames=1, rollbacks=0),
    "bound_to_service": FEW._replace(moved_services=1, rollbacks=0),
}  # fmt: skip
"""For each rule, bounds within which a search finds a route twice without it; the rest is found by walks (`DEEP`)."""

DEEP = {"complete_names_losses": LONG}


@pytest.mark.parametrize("name", WORLDS)
def test_nothing_exists_twice(name: str) -> None:
    """No state among the first thousands has a route twice."""
    trace, _ = search(Model(Rules(), WORLDS[name]), 8_000)

    assert trace is None


@pytest.mark.soak
@pytest.mark.parametrize("name", WORLDS)
def test_nothing_exists_twice_in_a_long_search(name: str) -> None:
    """No state among half a million, and none on long walks, has a route twice."""
    assert search(Model(Rules(), WORLDS[name]), 500_000)[0] is None
    assert walk(Model(Rules(), WORLDS[name]._replace(rollbacks=2, kills=2, losses=3)), 10_000)[0] is None


@pytest.mark.parametrize("rule", NEEDED)
def test_each_rule_is_needed(rule: str) -> None:
    """Without the rule, a route exists twice."""
    trace, _ = search(Model(Rules()._replace(**{rule: False}), NEEDED[rule]), 200_000)

    assert trace is not None


@pytest.mark.soak
@pytest.mark.parametrize("rule", DEEP)
def test_each_rule_that_takes_long_traces_is_needed(rule: str) -> None:
    """Without the rule, a walk ends with a route twice."""
    trace, _ = walk(Model(Rules()._replace(**{rule: False}), DEEP[rule]), 40_000)

    assert trace is not None


def test_every_rule_has_a_trace() -> None:
    """No rule is in the model for which no search shows that it is needed."""
    assert set(Rules._fields) == {*NEEDED, *DEEP}
