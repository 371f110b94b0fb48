"""Lost answers, with `{attempt}` in URLs and without: what is settled without a person, and what an endpoint handles.

`pytest -n 0 -s -m soak tests/simulation/test_lost_answers.py` prints the figures of a thousand lost answers for each
way to deal with them.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import pytest
from support.endpoint import Endpoint
from support.simulation.lost_answers import WAYS, Figures, Lost, Way, table

from reconciler.model.record import Status
from reconciler.planning import status

SHARED, SHARED_DENIED, OWN, OWN_DENIED, OWN_RETRY = WAYS


def lived(way: Way, directory: Path, answers: int, *, events_from: int = 0) -> tuple[list[Lost], Figures]:
    """Let projects live that deal with lost answers in one way, until so many are; return them and all figures."""
    projects: list[Lost] = []
    figures = Figures()
    for seed in count():
        if figures.answers_lost >= answers:
            return projects, figures
        (directory / f"{way.name} {seed}").mkdir()
        projects.append(Lost(seed, way, directory / f"{way.name} {seed}"))
        figures = figures + projects[-1].live(events_from=events_from)
    raise AssertionError


def check(way: Way, projects: list[Lost], figures: Figures) -> None:
    """Assert what holds of one way, whatever is lost."""
    assert (0, 0) == (figures.lost, figures.lost_day_old)
    assert figures.created == figures.delivered > 0
    if not way.own_urls:
        assert (0, 0) == (figures.proven, figures.exist_twice_listed)
        assert (0 if way.denies else figures.answers_lost) == figures.waiting
        assert way.denies is bool(figures.exist_twice) is bool(figures.twice)
        return
    assert figures.delivered == figures.proven
    assert figures.twice == figures.twice_unsettled
    if way.denies:
        assert (0, 0, 0) == (figures.waiting, figures.exist_twice, figures.twice)
    if way.unknown == "retry":
        check_retries(projects)


def check_retries(projects: list[Lost]) -> None:
    """Assert that each address with retries left has one live attempt, and that all others which delivered must go."""
    for project in projects:
        for address in project.desired.subscriptions:
            attempts = project.record.at_address(address)
            if any(attempt.blocks for attempt in attempts):
                assert 3 == max(attempt.retries for attempt in attempts)
                assert not any(attempt.in_force for attempt in attempts)
            else:
                (live,) = (attempt for attempt in attempts if attempt.status is Status.LIVE)
                others = [attempt for attempt in attempts if attempt.received and attempt is not live]
                assert {found.status for found in others} <= {Status.AWAITING_REMOVAL, Status.GONE}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_lost_answers(way: Way, tmp_path: Path) -> None:
    """With URLs of their own, what delivers is settled by that, and no event is handled twice or lost."""
    check(way, *lived(way, tmp_path, 15))


@pytest.mark.parametrize("way", [OWN, OWN_RETRY], ids=lambda way: way.name)
def test_events_during_the_outage(way: Way, tmp_path: Path) -> None:
    """Delivered between retries, an event comes twice at most until one of the creates is known to exist."""
    projects, figures = lived(way, tmp_path, 15, events_from=1)
    assert (0, 0, figures.twice_unsettled) == (figures.lost, figures.lost_day_old, figures.twice)
    assert figures.delivered == figures.proven
    if way is OWN_RETRY:
        check_retries(projects)


def test_an_endpoint_without_a_list_handles_events_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation in which nothing can be handled twice would prove nothing."""
    monkeypatch.setattr(status, "_superseded", lambda *_: ())
    _, figures = lived(OWN_RETRY, tmp_path, 15)
    assert figures.twice > figures.twice_unsettled


def test_an_endpoint_that_drops_the_unlisted_loses_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor would one in which nothing can be lost."""

    def take(self: Endpoint, listing: str) -> None:
        self.is_surplus = lambda path, _: path.rpartition("/")[2] not in listing

    monkeypatch.setattr(Endpoint, "take", take)
    _, figures = lived(OWN_RETRY, tmp_path, 15)
    assert figures.lost_day_old > 0


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_a_thousand_lost_answers(tmp_path: Path) -> None:
    """The same for a thousand lost answers in each way; prints the figures."""
    figures = {}
    for way in WAYS:
        projects, figures[way] = lived(way, tmp_path, 1_000)
        check(way, projects, figures[way])
    sys.stdout.write(f"\n{table(figures)}\n")
