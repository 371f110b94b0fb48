"""Attempts that were sent again, or taken for not created, and may exist: what plans and the status say of them."""

from __future__ import annotations

import pytest
from support.scene import EUROPE, Scene, actions, commands, hooks, names, target, warned

from reconciler.model.desired import Overlap, Unknown
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Applied, Block, Verdict
from reconciler.model.record import Status
from reconciler.planning.status import removals
from reconciler.reports import html, markdown
from reconciler.reports.apply import apply_document
from reconciler.reports.document import Alert
from reconciler.reports.json import status_json
from reconciler.reports.plan import plan_document
from reconciler.reports.removals import removals_document
from reconciler.reports.status import status_document
from reconciler.reports.terminal import render
from reconciler.values import stamp

OWN, NEW = hooks("{attempt}"), hooks("new/{attempt}")


@pytest.fixture
def scene() -> Scene:
    """One target that sends unknown creates again, with one such of two codes."""
    scene = Scene({EUROPE: target(overlap=Overlap.ALLOW, unknown=Unknown.RETRY)})
    scene.want("offers", "ONB10001 ONB10002", OWN)
    scene.lose("offers", "ONB10001 ONB10002", OWN)
    return scene


def supersedes(scene: Scene) -> list[str]:
    """Return what an endpoint may drop, as `status --format json` lists it for offers."""
    entry = status_json(scene.status())["targets"][EUROPE]["addresses"][f"{EUROPE}/offers"]
    assert entry["live"]
    listed: list[str] = entry["supersedes"]
    return listed


def test_sent_again_with_fewer_codes(scene: Scene) -> None:
    """The code that another address has taken over may come twice: the plan warns, and the endpoint can tell."""
    (lost,) = scene.attempts
    scene.want("offers", "ONB10001", OWN)
    scene.apply()
    assert [lost.id] == supersedes(scene)  # nobody desires the other code
    scene.want("loans", "ONB10002", OWN)
    assert (Action.CREATE, ["moving-codes"]) == (scene.change().action, warned(scene.change()))
    assert scene.change().warnings[0].what.endswith(f"(attempt {lost.id}), if that attempt was created")
    assert [] == supersedes(scene)  # it may be all that delivers the other code
    scene.apply()
    assert [lost.id] == supersedes(scene)
    scene.receive(lost.url, "ONB10002")
    assert (Action.REMOVE, (lost.id,)) == (scene.change().action, scene.change().concerns)


def test_sent_again_to_another_url(scene: Scene) -> None:
    """The old URL is free for another address: the plan warns, and the endpoint can tell."""
    (lost,) = scene.attempts
    scene.want("offers", "ONB10001 ONB10002", NEW)
    scene.want("loans", "ONB10001", OWN)
    assert [("loans", Action.BLOCKED), ("offers", Action.RETRY)] == actions(scene.changes())
    scene.apply()
    assert (Action.CREATE, ["moving-codes"]) == (scene.change().action, warned(scene.change()))
    scene.apply()
    assert ([], [lost.id]) == (scene.changes(), supersedes(scene))
    scene.receive(lost.url, "ONB10001")
    assert (Action.REMOVE, (lost.id,)) == (scene.change().action, scene.change().concerns)


def test_warned_of_nothing_else(scene: Scene) -> None:
    """A create of other codes, or one after the superseded attempt was settled, has no warning."""
    (lost,) = scene.attempts
    scene.want("offers", "ONB10001", OWN)
    scene.apply()
    scene.want("loans", "ONB10003", OWN)
    assert [] == warned(scene.change())
    scene.want("loans", "ONB10002", OWN)
    scene.resolve(lost.id, created=False)
    assert [] == warned(scene.change())


@pytest.mark.parametrize("url", [OWN, hooks("shared")])
def test_wrong_word(url: str) -> None:
    """Wrongly said to be not created: with an URL of its own its first notification has its removal requested."""
    scene = Scene()
    scene.want("offers", "ONB10001", url)
    lost = scene.lose("offers", "ONB10001", url)
    scene.resolve(lost, created=False)
    scene.apply()
    second = scene.attempts[1].id
    assert ([lost] if url == OWN else []) == supersedes(scene)
    scene.receive(scene.attempt(lost).url, "ONB10001")
    if url == OWN:
        assert [lost] == supersedes(scene)
        planned = scene.plan().targets[EUROPE]
        assert [(second, lost)] == [found.attempts for found in planned.duplicates]
        assert (Action.REMOVE, (lost,), ["superseded"]) == (
            scene.change().action, scene.change().concerns, names(scene.change()),
        )  # fmt: skip
        scene.apply()
        assert (Status.AWAITING_REMOVAL, []) == (scene.attempt(lost).status, scene.changes())
    else:
        assert (Status.GONE, []) == (scene.attempt(lost).status, scene.changes())


def test_wrong_word_about_all_that_delivers() -> None:
    """Of two creates that were said to have failed one delivers: it stays, until a later one delivers its code."""
    scene = Scene()
    scene.want("offers", "ONB10001", OWN)
    for _ in range(2):
        lost = scene.lose("offers", "ONB10001", OWN)
        scene.resolve(lost, created=False)
    scene.receive(scene.attempt(lost).url, "ONB10001")
    assert [] == scene.changes()
    scene.want("offers", "ONB10001 ONB10002", OWN)
    scene.apply()
    assert [scene.attempts[0].id] == supersedes(scene)


def test_retry_that_was_needless(scene: Scene) -> None:
    """Once the first create is proven, an unknown retry of it waits for nobody, unless it is for something else."""
    (lost,) = scene.attempts
    scene.apply(become=lambda _: Outcome.UNKNOWN)
    retry = scene.attempts[1].id
    scene.receive(lost.url, "ONB10001")
    assert ((lost.id,), []) == (scene.attempt(retry).superseded_by, scene.changes())
    assert [] == supersedes(scene)  # it may be removed first, if the retry exists too
    scene.receive(scene.attempt(retry).url, "ONB10001")
    assert (Action.REMOVE, (lost.id,), [lost.id]) == (
        scene.change().action, scene.change().concerns, supersedes(scene),
    )  # fmt: skip


@pytest.mark.parametrize(("codes", "url"), [("ONB10001 ONB10002 ONB10003", OWN), ("ONB10001", NEW)])
def test_retry_for_something_else(scene: Scene, codes: str, url: str) -> None:
    """A retry for more codes, or another URL, is still needed once the first create is proven."""
    (lost,) = scene.attempts
    scene.want("offers", codes, url)
    scene.apply(become=lambda _: Outcome.UNKNOWN)
    scene.receive(lost.url, "ONB10001")
    assert (Action.RETRY, (scene.attempts[1].id,)) == (scene.change().action, scene.change().concerns)


def test_needless_retry_counts_again(scene: Scene) -> None:
    """Once what made it needless is gone, someone must say whether it exists."""
    (lost,) = scene.attempts
    scene.apply(become=lambda _: Outcome.UNKNOWN)
    scene.resolve(lost.id, created=True)
    scene.drop("offers")
    scene.apply()
    assert [] == scene.changes()
    scene.confirm(lost.id)
    assert Block.UNRESOLVED is scene.change().block


@pytest.mark.parametrize("has_answer", [True, False])
def test_nothing_to_do_before_it_is_sent_again(has_answer: bool) -> None:
    """Until its call is settled nobody is told to resolve it by hand: a later apply sends it again."""
    scene = Scene({EUROPE: target(overlap=Overlap.ALLOW, unknown=Unknown.RETRY)})
    scene.want("offers", "ONB10001", OWN)
    attempt = scene.begin("offers", "ONB10001", OWN)
    if has_answer:
        scene.hear(attempt, Outcome.UNKNOWN)
    planned = scene.plan(now=scene.now)
    (change,) = planned.changes
    assert change.block is (Block.UNRESOLVED if has_answer else Block.IN_FLIGHT)
    (message,) = change.reasons
    later = f"nothing to do: the next apply after {stamp(scene.attempt(attempt).settled_by)} sends it again"
    assert (later in message.what, "operator" in message.what) == (True, False)
    assert has_answer is not ("in flight" in message.what)
    assert ["reconciler state observe FILE"] == commands(change)
    left = Applied((), Verdict.UNRESOLVED, unresolved=(scene.attempt(attempt),), left=planned)
    said = render(apply_document(left))
    assert (later in said, "state resolve" in said, "Ask the operator" in said) == (True, False, False)
    left = Applied((), Verdict.UNRESOLVED, unresolved=(scene.attempt(attempt),), left=scene.plan())
    for said in (render(apply_document(left)), render(status_document(scene.status()))):
        assert "nothing to do: the next apply sends it again" in said
        assert "state resolve" not in said


def test_sent_again_is_not_forgotten(scene: Scene) -> None:
    """It blocks nothing and counts for nothing, but plan, apply, status and the message to the operator name it."""
    (lost,) = scene.attempts
    scene.apply()
    planned, listed = scene.plan(), removals_document(removals(scene.status()), scene.plan(), scene.now)
    applied = apply_document(Applied((), Verdict.DONE, left=planned))
    for document in (plan_document(planned), applied, status_document(scene.status()), listed):
        for form in (render, markdown.render, html.render):
            said = form(document)
            assert 1 == said.count("may exist too")
            assert lost.id in said
            assert "by other means" not in said
            assert (document is listed) == ("state resolve" in said)
        assert document is listed or document.title == "No changes. 1 subscription matches the configuration."
    assert ("1 superseded create.", False) == (listed.title, "After" in render(listed))
    scene.resolve(lost.id, created=False)
    assert lost.id not in render(plan_document(scene.plan())) + render(status_document(scene.status()))


def test_the_operator_is_not_asked_about_what_the_next_apply_sends_again(scene: Scene) -> None:
    """The list says that there is nothing to do, and has no question below; the status does not name the list."""
    status = scene.status()
    listed = removals_document(removals(status), status.plan, status.now)
    assert ([], "1 unresolved create.") == (list(listed.body), listed.title)
    assert ("nothing to do" in render(listed), "removal list" in render(status_document(status))) == (True, False)


def test_sent_again_by_itself_is_no_error(scene: Scene) -> None:
    """Where there is nothing to do, it is a note."""
    applied = Applied((), Verdict.UNRESOLVED, unresolved=tuple(scene.attempts), left=scene.plan())
    (alert,) = apply_document(applied).alerts
    assert isinstance(alert, Alert)
    assert "Note" == alert.label


def test_superseded_of_what_is_not_selected(scene: Scene) -> None:
    """A selection leaves it out."""
    scene.want("loans", "ONB10003", OWN)
    scene.apply()
    assert [1, 0] == [len(scene.plan(f"*/*/{name}").superseded) for name in ("offers", "loans")]
