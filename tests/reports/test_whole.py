"""Whole reports with everything that they can say, word for word, as `whole.txt` has them.

`PYTHONPATH=tests python -m reports.test_whole` writes it anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.plan_values import AT, ID, OFFERS, STAGING, URL, attempt, change, duplicate, plan, surplus

from reconciler import __version__
from reconciler.errors import Message, step
from reconciler.model import status as states
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import ParityException, Subscription
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action, Applied, Done, Finding, Health, Result, Verdict
from reconciler.model.plan import Block as Reason
from reconciler.model.record import Status
from reconciler.reports import document as doc
from reconciler.reports import html, markdown, terminal
from reconciler.reports.apply import apply_document, removal_letters, result_row
from reconciler.reports.doctor import doctor_document
from reconciler.reports.json import (
    applied_json,
    findings_json,
    parity_json,
    plan_json,
    removals_json,
    render,
    status_json,
    validation_json,
)
from reconciler.reports.parity import parity_document
from reconciler.reports.plan import plan_document
from reconciler.reports.record import history_document, record_document
from reconciler.reports.removals import removals_document
from reconciler.reports.status import status_document
from reports.variants import LATER, NOW, PLACE, PRODUCTION, applies, everything, plans, statuses, variants

WHOLE = Path(__file__).with_name("whole.txt")
OWN = f"{URL}/{{attempt}}"
FLAGS = ("--config", "other config")
LOST = attempt(id="c" * 32, status=Status.UNKNOWN, outcome=Outcome.UNKNOWN, url=f"{URL}/c")
GIVEN_UP = attempt(id="d" * 32, status=Status.UNKNOWN, superseded_by=(ID,), url=f"{URL}/d", template=OWN)
GOING = attempt(
    "europe/staging/going", ("A", "B", "C"), id="e" * 32, status=Status.AWAITING_REMOVAL, requested=AT,
    requested_codes=("A", "C"), fields={"subscriptionId": "s1", "Id": 7, "name": "x"}, url=f"{URL}/e", template=OWN,
)  # fmt: skip
KEPT = attempt("europe/staging/kept", cancelled=dict.fromkeys(attempt().codes, AT), outcome=None, url=f"{URL}/k")
REVIVED = attempt("europe/staging/back", id="f" * 32, received=AT)
HELD = attempt(
    codes=("ONB10011", "ONB10012"), http_status=201, detail="created", supersedes=("d" * 32,), received=AT, at=LATER,
    fields={"name": "x", "id": 7},
)  # fmt: skip
FINDINGS = [Finding("record", health, Message(health, health, "here", (), PLACE)) for health in Health]
GATE = Message("loss-open", "a loss is open", "", (step("run", "reconciler", "state", "complete"),))
FOREIGN = Message("foreign", "bound to another service", STAGING)
WAITS = change(Action.BLOCKED, "europe/staging/w", block=Reason.WAITS, reasons=(Message("waits", "it waits"),))
PLAN = plan(
    change(Action.EXTEND, before=(attempt(codes=("LOA10013",)),)), change(Action.RETRY, "europe/staging/r"), WAITS,
    unchanged=2, surplus=(surplus(), replace(surplus(requested=True), codes=("W", "X"))),
    duplicates=(duplicate(), replace(duplicate(), code="Q")), awaiting_removal=(GOING,),
    superseded=(GIVEN_UP,), recipients=("age1x",), overridden=("auth_url",),
    undeclared=(attempt("usa/x/y"), replace(LOST, address=Address("usa/x/z"))),
)  # fmt: skip


def applied() -> Applied:
    """Return an apply with each outcome."""
    rows = [
        ("offers", Action.CREATE, Done.CREATED, 201, None), ("409", Action.CREATE, Done.REJECTED, 409, "conflict"),
        ("no", Action.EXTEND, Done.NOT_SENT, None, "no token"), ("lost", Action.CREATE, Done.UNKNOWN, None, "timeout"),
        ("kept", Action.RESTORE, Done.RESTORED, None, None), ("going", Action.REMOVE, Done.REQUESTED, None, None),
        ("w", Action.BLOCKED, Done.SKIPPED, None, "it waits"), ("x", Action.CREATE, Done.SKIPPED, None, "already"),
    ]  # fmt: skip
    results = tuple(
        Result(Address(f"europe/staging/{name}"), action, done, status, ID, detail, recorded=done is not Done.REQUESTED)
        for name, action, done, status, detail in rows
    )
    return Applied(
        results, Verdict.UNRESOLVED, removal=(GOING, REVIVED), restored=(KEPT,), unresolved=(LOST, GIVEN_UP),
        messages=(Message("not-recorded", "the store is down", "state.jsonl"),), left=PLAN, signal=15,
    )  # fmt: skip


def status() -> states.ProjectStatus:
    """Return a status with everything."""
    seen = {"ONB10011": states.Evidence(states.Proof.PROVEN, AT), "ONB10012": states.Evidence(states.Proof.NEVER_SEEN)}
    twice = replace(duplicate(), code="TWICE", attempts=duplicate().attempts[::-1])
    here = states.TargetStatus(
        STAGING,
        (states.ObservedAttempt(HELD, seen, ("o", "b")),
                  *(states.ObservedAttempt(x, {"A": seen["ONB10011"]}) for x in (LOST, GIVEN_UP, GOING))),
        awaiting_removal=(GOING,), surplus=(surplus(), surplus(requested=True)), duplicates=(duplicate(), twice),
        recorded_twice=(twice,), revived=(REVIVED,), cancelled=(KEPT,),
    )  # fmt: skip
    return states.ProjectStatus(
        NOW, (here, states.TargetStatus(PRODUCTION, (), declared=False)), replace(PLAN, selection=("europe/*",))
    )


def removals() -> list[states.Removals]:
    """Return what two operators are to do."""
    awaiting = (
        states.AwaitingRemoval(GOING, ("A", "C"), AT, (HELD,)),
        states.AwaitingRemoval(REVIVED, ("ONB10011",), "2026-10-01T00:00:00Z"),
    )
    return [
        states.Removals(STAGING, LATER, awaiting, (KEPT,), (replace(KEPT, id="0" * 32),), (LOST, GIVEN_UP)),
        states.Removals(PRODUCTION, AT, unknown=(replace(GIVEN_UP, address=Address("europe/production/x")),)),
    ]


def pairs() -> states.Pairs:
    """Return two comparisons, of which one matches."""
    one, other = states.Side(("A",), "u1"), states.Side(("A", "B"), "u2")
    differing = (
        states.Difference("offers", states.View.DESIRED, one, other),
        states.Difference("offers", states.View.IN_FORCE, one, other),
        states.Difference("loans", states.View.IN_FORCE, None, other),
        states.Difference("late", states.View.GATE, one, other),
        states.Difference("leads", states.View.PROVEN, one, other, {"B": "", "A": AT}),
    )  # fmt: skip
    exception = ParityException("europe/*/x", "on purpose", PLACE)
    ignored = ((states.Difference("x", states.View.DESIRED, one, None), exception),)
    parity = states.Parity(STAGING, PRODUCTION, differing, ignored, (), (OFFERS, GOING.address), (GOING.address,))
    usa = TargetName("usa/staging")
    parities = parity, states.Parity(STAGING, usa, ())
    return states.Pairs(
        parities, tuple(states.Unpaired(usa, PRODUCTION, matters=matters) for matters in (True, False)), (exception,)
    )


def shape(document: doc.Document) -> list[str]:
    """Return a line for each block of a document: kind, tone, places, words, rows and commands."""
    lines = []
    following = (document.next,) if document.next else ()
    sections = {"alerts": document.alerts, "body": document.body, "summary": document.summary, "next": following}
    for name, blocks in {**sections, "details": document.details}.items():
        if blocks:
            lines += [f"-- {name}", *(line for block in blocks for line in _shape(block))]
    return [f"{document.tone}: {document.title}", *map("=".join, document.facts), *lines]


def _shape(block: doc.Block) -> Iterator[str]:
    todos: tuple[doc.Todo, ...] = ()
    match block:
        case doc.Alert():
            yield " | ".join((block.label, block.tone, *block.where, block.what))
            todos = block.todos
        case doc.Changed():
            fields = (f"{field.name}:{field.before}>{field.after}" for field in block.fields)
            yield " | ".join((block.sign, block.title, block.action, block.tone, *fields))
            yield from (f"  {note.tone}: {note.text}" for note in block.notes)
            todos = block.todos
        case doc.Table():
            rows = zip_longest((block.head, *block.rows), ("", *block.tones), fillvalue="")
            yield from ("|".join((*row, tone)) for row, tone in rows)
        case doc.Facts():
            yield from map("=".join, block.rows)
        case doc.Letter():
            yield from (f"Letter:{block.title}", *block.lines)
        case doc.Heading() | doc.Paragraph():
            yield f"{type(block).__name__} {block.tone}: {block.text}"
        case doc.Commands():
            todos = block.todos
        case doc.Details():
            yield from (f"Details {block.title}", *(line for inner in block.blocks for line in _shape(inner)))
    yield from (" ".join(words) for todo in todos for words in ((">", todo.text), *todo.commands))


def documents() -> dict[str, doc.Document]:
    """Return each report with everything that it can say, by name."""
    blocked = change(Action.BLOCKED, block=Reason.FOREIGN, reasons=(Message("foreign", "another service"),))
    other = change(Action.BLOCKED, "europe/staging/f", block=Reason.DEPENDS, reasons=(Message("d", "it depends"),))
    return {
        "plan": plan_document(PLAN, [GATE], "", [Subscription(OFFERS, ("ONB10011", "Y"), URL, URL, PLACE)]),
        "saved": plan_document(plan(change(), gates=(GATE,), selection=("e/*",)), saved="plan.json"),
        "saved blocked": plan_document(plan(blocked, other), saved="plan.json"),
        "blocked": plan_document(plan(blocked, other, foreign=(FOREIGN,))), "apply": apply_document(applied()),
        "fine": apply_document(Applied((applied().results[0],), Verdict.DONE, left=plan(unchanged=1))),
        "status": status_document(status()), "removals": removals_document(removals(), PLAN),
        "parity": parity_document(pairs()),
        "gated": parity_document(states.Pairs((), gates=(GATE,), foreign=(FOREIGN,))),
        "show": record_document([HELD, GOING, LOST], [GATE], whole=True),
        "table": record_document([HELD, GOING, LOST], [GATE], whole=False),
        "history": history_document([("7", AT, "ada", OFFERS, "created")]), "doctor": doctor_document(FINDINGS),
        **variants(),
    }  # fmt: skip


def shown() -> str:
    """Return all reports, and the JSON of those that scripts rely on."""
    lines = [line for name, document in documents().items() for line in (f"== {name}", *shape(document))]
    lines += ["== lines of an apply", *map(result_row, applied().results)]
    for document in (
        plan_json(PLAN), applied_json(applied(), removal_letters(applied())),
        status_json(status()), parity_json(pairs()), removals_json(removals()), status_json(statuses()["seen"]),
        applied_json(applies()["two"], removal_letters(applies()["two"])), parity_json(states.Pairs((), gates=(GATE,))),
        validation_json([], [GATE]), findings_json([*FINDINGS, *FINDINGS]),
        plan_json(plans()["many"]) | {"changes": plan_json(plans()["removal"])["changes"]},
    ):  # fmt: skip
        lines += ["== JSON", render(document).replace(f'version": "{__version__}"', 'version": "this"')]
    heading = (doc.Heading("heading"),)
    for made in (everything(), doc.Document("bare", "", body=heading, details=(doc.Details("more", heading),))):
        page = re.sub(r"(?s)<style>.*?</style>|<script>.*?</script>|sha256-[^;]*", "", html.render(made, FLAGS))
        layouts = *map(partial(terminal.Layout, FLAGS), (None, 11)), terminal.Layout((), 100, colour=True, verbose=True)
        texts = *(terminal.render(made, layout) for layout in layouts), markdown.render(made, FLAGS), page
        lines += ["== in all formats", *(text.replace("\x1b", "ESC") for text in texts)]
    return "\n".join([*lines, ""])


def test_every_report_has_all_its_parts() -> None:
    """In order, with tones, places, rows and commands."""
    written, now = (text.split("\n== ") for text in (WHOLE.read_text(encoding="utf-8"), shown()))
    assert [part for part in written if part not in now] == [part for part in now if part not in written]
    assert written == now


@pytest.mark.parametrize("done", Done)
def test_a_bad_outcome_makes_an_apply_red(done: Done) -> None:
    """Whatever else became of it; and a line of the log has no more than the outcome."""
    (found,) = (result for result in applied().results[:7] if result.outcome is done)
    is_bad = done in {Done.REJECTED, Done.NOT_SENT, Done.UNKNOWN}
    both = apply_document(Applied((found, applied().results[0]), Verdict.DONE, left=plan(WAITS)))
    assert (both.tone == "error", ID in result_row(found), both.title[:8]) == (is_bad, False, "Applied:")
    title = apply_document(Applied((found,), Verdict.DONE, left=plan(WAITS))).title
    assert title.startswith("Nothing applied") is (done in {Done.REJECTED, Done.NOT_SENT, Done.SKIPPED})


if __name__ == "__main__":
    WHOLE.write_text(shown(), encoding="utf-8")
