"""What approving a plan approves: the digest is another where something else would be done, and only there."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from support.value_scene import AT, BY, EUROPE, USA, Scene, hooks, target

from reconciler.model.desired import Replace
from reconciler.model.entry import Begun, Bound
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def scene() -> Scene:
    """One subscription to create, one as wanted; and a second target, of another service."""
    scene = Scene(recipients=("age1one", "age1two"))
    scene.declare(target(USA, base_url="https://api.usa.example"))
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.want("loans", "LOA10013", hooks("loans"))
    scene.hold("loans", "LOA10013", hooks("loans"))
    return scene


def digest(scene: Scene) -> str:
    """What is to be approved for europe/staging."""
    return scene.plan().targets[EUROPE].digest


def test_what_a_digest_is_made_of(scene: Scene) -> None:
    """To the letter: a plan that was approved is the same one for every version of the program that plans the same."""
    scene.want("öre", "ONB10012", hooks("öre"))
    there, record = scene.targets[EUROPE], scene.records[EUROPE]
    text = (
        '{"changes":[["europe/staging/offers","create",[["ONB10011"],"https://hooks.partner.example/offers"],[],null],'
        '["europe/staging/\\u00f6re","create",[["ONB10012"],"https://hooks.partner.example/\\u00f6re"],[],null]],'
        f'"recipients":["age1one","age1two"],"record":"{record.id}",'
        f'"service":["{there.auth_url}","{there.base_url}","{there.audience_base}"],"target":"europe/staging"}}'
    )
    plan = scene.plan("europe/*")
    assert f"sha256:{sha256(text.encode()).hexdigest()}" == plan.targets[EUROPE].digest
    text = f'[["europe/staging","{plan.targets[EUROPE].digest}"]]'
    assert f"sha256:{sha256(text.encode()).hexdigest()}" == plan.digest
    assert (record.head, record.entries) == (plan.targets[EUROPE].head, plan.targets[EUROPE].entries)


def redeclare(**fields: Any) -> Callable[[Scene], None]:
    """Settings that name another address for europe/staging."""

    def act(scene: Scene) -> None:
        scene.targets[EUROPE] = replace(scene.targets[EUROPE], **fields)

    return act


def reject_before(scene: Scene) -> None:
    """An earlier attempt at the same address came to nothing."""
    scene.hear(scene.begin("offers", "ONB10011", hooks("offers")), Outcome.REJECTED)


def other_record(scene: Scene) -> None:
    """The same history in a record of its own."""
    first, digest = scene.journals[EUROPE][0]
    assert isinstance(first, Begun)
    scene.journals[EUROPE][0] = (replace(first, record="another"), digest)
    scene.refold()


def bind(*accounts: str | None, base_url: str = "https://api.service.example") -> Callable[[Scene], None]:
    """The record is bound to accounts, one after the other, at a service."""

    def act(scene: Scene) -> None:
        for account in accounts:
            bound = Bound(at=AT, by=BY, base_url=base_url, account=account)
            scene.journals[EUROPE].append((bound, f"{account} {base_url}"))
        scene.refold()

    return act


def rename(scene: Scene) -> None:
    """The subscription to create is called otherwise."""
    scene.drop("offers")
    scene.want("deals", "ONB10011", hooks("offers"))


def fulfil_another(scene: Scene) -> None:
    """One more is wanted, and in force."""
    scene.want("deals", "ONB10001", hooks("deals"))
    scene.hold("deals", "ONB10001", hooks("deals"))


CHANGED: dict[str, Callable[[Scene], None]] = {
    "another code": lambda scene: scene.want("offers", "ONB10001", hooks("offers")),
    "another URL": lambda scene: scene.want("offers", "ONB10011", hooks("other")),
    "another name": rename,
    "one change more": lambda scene: scene.drop("loans"),
    "one change less": lambda scene: scene.drop("offers"),
    "an earlier attempt": reject_before,
    "another record": other_record,
    "another account": bind("one", "another"),
    "another service of the record": bind(None, base_url="https://api.elsewhere.example"),
    "another base_url": redeclare(base_url="https://api.moved.example"),
    "another auth_url": redeclare(auth_url="https://login.moved.example"),
    "another audience_base": redeclare(audience_base="https://audience.example"),
    "another recipient": lambda scene: setattr(scene, "recipients", ("age1one", "age1three")),
    "no recipients": lambda scene: setattr(scene, "recipients", ()),
}

SAME: dict[str, Callable[[Scene], None]] = {
    "nothing": lambda scene: None,
    "an unchanged address more": fulfil_another,
    "an entry about another address": lambda scene: scene.hear("a1", Outcome.CREATED),
    "recipients in another order": lambda scene: setattr(scene, "recipients", ("age1two", "age1one")),
    "a change of another target": lambda scene: scene.want("usa/staging/offers", "ONB10011", hooks("usa")),
    "the account, by the first create of all": bind("one"),
    "the account that it has": bind("one", "one", None),
    "another target": lambda scene: scene.declare(target(USA, base_url="https://api.other.example")),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_changed(scene: Scene, change: Callable[[Scene], None]) -> None:
    """What is to be done, on which state, where and for whom: each makes another digest, of target and plan."""
    before, whole = digest(scene), scene.plan().digest
    change(scene)
    assert before != digest(scene)
    assert whole != scene.plan().digest


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_same(scene: Scene, change: Callable[[Scene], None]) -> None:
    """What happens to other addresses and other targets makes no difference to a target's digest."""
    before = digest(scene)
    change(scene)
    assert before == digest(scene)


def test_which_is_retired() -> None:
    """Which of two attempts is to be retired, address and action do not say, and the digest does."""
    scene = Scene()
    for path in ("one", "two"):
        scene.hold("offers", "ONB10011", hooks(path))
    scene.want("offers", "ONB10011", hooks("one"))
    before = scene.change()
    digest_before = digest(scene)
    scene.want("offers", "ONB10011", hooks("two"))
    assert [Action.RETIRE, Action.RETIRE] == [before.action, scene.change().action]
    assert digest_before != digest(scene)


def test_plan_digest(scene: Scene) -> None:
    """The plan's digest covers the targets', and a selection of all targets is the same."""
    whole = scene.plan()
    assert whole.digest == scene.plan("*/*").digest
    assert whole.digest != scene.plan("europe/*").digest
    scene.want("usa/staging/offers", "ONB10011", hooks("usa"))
    assert whole.digest != scene.plan().digest


def test_form(scene: Scene) -> None:
    """A digest says how it was made, and is one from run to run and from machine to machine."""
    assert "sha256:" == digest(scene)[:7]
    assert 64 == len(digest(scene)[7:])
    assert digest(Scene()) == digest(Scene())


def test_what_a_blocked_change_waits_for() -> None:
    """A blocked change does nothing: which attempts of other addresses it waits for does not enter into the digest."""
    digests = set()
    for attempts in (1, 2):
        scene = Scene()
        scene.set_mode(Replace.WAIT)
        for _ in range(attempts):
            scene.hold("old", "ONB10001", hooks("old"))
        scene.want("new", "ONB10001", hooks("new"))
        (change,) = scene.changes("europe/staging/new")
        assert (Action.BLOCKED, attempts) == (change.action, len(change.concerns))
        digests.add(scene.plan("europe/staging/new").targets[EUROPE].digest)
    assert 1 == len(digests)
