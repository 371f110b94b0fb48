"""What holds of every plan, whatever is wanted and whatever has happened."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from support.planning_strategies import addresses, scenes

from reconciler.model.desired import Desired, Replace
from reconciler.model.outcome import Outcome
from reconciler.model.plan import SENDS, Action, Block
from reconciler.model.record import Status
from reconciler.model.selection import Selection
from reconciler.model.url import normal_url, service_key
from reconciler.planning.planner import Planner, make_plan
from reconciler.reports.documents import plan_document, render

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from support.value_scene import Scene

    from reconciler.model.address import Address, TargetName
    from reconciler.model.plan import Change, Plan, TargetPlan

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

quick = settings(max_examples=20, deadline=None)


@quick
@given(scenes())
def test_deterministic(scene: Scene) -> None:
    """The same values give the same plan, to the last word."""
    assert scene.plan() == scene.plan()
    assert plan_document(scene.plan()) == plan_document(scene.plan())


@quick
@given(scenes(), st.randoms(use_true_random=False))
def test_order_of_inputs(scene: Scene, random: Random) -> None:
    """The order in which targets, subscriptions and records are handed in makes no difference."""
    desired = Desired(_shuffled(scene.targets, random), _shuffled(scene.wanted, random))
    plan = make_plan(desired, _shuffled(scene.records, random), Selection())
    assert plan_document(scene.plan()) == plan_document(plan)


def _shuffled(mapping: Mapping[KeyT, ValueT], random: Random) -> dict[KeyT, ValueT]:
    items = list(mapping.items())
    random.shuffle(items)
    return dict(items)


@quick
@given(scenes())
def test_applied_is_done(scene: Scene) -> None:
    """Applied, and planned again: nothing is left but what waits for a person."""
    scene.apply()
    left = scene.changes()
    blocked = {change.address for change in left if change.action is Action.BLOCKED}
    assert [] == [
        change for change in left if change.action is not Action.BLOCKED and not blocked & {*change.depends_on}
    ]
    before = scene.records
    scene.apply()
    assert before == scene.records


@quick
@given(scenes())
def test_never_twice(scene: Scene) -> None:
    """No route is requested that is, or may be, in force anywhere at the service.

    But for what a person asked to be removed at the very address, where `replace` is `overlap`.
    """
    held = Counter(
        route
        for one in scene.all_attempts()
        if one.in_force or one.unresolved
        for route in _routes(scene, one.address.target, one.codes, one.url)
    )
    for change in scene.changes():
        if change.request is None:
            continue
        requested = _routes(scene, change.address.target, change.request.codes, change.request.url)
        assert not {*requested} & {*_asked_away_routes(scene, change)} or _overlaps(scene, change)
        assert not Counter(requested) & (held - _asked_away_routes(scene, change))
        held.update(requested)


def _routes(scene: Scene, name: TargetName, codes: tuple[str, ...], url: str) -> list[tuple[str, str, str]]:
    return [(service_key(scene.targets[name].base_url), code, normal_url(url)) for code in codes]


def _asked_away_routes(scene: Scene, change: Change) -> Counter[tuple[str, str, str]]:
    return Counter(
        route
        for one in change.before
        if one.status is Status.AWAITING_REMOVAL and one.on_purpose
        for route in _routes(scene, change.address.target, one.codes, one.url)
    )


def _overlaps(scene: Scene, change: Change) -> bool:
    return scene.targets[change.address.target].replace is Replace.OVERLAP


@quick
@given(scenes())
def test_asked_away_stays_away(scene: Scene) -> None:
    """No plan restores what a person asked to be removed."""
    asked_away = {one.id for one in scene.all_attempts() if one.on_purpose}
    restored = {one for change in scene.changes() if change.action is Action.RESTORE for one in change.concerns}
    assert set() == asked_away & restored


@quick
@given(scenes())
def test_wanted_is_in_force(scene: Scene) -> None:
    """Once a plan is applied, every wanted route is live at its address, or a blocked change says why not."""
    scene.apply()
    blocked = {change.address for change in scene.changes() if change.action is Action.BLOCKED}
    for wanted in scene.wanted.values():
        live = {
            code
            for one in scene.all_attempts()
            if one.address == wanted.address
            and one.status is Status.LIVE
            and normal_url(one.url) == normal_url(wanted.url)
            for code in one.codes
        }
        assert live.issuperset(wanted.codes) or wanted.address in blocked


@quick
@given(scenes(), st.sets(addresses))
def test_nothing_falls_between(scene: Scene, failing: set[Address]) -> None:
    """`overlap`: a wanted code that is live on a target stays live there, whatever creates of an apply fail."""
    scene.set_mode(Replace.OVERLAP)
    wanted = {(one.address.target, code) for one in scene.wanted.values() for code in one.codes}
    before = _live_codes(scene)
    scene.apply(become=lambda change: Outcome.REJECTED if change.address in failing else Outcome.CREATED)
    assert set() == wanted & before - _live_codes(scene)


def _live_codes(scene: Scene) -> set[tuple[TargetName, str]]:
    return {
        (one.address.target, code) for one in scene.all_attempts() if one.status is Status.LIVE for code in one.codes
    }


@quick
@given(scenes(), scenes())
def test_digest_equal(one: Scene, other: Scene) -> None:
    """Two digests of a target are equal if, and only if, the same is done on the same state with the same settings."""
    for scene, another in ((one, other), (one, one)):
        for name, planned in scene.plan().targets.items():
            second = another.plan().targets[name]
            assert (_approved(scene, planned) == _approved(another, second)) == (planned.digest == second.digest)


def _approved(scene: Scene, planned: TargetPlan) -> object:
    record = scene.records[planned.name]
    changes = [
        (
            one.address,
            one.action,
            one.request,
            one.action is Action.BLOCKED or one.concerns,
            record.touched.get(one.address),
        )
        for one in planned.changes
    ]
    return record.id, record.base_url, record.account, sorted(changes, key=lambda change: change[:2])


@quick
@given(scenes())
def test_document(scene: Scene) -> None:
    """The document of a plan survives a round trip through JSON, and all its lists are sorted."""
    document = plan_document(scene.plan())
    assert document == json.loads(render(document))
    changes, awaiting, surplus = (document[name] for name in ("changes", "awaiting_removal", "surplus"))
    assert isinstance(changes, list)
    assert isinstance(awaiting, list)
    assert isinstance(surplus, list)
    assert changes == sorted(changes, key=lambda one: (one["address"], one["action"]))
    assert awaiting == sorted(awaiting, key=lambda one: (one["address"], one["attempt"]))
    assert surplus == sorted(surplus, key=lambda one: (one["address"], one["attempt"]))
    for change in changes:
        assert change["before"] == sorted(change["before"], key=lambda one: one["attempt"])
        for codes in (one["eventCodes"] for one in (change["after"], change["request"]) if one):
            assert codes == sorted(codes)


@quick
@given(scenes())
def test_one_change_of_a_kind(scene: Scene) -> None:
    """No address has two changes with one action."""
    assert {1} >= {*Counter((change.address, change.action) for change in scene.changes()).values()}


@quick
@given(scenes(), st.sets(addresses, min_size=1, max_size=4))
def test_selection(scene: Scene, chosen: set[Address]) -> None:
    """Planning with a selection gives exactly the changes, and all else, of the addresses selected."""
    known = {*scene.wanted, *(one.address for one in scene.all_attempts())}
    chosen &= known
    if not chosen:
        return
    whole, part = scene.plan(), scene.plan(*chosen)
    assert [change for change in whole.changes if change.address in chosen] == part.changes
    assert _besides(whole, chosen) == _besides(part, known)
    changed = {change.address for change in whole.changes}
    assert len((chosen & {*scene.wanted}) - changed) == part.unchanged


def _besides(plan: Plan, chosen: set[Address]) -> list[object]:
    targets = plan.targets.values()
    return [
        *(one for target in targets for one in target.surplus if one.address in chosen),
        *(one for target in targets for one in target.awaiting_removal if one.address in chosen),
    ]


@quick
@given(scenes())
def test_target_alone(scene: Scene) -> None:
    """What is planned for one target is what the whole plan says of it."""
    whole = scene.plan()
    for name, planned in whole.targets.items():
        planner = Planner(scene.desired, Selection())
        planner.use(scene.records)
        assert planned == planner.plan(name)


@quick
@given(scenes())
def test_shape(scene: Scene) -> None:
    """Each action has what it needs and nothing else, and all it concerns is known."""
    known = {one.id for one in scene.all_attempts()}
    for change in scene.changes():
        assert (change.action in SENDS) == (change.request is not None)
        assert (change.action is Action.BLOCKED) == (change.block is not None)
        assert change.reasons
        assert known.issuperset(change.concerns)
        if change.action in (Action.RETIRE, Action.RESTORE, Action.REPLACE):
            assert {*change.concerns} <= {one.id for one in change.before}
        if change.block is Block.WAITS:
            assert scene.targets[change.address.target].replace is Replace.WAIT
