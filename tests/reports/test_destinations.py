"""Where a plan sends to, and to whom responses are encrypted: no plan hides it, whatever else it has."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from support.value_scene import AT, BY, EUROPE, USA, Scene, hooks, target

from reconciler.model.entry import Resealed
from reconciler.model.plan import Destination, Plan
from reconciler.reports.destinations import deviations, service_line
from reconciler.reports.formats import PLAN

KEYS = ("age1qqqq", "age1pppp")
MOVED = Destination("https://api.other.example", "https://login.other.example", "https://api.other.example", "")


def shown(plan: Plan, form: str) -> str:
    """A plan in a format, with Markdown's entities as the characters they are."""
    report = PLAN[form](plan)
    text = report if isinstance(report, str) else "\n".join(line.text for line in report)
    return (
        text.replace("&#58;", ":")
        .replace("&#46;", ".")
        .replace("&#45;", "-")
        .replace("<code>", "")
        .replace("</code>", "")
    )


def unchanged() -> Plan:
    """A plan of two targets without a change, with recipients."""
    scene = Scene()
    scene.declare(target(USA, base_url="https://api.usa.example"))
    return replace(scene.plan(), recipients=KEYS)


@pytest.mark.parametrize("form", PLAN)
def test_every_format_shows_every_address_and_key(form: str) -> None:
    """Also of a plan without a change: the addresses of each target, and each recipient in full."""
    text = shown(unchanged(), form)
    for word in ("https://api.service.example", "https://api.usa.example", "https://login.service.example", *KEYS):
        assert word in text


@pytest.mark.parametrize("form", PLAN)
@pytest.mark.parametrize("field", ["base_url", "auth_url", "audience_base"])
def test_a_swapped_address_shows(form: str, field: str) -> None:
    """Two plans that differ in one address of one target differ in that address, in every format."""
    plan = unchanged()
    there = plan.targets[USA].destination
    assert there is not None
    swapped = replace(there, **{field: "https://elsewhere.example"})
    other = replace(plan, targets={**plan.targets, USA: replace(plan.targets[USA], destination=swapped)})
    assert "https://elsewhere.example" not in shown(plan, form)
    assert "https://elsewhere.example" in shown(other, form)


@pytest.mark.parametrize("form", PLAN)
def test_removed_recipients_show(form: str) -> None:
    """That nothing is encrypted any more is said, and in JSON is an empty list."""
    text = shown(replace(unchanged(), recipients=()), form)
    if form == "json":
        assert json.loads(text)["recipients"] == []
    else:
        assert "Responses are not encrypted: no recipients" in text


def test_audience_only_if_it_is_another() -> None:
    """The line of a target names the audience only where it is not the service's own address."""
    assert "at https://api.other.example, tokens from https://login.other.example" == service_line(MOVED)
    other = replace(MOVED, audience_base="https://audience.example")
    assert f"{service_line(MOVED)}, audience https://audience.example" == service_line(other)


def test_a_service_that_is_not_the_records() -> None:
    """Where the record belongs to another service, the plan itself says so, with both addresses."""
    plan = unchanged()
    assert [] == deviations(plan)
    moved = replace(MOVED, recorded_url="https://api.service.example")
    changed = replace(plan, targets={**plan.targets, EUROPE: replace(plan.targets[EUROPE], destination=moved)})
    (line,) = deviations(changed)
    assert (
        line
        == "europe/staging: subscriptions go to https://api.other.example, but the record belongs to the service at"
        " https://api.service.example"
    )
    for form in ("text", "markdown"):
        assert line in shown(changed, form)


def resealed(*keys: str) -> Plan:
    """A plan with the two recipients, of a record with a response that was resealed to these keys, if any."""
    scene = Scene()
    held = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.want("offers", "ONB10011", hooks("offers"))
    if keys:
        scene._tell(EUROPE, Resealed(at=AT, by=BY, attempt=held, original="0", sealed="sealed", recipients=keys))
    return replace(scene.plan(), recipients=KEYS)


def test_a_key_that_the_record_does_not_know() -> None:
    """A recipient is compared with what was resealed; a record that names no key says nothing about keys."""
    assert [] == deviations(resealed())
    assert [] == deviations(resealed(*KEYS, "age1more"))
    (line,) = deviations(resealed("age1pppp"))
    assert (
        line == "nothing in these records is known to be encrypted to age1qqqq; what was resealed was encrypted to 1"
        " key: age1pppp"
    )
