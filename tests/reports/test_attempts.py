"""Attempts as text: in full, and before a command edits the record."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from support.value_scene import AT, BY, EUROPE, Scene, address_of, hooks

from reconciler.model.entry import SecretSet, Settled
from reconciler.model.outcome import Outcome
from reconciler.reports.attempts import attempt_text, cancelled_line, preview_line, unresolved_text

if TYPE_CHECKING:
    from reconciler.model.entry import Scalar
    from reconciler.model.record import Attempt
    from reconciler.reports.line import Line


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record."""
    return Scene()


def text(lines: list[Line]) -> str:
    """Lines as they are printed."""
    return "".join(f"{line.text}\n" for line in lines)


@pytest.mark.parametrize(
    ("response", "where"),
    [("age:YWdl", "encrypted in the journal"), ("file", "in a private file on the machine that ran apply")],
)
def test_attempt(scene: Scene, response: str, where: str) -> None:
    """`state show`: an attempt whole, but for its secrets, of which it says where they are."""
    attempt = scene.begin("offers", "ONB10011 LOA10013", hooks("offers"))
    fields: dict[str, Scalar] = {"webhookUrl": hooks("offers"), "id": 7}
    told = Settled(
        at="2026-11-20T13:30:01Z", by={"user": "grace"}, attempt=attempt, outcome=Outcome.CREATED, detail="201 Created",
        fields=fields, response=response,
    )  # fmt: skip
    scene._tell_of(attempt, told)
    scene._tell_of(attempt, SecretSet(at="2026-11-20T13:30:02Z", by=BY, attempt=attempt, secret="age:c2VjcmV0"))
    assert (
        text(attempt_text([scene.attempt(attempt)]))
        == f"""\
  europe/staging/offers  attempt a1
      status: live
      eventCodes: LOA10013, ONB10011
      webhookUrl: https://hooks.partner.example/offers
      started: 2026-11-20T13:30:00Z by deployer on build-7
      last change: 2026-11-20T13:30:02Z by deployer on build-7
      detail: 201 Created
      response: {where}
      secret set: 1
      field id: 7
      field webhookUrl: https://hooks.partner.example/offers
"""
    )


def test_attempt_that_awaits_removal(scene: Scene) -> None:
    """Its status is in words."""
    attempt = scene.hold("offers", "ONB10011", hooks("offers"))
    scene.retire(attempt)
    assert "      status: awaiting removal\n" in text(attempt_text([scene.attempt(attempt)]))


def test_attempt_plain(scene: Scene) -> None:
    """What is not known of an attempt has no row."""
    shown = text(attempt_text(_attempts(scene)))
    assert "response" not in shown
    assert "secret" not in shown


def _attempts(scene: Scene) -> list[Attempt]:
    scene.bring("offers", "ONB10011", hooks("offers"))
    return scene.records[EUROPE].at_address(address_of("offers"))


def test_preview(scene: Scene) -> None:
    """The attempt, its status, and what is to be recorded; and what to do after a removal was cancelled."""
    attempt = scene.attempt(scene.hold("offers", "ONB10011 LOA10013", hooks("offers")))
    name = f"europe/staging/offers  attempt a1, LOA10013, ONB10011 to {hooks('offers')}"
    assert f"  {name}, live: is gone" == preview_line(attempt, "is gone").text
    unknown = scene.attempt(scene.begin("loans", "LOA10013", hooks("loans")))
    assert ", unknown: is gone" in preview_line(unknown, "is gone").text
    what = "removal of attempt a1 cancelled"
    assert f"  europe/staging/offers: {what}" == cancelled_line(attempt).text


def test_unresolved(scene: Scene) -> None:
    """When it was started and by whom, its outcome, the notifications since, and the evidence on this machine."""
    attempt = scene.attempt(scene.lose("lost", "ONB10001 ONB10002", hooks("lost")))
    now = datetime.fromisoformat("2026-11-20T14:30:00Z")
    received = {"ONB10002": AT, "ONB10001": AT}
    assert (
        text(unresolved_text(replace(attempt, detail="502"), now, received, "its response"))
        == f"""\
  europe/staging/lost  attempt a1, ONB10001, ONB10002 to {hooks("lost")}
      started {AT} (1 hour ago) by deployer on build-7
      outcome: 502
      notifications received since: ONB10001 last {AT}, ONB10002 last {AT}
      evidence on this machine: its response
"""
    )
    begun = scene.attempt(scene.begin("flying", "ONB10003", hooks("flying")))
    rows = [line.text.strip() for line in unresolved_text(begun, now, {}, None)]
    assert ["no outcome recorded", "notifications received since: none"] == rows[2:]
    assert "      outcome: unknown" in [line.text for line in unresolved_text(attempt, now, {}, None)]


@pytest.mark.parametrize(
    ("since", "ago"),
    [
        ("2026-11-20T13:30:00Z", " (less than a minute ago)"),
        ("2026-11-20T13:29:01Z", " (less than a minute ago)"),
        ("2026-11-20T13:29:00Z", " (1 minute ago)"),
        ("2026-11-20T12:30:01Z", " (59 minutes ago)"),
        ("2026-11-20T12:30:00Z", " (1 hour ago)"),
        ("2026-11-18T13:30:00Z", " (2 days ago)"),
        ("2026-11-20T13:30:01Z", " (in the future by this machine's clock)"),
        ("yesterday", ""),
        ("2026-11-20T13:30:00", ""),
    ],
)
def test_how_long_ago(scene: Scene, since: str, ago: str) -> None:
    """In the largest unit that fits; nothing for a time that cannot be read, or that names no zone."""
    attempt = replace(scene.attempt(scene.lose("lost", "ONB10001", hooks("lost"))), since=since)
    started = unresolved_text(attempt, datetime.fromisoformat(AT), {}, None)[1]
    assert f"      started {since}{ago} by deployer on build-7" == started.text
