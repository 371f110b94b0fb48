"""What holds of every plan, whatever is desired and whatever has happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from urllib.parse import urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.histories import CODES, addresses, scenes
from support.records import linked
from support.scene import Scene

from reconciler.model.address import Address, Selection, matches
from reconciler.model.desired import Desired, Overlap, Replace
from reconciler.model.outcome import Outcome
from reconciler.model.plan import SENDS, Action, Block, Change
from reconciler.model.record import Status
from reconciler.model.url import filled, normal_url, service_key
from reconciler.planning import reasons
from reconciler.planning.evidence import Sighting, match
from reconciler.planning.planner import plan as make_plan
from reconciler.planning.status import removals, status
from reconciler.record.facts import Answered, AnyFact, Begun, Exists, Intended, Rebound, Received, What
from reconciler.record.fold import fold
from reconciler.record.gates import Obstacle, Standing

quick = settings(max_examples=40)


@quick
@given(scenes(), st.randoms(use_true_random=False))
def test_order_of_facts(scene: Scene, random: Random) -> None:
    """The order in which facts, targets and subscriptions are handed in makes no difference."""
    before = scene.plan()
    first, *facts = scene.facts
    random.shuffle(facts)
    targets, wanted = list(scene.targets.items()), list(scene.wanted.items())
    random.shuffle(targets)
    random.shuffle(wanted)
    record = fold(linked(None, 0, [first, *facts])[1])
    desired = Desired(dict(targets), dict(wanted))
    again = make_plan(desired, record, Standing("state.jsonl"), Selection(), now=scene.now + 120, allow_empty=True)
    if len({fact.at for fact in facts}) == len(facts) and not _requests(scene):
        assert replace(again, head=before.head) == before


def _requests(scene: Scene) -> bool:
    """True if a fact names another by its id, which depends on the line it is in."""
    return any(held.cancelled or held.renames or held.requests or held.confirmations for held in scene.attempts)


@quick
@given(scenes())
def test_applied_is_done(scene: Scene) -> None:
    """Applied, and planned again: within a few applies nothing is left but what waits for a person."""
    for _ in range(4):
        scene.apply()
    assert [] == [change for change in scene.changes() if change.action is not Action.BLOCKED]


@quick
@given(scenes())
def test_never_twice(scene: Scene) -> None:
    """No route is requested that is in force, unknown or in flight anywhere at the service, nor is one twice.

    But for those of unknown attempts that are superseded, or that this very change supersedes.
    """
    superseded = {attempt for change in scene.changes() if change.action is Action.RETRY for attempt in change.concerns}
    held = {
        (attempt.service, *route)
        for attempt in scene.attempts
        if (attempt.in_force or attempt.blocks) and attempt.id not in superseded
        for route in attempt.routes
    }
    for change in scene.changes():
        if change.request is not None:
            service = scene.targets[change.address.target].service
            url = normal_url(change.request.template)
            requested = {(service, code, url) for code in change.request.codes}
            assert not requested & held
            held |= requested


@quick
@given(scenes())
def test_superseded(scene: Scene) -> None:
    """Only attempts with a URL of their own, unknown and settled, are superseded, and never after three retries."""
    for now in {scene.now + 120, *(attempt.settled_by for attempt in scene.attempts)}:
        retries = [change for change in scene.plan(now=now).changes if change.action is Action.RETRY]
        for attempt in (scene.attempt(found) for change in retries for found in change.concerns):
            assert (attempt.unresolved, attempt.own_url, attempt.settled(now)) == (True, True, True)
            assert attempt.retries < 3


@quick
@given(scenes())
def test_removal_on_purpose(scene: Scene) -> None:
    """No plan restores what a person asked to remove."""
    restored = {found for change in scene.changes() if change.action is Action.RESTORE for found in change.concerns}
    assert all(scene.attempt(found).by_plan for found in restored)


@quick
@given(scenes())
def test_desired_is_in_force(scene: Scene) -> None:
    """Once a plan is applied, every desired route is live at its address, or a blocked change says why not."""
    for _ in range(2):
        scene.apply()
    blocked = {change.address for change in scene.changes() if change.action is Action.BLOCKED}
    for wanted in scene.wanted.values():
        attempts = scene.record.at_address(wanted.address)
        live = [found for found in attempts if found.status is Status.LIVE and found.is_at(wanted.template)]
        delivered = {code for found in live for code in found.codes}
        assert delivered.issuperset(wanted.codes) or wanted.address in blocked


@quick
@given(scenes(), st.sets(addresses))
def test_nothing_falls_between(scene: Scene, failing: set[Address]) -> None:
    """`overlap`: a desired code that is live on a service stays live there, whatever creates of an apply fail."""
    scene.set_mode(Replace.OVERLAP)
    wanted = {
        (scene.targets[found.address.target].service, code) for found in scene.wanted.values() for code in found.codes
    }
    before = _live_codes(scene)
    scene.apply(become=lambda change: Outcome.REJECTED if change.address in failing else Outcome.CREATED)
    assert set() == wanted & before - _live_codes(scene)


def _live_codes(scene: Scene) -> set[tuple[str, str]]:
    return {(found.service, code) for found in scene.attempts if found.status is Status.LIVE for code in found.codes}


@quick
@given(scenes(), st.sampled_from(Obstacle))
def test_closed_gate(scene: Scene, obstacle: Obstacle) -> None:
    """With an obstacle nothing is created; but for an open loss, nothing is done at all, and no command named."""
    scene.obstacles = (obstacle,)
    allowed = (Action.RESTORE, Action.REMOVE) if obstacle is Obstacle.LOSS_OPEN else ()
    assert all(change.action in (Action.BLOCKED, *allowed) for change in scene.changes())
    assert scene.plan().gates
    named = [reason.steps for change in scene.changes() for reason in change.reasons if reason.steps]
    assert not named or obstacle is Obstacle.LOSS_OPEN


@quick
@given(scenes(), st.sets(addresses, min_size=1, max_size=4))
def test_selection(scene: Scene, chosen: set[Address]) -> None:
    """A selection gives the changes of the selected addresses, but for removals that depend on others."""
    known = {*scene.wanted, *(found.address for found in scene.attempts)}
    chosen &= known
    if not chosen:
        return
    whole, part = scene.plan(), scene.plan(*chosen)
    assert [_done(change) for change in whole.changes if change.address in chosen and _is_free(change)] == [
        _done(change) for change in part.changes if _is_free(change)
    ]
    changed = {change.address for change in whole.changes}
    assert len((chosen & {*scene.wanted}) - changed) == part.unchanged


@quick
@given(scenes(), st.data())
def test_globs(scene: Scene, data: st.DataObject) -> None:
    """A name with any kind of wildcard in place of any of its letters selects what the name does, and is no mistake."""
    known = sorted({*scene.wanted, *(found.address for found in scene.attempts)})
    if known:
        name: str = data.draw(st.sampled_from([*known, *(address.target for address in known)]))
        place = data.draw(st.sampled_from([place for place, letter in enumerate(name) if letter != "/"]))
        wildcard = data.draw(st.sampled_from(["?", "*", f"[{name[place]}]", f"[{name[place]}-z]", "[!.]"]))
        glob = name[:place] + wildcard + name[place + 1 :]
        alike = {one for one in known if matches(glob, one if name.count("/") == 2 else one.target)}
        assert name in {one for address in alike for one in (address, address.target)}
        selected, named = (
            [_done(change) for change in scene.changes(*patterns) if _is_free(change)] for patterns in ([glob], alike)
        )
        assert selected == named
        assert alike == {one for one in known if Selection.of((glob,)).has(one)}


@settings(max_examples=200)
@given(scenes(), st.randoms(use_true_random=False))
def test_spelling_of_urls(scene: Scene, random: Random) -> None:
    """However the URLs of services and webhooks are spelt, a plan, a status and the letters say the same."""
    one, other = (_conclusions(scene, spell) for spell in (lambda spellings: spellings[0], random.choice))
    assert one == other


def _conclusions(scene: Scene, choose: Callable[[Sequence[str]], str]) -> list[object]:
    """Return what is concluded where each URL is one of its spellings, but for URLs and digests."""

    def spelt(url: str) -> str:
        scheme, _, rest = normal_url(url).partition("://")
        host, _, path = rest.partition("/")
        return choose([f"{scheme}://{host}/{path}", f"{scheme.upper()}://{host.upper()}:443/{path}"])

    def of_fact(fact: AnyFact) -> AnyFact:
        if isinstance(fact, Received | Rebound):
            fact = replace(fact, base_url=spelt(fact.base_url))
        if isinstance(fact, Received):
            return replace(fact, url=spelt(fact.url))
        if isinstance(fact, Intended | Answered | Exists):
            if fact.attempt not in calls:
                template = spelt(fact.what.template or fact.what.url)
                url, own = filled(template, fact.attempt), template if fact.what.template else ""
                calls[fact.attempt] = replace(fact.what, url=url, template=own, base_url=spelt(fact.what.base_url))
            return replace(fact, what=calls[fact.attempt])
        return fact

    calls: dict[str, What] = {}
    lines = linked(None, 0, scene.facts)[1]  # a fact names another by the hash of its line: that stays
    record = fold([replace(line, fact=of_fact(line.fact)) for line in lines])
    desired = Desired(
        {name: replace(found, base_url=spelt(found.base_url)) for name, found in scene.targets.items()},
        {name: replace(found, template=spelt(found.template)) for name, found in scene.wanted.items()},
    )
    now = scene.now + 120
    planned = make_plan(desired, record, Standing("state.jsonl"), Selection(), now=now, allow_empty=True)
    known = status(desired, record, planned, now)
    heard = [(fact.first, fact.code, fact.url) for fact in scene.facts if isinstance(fact, Received)]
    templates = [*(each.template for each in scene.attempts), *(each.template for each in scene.wanted.values())]
    ours = [(scene.at, code, found.url) for found in scene.attempts for code in CODES]
    foreign = [(scene.at, code, filled(url, "f" * 32)) for url in templates for code in CODES]
    found = [
        match(desired, record, [Sighting(at, code, urlsplit(url).path, spelt(url)) for at, code, url in received])
        for received in (heard, ours, foreign)
    ]
    return [
        [(change.address, change.action, change.block, change.concerns, change.depends_on, change.request and
          change.request.codes, [message.name for message in (*change.reasons, *change.warnings)])
         for change in planned.changes],
        [(target.surplus, [attempt.id for attempt in target.awaiting_removal],
          [attempt.id for attempt in target.revived], [attempt.id for attempt in target.cancelled],
          {(route.code, route.attempts) for route in (*target.duplicates, *target.recorded_twice)},
          [(seen.attempt.id, seen.evidence, seen.supersedes) for seen in target.attempts])
         for target in known.targets],
        [(awaited.attempt.id, awaited.codes, [other.id for other in awaited.staying])
         for target in removals(known) for awaited in target.awaiting],
        [{(service_key(each.base_url), normal_url(each.url), each.code, each.first) for each in matched.observed}
         for matched in found],
        [{(each.code, normal_url(each.where), each.ambiguous, each.unmanaged) for each in matched.unexplained}
         for matched in found],
    ]  # fmt: skip


def _done(change: Change) -> tuple[object, ...]:
    return change.address, change.action, change.request, change.block, change.digest


def _is_free(change: Change) -> bool:
    return change.action in SENDS or change.action is Action.RESTORE


@quick
@given(scenes())
def test_shape(scene: Scene) -> None:
    """Each action has what it needs and nothing else, everything is sorted, and no kind of change is there twice."""
    known = {found.id for found in scene.attempts}
    changes = scene.changes()
    assert sorted(changes, key=lambda change: (change.address, change.action)) == changes
    assert {1} >= {*Counter((change.address, change.action) for change in changes).values()}
    for change in changes:
        assert (change.action in SENDS) == (change.request is not None)
        assert (change.action is Action.BLOCKED) == (change.block is not None)
        assert (change.action is Action.REMOVE) == (reasons.STILL_DELIVERS in change.warnings)
        assert change.reasons
        assert known.issuperset(change.concerns)
        assert [*change.concerns] == sorted(change.concerns)
        if change.action in (Action.REMOVE, Action.RESTORE, Action.REPLACE):
            assert {*change.concerns} <= {found.id for found in change.before}
        if change.action in (Action.REMOVE, Action.RESTORE, Action.RETRY):
            assert change.concerns
        if change.block in (Block.UNRESOLVED, Block.IN_FLIGHT):
            assert all(found.blocks for found in change.blocking)
            assert change.blocking


@quick
@given(scenes())
def test_digest_is_what_is_done(scene: Scene) -> None:
    """Two changes of one plan have one digest only if they are one; a second plan gives the same digests."""
    changes = scene.changes()
    assert len(changes) == len({change.digest for change in changes})
    assert [change.digest for change in changes] == [change.digest for change in scene.plan().changes]


@quick
@given(scenes())
def test_commands_name_attempts(scene: Scene) -> None:
    """Each command about attempts names them."""
    messages = [message for change in scene.changes() for message in (*change.reasons, *change.warnings)]
    steps = [step.command for message in messages for step in message.steps]
    assert all("--attempt" in command for command in steps if {"resolve", "removal"} & {*command[1:3]})


@quick
@given(scenes())
def test_status(scene: Scene) -> None:
    """The status has every attempt that is in force or unresolved, once, with evidence for each of its codes."""
    observed = [found for target in scene.status().targets for found in target.attempts]
    expected = {found.id for found in scene.attempts if found.status is not Status.GONE}
    assert Counter(expected) == Counter(found.attempt.id for found in observed)
    assert all({*found.attempt.codes} == {*found.evidence} for found in observed)


@quick
@given(scenes())
def test_overlap(scene: Scene) -> None:
    """`overlap: refuse`: no two desired subscriptions of one service share a code, once applied, but for pairs."""
    strict = all(found.overlap is Overlap.REFUSE for found in scene.targets.values())
    requests: Counter[tuple[str, str]] = Counter(
        (scene.targets[change.address.target].service, code)
        for change in scene.changes()
        if change.request
        for code in change.request.codes
    )
    assert not strict or {1} >= {*requests.values()}


def test_no_target() -> None:
    """Nothing desired, nothing recorded, no target: an empty plan."""
    desired = Desired({}, {})
    record = fold(linked(None, 0, [Begun(at="2026-11-20T13:30:00Z", record="c0ffee")])[1])
    plan = make_plan(desired, record, Standing("state.jsonl"), Selection(), now=0.0)
    assert ([], {}, 0) == (plan.changes, plan.targets, plan.unchanged)
