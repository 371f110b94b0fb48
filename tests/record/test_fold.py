"""What facts add up to: the status of each attempt, whatever is said of it and in whatever order."""

from __future__ import annotations

from itertools import combinations

import pytest
from support.scene import SERVICE, Scene, address_of, hooks

from reconciler.model.outcome import Outcome
from reconciler.model.record import Attempt, Status
from reconciler.record import facts as kinds
from reconciler.values import stamp

OWN = hooks("{attempt}")


@pytest.fixture
def scene() -> Scene:
    """An empty record."""
    return Scene()


def only(scene: Scene) -> Attempt:
    """Return the one attempt there is."""
    (attempt,) = scene.attempts
    return attempt


OUTCOMES = (Outcome.UNKNOWN, Outcome.NOT_SENT, Outcome.REJECTED, Outcome.CREATED)
"""The weakest first."""


@pytest.mark.parametrize(("weaker", "stronger"), [*combinations(OUTCOMES, 2)])
@pytest.mark.parametrize("is_later", [True, False])
def test_answered_twice(scene: Scene, weaker: Outcome, stronger: Outcome, *, is_later: bool) -> None:
    """Of two outcomes of one attempt the one that knows more counts, whichever came first."""
    attempt = scene.begin("offers", "ONB10011", OWN)
    for outcome in (weaker, stronger) if is_later else (stronger, weaker):
        scene.hear(attempt, outcome)
    assert stronger is only(scene).outcome


def test_answer_alone(scene: Scene) -> None:
    """An outcome repeats what was intended, so it stands for the attempt where the intent is lost."""
    scene.hold("offers", "ONB10011", OWN)
    before = only(scene)
    scene.facts = [fact for fact in scene.facts if not isinstance(fact, kinds.Intended)]
    scene._folded = None
    after = only(scene)
    assert (before.status, before.codes) == (after.status, after.codes)
    assert (before.url, before.settled_by) == (after.url, after.settled_by)


def test_removal(scene: Scene) -> None:
    """Requested it awaits removal and is in force; cancelled it is live; confirmed it is gone."""
    attempt = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.request(attempt, by_plan=True)
    assert (Status.AWAITING_REMOVAL, True, True) == (only(scene).status, only(scene).in_force, only(scene).by_plan)
    scene.request(attempt)
    assert not only(scene).by_plan
    scene.cancel(attempt)
    assert (Status.LIVE, (), True) == (only(scene).status, only(scene).requests, bool(only(scene).cancelled))
    scene.confirm(attempt)
    assert (Status.GONE, True) == (only(scene).status, only(scene).removed is not None)


def test_cancels_what_it_names(scene: Scene) -> None:
    """A request that was made in another history stays, whatever was cancelled here."""
    attempt = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.request(attempt)
    scene.cancel(attempt)
    scene.tell(kinds.RemovalRequested(at="2026-01-01T00:00:00Z", attempt=attempt, codes=("ONB10011",), origin="e" * 64))
    assert (Status.AWAITING_REMOVAL, ("e" * 64,)) == (only(scene).status, only(scene).requests)


@pytest.mark.parametrize(("seconds", "is_revived"), [(45, False), (46, True)])
def test_revived(scene: Scene, seconds: int, *, is_revived: bool) -> None:
    """What delivers more than 45 s after its confirmed removal is in force again: no retry comes that late."""
    attempt = scene.hold("offers", "ONB10011", OWN)
    scene.request(attempt)
    confirmed = scene.now
    scene.confirm(attempt)
    scene.receive(only(scene).url, "ONB10011", at=stamp(confirmed + seconds))
    assert (is_revived, is_revived) == (only(scene).revived, only(scene).status is Status.LIVE)
    if is_revived:
        scene.request(attempt)
        assert Status.AWAITING_REMOVAL is only(scene).status


def test_superseded(scene: Scene) -> None:
    """A retry takes the place of what it supersedes, and counts those before it."""
    first = scene.lose("offers", "ONB10011", OWN)
    second = scene.lose("offers", "ONB10011", OWN, supersedes=(first,))
    third = scene.lose("offers", "ONB10011", OWN, supersedes=(second,))
    assert [(False, 0), (False, 1), (True, 2)] == [(found.blocks, found.retries) for found in scene.attempts]
    assert ((second,), (first,)) == (scene.attempt(first).superseded_by, scene.attempt(second).supersedes)
    scene.resolve(second, created=False)
    assert [False, False, True] == [scene.attempt(found).blocks for found in (first, second, third)]
    scene.resolve(third, created=False)
    assert [True, False, False] == [scene.attempt(found).blocks for found in (first, second, third)]
    scene.resolve(third, created=True)
    routes = scene.record.routes_at(scene.record.service_of(SERVICE))
    assert [third] == [found.id for found in routes["ONB10011", OWN]]


def test_id(scene: Scene) -> None:
    """A record keeps its own id; the beginning of another, merged, changes nothing."""
    scene.tell(kinds.Begun(at=scene.at, record="other", origin="e" * 64))
    assert ("c0ffee", 2) == (scene.record.id, scene.record.entries)


def test_word_without_what(scene: Scene) -> None:
    """A fact about an attempt of which nothing is known makes no attempt, until that is known."""
    scene.tell(kinds.RemovalRequested(at=scene.at, attempt="a" * 32, codes=("ONB10011",)))
    assert [] == scene.attempts
    what = kinds.What(str(address_of("offers")), ("ONB10011",), hooks("offers"), SERVICE)
    scene.tell(kinds.Exists(at=scene.at, attempt="a" * 32, what=what))
    assert Status.AWAITING_REMOVAL is only(scene).status
