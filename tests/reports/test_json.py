"""The JSON documents, key by key: scripts rely on them."""

from __future__ import annotations

import json

from hypothesis import given, settings
from msgspec import UNSET
from support.plan_values import AT, ID, STAGING, URL, attempt, change, plan, plans

from reconciler.errors import Message, Place, step
from reconciler.model import status as states
from reconciler.model.plan import Finding, Health, Plan, Request
from reconciler.operations.record import attempts_json
from reconciler.reports.json import findings_json, plan_json, removals_json, render, status_json, validation_json


def as_read(document: object) -> object:
    """Return a document as a script reads it."""
    assert document is not UNSET
    return json.loads(render(document))


@settings(max_examples=40)
@given(plans())
def test_a_plan_of_anything_is_a_document_that_no_runner_obeys(drawn: Plan) -> None:
    """Text from elsewhere is read back as it was, and `##[` does not appear."""
    text = render(plan_json(drawn))
    assert "##[" not in text
    after = [found["after"] for found in json.loads(text)["changes"]]
    assert after == [
        {"eventCodes": list(found.after.codes), "webhookUrl": found.after.template}
        for found in drawn.changes
        if isinstance(found.after, Request)
    ]


def test_what_is_found_has_its_name_its_place_and_its_commands() -> None:
    """Messages are data in JSON too."""
    message = Message("bad", "wrong", "", (step("run", "reconciler", "init"),), Place("config/a.yaml", 1, 2))
    expected = {
        "name": "bad", "what": "wrong", "where": "", "place": {"file": "config/a.yaml", "line": 1, "column": 2},
        "steps": [{"text": "run", "command": ["reconciler", "init"]}],
    }  # fmt: skip
    finding = {"check": "config", "health": "failed", "message": expected}
    document = {"format_version": "2.0", "findings": [finding], "summary": {"failed": 1}}
    assert as_read(findings_json([Finding("config", Health.FAILED, message)])) == document
    assert as_read(validation_json([message], [])) == {
        "format_version": "2.0", "valid": False, "mistakes": [expected], "warnings": [],
    }  # fmt: skip


def test_what_is_recorded_has_its_own_url() -> None:
    """The one that the service has, not the template of which it was made."""
    held = attempt(url=f"{URL}/{ID}", template=f"{URL}/{{attempt}}", requested=AT, requested_codes=("ONB10011",))
    planned = plan(change(before=(held,)), awaiting_removal=(held,))
    awaiting = states.AwaitingRemoval(held, held.codes, AT)
    (removal,) = removals_json([states.Removals(STAGING, AT, (awaiting,))])["targets"]
    known = states.ProjectStatus(0.0, (states.TargetStatus(STAGING, (states.ObservedAttempt(held, {}),)),), planned)
    (shown,) = status_json(known)["targets"][STAGING]["addresses"].values()
    listed = [
        *plan_json(planned)["awaiting_removal"], *plan_json(planned)["changes"][0]["before"],
        *removal["awaiting"], *shown["attempts"], *attempts_json([held]),
    ]  # fmt: skip
    assert [(ID, f"{URL}/{ID}", ("ONB10011",))] * 5 == [
        (entry["attempt"], entry["webhookUrl"], entry["eventCodes"]) for entry in listed
    ]
