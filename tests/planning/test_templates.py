"""A URL with `{attempt}` is compared as a template: plans are those of one URL that all attempts share."""

from __future__ import annotations

import json

import pytest
from support.scene import EUROPE, SERVICE, Scene, address_of, hooks, target

from reconciler.model.desired import Overlap, Replace
from reconciler.model.plan import Action, Block
from reconciler.planning.status import removals
from reconciler.reports.json import plan_json, render
from reconciler.reports.plan import plan_document
from reconciler.reports.removals import removals_document
from reconciler.reports.terminal import render as as_text

Planned = list[tuple[str, Action, Block | None, tuple[str, ...]]]


def lived(mode: Replace, overlap: Overlap, suffix: str) -> list[Planned]:
    """Live through every kind of change, and return the plans on the way, with the codes that are requested."""
    scene = Scene({EUROPE: target(mode=mode, overlap=overlap)})
    plans: list[Planned] = []

    def apply() -> None:
        changes = scene.changes()
        plans.append(
            [
                (found.address.name, found.action, found.block, found.request.codes if found.request else ())
                for found in changes
            ]
        )
        scene.apply()

    old, new = hooks(f"old{suffix}"), hooks(f"new{suffix}")
    for codes, url in (("1", old), ("1 2", old), ("1 2", new), ("1 2", old), ("2 3", new)):
        scene.want("offers", " ".join(f"ONB1000{code}" for code in codes.split()), url)
        apply()
        apply()
    for attempt in scene.attempts:
        if attempt.requested_codes:
            scene.confirm(attempt.id)
    apply()
    scene.want("loans", "ONB10002 ONB10003", new)
    scene.drop("offers")
    apply()
    scene.move("offers", "loans")
    apply()
    scene.want("third", "ONB10002", new)
    apply()
    return plans


@pytest.mark.parametrize("overlap", Overlap)
@pytest.mark.parametrize("mode", Replace)
@pytest.mark.parametrize("suffix", ["/{attempt}", "?attempt={attempt}"])
def test_every_kind_of_change(suffix: str, mode: Replace, overlap: Overlap) -> None:
    """Created, extended, replaced, restored, renamed, overlapping: just as without `{attempt}`."""
    plans = lived(mode, overlap, suffix)
    assert lived(mode, overlap, "") == plans
    seen = {action for planned in plans for _, action, _, _ in planned}
    assert seen >= {Action.CREATE, Action.EXTEND, Action.RESTORE, Action.REMOVE, Action.BLOCKED}


def test_added_later() -> None:
    """Added to a URL in force it is a replacement, and a request for removal that names the old URL."""
    scene = Scene()
    held = scene.hold("offers", "ONB10001", hooks("offers"))
    scene.want("offers", "ONB10001", hooks("offers/{attempt}"))
    assert (Action.REPLACE, (held,)) == (scene.change().action, scene.change().concerns)
    scene.apply()
    (awaited,) = removals(scene.status())[0].awaiting
    assert (held, hooks("offers")) == (awaited.attempt.id, awaited.attempt.url)


def test_no_plan_shows_an_id_before_its_create() -> None:
    """Neither the text of a plan nor its document has an id, nor do two plans differ: it is drawn with the intent."""
    scene = Scene()
    scene.want("offers", "ONB10001", hooks("{attempt}"))
    plan = scene.plan()
    document = render(plan_json(plan))
    (change,) = json.loads(document)["changes"]
    assert hooks("{attempt}") == change["request"]["webhookUrl"]
    assert hooks("{attempt}") in as_text(plan_document(plan))
    scene.apply()
    (attempt,) = scene.record.at_address(address_of("offers"))
    assert attempt.id not in document
    assert hooks(attempt.id) == attempt.url


def test_letters_name_the_url_that_exists_once() -> None:
    """The question about an unknown create, and the request to remove one, name its own URL."""
    scene = Scene()
    scene.want("offers", "ONB10001", hooks("{attempt}"))
    lost = scene.attempt(scene.lose("offers", "ONB10001", hooks("{attempt}")))
    asked = as_text(removals_document(removals(scene.status())))
    scene.resolve(lost.id, created=True)
    scene.hold("offers", "ONB10001", hooks("{attempt}"))
    scene.request(lost.id)
    told = as_text(removals_document(removals(scene.status())))
    assert [True, True] == [f"URL: {lost.url}" in text for text in (asked, told)]
    assert f"service: {SERVICE}" in asked
    assert "though the URL is the same" not in told


def test_retry_says_why_it_is_safe() -> None:
    """The plan shows the sign of a retry, which attempt may exist, and that it alone has its URL."""
    scene = Scene()
    scene.retry()
    scene.want("offers", "ONB10001", hooks("{attempt}"))
    lost = scene.lose("offers", "ONB10001", hooks("{attempt}"))
    text = " ".join(as_text(plan_document(scene.plan())).split())
    assert f"» {EUROPE}/offers retry" in text
    assert f"attempt {lost} is unknown, and each attempt has its own URL" in text
