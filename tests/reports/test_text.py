"""Text for a terminal or a log: what a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from support.value_scene import AT, BY, USA, Scene, address_of, hooks, target

from reconciler.model.desired import Replace
from reconciler.model.entry import Settled
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action
from reconciler.model.result import Applied, Done, Result, Verdict
from reconciler.reports.letters import removal_text
from reconciler.reports.line import Line, Tone
from reconciler.reports.markdown import applied_markdown
from reconciler.reports.text import applied_text, list_text, plan_text, result_line

if TYPE_CHECKING:
    from collections.abc import Callable

SERVICE = "at https://api.service.example, tokens from https://login.service.example"
UNENCRYPTED = "Responses are not encrypted: no recipients"


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record, and nothing wanted."""
    return Scene()


def text(lines: list[Line]) -> str:
    """Lines as they are printed."""
    return "".join(f"{line.text}\n" for line in lines)


def planned(scene: Scene) -> str:
    """The plan as it is printed, without its digest."""
    printed = text(plan_text(scene.plan()))
    return printed.replace(scene.plan().digest, "(digest)")


def test_nothing_to_do(scene: Scene) -> None:
    """Nothing to do is one sentence, with where a change would go."""
    assert plan_text(scene.plan()) == [
        Line(f"europe/staging  {SERVICE}", Tone.FAINT),
        Line(""),
        Line("No changes. 0 subscriptions match the configuration."),
        Line(UNENCRYPTED, Tone.FAINT),
    ]


def test_unchanged(scene: Scene) -> None:
    """One subscription is one."""
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.hold("offers", "ONB10011", hooks("offers"))
    assert "\nNo changes. 1 subscription matches the configuration.\n" in planned(scene)


def test_create(scene: Scene) -> None:
    """A create says what is sent, and its plan how many there are and what to approve."""
    scene.want("offers", "ONB10011 LOA10013", hooks("offers"))
    assert (
        planned(scene)
        == f"""\
europe/staging
  {SERVICE}
  + europe/staging/offers  create
      eventCodes: LOA10013, ONB10011
      webhookUrl: https://hooks.partner.example/offers

Plan: 1 create call (1 new), 0 unchanged.
{UNENCRYPTED}
Digest: (digest)
"""
    )


def test_extend(scene: Scene) -> None:
    """An extension shows what alone is sent, and all that is delivered then."""
    scene.want("offers", "ONB10011 LOA10013", hooks("offers"))
    scene.hold("offers", "ONB10011", hooks("offers"))
    assert (
        planned(scene)
        == f"""\
europe/staging
  {SERVICE}
  ~ europe/staging/offers  extend
      sends LOA10013 to https://hooks.partner.example/offers
      then delivers LOA10013, ONB10011 to https://hooks.partner.example/offers
      warning: this endpoint must now accept two signing secrets: https://hooks.partner.example/offers

Plan: 1 create call (1 extended), 0 unchanged.
{UNENCRYPTED}
Digest: (digest)
"""
    )


def test_replace(scene: Scene) -> None:
    """A replacement shows the new URL, and what goes to the old one until the operator acts: nothing is taken away."""
    scene.want("offers", "ONB10001", hooks("new"))
    scene.hold("offers", "ONB10001 ONB10002", hooks("old"))
    assert (
        planned(scene)
        == f"""\
europe/staging
  {SERVICE}
  ± europe/staging/offers  replace
      the URL changed from https://hooks.partner.example/old
      sends ONB10001 to https://hooks.partner.example/new
      delivers ONB10001, ONB10002 to https://hooks.partner.example/old until the operator removes attempt a1
      delivers ONB10001 twice until then

Plan: 1 create call (1 replaced), 0 unchanged.
{UNENCRYPTED}
Digest: (digest)
"""
    )


def test_all_else(scene: Scene) -> None:
    """What needs no call, what is blocked, what is too much and what is still to go: each says what to do."""
    scene.set_mode(Replace.WAIT)
    scene.retire(scene.hold("back", "ONB10001", hooks("back")))
    scene.want("back", "ONB10001", hooks("back"))
    scene.hold("gone", "ONB10002", hooks("gone"))
    scene.hold("shrunk", "ONB10003 ONB10004", hooks("shrunk"))
    scene.want("shrunk", "ONB10003", hooks("shrunk"))
    scene.lose("lost", "ONB10005", hooks("lost"))
    assert (
        planned(scene)
        == f"""\
europe/staging
  {SERVICE}
  ↺ europe/staging/back  restore
      it awaits removal but is in config/ again
      keeps delivering ONB10001 to https://hooks.partner.example/back (attempt a1)
      warning: cancel the removal request for attempt a1 with the operator; if it is already deleted, first run: \
reconciler state removed europe/staging/back --attempt a1
      If you never sent the request to delete it, send nothing. Otherwise send to the operator, for\
 europe/staging/back (attempt a1):
        Please do not delete the webhook subscription of europe/staging that delivers ONB10001 to {hooks("back")},\
 created 2026-11-20T13:30:00Z: we still need it, and our request of 2026-11-20T13:30:00Z to delete it is withdrawn.\
 Does it still exist?
  - europe/staging/gone  retire
      no longer in config/
      delivers ONB10002 to https://hooks.partner.example/gone until the operator removes attempt a2
  ! europe/staging/lost  blocked
      a create started 2026-11-20T13:30:00Z by deployer on build-7 has an unknown outcome;\
 check with the operator whether the subscription exists;\
 if it does, run: reconciler state resolve europe/staging/lost --created;\
 if it certainly does not, wait until 2027-01-15T08:01:00Z, then run:\
 reconciler state resolve europe/staging/lost --not-created
      Ask the operator:
        Does a webhook subscription of europe/staging exist that delivers ONB10005 to {hooks("lost")}, created\
 between 2026-11-20T13:30:00Z and 2027-01-15T08:01:00Z (UTC)?
  warning: europe/staging/shrunk delivers surplus event codes ONB10004 (attempt a3); to have it removed, run:\
 reconciler state retire europe/staging/shrunk --attempt a3

Plan: 1 restored, 1 retirement, 1 blocked, 1 unchanged.
  1 subscription delivers surplus event codes; run: reconciler status
{UNENCRYPTED}
Digest: (digest)
"""
    )


def test_targets(scene: Scene) -> None:
    """Targets follow each other by name; one with nothing to do has no heading."""
    scene.declare(target(USA, base_url="https://api.usa.example"))
    scene.want("usa/staging/offers", "ONB10011", hooks("offers"))
    headings = [line.text for line in plan_text(scene.plan()) if line.tone is Tone.HEADING]
    assert ["usa/staging", "Plan: 1 create call (1 new), 0 unchanged."] == headings


def test_two_targets_with_changes(scene: Scene) -> None:
    """Each target has its heading and its changes; what is sent is listed code by code."""
    scene.declare(target(USA, base_url="https://api.usa.example"))
    scene.want("usa/staging/offers", "ONB10011", hooks("offers"))
    scene.want("offers", "ONB10001 ONB10002 ONB10003", hooks("offers"))
    scene.hold("offers", "ONB10001", hooks("offers"))
    headings = [line.text for line in plan_text(scene.plan()) if line.tone is Tone.HEADING]
    assert ["europe/staging", "usa/staging", "Plan: 2 create calls (1 new, 1 extended), 0 unchanged."] == headings
    assert f"      sends ONB10002, ONB10003 to {hooks('offers')}\n" in planned(scene)


def test_two_removals(scene: Scene) -> None:
    """Each request to the operator is there."""
    attempts = [scene.attempt(scene.hold(name, "ONB10001", hooks(name))) for name in ("first", "second")]
    shown = text(removal_text(attempts))
    assert "state removed europe/staging/first --attempt a1\n" in shown
    assert "state removed europe/staging/second --attempt a2\n" in shown


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (
            Result(address_of("offers"), Action.CREATE, Done.CREATED, 201, "a1"),
            Line("  + europe/staging/offers  created (201)", Tone.ADDED),
        ),
        (
            Result(address_of("offers"), Action.EXTEND, Done.NOT_SENT, detail="refused"),
            Line("  ~ europe/staging/offers  not sent: refused", Tone.ERROR),
        ),
        (
            Result(address_of("offers"), Action.BLOCKED, Done.SKIPPED, detail="it waits"),
            Line("  ! europe/staging/offers  skipped: it waits", Tone.WARNING),
        ),
    ],
)
def test_result(result: Result, line: Line) -> None:
    """A result is one line: the sign, the address, what became of it, and why."""
    assert line == result_line(result)


def test_applied(scene: Scene) -> None:
    """An apply: every address, what to send to the operator, and the counts."""
    old = scene.begin("old", "ONB10001", hooks("old"))
    told = Settled(at=AT, by=BY, attempt=old, outcome=Outcome.CREATED, fields={"webhookId": "w-7", "state": "on"})
    scene._tell_of(old, told)
    results = (
        Result(address_of("offers"), Action.CREATE, Done.UNKNOWN, 502, settled_by=1_800_000_060.0),
        Result(address_of("old"), Action.RETIRE, Done.RETIRED),
    )
    assert (
        text(applied_text(Applied(results, (scene.attempt(old),), Verdict.UNRESOLVED)))
        == """\
  + europe/staging/offers  unknown (502)
  - europe/staging/old  retired

  europe/staging/offers: outcome unknown; check with the operator whether the subscription exists;\
 if it does, run: reconciler state resolve europe/staging/offers --created; if it certainly does not,\
 wait until 2027-01-15T08:01:00Z, then run: reconciler state resolve europe/staging/offers --not-created

  Send to the operator, for europe/staging/old (attempt a1):
    Please delete the webhook subscription of europe/staging that delivers ONB10001 to\
 https://hooks.partner.example/old, created 2026-11-20T13:30:00Z (webhookId w-7).
    after it is deleted, run: reconciler state removed europe/staging/old --attempt a1

Applied: 1 create call (1 new): 1 unknown; 1 retirement.
"""
    )


def test_applied_and_not_recorded() -> None:
    """The counts say of how many the record does not tell, and why; what awaits removal or is surplus is counted."""
    created = [
        Result(
            address_of(name), Action.EXTEND if name == "b" else Action.CREATE, Done.CREATED, 201, recorded=name == "a"
        )
        for name in "abc"
    ]
    rejected = Result(address_of("d"), Action.CREATE, Done.REJECTED, 400, recorded=False)
    detail = "cannot write the state record: the disk is full"
    waiting = Result(address_of("e"), Action.RETIRE, Done.SKIPPED, detail=detail)
    applied = Applied(
        (*created, rejected, waiting), (), Verdict.UNRESOLVED, problems=("the disk is full",), surplus=2,
        awaiting_removal=1,
    )  # fmt: skip
    assert "the disk is full" not in text(applied_text(applied))  # which the notice of each says
    assert "  - europe/staging/e  skipped: cannot write the state record\n" in text(applied_text(applied))
    assert text(applied_text(applied)).endswith(
        "Applied: 4 create calls (3 new, 1 extended): 3 created, 2 of them not recorded; 1 rejected, not recorded;"
        " 1 skipped.\n"
        "  1 subscription awaits removal; run: reconciler removals\n"
        "  2 subscriptions deliver surplus event codes; run: reconciler status\n"
    )


@pytest.mark.parametrize("report", [lambda applied: text(applied_text(applied)), applied_markdown])
def test_an_unknown_outcome_is_recovered_before_it_is_resolved(report: Callable[[Applied], str]) -> None:
    """While a recovery file has the attempt, the command of its notice is the only one that is advised."""
    for recorded in (True, False):
        result = Result(address_of("offers"), Action.CREATE, Done.UNKNOWN, 502, "a1", recorded=recorded)
        assert recorded == ("state resolve" in report(Applied((result,), (), Verdict.UNRESOLVED)))


def test_applied_nothing() -> None:
    """An apply with nothing to do says so, and nothing else."""
    assert "Nothing to do.\n" == text(applied_text(Applied((), (), Verdict.DONE)))


def test_no_removal() -> None:
    """Nothing to remove is no text."""
    assert [] == removal_text([])


def test_list(scene: Scene) -> None:
    """`state list`: a line for each attempt that is not gone, by address; what may be in flight is unknown."""
    scene.hold("offers", "ONB10011 ONB10001", hooks("offers"))
    scene.begin("loans", "LOA10013", hooks("loans"))
    scene.remove(scene.hold("gone", "ONB10003", hooks("gone")))
    scene.retire(scene.hold("old", "ONB10002", hooks("old")))
    lines = list_text(scene.records.values())
    assert [Tone.ERROR, Tone.PLAIN, Tone.PLAIN] == [line.tone for line in lines]
    assert (
        text(lines)
        == """\
  europe/staging/loans  unknown  LOA10013 -> https://hooks.partner.example/loans  (attempt a2, 2026-11-20T13:30:00Z)
  europe/staging/offers  live  ONB10001, ONB10011 -> https://hooks.partner.example/offers\
  (attempt a1, 2026-11-20T13:30:00Z)
  europe/staging/old  awaiting removal  ONB10002 -> https://hooks.partner.example/old\
  (attempt a4, 2026-11-20T13:30:00Z)
"""
    )


def test_list_of_nothing() -> None:
    """It says so."""
    assert [Line("Nothing is in force.")] == list_text([])


def test_line() -> None:
    """A line holds no other."""
    line = Line("  one\n  two\x1b[2J")
    assert r"  one\n  two\x1b[2J" == line.text
    assert line == replace(line, tone=Tone.PLAIN)
