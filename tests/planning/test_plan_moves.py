"""Codes that move between subscriptions, codes too many, and codes delivered twice."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.value_scene import EUROPE, Scene, actions, address_of, hooks, target

from reconciler.model.desired import Overlap, Replace
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Block, Request, Surplus
from reconciler.model.record import Status


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record, and nothing wanted."""
    return Scene()


# codes that move


def test_move_code(scene: Scene) -> None:
    """A code moves to a new subscription, `overlap`: created beside, and the old one goes only after that."""
    held = scene.hold("old", "ONB10001", hooks("old"))
    scene.want("new", "ONB10001", hooks("new"))
    create, retire = scene.changes()
    assert (Action.CREATE, Request(("ONB10001",), hooks("new"))) == (create.action, create.request)
    assert (
        (f"ONB10001: also delivered to {hooks('old')} until the operator removes europe/staging/old (attempt {held})"),
    ) == create.warnings
    assert (Action.RETIRE, (address_of("new"),)) == (retire.action, retire.depends_on)
    assert "after its event codes are taken over by europe/staging/new" == retire.reasons[-1]


def test_move_code_wait(scene: Scene) -> None:
    """A code moves, `wait`: the old subscription is retired, the new one is created once that is removed."""
    scene.set_mode(Replace.WAIT)
    held = scene.hold("old", "ONB10001", hooks("old"))
    scene.want("new", "ONB10001", hooks("new"))
    blocked, retire = scene.changes()
    assert (Block.WAITS, (held,)) == (blocked.block, blocked.concerns)
    assert (Action.RETIRE, ()) == (retire.action, retire.depends_on)
    scene.apply()
    assert Block.WAITS is scene.change().block
    scene.remove(held)
    assert Action.CREATE is scene.change().action


def test_move_code_between_wanted_wait(scene: Scene) -> None:
    """What no plan retires, `wait`: a code too many of a wanted subscription hinders until `state retire` is said."""
    scene.set_mode(Replace.WAIT)
    held = scene.hold("old", "ONB10001 ONB10002", hooks("old"))
    scene.want("old", "ONB10002", hooks("old"))
    scene.want("new", "ONB10001", hooks("new"))
    change = scene.change()
    assert (Block.WAITS, (held,), (scene.attempt(held),)) == (change.block, change.concerns, change.waits_for)
    assert (
        (
            f"replace: wait; waiting for the removal of europe/staging/old (attempt {held}, {hooks('old')});"
            f" to have it removed first, run: reconciler state retire europe/staging/old --attempt {held}"
        ),
    ) == change.reasons
    scene.ask_away(held)
    for one in scene.changes():
        assert one.reasons[0].endswith(f"reconciler state removed europe/staging/old --attempt {held}")


def test_swap_codes_wait(scene: Scene) -> None:
    """Codes change places, `wait`: whoever does what the reasons name gets there, and no route is created twice."""
    scene.set_mode(Replace.WAIT)
    a, b = scene.hold("a", "ONB10001", hooks("a")), scene.hold("b", "ONB10002", hooks("b"))
    scene.want("a", "ONB10002", hooks("a"))
    scene.want("b", "ONB10001", hooks("b"))
    assert [f"retire europe/staging/b --attempt {b}", f"retire europe/staging/a --attempt {a}"] == _commands(scene)
    scene.ask_away(a)
    assert [f"retire europe/staging/b --attempt {b}", f"removed europe/staging/a --attempt {a}"] == _commands(scene)
    scene.remove(a)
    scene.apply()
    assert [f"retire europe/staging/b --attempt {b}"] == _commands(scene)
    scene.ask_away(b)
    assert [f"removed europe/staging/b --attempt {b}"] == _commands(scene)
    scene.remove(b)
    scene.apply()
    assert [] == scene.changes()


def _commands(scene: Scene) -> list[str]:
    """The `state` command that each change that waits, and nothing else is planned, names."""
    assert {Block.WAITS} == {change.block for change in scene.changes()}
    return [reason.partition("reconciler state ")[2] for change in scene.changes() for reason in change.reasons]


def test_move_code_between_wanted(scene: Scene) -> None:
    """A code moves between two wanted subscriptions: created in one, surplus in the other, nothing retired."""
    held = scene.hold("old", "ONB10001 ONB10002", hooks("old"))
    scene.want("old", "ONB10002", hooks("old"))
    scene.hold("new", "ONB10003", hooks("new"))
    scene.want("new", "ONB10001 ONB10003", hooks("new"))
    change = scene.change()
    assert (Action.EXTEND, Request(("ONB10001",), hooks("new"))) == (change.action, change.request)
    assert "ONB10001: also delivered to" in change.warnings[1]
    assert [Surplus(address_of("old"), held, ("ONB10001",))] == scene.surplus()


def test_move_code_and_url(scene: Scene) -> None:
    """A URL changes and one code moves away: the old attempt goes only once both creates are done."""
    old = scene.hold("one", "ONB10001 ONB10002", hooks("old"))
    scene.want("one", "ONB10001", hooks("new"))
    scene.want("two", "ONB10002", hooks("two"))
    replaced, retire, create = scene.changes()
    assert (Action.REPLACE, ()) == (replaced.action, replaced.concerns)
    assert (Action.RETIRE, None, (old,)) == (retire.action, retire.request, retire.concerns)
    assert (address_of("one"), address_of("two")) == retire.depends_on
    assert (
        (
            "its event codes move to another subscription",
            "after its event codes are taken over by europe/staging/one, europe/staging/two",
        ), (),
    ) == (retire.reasons, retire.warnings)  # fmt: skip
    assert Action.CREATE is create.action
    scene.apply()
    assert [] == scene.changes()


def test_move_code_and_url_fails(scene: Scene) -> None:
    """Where the create that takes a code over fails, what delivers the code stays."""
    old = scene.hold("one", "ONB10001 ONB10002", hooks("old"))
    scene.want("one", "ONB10001", hooks("new"))
    scene.want("two", "ONB10002", hooks("two"))
    scene.apply(become=lambda change: Outcome.REJECTED if change.address.name == "two" else Outcome.CREATED)
    assert Status.LIVE is scene.attempt(old).status
    assert [("one", Action.RETIRE), ("two", Action.CREATE)] == actions(scene.changes())


def test_retire_waits_for_what_leaves(scene: Scene) -> None:
    """A retire waits for creates of its codes alone, and not for those its own address sees to."""
    scene.declare(target(EUROPE, overlap=Overlap.ALLOW))
    scene.hold("one", "ONB10001", hooks("old"))
    scene.hold("one", "ONB10001", hooks("one"))
    scene.want("one", "ONB10001", hooks("one"))
    scene.want("two", "ONB10001", hooks("two"))
    create, retire = sorted(scene.changes(), key=lambda change: change.action)
    assert (Action.CREATE, (), Action.RETIRE, ()) == (
        create.action, create.warnings, retire.action, retire.depends_on,
    )  # fmt: skip


def test_not_selected_taker(scene: Scene) -> None:
    """Where what takes the codes over is not selected, the retire says that it should come first."""
    scene.hold("old", "ONB10001 ONB10002", hooks("old"))
    scene.want("new", "ONB10001", hooks("new"))
    scene.want("other", "ONB10002", hooks("other"))
    (retire,) = scene.changes("*/*/old")
    takers = "europe/staging/new, europe/staging/other"
    warning = f"its event codes move to {takers}, not selected: apply {takers} first"
    assert ((warning,), ()) == (retire.warnings, retire.depends_on)


# surplus and duplicates


def test_surplus(scene: Scene) -> None:
    """A code less is no change and a warning in every plan, until its removal is asked for on purpose."""
    scene.want("offers", "ONB10001", hooks("offers"))
    held = scene.hold("offers", "ONB10001 ONB10002", hooks("offers"))
    plan = scene.plan()
    assert ([], 1, [Surplus(address_of("offers"), held, ("ONB10002",))]) == (
        plan.changes, plan.unchanged, scene.surplus(),
    )  # fmt: skip
    scene.ask_away(held)
    assert (Action.REPLACE, []) == (scene.change().action, scene.surplus())


def test_duplicate(scene: Scene) -> None:
    """A late `created` beats --not-created; where a second attempt exists by then, both are live and one is surplus."""
    scene.want("offers", "ONB10001", hooks("offers"))
    late = scene.lose("offers", "ONB10001", hooks("offers"))
    scene.resolve(late, created=False)
    second = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.hear(late, Outcome.CREATED)
    assert [Status.LIVE, Status.LIVE] == [scene.attempt(one).status for one in (late, second)]
    assert ([], [Surplus(address_of("offers"), second, ("ONB10001",), late)]) == (scene.changes(), scene.surplus())
    scene.ask_away(second)
    assert ([], []) == (scene.changes(), scene.surplus())


def test_surplus_of_one_address_is_sorted_by_attempt(scene: Scene) -> None:
    """However old each is: a list that is read by programs has one order."""
    scene.want("offers", "ONB10001", hooks("offers"))
    kept, *more = [scene.hold("offers", "ONB10001", hooks("offers")) for _ in range(11)]
    assert more != sorted(more)
    assert [(one, kept) for one in sorted(more)] == [(one.attempt, one.twin) for one in scene.surplus()]


def test_surplus_of_what_is_partly_to_be_renamed(scene: Scene) -> None:
    """Of the codes too many, only those that no other subscription is to take over are surplus."""
    scene.hold("a", "ONB10001 ONB10002 ONB10003", hooks("a"))
    scene.want("a", "ONB10001", hooks("a"))
    scene.want("b", "ONB10002", hooks("a"))
    assert [("ONB10003",)] == [surplus.codes for surplus in scene.surplus()]


@pytest.mark.parametrize(
    ("template", "held", "is_renamed"),
    [
        ("{hooks}/{name}/in", "https://hooks.example/before/in", True),
        ("https://hooks.example/{name}/in", "https://hooks.example/else/in", False),
        ("https://hooks.example/after/in", "https://hooks.example/before/in", False),
    ],
    ids=["name", "other URL", "written out"],
)
def test_renamed_with_its_url(scene: Scene, template: str, held: str, *, is_renamed: bool) -> None:
    """Where only `{name}` made another URL, `state mv` alone does not do: both ways out are named."""
    scene.hold("before", "ONB10001", held)
    scene.want("after", "ONB10001", "https://hooks.example/after/in")
    address = address_of("after")
    scene.wanted[address] = replace(scene.wanted[address], template=template)
    create, retire = scene.changes()
    assert (Action.CREATE, Action.RETIRE) == (create.action, retire.action)
    told = [warning for warning in create.warnings if "was probably renamed" in warning]
    both = (
        "europe/staging/before was probably renamed to europe/staging/after, and its URL changed only with {name}:"
        " apply creates it again at the new URL and requests the removal of the old one. To keep the old one instead,"
        " write the old name in place of {name} in webhookUrl of after, so that it is {hooks}/before/in, and run:"
        " reconciler state mv europe/staging/before europe/staging/after"
    )
    assert ([both] if is_renamed else []) == told


def _renamed_from(scene: Scene) -> tuple[str, ...]:
    """The warnings of a create whose name and URL changed together, from whatever `before` is."""
    scene.want("after", "ONB10001", "https://hooks.example/after/in")
    address = address_of("after")
    scene.wanted[address] = replace(scene.wanted[address], template="https://hooks.example/{name}/in")
    (create,) = [change for change in scene.changes() if change.address == address]
    assert Action.CREATE is create.action
    return create.warnings


def test_renamed_from_what_may_not_exist(scene: Scene) -> None:
    """Of a create of unknown outcome nothing is said as a fact, and no removal is announced."""
    lost = scene.lose("before", "ONB10001", "https://hooks.example/before/in")
    also, renamed = _renamed_from(scene)
    assert (
        f"ONB10001: if europe/staging/before (attempt {lost}) was created, which is not known, also delivered to"
        " https://hooks.example/before/in until the operator removes it"
    ) == also
    assert "apply creates it at the new URL. Whether the old one was created is not known; if it was, " in renamed
    assert (
        "resolve it first; if it was created, write the old name in place of {name} in webhookUrl of after, " in renamed
    )
    assert "again" not in renamed


def test_renamed_from_what_awaits_removal(scene: Scene) -> None:
    """Its removal is not requested a second time, so that is not announced."""
    scene.retire(scene.hold("before", "ONB10001", "https://hooks.example/before/in"))
    _, renamed = _renamed_from(scene)
    assert "apply creates it again at the new URL; the old one awaits removal. To keep the old one instead, " in renamed
    assert "requests the removal" not in renamed
