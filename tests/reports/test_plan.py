"""The document of a plan."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest
from msgspec.structs import replace
from support.plan_values import AT, ID, OFFERS, URL, attempt, change, duplicate, plan, surplus
from support.scene import Scene, hooks

from reconciler.errors import Message, step
from reconciler.model.address import Address
from reconciler.model.desired import Replace
from reconciler.model.plan import Action, Block, Plan, Request
from reconciler.model.record import Status
from reconciler.reports import html, markdown, terminal
from reconciler.reports.document import Alert, Table
from reconciler.reports.plan import change_block, plan_document, surplus_messages

GATE = Message("loss-open", "a loss is open", "state.jsonl", (step("run", "reconciler", "state", "complete"),))
AWAITING = attempt(status=Status.AWAITING_REMOVAL, requests=("r",), requested=AT, requested_codes=("ONB10011",))
LOST = attempt(status=Status.UNKNOWN)
NEW_URL = "https://hooks.partner.example/new"


def test_a_plan_shows_the_difference_first_and_the_next_command_last() -> None:
    """The text of a plan is the difference, one line for each consequence, the counts, the command."""
    both = Message("both-deliver", "both deliver until the operator removes the old one")
    after = Request(("ONB10011", "ONB10012"), NEW_URL)
    replaced = change(Action.REPLACE, before=(attempt(),), after=after, warnings=(both,))
    assert terminal.render(plan_document(plan(replaced, selection=("europe/*",)))) == dedent(f"""\
          ± europe/staging/offers  replace
              eventCodes: + ONB10012
              webhookUrl: "{URL}" -> "{NEW_URL}"
              both deliver until the operator removes the old one

        Plan: 1 to replace; 1 create call.

        To carry it out, run:
          reconciler apply -t 'europe/*'
        """)


@pytest.mark.parametrize(
    ("differs", "verdict"),
    [
        (plan(unchanged=3), "No changes. 3 subscriptions match the configuration."),
        (plan(unchanged=1), "No changes. 1 subscription matches the configuration."),
        (plan(surplus=(surplus(),)), "Nothing to apply. 1 surplus code."),
        (plan(duplicates=(duplicate(),)), "Nothing to apply. 1 route delivered twice."),
        (plan(awaiting_removal=(AWAITING,)), f"Nothing to apply. 1 removal awaited since {AT}."),
        (plan(undeclared=(attempt(),)), "Nothing to apply. 1 subscription in force on europe/staging, not in config/."),
        (plan(undeclared=(LOST,)), "Nothing to apply. 1 unresolved create on targets not in config/."),
        (plan(gates=(GATE,)), "Nothing to apply. No create is possible."),
        (plan(change(Action.BLOCKED, block=Block.GATE)), "Nothing to apply. 1 blocked."),
        (plan(change(), surplus=(surplus(),)), "Plan: 1 to create. 1 surplus code."),
    ],
)
def test_the_verdict_never_says_less_than_is_known(differs: Plan, verdict: str) -> None:
    """There are no changes only if what is in force is exactly what is desired; else it says what differs."""
    assert plan_document(differs).title == verdict


def test_what_is_delivered_twice_is_one_warning() -> None:
    """It comes first, with the commands that end it, and is not surplus besides; what is surplus follows."""
    extra, route = replace(surplus(), codes=("LOA10013", "ONB10011", "ONB10012")), duplicate()
    there = replace(surplus(), address=Address("usa/staging/x"), attempt="b" * 32, codes=("ONB10011",))
    found = plan(surplus=(extra, there), duplicates=(route, replace(route, code="ONB10012")))
    assert "2 routes delivered twice and 1 surplus code" in plan_document(found).title
    alerts = [block for block in plan_document(found).summary if isinstance(block, Alert)]
    request = ("reconciler", "removal", "request", OFFERS, "--attempt", ID, "--code")
    commands = [(*request, "ONB10011", "--code", "ONB10012"), (*request, "LOA10013")]
    assert commands == [command for alert in alerts for todo in alert.todos for command in todo.commands]
    assert ["ONB10011 and ONB10012 are delivered twice", "delivers 1 surplus code"] == [
        re.split(" to |:", alert.what)[0] for alert in alerts
    ]
    assert ["delivered-twice", "surplus"] == [message.name for message in surplus_messages(found, (route,))]
    beside = plan(surplus=(replace(surplus(), attempt="e" * 32, codes=("ONB10011",)),), duplicates=(route,))
    assert ["delivered-twice", "surplus"] == [message.name for message in surplus_messages(beside, (route,))]


def test_an_overridden_address_is_always_shown() -> None:
    """It is said without -v, the others with it alone."""
    document = plan_document(plan(overridden=("base_url",)), [GATE])
    text = terminal.render(document)
    shown = "Service URLs set outside config/:\neurope/staging base_url  https://api.staging.example\n"
    assert f"reconciler state complete\n\n{shown}" in text
    assert 1 == markdown.render(document).count("base&#95;url")
    assert "<h2>Service" not in html.render(document)  # below "Notes", which would have nothing else
    assert "login.staging.example" not in terminal.render(document)
    assert "login.staging.example" in terminal.render(document, terminal.Layout(verbose=True))


def test_reasons_that_repeat_the_difference_are_left_out() -> None:
    """The fields say which codes are new; a step that a warning names is kept."""
    repeats = [Message(name, "x") for name in ("nothing-in-force", "new-codes", "url-changed", "not-desired")]
    warns = Message("cancel", "cancel the request", "", (step("if it was removed, run", "reconciler", "removal"),))
    shown = change_block(change(Action.EXTEND, before=(attempt(),), reasons=tuple(repeats), warnings=(warns,)))
    assert [note.text for note in shown.notes] == ["cancel the request"]
    assert shown.todos[0].commands == (("reconciler", "removal"),)


def test_every_command_of_a_plan_has_its_selection() -> None:
    """Also the one that applies just this plan: a command without it would be about more than was shown."""
    document = plan_document(plan(change(), selection=("europe/*", "*/*/offers")))
    text = terminal.render(document, terminal.Layout(verbose=True))
    shown = [line.strip() for line in text.splitlines() if line.strip().startswith("reconciler ")]
    assert 2 == len(shown)
    assert all("-t 'europe/*' -t '*/*/offers'" in line for line in shown)
    assert 1 == sum("--expect-digest sha256:" in line for line in shown)


NEW, OLD = hooks("{attempt}"), hooks("old")


@pytest.mark.parametrize(
    ("history", "mode", "gone", "cells"),
    [
        ([("hold", "12", NEW), ("hold", "13", OLD)], Replace.OVERLAP, "13", ("in force", "in force", "- remove")),
        ([("hold", "12", NEW), ("hold", "3", OLD), ("ask 4", "4", OLD)], Replace.OVERLAP, "3", (
            "in force", "in force", "- remove",
        )),
        ([("outlive", "13", NEW)], Replace.OVERLAP, "13", ("in force", "in force", "- remove")),
        ([("hold", "1", NEW), ("hold", "23", OLD)], Replace.WAIT, "23", ("in force", "- remove", "- remove")),
        ([("hold", "1", NEW), ("hold", "3", OLD)], Replace.WAIT, "3", ("in force", "~ extend", "- remove")),
        ([("hold", "1", NEW), ("ask 13", "13", OLD)], Replace.OVERLAP, "", ("in force", "~ extend")),
        ([("hold", "1", NEW), ("hold", "2", OLD)], Replace.OVERLAP, "", ("in force", "± replace")),
        ([("hold", "1", NEW), ("ask 2", "2", NEW)], Replace.OVERLAP, "", ("in force", "↺ restore")),
        ([("hold", "1", NEW), ("lose", "2", NEW)], Replace.OVERLAP, "", ("in force", "» retry")),
        ([("hold", "1", NEW), ("lose", "2", OLD)], Replace.OVERLAP, "", ("in force", "! blocked")),
        ([("hold", "13", OLD), ("lose", "2", OLD)], Replace.OVERLAP, "", ("! blocked",) * 3),
        ([("ask 2", "12", NEW)], Replace.OVERLAP, "", ("in force", "! blocked")),
        ([("hold", "12", NEW), ("hold", "1", NEW)], Replace.OVERLAP, "", ("surplus", "in force")),
    ],
)  # fmt: skip
def test_what_stays_in_force_is_not_shown_as_changed(
    history: list[tuple[str, str, str]], mode: Replace, gone: str, cells: tuple[str, ...]
) -> None:
    """Of several attempts of an address, only the codes and URLs of those that change are shown as changed."""

    def codes(digits: str) -> str:
        return " ".join(f"ONB1000{digit}" for digit in digits)

    scene = Scene()
    scene.retry()
    scene.set_mode(mode)
    scene.want("offers", codes("12"), NEW)
    for verb, digits, url in history:
        held = (scene.lose if verb in ("lose", "outlive") else scene.hold)("offers", codes(digits), url)
        if verb.startswith("ask"):
            scene.request(held, codes(verb[4:]), by_plan=True)
        elif verb == "outlive":
            scene.resolve(scene.begin("offers", codes("12"), url, supersedes=(held,)), created=True)
            scene.receive(scene.attempt(held).url, codes("1"))
    document = plan_document(made := scene.plan(), desired=scene.wanted.values())
    shown = [details.blocks[0] for details in document.details]
    (table,) = (block for block in shown if isinstance(block, Table))
    assert [("offers", code, cell) for code, cell in zip(codes("1234").split(), cells, strict=False)] == [*table.rows]
    removals = [change for change in made.changes if change.action is Action.REMOVE]
    assert bool(gone) == bool(removals)
    for removal in removals:
        urls = ", ".join(scene.attempt(attempt).url for attempt in removal.concerns)
        fields = {field.name: field.before for field in change_block(removal).fields}
        assert {"eventCodes": codes(gone).replace(" ", ", "), "webhookUrl": urls} == fields
