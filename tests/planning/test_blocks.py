"""What blocks a change, and what is said about it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.refusals import raised
from support.scene import BY, EUROPE, SERVICE, USA, Scene, commands, hooks, names, target

from reconciler.errors import Refused
from reconciler.model.address import Selection, TargetName
from reconciler.model.desired import Overlap, Replace
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Block
from reconciler.planning.planner import plan
from reconciler.planning.reasons import who
from reconciler.planning.status import removals
from reconciler.record.gates import Obstacle, Standing, obstacle_messages

OTHER = "https://api.other.example"
ONE, TWO = (f"sha256:{digit * 64}" for digit in "12")


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record, and nothing desired."""
    return Scene()


# gates 1 and 2: the record


@pytest.mark.parametrize("obstacle", [Obstacle.OTHER_RECORD, Obstacle.CLOSED])
def test_other_record(scene: Scene, obstacle: Obstacle) -> None:
    """Another record, or one that was closed, is named as what it is."""
    scene.obstacles = (obstacle,)
    assert [obstacle.value] == [message.name for message in scene.plan().gates]


def test_what_is_told_of_the_record(scene: Scene) -> None:
    """Each missing head and each obstacle, with the id that `config/` names."""
    standing = Standing("state.jsonl", (Obstacle.OTHER_RECORD, Obstacle.HEADS_MISSING), ("d" * 64, "e" * 64))
    found = plan(replace(scene.desired, record="f" * 32), scene.record, standing, Selection(), now=scene.now)
    told = obstacle_messages(scene.record, standing, scene.now, "f" * 32)
    assert (standing.missing, told) == (found.heads_missing, found.gates)


def test_second_gate_moves(scene: Scene) -> None:
    """While a loss is open nothing is removed that a blocked create is to replace, in either mode."""
    scene.want("offers", "ONB10001", hooks("new"))
    scene.hold("offers", "ONB10001", hooks("old"))
    scene.want("to", "ONB10002", hooks("to"))
    scene.hold("from", "ONB10002", hooks("from"))
    scene.open_loss()
    for mode in Replace:
        scene.set_mode(mode)
        assert {"from": Block.DEPENDS, "offers": Block.GATE, "to": Block.GATE} == {
            change.address.name: change.block for change in scene.changes()
        }


# gate 3: the target


@pytest.mark.parametrize(("base_url", "says"), [(SERVICE, "does not belong"), ("http://127.0.0.1:1", "belongs")])
def test_record_of_a_sandbox(scene: Scene, base_url: str, says: str) -> None:
    """Where only one of the two services is a sandbox, another place is named, and no way to make them one."""
    scene.declare(target(base_url=base_url))
    scene.hold("offers", "ONB10001", hooks("offers"))
    scene.declare(target(base_url="http://127.0.0.1:1" if base_url == SERVICE else SERVICE))
    ((step,),) = (message.steps for message in scene.plan().targets[EUROPE].foreign)
    assert ((), True) == (step.command, f"this record {says} to a sandbox" in step.text)


@pytest.mark.parametrize(("account", "is_bound"), [(ONE, True), (TWO, False), (None, True)])
def test_other_account(scene: Scene, account: str | None, *, is_bound: bool) -> None:
    """A target that is bound to another account creates nothing; where no client id is set, nobody knows."""
    scene.hear(scene.begin("old", "ONB10002", hooks("old"), account=ONE), Outcome.CREATED)
    scene.want("offers", "ONB10001", hooks("offers"))
    accounts = {EUROPE: account} if account else {}
    change = next(change for change in scene.plan(accounts=accounts).changes if change.address.name == "offers")
    assert (None if is_bound else Block.FOREIGN) is change.block
    for message in scene.plan(accounts=accounts).targets[EUROPE].foreign:
        assert (
            "to the account sha256:111111111111…, but the settings name sha256:222222222222…; nothing" in message.what
        )
    scene.rebind(EUROPE, account=TWO)
    assert () == scene.plan(accounts=accounts).targets[EUROPE].foreign


# gate 4: unknown and in flight


@pytest.mark.parametrize(("by", "words"), [
    ({"actor": "a", "user": "u"}, "a"), ({"user": "u", "host": "h"}, "u on h"), ({}, "?"),
    ({"user": "u", "rerun_by": "b"}, "b, rerunning a run of u"),
    ({"actor": "a", "rerun_by": "b", "url": "https://x", "host": "h"}, "b, rerunning a run of a on h (https://x)"),
])  # fmt: skip
def test_who(by: dict[str, str], words: str) -> None:
    """Whoever began the run, by name, with the machine or the page of the run."""
    assert words == who(by)


@pytest.mark.parametrize("wanted", [True, False])
def test_unresolved(scene: Scene, *, wanted: bool) -> None:
    """An unknown outcome blocks its address, desired or not, and says since when, by whom, and how to resolve it."""
    if wanted:
        scene.want("offers", "ONB10001 ONB10002", hooks("offers"))
    scene.hold("offers", "ONB10002", hooks("offers"))
    lost = scene.lose("offers", "ONB10001", hooks("offers"))
    change = scene.change()
    assert (Action.BLOCKED, Block.UNRESOLVED, None, (scene.attempt(lost),)) == (
        change.action, change.block, change.request, change.blocking,
    )  # fmt: skip
    (message,) = change.reasons
    assert f"{scene.attempt(lost).since} by {BY['user']} on {BY['host']}" in message.what
    assert message.what.endswith("outcome unknown; do not create it by other means; check with the operator")
    resolve = "reconciler state resolve europe/staging/offers"
    assert [f"{resolve} --created --attempt {lost}", f"{resolve} --not-created --attempt {lost}"] == commands(change)


def test_in_flight(scene: Scene) -> None:
    """A call that may be in flight blocks, and says until when; then it is unresolved."""
    scene.want("offers", "ONB10001", hooks("offers"))
    attempt = scene.attempt(scene.begin("offers", "ONB10001", hooks("offers")))
    (change,) = scene.plan(now=attempt.settled_by - 1).changes
    assert (Block.IN_FLIGHT, ["in-flight"]) == (change.block, names(change))
    assert all(step.text.startswith("after ") for step in change.reasons[0].steps)
    (change,) = scene.plan(now=attempt.settled_by).changes
    assert (Block.UNRESOLVED, ["unresolved"]) == (change.block, names(change))


def test_unresolved_elsewhere(scene: Scene) -> None:
    """What may be in force under another address blocks, as long as it may still be in flight as such."""
    attempt = scene.attempt(scene.begin("before", "ONB10001", hooks("offers")))
    scene.want("after", "ONB10001", hooks("offers"))
    for now, block in ((attempt.settled_by - 1, Block.IN_FLIGHT), (attempt.settled_by, Block.UNRESOLVED)):
        changes = scene.plan(now=now).changes
        assert [(block, (attempt,))] * 2 == [(change.block, change.blocking) for change in changes]


# in force elsewhere


def test_renamed_to_a_name_in_use(scene: Scene) -> None:
    """What is undesired there is moved away first, and the step says so: it does not rename what was renamed."""
    scene.hold("before", "ONB10001", hooks("offers"))
    scene.hold("after", "ONB10002", hooks("old"))
    scene.want("after", "ONB10001", hooks("offers"))
    blocked = next(change for change in scene.changes() if change.block is Block.ELSEWHERE)
    assert ["reconciler state mv europe/staging/after europe/staging/after-moved"] == commands(blocked)
    assert "free its new name" in blocked.reasons[0].steps[0].text


def test_renamed(scene: Scene) -> None:
    """A renamed subscription is not created: `state mv` is named, and no operator is asked to remove it meanwhile."""
    scene.hold("before", "ONB10001", hooks("{attempt}"))
    scene.want("after", "ONB10001", hooks("{attempt}"))
    blocked, depends = scene.changes()
    assert (Block.ELSEWHERE, Block.DEPENDS) == (blocked.block, depends.block)
    assert ["reconciler state mv europe/staging/before europe/staging/after"] == commands(blocked)
    assert (["in-force-elsewhere"], False) == (names(blocked), "new name" in blocked.reasons[0].steps[0].text)
    scene.apply()
    assert [] == removals(scene.status())
    scene.move("before", "after")
    assert [] == scene.changes()


def test_exchanged_names(scene: Scene) -> None:
    """Whoever pastes the commands of a plan for two exchanged names gets there, and nothing is created."""
    scene.hold("a", "ONB10001", hooks("a"))
    scene.hold("b", "ONB10002", hooks("b"))
    scene.want("a", "ONB10002", hooks("b"))
    scene.want("b", "ONB10001", hooks("a"))
    for _ in range(4):
        found = [command.split()[-2:] for change in scene.changes() for command in commands(change)]
        if found:
            scene.move(*found[0])
    assert [] == scene.changes()


def test_elsewhere_and_desired_there(scene: Scene) -> None:
    """What is desired under its own address too was not renamed: the removal of the code is named instead."""
    held = scene.hold("other", "ONB10001 ONB10002", hooks("offers"))
    scene.want("other", "ONB10002", hooks("offers"))
    scene.want("offers", "ONB10001", hooks("offers"))
    request = f"reconciler removal request europe/staging/other --attempt {held} --code ONB10001"
    assert ([request], ["in-force-elsewhere"]) == (commands(scene.change()), names(scene.change()))
    scene.request(held, "ONB10001")
    assert [request.replace("request", "confirm")] == commands(scene.change())
    scene.confirm(held, "ONB10001")
    assert Action.CREATE is scene.change().action


def test_elsewhere_awaiting_removal(scene: Scene) -> None:
    """What awaits removal still delivers; renamed, it is restored. What a person asked to remove is waited for."""
    held = scene.hold("before", "ONB10001", hooks("offers"))
    scene.request(held, by_plan=True)
    scene.want("after", "ONB10001", hooks("offers"))
    assert ["reconciler state mv europe/staging/before europe/staging/after"] == commands(scene.change())
    scene.request(held)
    assert [f"reconciler removal confirm europe/staging/before --attempt {held}"] == commands(scene.change())


@pytest.mark.parametrize("later_is_live", [True, False])
@pytest.mark.parametrize("refuses", [(), (EUROPE,), (USA,), (EUROPE, USA)])
def test_desired_twice_by_modes(refuses: tuple[TargetName, ...], *, later_is_live: bool) -> None:
    """One target that refuses an overlap is enough; what is in force blocks another, whatever their order."""
    modes = {name: Overlap.REFUSE if name in refuses else Overlap.ALLOW for name in (EUROPE, USA)}
    scene = Scene({EUROPE: target(overlap=modes[EUROPE]), USA: target(USA, base_url=OTHER, overlap=modes[USA])})
    scene.hold("usa/staging/old", "ONB10009", hooks("old"))
    scene.rebind(USA, SERVICE)
    if later_is_live:
        scene.hold("usa/staging/offers", "ONB10001", hooks("before"))
    scene.want("usa/staging/old", "ONB10009", hooks("old"))
    scene.want("offers", "ONB10001", hooks("offers"))
    scene.want("usa/staging/offers", "ONB10001", hooks("usa"))
    blocked = [str(change.address) for change in scene.changes() if change.block is Block.ELSEWHERE]
    loser = ["europe/staging/offers", "usa/staging/offers"] if later_is_live else ["usa/staging/offers"]
    assert (loser if refuses else []) == blocked


# which targets and addresses


def test_emptied(scene: Scene) -> None:
    """Nothing desired of a target with something live is refused, also where something is of another one."""
    scene.declare(target(USA, base_url=OTHER))
    scene.hold("offers", "ONB10001", hooks("offers"))
    scene.want("usa/staging/offers", "ONB10001", hooks("offers"))
    message = raised(Refused, scene.plan, allow_empty=False)
    assert ("nothing-desired", EUROPE) == (message.name, message.where)
