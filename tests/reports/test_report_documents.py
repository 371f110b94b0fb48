"""The JSON documents, to the letter: their keys, the order of these, and the types of what they hold."""

from __future__ import annotations

import json

import pytest
from support.value_scene import AT, BY, EUROPE, Scene, address_of, hooks

from reconciler import __version__
from reconciler.model.entry import Settled
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action
from reconciler.model.result import Applied, Done, Result, Verdict
from reconciler.reports.documents import applied_document, list_document, plan_document, render

PLAN_TEMPLATE = """\
{
  "format_version": "1.0",
  "tool_version": "%(tool)s",
  "digest": "%(digest)s",
  "selection": [
    "europe/*"
  ],
  "targets": {
    "europe/staging": {
      "digest": "%(target)s",
      "head": "%(head)s",
      "entries": 6,
      "base_url": "https://api.service.example",
      "auth_url": "https://login.service.example",
      "audience_base": "https://api.service.example"
    }
  },
  "recipients": [],
  "changes": [
    {
      "address": "europe/staging/loans",
      "action": "create",
      "before": [],
      "after": {
        "eventCodes": [
          "LOA10013"
        ],
        "webhookUrl": "https://hooks.partner.example/loans"
      },
      "request": {
        "eventCodes": [
          "LOA10013"
        ],
        "webhookUrl": "https://hooks.partner.example/loans"
      },
      "reasons": [
        "no subscription in force"
      ],
      "warnings": []
    },
    {
      "address": "europe/staging/old",
      "action": "retire",
      "before": [
        {
          "attempt": "a1",
          "eventCodes": [
            "ONB10001",
            "ONB10002"
          ],
          "webhookUrl": "https://hooks.partner.example/old",
          "status": "live"
        }
      ],
      "after": null,
      "request": null,
      "reasons": [
        "no longer in config/"
      ],
      "warnings": []
    }
  ],
  "awaiting_removal": [
    {
      "address": "europe/staging/offers",
      "attempt": "a2",
      "eventCodes": [
        "ONB10011"
      ],
      "webhookUrl": "https://hooks.partner.example/offers"
    }
  ],
  "surplus": [],
  "summary": {
    "create": 1,
    "extend": 0,
    "replace": 0,
    "restore": 0,
    "retire": 1,
    "blocked": 0,
    "unchanged": 0,
    "creates": 1,
    "surplus": 0,
    "awaiting_removal": 1
  }
}
"""


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record, and nothing wanted."""
    return Scene()


def test_plan(scene: Scene) -> None:
    """A plan's document is the documented one, key by key and in this order."""
    scene.hold("old", "ONB10001 ONB10002", hooks("old"))
    scene.retire(scene.hold("offers", "ONB10011", hooks("offers")))
    scene.want("loans", "LOA10013", hooks("loans"))
    plan = scene.plan("europe/*")
    filled = PLAN_TEMPLATE % {
        "tool": __version__,
        "digest": plan.digest,
        "target": plan.targets[EUROPE].digest,
        "head": scene.records[EUROPE].head,
    }
    assert filled == render(plan_document(plan))


def test_surplus(scene: Scene) -> None:
    """Surplus names the address, the attempt and the codes too many, and is no change."""
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.hold("offers", "ONB10011 ONB10001", hooks("offers"))
    document = plan_document(scene.plan())
    surplus = [{"address": "europe/staging/offers", "attempt": "a1", "eventCodes": ["ONB10001"]}]
    assert (surplus, []) == (document["surplus"], document["changes"])


def test_applied() -> None:
    """An apply's document is the documented one: every outcome is counted, every request to the operator is there."""
    scene = Scene()
    attempt = scene.attempt(scene.hold("old", "ONB10001", hooks("old")))
    applied = Applied(
        (
            Result(address_of("offers"), Action.CREATE, Done.CREATED, 200, "a2"),
            Result(address_of("old"), Action.RETIRE, Done.RETIRED),
            Result(address_of("other"), Action.BLOCKED, Done.SKIPPED, detail="it waits"),
        ),
        (attempt,),
        Verdict.DONE,
    )
    text = (
        "Please delete the webhook subscription of europe/staging that delivers ONB10001 to"
        " https://hooks.partner.example/old, created 2026-11-20T13:30:00Z."
    )
    expected = {
        "format_version": "1.0",
        "results": [
            _result("offers", "create", "created", 200, "a2", None),
            _result("old", "retire", "retired", None, None, None),
            _result("other", "blocked", "skipped", None, None, "it waits"),
        ],
        "removal_requests": [{"address": "europe/staging/old", "attempt": "a1", "text": text}],
        "summary": {
            "created": 1, "rejected": 0, "not_sent": 0, "unknown": 0, "restored": 0, "retired": 1, "skipped": 1,
        },
        "not_recorded": [],
    }  # fmt: skip
    assert json.dumps(expected) == json.dumps(applied_document(applied))


def _result(
    name: str, action: str, outcome: str, status: int | None, attempt: str | None, detail: str | None
) -> dict[str, object]:
    return {
        "address": f"europe/staging/{name}",
        "action": action,
        "outcome": outcome,
        "status": status,
        "attempt": attempt,
        "detail": detail,
    }


def test_list(scene: Scene) -> None:
    """`state list`: by address and age; what is gone is left out, and what may be in flight is unknown too."""
    first = scene.begin("offers", "ONB10011", hooks("offers"))
    told = Settled(at=AT, by=BY, attempt=first, outcome=Outcome.CREATED, fields={"id": 7})
    scene._tell_of(first, told)
    scene.retire(scene.hold("offers", "ONB10001", hooks("old")))
    scene.begin("loans", "LOA10013", hooks("loans"))
    scene.lose("deals", "ONB10002", hooks("deals"))
    scene.remove(scene.hold("gone", "ONB10003", hooks("gone")))
    expected = [
        _listed("deals", "a4", "ONB10002", "deals", "unknown"),
        _listed("loans", "a3", "LOA10013", "loans", "unknown"),
        {**_listed("offers", "a1", "ONB10011", "offers", "live"), "fields": {"id": 7}},
        _listed("offers", "a2", "ONB10001", "old", "awaiting_removal"),
    ]
    assert json.dumps(expected) == json.dumps(list_document(scene.records.values()))


def _listed(name: str, attempt: str, code: str, path: str, status: str) -> dict[str, object]:
    return {
        "address": f"europe/staging/{name}",
        "attempt": attempt,
        "eventCodes": [code],
        "webhookUrl": hooks(path),
        "status": status,
        "at": AT,
        "fields": {},
    }
