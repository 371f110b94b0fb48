"""The JSON documents, key by key: scripts rely on them."""

from __future__ import annotations

import json

from hypothesis import given, settings
from msgspec import UNSET
from support.plan_values import AT, ID, OFFERS, STAGING, URL, attempt, change, duplicate, plan, plans, surplus

import reconciler
from reconciler.errors import Message, Place, step
from reconciler.model.plan import Action, Applied, Done, Finding, Health, Plan, Request, Result, Verdict
from reconciler.model.record import Status
from reconciler.model.status import (
    AwaitingRemoval,
    Evidence,
    ObservedAttempt,
    ProjectStatus,
    Proof,
    Removals,
    TargetStatus,
)
from reconciler.reports.apply import removal_letters
from reconciler.reports.json import (
    applied_json,
    findings_json,
    plan_json,
    removals_json,
    render,
    status_json,
    validation_json,
)

_BODY = {"eventCodes": ["ONB10011"], "webhookUrl": URL}


def as_read(document: object) -> object:
    """Return a document as a script reads it."""
    assert document is not UNSET
    return json.loads(render(document))


def test_a_plan_has_every_key_of_its_format() -> None:
    """The document of a plan, to the letter."""
    awaiting = attempt(status=Status.AWAITING_REMOVAL)
    reason = Message("r", "why", "", (step("run", "reconciler", "plan"),))
    made = plan(
        change(Action.EXTEND, before=(attempt(),), reasons=(reason,)),
        unchanged=3,
        selection=("europe/*",),
        awaiting_removal=(awaiting,),
        surplus=(surplus(),),
        duplicates=(duplicate(),),
        losses_open=("l2", "l1"),
        recipients=("age1b", "age1a"),
    )
    assert as_read(plan_json(made)) == {
        "format_version": "2.0",
        "tool_version": reconciler.__version__,
        "digest": "sha256:p",
        "selection": ["europe/*"],
        "record": {
            "place": "state.jsonl",
            "id": "r" * 32,
            "head": "h" * 64,
            "entries": 12,
            "losses_open": ["l1", "l2"],
            "heads_missing": [],
        },
        "targets": {
            "europe/staging": {
                "digest": "sha256:t",
                "base_url": "https://api.staging.example",
                "auth_url": "https://login.staging.example",
                "audience_base": "https://api.staging.example",
            }
        },
        "recipients": ["age1a", "age1b"],
        "changes": [
            {
                "address": OFFERS,
                "digest": "sha256:c",
                "action": "extend",
                "before": [{"attempt": ID, **_BODY, "status": "live"}],
                "after": _BODY,
                "request": _BODY,
                "reasons": ["why; run reconciler plan"],
                "warnings": [],
            }
        ],
        "awaiting_removal": [{"address": OFFERS, "attempt": ID, **_BODY}],
        "surplus": [{"address": OFFERS, "attempt": ID, "eventCodes": ["LOA10013"]}],
        "duplicates": [
            {"target": STAGING, "eventCode": "ONB10011", "webhookUrl": URL, "attempts": [ID, "b" * 32]},
        ],
        "summary": {
            "create": 0,
            "extend": 1,
            "replace": 0,
            "restore": 0,
            "remove": 0,
            "retry": 0,
            "blocked": 0,
            "unchanged": 3,
            "creates": 1,
            "surplus": 1,
            "duplicates": 1,
            "awaiting_removal": 1,
        },
    }


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


def test_an_apply_has_every_key_of_its_format() -> None:
    """The document of an apply, to the letter."""
    result = Result(OFFERS, Action.CREATE, Done.CREATED, 201, ID)
    applied = Applied((result,), Verdict.DONE, removal=(attempt(),))
    document = as_read(applied_json(applied, removal_letters(applied)))
    assert document == {
        "format_version": "2.0",
        "results": [
            {
                "address": OFFERS,
                "action": "create",
                "outcome": "created",
                "status": 201,
                "attempt": ID,
                "detail": None,
            }
        ],
        "removal_requests": [{"address": OFFERS, "attempt": ID, "text": removal_letters(applied)[0][1]}],
        "summary": {
            "created": 1,
            "rejected": 0,
            "not_sent": 0,
            "unknown": 0,
            "restored": 0,
            "requested": 0,
            "skipped": 0,
        },
    }


def test_a_status_lists_per_address_the_live_attempt_and_those_that_it_supersedes() -> None:
    """An endpoint reads there what it may drop."""
    observed = ObservedAttempt(attempt(), {"ONB10011": Evidence(Proof.PROVEN, AT)}, ("old",))
    known = ProjectStatus(0.0, (TargetStatus(STAGING, (observed,)),), plan(unchanged=1))
    (entry,) = status_json(known)["targets"][STAGING]["addresses"].values()
    assert (entry["live"], entry["supersedes"]) == (ID, ["old"])
    assert entry["attempts"][0]["received"] == {"ONB10011": {"proof": "proven", "last": AT}}


def test_a_removal_list_has_the_message_and_what_it_is_about() -> None:
    """One entry for each target, with the ids of the attempts."""
    awaiting = AwaitingRemoval(attempt(requested_codes=("ONB10011",)), ("ONB10011",), AT)
    (entry,) = removals_json([Removals(STAGING, AT, (awaiting,))])["targets"]
    assert entry["awaiting"][0]["attempt"] == ID
    assert ID in entry["text"]


def test_what_is_found_has_its_name_its_place_and_its_commands() -> None:
    """Messages are data in JSON too."""
    message = Message("bad", "wrong", "", (step("run", "reconciler", "init"),), Place("config/a.yaml", 1, 2))
    expected = {
        "name": "bad",
        "what": "wrong",
        "where": "",
        "place": {"file": "config/a.yaml", "line": 1, "column": 2},
        "steps": [{"text": "run", "command": ["reconciler", "init"]}],
    }
    finding = {"check": "config", "health": "failed", "message": expected}
    document = {"format_version": "2.0", "findings": [finding], "summary": {"failed": 1}}
    assert as_read(findings_json([Finding("config", Health.FAILED, message)])) == document
    assert as_read(validation_json([message], [])) == {
        "format_version": "2.0",
        "valid": False,
        "mistakes": [expected],
        "warnings": [],
    }


def test_what_is_recorded_has_its_own_url() -> None:
    """The one that the service has, not the template of which it was made."""
    held = attempt(url=f"{URL}/{ID}", template=f"{URL}/{{attempt}}", requested=AT, requested_codes=("ONB10011",))
    (awaiting,) = plan_json(plan(awaiting_removal=(held,)))["awaiting_removal"]
    assert (ID, f"{URL}/{ID}", ("ONB10011",)) == (awaiting["attempt"], awaiting["webhookUrl"], awaiting["eventCodes"])
