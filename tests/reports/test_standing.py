"""Parity and status in every format."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from support.value_scene import AT, BY, EUROPE, USA, Scene, address_of, hooks

from reconciler.mistake import Place
from reconciler.model.desired import ParityException
from reconciler.model.entry import Observed
from reconciler.model.parity import Difference, Parity, View
from reconciler.model.status import Evidence, Proof, TargetStatus, Unexplained
from reconciler.planning.evidence import Matches
from reconciler.planning.status import status_of
from reconciler.reports.documents import parity_document, status_document
from reconciler.reports.line import Line, Tone
from reconciler.reports.markdown import parity_markdown, status_markdown
from reconciler.reports.parity import parity_text
from reconciler.reports.text import observed_text, status_text
from reconciler.reports.wording import resolve_advice

A = {"eventCodes": ["ONB10001"], "webhookUrl": "{hooks}/a"}
B = {"eventCodes": ["ONB10001", "ONB10002"], "webhookUrl": "{hooks}/a"}
DIFFERENT = Difference("offers", View.DESIRED, A, B)
IGNORED = ParityException("*/*/loans", "not sold there", Place("config/all.yaml", 1, 1))
PARITY = Parity(
    EUROPE,
    USA,
    (
        DIFFERENT,
        Difference("left", View.DESIRED, A, None),
        Difference("left", View.IN_FORCE, A, None),
        Difference("right", View.IN_FORCE, None, A),
    ),
    ((Difference("loans", View.DESIRED, A, None), IGNORED), (Difference("loans", View.IN_FORCE, A, None), IGNORED)),
    (IGNORED,),
)
IN_LINE = Parity(EUROPE, USA, (), (), ())


def text(lines: list[Line]) -> str:
    """Lines as they are printed."""
    return "".join(f"{line.text}\n" for line in lines)


def read(report: str) -> str:
    """Markdown as a person sees its text."""
    return html.unescape(re.sub(r"</?code>", "`", report))


@pytest.fixture
def standing() -> TargetStatus:
    """A target with one attempt of each kind, one of which has been heard."""
    scene = Scene()
    scene.hold("offers", "ONB10011 ONB10012", hooks("offers"))
    scene.want("offers", "ONB10011", hooks("offers"))
    scene.retire(scene.hold("gone", "ONB10001", hooks("gone")))
    scene.begin("flying", "ONB10002", hooks("flying"))
    scene.lose("lost", "ONB10003", hooks("lost"))
    for name, code in (("offers", "ONB10011"), ("lost", "ONB10003")):
        observed = Observed(at=AT, by=BY, address=address_of(name), url=hooks(name), received={code: AT})
        scene._tell(EUROPE, observed)
    return status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], datetime(2026, 11, 21, tzinfo=UTC))


def test_result_that_is_kept_beside_notifications(standing: TargetStatus) -> None:
    """A result that is kept on this machine settles a create, whatever was received."""
    (lost,) = (one for one in standing.attempts if one.attempt.address.name == "lost")
    assert "state resolve europe/staging/lost --created" in resolve_advice(lost)
    kept = replace(lost, attempt=replace(lost.attempt, recovery_file="unrecorded.json"))
    assert resolve_advice(kept).endswith("reconciler state recover unrecorded.json")


def test_a_call_in_flight_is_waited_for(standing: TargetStatus) -> None:
    """Until its apply can no longer record the outcome, nobody may, whichever it is and whatever was received."""
    (flying,) = (one for one in standing.attempts if one.attempt.address.name == "flying")
    wait, then = "its call may be in flight until 2027-01-15T08:01:00Z", "; if it has no outcome after that, check"
    assert resolve_advice(flying).startswith(wait + then)
    heard = replace(flying, evidence={"ONB10002": Evidence(Proof.PROVEN, AT)})
    assert "so it exists; wait until 2027-01-15T08:01:00Z, then run:" in resolve_advice(heard)


def test_parity_text() -> None:
    """What differs, in which view, and what is declared to."""
    assert (
        text(parity_text(PARITY))
        == """\
  ~ offers  desired
      + eventCodes: ONB10002 in usa/staging only
  ~ left  desired and in force in europe/staging only
  ~ right  in force in usa/staging only
    loans  desired and in force, declared exception: not sold there

If they are meant to differ, put this into a file in config/:
parity:
  ignore:
    - address: usa/staging/left
      reason: say here why the two may differ
    - address: usa/staging/offers
      reason: say here why the two may differ
    - address: usa/staging/right
      reason: say here why the two may differ

europe/staging and usa/staging differ in 3 subscriptions.
"""
    )
    assert text(parity_text(IN_LINE)) == "europe/staging and usa/staging match.\n"


def test_parity_counts() -> None:
    """A subscription counts once, and declared ones are counted where nothing else differs."""
    one = Parity(EUROPE, USA, (DIFFERENT,), (), ())
    assert "europe/staging and usa/staging differ in 1 subscription." == parity_text(one)[-1].text
    declared = Parity(EUROPE, USA, (), PARITY.ignored, ())
    assert "europe/staging and usa/staging match (1 declared exception)." == parity_text(declared)[-1].text


def test_parity_document() -> None:
    """The same as data."""
    missing = {"name": "left", "what": "desired", "a": A, "b": None}
    assert parity_document(PARITY) == {
        "format_version": "1.0",
        "a": "europe/staging",
        "b": "usa/staging",
        "in_line": False,
        "differences": [
            {"name": "offers", "what": "desired", "a": A, "b": B},
            missing,
            {**missing, "what": "in force"},
            {"name": "right", "what": "in force", "a": None, "b": A},
        ],
        "ignored": [
            {**missing, "name": "loans", "what": what, "reason": "not sold there"} for what in ("desired", "in force")
        ],
        "unused": [{"address": "*/*/loans", "reason": "not sold there"}],
    }


def test_parity_markdown() -> None:
    """The same for a comment."""
    assert (
        read(parity_markdown(PARITY))
        == """\
<!-- reconciler:parity -->
### `europe/staging and usa/staging differ in 3 subscriptions.`

**Differences**

- `offers` `desired`
  - + `eventCodes: ONB10002 in usa/staging only`
- `left` `desired and in force in europe/staging only`
- `right` `in force in usa/staging only`

<details><summary>Declared exceptions</summary>

- `loans` desired and in force: `not sold there`

</details>
"""
    )


def test_parity_markdown_of_two_rows() -> None:
    """Each row of a difference is a line of its own, under the subscription's name."""
    different = Difference("offers", View.DESIRED, A, {"eventCodes": ["ONB10002"], "webhookUrl": "{hooks}/a"})
    report = read(parity_markdown(Parity(EUROPE, USA, (different,), (), ())))
    rows = "  - - `eventCodes: ONB10001 in europe/staging only`\n  - + `eventCodes: ONB10002 in usa/staging only`\n"
    assert report.endswith(f"**Differences**\n\n- `offers` `desired`\n{rows}")


def test_status_text(standing: TargetStatus) -> None:
    """Each attempt with what was heard of it; what to settle, what is too much, what to send, and what is left."""
    assert (
        text(status_text([standing]))
        == f"""\
europe/staging
  europe/staging/flying  unknown  -> {hooks("flying")}  (attempt a3)
      ONB10002  never seen
      its call may be in flight until 2027-01-15T08:01:00Z; if it has no outcome after that,\
 check with the operator whether the subscription exists;\
 if it does, run: reconciler state resolve europe/staging/flying --created;\
 if it certainly does not, run: reconciler state resolve europe/staging/flying --not-created
      Ask the operator:
        Does a webhook subscription of europe/staging exist that delivers ONB10002 to {hooks("flying")}, created\
 between {AT} and 2027-01-15T08:01:00Z (UTC)?
  europe/staging/gone  awaiting removal  -> {hooks("gone")}  (attempt a2)
      ONB10001  never seen
  europe/staging/lost  unknown  -> {hooks("lost")}  (attempt a4)
      ONB10003  proven, last {AT}
      its notifications arrive, so it exists; run: reconciler state resolve europe/staging/lost --created
  europe/staging/offers  live  -> {hooks("offers")}  (attempt a1)
      ONB10011  proven, last {AT}
      ONB10012  never seen
  warning: europe/staging/offers delivers surplus event codes ONB10012 (attempt a1); to have it removed, run:\
 reconciler state retire europe/staging/offers --attempt a1
  Send to the operator, for europe/staging/gone (attempt a2):
    Please delete the webhook subscription of europe/staging that delivers ONB10001 to {hooks("gone")}, created {AT}.
    after it is deleted, run: reconciler state removed europe/staging/gone --attempt a2
  2 pending changes; run: reconciler plan -t europe/staging; 1 subscription awaits removal;\
 run: reconciler removals -t europe/staging
"""
    )


def test_status_tones(standing: TargetStatus) -> None:
    """An unknown outcome looks like an error, and what awaits removal is faint."""
    tones = [line.tone for line in status_text([standing]) if "  -> " in line.text]
    assert [Tone.ERROR, Tone.FAINT, Tone.ERROR, Tone.PLAIN] == tones


@pytest.mark.parametrize(
    ("names", "last"), [(1, "  1 pending change; run: reconciler plan -t europe/staging"), (0, "  up to date")]
)
def test_status_left(names: int, last: str) -> None:
    """How much is left to do."""
    scene = Scene()
    for number in range(names):
        scene.want(f"s{number}", "ONB10001", hooks("offers"))
    plan = scene.plan().targets[EUROPE]
    lines = status_text([status_of(scene.records[EUROPE], plan, datetime(2026, 11, 21, tzinfo=UTC))])
    assert last == lines[-1].text


def test_status_document(standing: TargetStatus) -> None:
    """The same as data: what is in force, what is open with what notifications suggest, and what waits."""
    whole = status_document([standing])
    assert ("1.0", ["format_version", "targets"]) == (whole["format_version"], list(whole))
    document = whole["targets"]
    assert isinstance(document, dict)
    target = document["europe/staging"]
    keys = ["in_force", "unknown", "awaiting_removal", "surplus", "changes", "declared"]
    assert keys == list(target)
    offers = {
        "address": "europe/staging/offers",
        "attempt": "a1",
        "eventCodes": ["ONB10011", "ONB10012"],
        "webhookUrl": hooks("offers"),
        "heard": {"ONB10011": {"proof": "proven", "at": AT}, "ONB10012": {"proof": "never seen", "at": None}},
        "status": "live",
    }
    assert ["gone", "offers"] == [one["address"].rpartition("/")[2] for one in target["in_force"]]
    assert offers == target["in_force"][1]
    lost = target["unknown"][1]
    advice = "its notifications arrive, so it exists; run: reconciler state resolve europe/staging/lost --created"
    assert (AT, advice) == (lost["since"], lost["suggestion"])
    request = "Please delete the webhook subscription of europe/staging that delivers ONB10001 to"
    gone = {"address": "europe/staging/gone", "attempt": "a2", "eventCodes": ["ONB10001"], "webhookUrl": hooks("gone")}
    assert [{**gone, "text": f"{request} {hooks('gone')}, created {AT}."}] == target["awaiting_removal"]
    surplus = [{"address": "europe/staging/offers", "attempt": "a1", "eventCodes": ["ONB10012"]}]
    assert (surplus, 2) == (target["surplus"], target["changes"])


@pytest.mark.parametrize("declared", [True, False])
def test_status_document_of_what_is_not_declared(standing: TargetStatus, declared: bool) -> None:
    """The document says whether the target is declared, as the text does."""
    document = status_document([replace(standing, declared=declared)])["targets"]
    assert isinstance(document, dict)
    assert declared == document["europe/staging"]["declared"]


def test_status_markdown(standing: TargetStatus) -> None:
    """The same for a comment, what waits for a person first; a target without a subscription is listed too."""
    empty = Scene()
    empty.want("offers", "ONB10011", hooks("offers"))
    new = status_of(empty.records[EUROPE], empty.plan().targets[EUROPE], datetime(2026, 11, 21, tzinfo=UTC))
    report = read(status_markdown([standing, replace(new, name=USA)]))
    settle = (
        "its call may be in flight until 2027-01-15T08:01:00Z; if it has no outcome after that,"
        " check with the operator whether the subscription exists; if it does,"
        " run: reconciler state resolve europe/staging/flying --created;"
        " if it certainly does not, run: reconciler state resolve europe/staging/flying --not-created"
    )
    row = f"| `europe/staging/offers` | live | `{hooks('offers')}` | `ONB10011 proven, ONB10012 never seen` |\n"
    assert f"**Unknown outcomes**\n\n- `europe/staging/flying`: `{settle}`\n" in report
    assert row in report
    assert "- Ask the operator, about `europe/staging/flying` (attempt `a3`): `Does a webhook subscription" in report
    assert "about `europe/staging/lost`" not in report
    surplus = (
        "- `europe/staging/offers delivers surplus event codes ONB10012 (attempt a1); to have it removed, run:"
        " reconciler state retire europe/staging/offers --attempt a1`\n"
    )
    left = (
        "- `europe/staging`: `2 pending changes; run: reconciler plan -t europe/staging; 1 subscription awaits removal;"
        " run: reconciler removals -t europe/staging`\n"
        "- `usa/staging`: `1 pending change; run: reconciler plan -t usa/staging`\n"
    )
    assert f"\n\n**Warnings**\n\n{surplus}\n**Targets**\n\n{left}\n#### `europe/staging`\n" in report
    assert "- `europe/staging/gone` (attempt `a2`): `Please delete the webhook subscription of europe/staging" in report
    assert "  - `after it is deleted, run: reconciler state removed europe/staging/gone --attempt a2`\n" in report


def test_result_in_a_recovery_file(standing: TargetStatus) -> None:
    """A result that only a recovery file holds is recorded first, whatever notifications say."""
    (lost,) = [one for one in standing.attempts if one.attempt.address == address_of("lost")]
    kept = replace(lost, attempt=replace(lost.attempt, recovery_file="/data/kept.jsonl"))
    shown = text(status_text([replace(standing, attempts=(kept,))]))
    assert "      its result is not in the record; run: reconciler state recover /data/kept.jsonl\n" in shown
    assert "its notifications arrive" not in shown


def test_silent() -> None:
    """A route that was heard long ago is silent, and that is a warning."""
    scene = Scene()
    scene.hold("offers", "ONB10011", hooks("offers"))
    observed = Observed(at=AT, by=BY, address=address_of("offers"), url=hooks("offers"), received={"ONB10011": AT})
    scene._tell(EUROPE, observed)
    now = datetime(2026, 11, 21, tzinfo=UTC) + timedelta(days=60)
    lines = status_text([status_of(scene.records[EUROPE], scene.plan().targets[EUROPE], now)])
    assert Line(f"      ONB10011  silent, last {AT}", Tone.WARNING) in lines


def test_observed() -> None:
    """What notifications came to: what was heard, what could be several, and what nobody manages."""
    evidence = Matches(
        {(address_of("offers"), hooks("offers"), "ONB10011"): AT},
        (
            Unexplained("ONB10001", "/a", 2, AT, (address_of("one"), address_of("two"))),
            Unexplained("ONB10002", "/b", 1, AT),
        ),
    )
    assert (
        text(observed_text(evidence))
        == f"""\
  europe/staging/offers  ONB10011  last {AT}
  warning: ONB10001 at /a, 2 times, last {AT}: it matches several subscriptions: europe/staging/one, europe/staging/two
  warning: ONB10002 at /b, once, last {AT}: it matches no recorded subscription: an unmanaged subscription exists
"""
    )
    assert "No notifications.\n" == text(observed_text(Matches({}, ())))
