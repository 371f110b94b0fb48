"""Markdown for comments and summaries: what it says, that it acts as nothing else, and that it fits."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.value_scene import Scene, address_of, hooks

from reconciler.model.plan import Action
from reconciler.model.result import Applied, Done, Result, Verdict
from reconciler.reports.markdown import applied_markdown, plan_markdown
from reconciler.reports.paper import LIMIT, code

quick = settings(max_examples=60, deadline=None)

BEGINNINGS = (
    "<!-- reconciler:",
    "### ",
    "#### ",
    "**",
    "- ",
    "  - ",
    "| ",
    "|---",
    "<details>",
    "</details>",
    "Digest: ",
)


@pytest.fixture
def scene() -> Scene:
    """One target with an empty record, and nothing wanted."""
    return Scene()


def read(report: str) -> str:
    """A report as a person sees its text: without elements, and with the entities resolved."""
    return html.unescape(re.sub(r"</?code>", "`", report))


def test_code() -> None:
    """What stands in code is spelt so that it is nothing but text."""
    assert "<code>a/b, &#64;team &#60;b&#62;</code>" == code("a/b, @team <b>")


@quick
@given(st.text())
def test_code_of_anything(text: str) -> None:
    """Any text at all: one element on one line, with no character that Markdown or HTML could act on."""
    assert re.fullmatch(r"<code>([A-Za-z0-9 /,]|&#[0-9]+;)*</code>", code(text))


def test_plan(scene: Scene) -> None:
    """A plan: the sentence, what to look at first, a table, the details, and what to approve."""
    scene.want("offers", "ONB10011", hooks("new"))
    scene.hold("offers", "ONB10011", hooks("old"))
    scene.lose("lost", "ONB10001", hooks("lost"))
    scene.want("shrunk", "ONB10003", hooks("shrunk"))
    scene.hold("shrunk", "ONB10003 ONB10004", hooks("shrunk"))
    scene.retire(scene.hold("gone", "ONB10002", hooks("gone")))
    plan = scene.plan()
    assert (
        read(plan_markdown(plan))
        == f"""\
<!-- reconciler:plan {plan.digest} -->
### Plan: 1 create call (1 replaced), 1 blocked, 1 unchanged.

**Warnings**

- `europe/staging/lost` is blocked:\
 `a create started 2026-11-20T13:30:00Z by deployer on build-7 has an unknown outcome;\
 check with the operator whether the subscription exists;\
 if it does, run: reconciler state resolve europe/staging/lost --created;\
 if it certainly does not, wait until 2027-01-15T08:01:00Z, then run:\
 reconciler state resolve europe/staging/lost --not-created`
- Ask the operator, about `europe/staging/lost` (attempt `a2`): `Does a webhook subscription of europe/staging exist\
 that delivers ONB10001 to {hooks("lost")}, created between 2026-11-20T13:30:00Z and 2027-01-15T08:01:00Z (UTC)?`
- `europe/staging/offers`: `both subscriptions deliver until the operator removes the old one`
- `europe/staging/shrunk delivers surplus event codes ONB10004 (attempt a3); to have it removed, run:\
 reconciler state retire europe/staging/shrunk --attempt a3`

**Service and keys in use**

- `europe/staging` at `https://api.service.example`, tokens from `https://login.service.example`
- `Responses are not encrypted: no recipients`

**Waiting for you**

- `1 subscription awaits removal; run: reconciler removals`
- `1 subscription delivers surplus event codes; run: reconciler status`

#### `europe/staging`

| | address | action | event codes | URL |
|---|---|---|---|---|
| ! | `europe/staging/lost` | blocked |  |  |
| ± | `europe/staging/offers` | replace | `ONB10011` | `{hooks("new")}` |

<details><summary>Details</summary>

- ! `europe/staging/lost`
  - `a create started 2026-11-20T13:30:00Z by deployer on build-7 has an unknown outcome;\
 check with the operator whether the subscription exists;\
 if it does, run: reconciler state resolve europe/staging/lost --created;\
 if it certainly does not, wait until 2027-01-15T08:01:00Z, then run:\
 reconciler state resolve europe/staging/lost --not-created`
- ± `europe/staging/offers`
  - `sends ONB10011 to {hooks("new")}`
  - `delivers ONB10011 to {hooks("old")} until the operator removes attempt a1`
  - `delivers ONB10011 twice until then`
  - `the URL changed from {hooks("old")}`

</details>

<details><summary>Awaiting removal by the operator</summary>

- `europe/staging/gone`: `ONB10002` to `{hooks("gone")}` (attempt `a4`)

</details>

Digest: `{plan.digest}`
"""
    )


def test_several_of_each(scene: Scene) -> None:
    """Codes are listed, rows and reasons have a line each; a change without a call shows what is desired."""
    scene.want("shrunk", "ONB10001", hooks("shrunk"))
    scene.hold("shrunk", "ONB10001 ONB10002 ONB10003", hooks("shrunk"))
    scene.retire(scene.hold("gone", "ONB10004 ONB10005", hooks("gone")))
    scene.want("more", "ONB10006 ONB10007 ONB10008", hooks("more"))
    scene.hold("more", "ONB10006", hooks("more"))
    scene.want("lost", "ONB10009 ONB10010", hooks("lost"))
    for number in ("09", "10"):
        scene.lose("lost", f"ONB100{number}", hooks("lost"))
    report = read(plan_markdown(scene.plan()))
    assert "delivers surplus event codes ONB10002, ONB10003 (attempt a1); to have it removed" in report
    assert "`europe/staging/gone`: `ONB10004, ONB10005` to " in report
    assert f"| ~ | `europe/staging/more` | extend | `ONB10007, ONB10008` | `{hooks('more')}` |\n" in report
    assert f"| ! | `europe/staging/lost` | blocked | `ONB10009, ONB10010` | `{hooks('lost')}` |\n" in report
    rows = "".join(f"  - `{row} to {hooks('more')}`\n" for row in (
        "sends ONB10007, ONB10008", "then delivers ONB10006, ONB10007, ONB10008",
    ))  # fmt: skip
    assert f"\n- ~ `europe/staging/more`\n{rows}  - `" in report
    assert 2 == len(re.findall(r"^  - `a create started .* has an unknown outcome;", report, re.MULTILINE))


def test_every_action(scene: Scene) -> None:
    """A plan with everything that a plan can have shows each of them."""
    want_everything(scene, 0)
    plan = scene.plan()
    report = read(plan_markdown(plan))
    actions = {change.address.name: change.action for change in plan.changes}
    assert set(Action) == set(actions.values())
    for name, action in actions.items():
        assert re.search(rf"^\| \S \| `europe/staging/{name}` \| {action} \|", report, re.MULTILINE), name
        assert re.search(rf"^- \S `europe/staging/{name}`$", report, re.MULTILINE), name
    assert "- `europe/staging/shrunk-0 delivers surplus event codes ONB00007 " in report
    assert "- `europe/staging/gone-0`: `ONB00008` to" in report


@pytest.mark.parametrize("count", [1, 30])
def test_digest_for_machines(scene: Scene, count: int) -> None:
    """However much a plan has, its report fits into a comment, and begins with the digest where nobody sees it."""
    for number in range(count):
        want_everything(scene, number)
    plan = scene.plan()
    report = plan_markdown(plan)
    assert f"<!-- reconciler:plan {plan.digest} -->" == report.partition("\n")[0]
    assert len(report.encode()) < 65_000
    assert ("lines omitted" in report) == (count == 30)


def want_everything(scene: Scene, number: int) -> None:
    """Want and record what gives each action once, a surplus, and something that awaits removal."""
    codes = [f"ONB{10 * number + digit:05}" for digit in range(10)]
    url = hooks(f"{number}")
    scene.want(f"created-{number}", codes[0], url)
    scene.want(f"extended-{number}", f"{codes[1]} {codes[2]}", url)
    scene.hold(f"extended-{number}", codes[1], url)
    scene.want(f"replaced-{number}", codes[3], url)
    scene.hold(f"replaced-{number}", codes[3], hooks(f"old/{number}"))
    scene.want(f"restored-{number}", codes[4], url)
    scene.retire(scene.hold(f"restored-{number}", codes[4], url))
    scene.hold(f"retired-{number}", codes[5], url)
    scene.lose(f"lost-{number}", codes[9], url)
    scene.want(f"shrunk-{number}", codes[6], url)
    scene.hold(f"shrunk-{number}", f"{codes[6]} {codes[7]}", url)
    scene.retire(scene.hold(f"gone-{number}", codes[8], url))


def test_no_changes(scene: Scene) -> None:
    """Nothing to do: the sentence, where a change would go, and the digest."""
    plan = scene.plan()
    assert (
        read(plan_markdown(plan))
        == f"""\
<!-- reconciler:plan {plan.digest} -->
### No changes. 0 subscriptions match the configuration.

**Service and keys in use**

- `europe/staging` at `https://api.service.example`, tokens from `https://login.service.example`
- `Responses are not encrypted: no recipients`

Digest: `{plan.digest}`
"""
    )


def test_applied(scene: Scene) -> None:
    """An apply: what went wrong first, then every address, then what to send to the operator."""
    attempt = scene.attempt(scene.hold("old", "ONB10001", hooks("old")))
    notice = "europe/staging: results could not be saved"
    until = 1_800_000_060.0
    results = (
        Result(
            address_of("deals"), Action.CREATE, Done.UNKNOWN, 502, "a2", "the service answered 502", settled_by=until
        ),
        Result(address_of("loans"), Action.CREATE, Done.NOT_SENT),
        Result(address_of("old"), Action.RETIRE, Done.RETIRED),
    )
    assert (
        read(applied_markdown(Applied(results, (attempt,), Verdict.UNRESOLVED, (notice,), awaiting_removal=1)))
        == f"""\
<!-- reconciler:apply -->
### Applied: 2 create calls (2 new): 1 not sent; 1 unknown; 1 retirement.

**Needs attention**

- `europe/staging/deals` unknown: `the service answered 502`. Check with the operator.\
 If the subscription exists, run: `reconciler state resolve europe/staging/deals --created`;\
 if it certainly does not, wait until 2027-01-15T08:01:00Z, then run:\
 `reconciler state resolve europe/staging/deals --not-created`.
- `europe/staging/loans` not sent.
- `europe/staging: results could not be saved`

| | address | outcome | status | detail |
|---|---|---|---|---|
| + | `europe/staging/deals` | unknown | 502 | `the service answered 502` |
| + | `europe/staging/loans` | not sent |  |  |
| - | `europe/staging/old` | retired |  |  |

**Send to the operator**

- `europe/staging/old` (attempt `a1`): `Please delete the webhook subscription of europe/staging that delivers ONB10001\
 to {hooks("old")}, created 2026-11-20T13:30:00Z.`
  - `after it is deleted, run: reconciler state removed europe/staging/old --attempt a1`

**Waiting for you**

- `1 subscription awaits removal; run: reconciler removals`
"""
    )


def test_applied_nothing() -> None:
    """An apply with nothing to do says so."""
    assert "<!-- reconciler:apply -->\n### Nothing to do.\n" == applied_markdown(Applied((), (), Verdict.DONE))


@pytest.mark.parametrize("count", [100, 400, 2000])
def test_limit(scene: Scene, count: int) -> None:
    """A plan that is too long for a comment is cut between lines, and says how many are left out."""
    for number in range(count):
        scene.want(f"subscription-{number:04}", f"ONB{number:05}", hooks(str(number)))
    report = plan_markdown(scene.plan())
    assert len(report.encode()) <= LIMIT
    shown = len(re.findall(r"^(?:\| \+|- \+) ", report, re.MULTILINE))
    left_out = re.search(r"^(\d+) lines omitted: the comment would be too long\.$", report, re.MULTILINE)
    assert 2 * count == shown + (int(left_out[1]) if left_out else 0)
    assert report.count("<details>") == report.count("</details>")
    assert report.splitlines()[-1].startswith("Digest: ")


def test_limit_of_one_row(scene: Scene) -> None:
    """One row that is too long alone is left out, and what fits after it is not."""
    scene.want("long", "ONB10001", hooks("x" * LIMIT))
    scene.retire(scene.hold("gone", "ONB10002", hooks("gone")))
    report = plan_markdown(scene.plan())
    assert len(report.encode()) <= LIMIT
    assert "1 line omitted" in report
    assert "Awaiting removal" in report


@quick
@given(st.text(), st.text(), st.text())
def test_no_line_begins_with_foreign_text(name: str, url: str, detail: str) -> None:
    """Whatever names, URLs and answers hold, each line begins with words of our own."""
    scene = Scene()
    address = address_of(f"europe/staging/{name}")
    scene.want("offers", "ONB10011", f"https://hooks.example/{url}")
    result = Result(address, Action.CREATE, Done.REJECTED, 400, "a1", detail)
    for report in (plan_markdown(scene.plan()), applied_markdown(Applied((result,), (), Verdict.FAILED))):
        assert all(not line or line.startswith(BEGINNINGS) for line in report.split("\n"))
        assert "##[" not in report.replace("####", "")
