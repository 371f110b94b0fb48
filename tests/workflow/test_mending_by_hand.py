"""What the workflow records when it is run by hand: its scripts, as a runner runs them, in a project with a record."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import yaml
from support.forge import ACTION, ROOT, WORKFLOW, path_of_runner
from support.scripts import run_script
from support.terminal import at_terminal
from werkzeug import Response

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.partner import Partner
    from support.project import Finished, Project

OFFERS = "europe/staging/offers"
RECIPIENT = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"


@dataclass
class Step:
    """What a step came to: how it ended, what it told, and what it put on the summary."""

    ended: Finished
    outputs: dict[str, str]
    summary: str


@pytest.fixture
def declared(project: Project) -> Project:
    """A project that wants one subscription and has an empty record."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    project.step("state", "init")
    return project


def step(project: Project, script: str, command: str, given: Mapping[str, str], **environment: str) -> Step:
    """Run a script of the workflow, with the form filled in like this."""
    event = project.write("event.json", json.dumps({"inputs": given}))
    outputs, summary = project.write("outputs", ""), project.write("summary", "")
    variables = {
        "GITHUB_EVENT_PATH": str(event), "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_REPOSITORY": "partner/hooks", "GITHUB_REF_NAME": "main", "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_SHA": "ours", "RUNNER_TEMP": str(project.path), "STAGES": "staging production",
        "TEST_RUNS": str(project.path / "runs"), "PATH": path_of_runner(),
    }  # fmt: skip
    given_to_it = {**project.variables(), **variables, **environment}
    ended = run_script(script, command, path=project.path, environment=given_to_it)
    return Step(ended, dict(line.split("=", 1) for line in outputs.read_text().splitlines()), summary.read_text())


def ask(operation: str, address: str, **given: str) -> dict[str, str]:
    """The form, filled in."""
    return {"operation": operation, "address": address, "value": "", "note": "", "force": "false", **given}


def preview(project: Project, given: Mapping[str, str], **environment: str) -> Step:
    """Preview an operation; it succeeds."""
    previewed = step(project, "mending.py", "preview", given, **environment)
    assert 0 == previewed.ended.code, previewed.ended
    return previewed


def mend(project: Project, given: Mapping[str, str], **environment: str) -> Step:
    """Preview an operation, and do what was previewed."""
    approval = preview(project, given).outputs["approval"]
    return step(project, "mending.py", "mend", given, APPROVAL=approval, **environment)


def listed(project: Project) -> list[tuple[str, str]]:
    """Address and status of what the record lists."""
    return [(row["address"], row["status"]) for row in project.step("state", "list", "--format", "json").document]


def test_operations(declared: Project) -> None:
    """What was made by hand is recorded, renamed, asked to be removed, and removed; a record that is whole stays so."""
    renamed = "europe/staging/deals"
    for given in (
        ask("state init", "europe/staging"),
        ask("state import", OFFERS),
        ask("state mv", OFFERS, value=renamed),
        ask("state retire", "europe/staging/d*"),
        ask("state removed", renamed),
        ask("state accept-rollback", "europe/staging", force="true"),
    ):
        done = mend(declared, given)
        assert 0 == done.ended.code, (given, done)
    history = declared.succeed("state", "history").out
    assert [OFFERS, renamed] == [address for address in (OFFERS, renamed) if address in history]
    assert [] == listed(declared)


def test_form_offers_every_operation() -> None:
    """The operations of the form are those that the scripts know, in the same order."""
    form = yaml.safe_load(WORKFLOW.read_text())[True]["workflow_dispatch"]["inputs"]
    script = "import sys; sys.path.insert(0, sys.argv[1]); import operations; print(*operations.OPERATIONS, sep='\\n')"
    known = subprocess.run([sys.executable, "-c", script, ACTION.parent], check=True, capture_output=True, text=True)
    assert form["operation"]["options"] == known.stdout.splitlines()
    assert {"operation", "address", "value", "note", "force"} == form.keys()


@pytest.mark.parametrize(
    "address",
    [
        "europe/other/offers",
        "europe/production/x/staging/offers",
        "--state=europe/staging",
        "europe/staging/offers europe/production/offers",
        "europe/*/offers",
        "staging",
        "",
    ],
)
def test_address_of_no_stage(declared: Project, address: str) -> None:
    """All that is mended at once is of one stage of the workflow, so that one environment approves it."""
    for script, command in (("stages.py", "request"), ("mending.py", "preview"), ("mending.py", "mend")):
        done = step(declared, script, command, ask("state retire", address), APPROVAL="")
        assert (1, {}) == (done.ended.code, done.outputs)
        assert "address: expected addresses or patterns of one stage (staging or production)" in done.ended.err


def test_the_environment_is_that_of_the_address(declared: Project) -> None:
    """Who approves follows from the address; an apply waits for the stage before, and a repair for none."""
    asked = step(declared, "stages.py", "request", ask("state retire", "*/production/offers"))
    assert ("mend", "production", "") == tuple(asked.outputs[name] for name in ("kind", "stage", "after"))
    asked = step(declared, "stages.py", "request", ask("apply --allow-empty", "*/production"))
    assert {"kind": "apply", "stage": "production", "after": "staging", "patterns": "*/production",
            "allow-empty": "true"} == asked.outputs  # fmt: skip


def test_values_that_look_like_flags(declared: Project) -> None:
    """What is typed is never an option."""
    mend(declared, ask("state import", OFFERS))
    for given in (ask("state mv", OFFERS, value="--help"), ask("state retire", OFFERS, value="--withdraw")):
        done = step(declared, "mending.py", "preview", given)
        assert (1, {}) == (done.ended.code, done.outputs)
        assert "value: " in done.ended.err


def test_another_attempt_is_not_settled(declared: Project) -> None:
    """What was approved names its attempt: for another one of the same address, later, the approval is void."""
    declared.step("state", "import", OFFERS)
    approval = preview(declared, ask("state retire", OFFERS)).outputs["approval"]
    declared.step("state", "retire", OFFERS)
    declared.step("state", "removed", OFFERS)
    declared.step("state", "import", OFFERS)
    done = step(declared, "mending.py", "mend", ask("state retire", OFFERS), APPROVAL=approval)
    assert 1 == done.ended.code
    assert "what was approved has changed since" in done.ended.err
    assert [(OFFERS, "live")] == listed(declared)


def test_preview_is_not_run_again(declared: Project) -> None:
    """A run that is repeated does not preview what has happened since; another run does."""
    declared.step("state", "import", OFFERS)
    done = step(declared, "mending.py", "preview", ask("state retire", OFFERS), GITHUB_RUN_ATTEMPT="2")
    assert (1, {}) == (done.ended.code, done.outputs)
    assert "start the workflow again" in done.ended.err


def test_preview_shows_what_is_approved(declared: Project) -> None:
    """The commands with the attempt, what is recorded of it, and the plan; it changes nothing."""
    declared.step("state", "import", OFFERS)
    before = declared.step("state", "history").out
    (row,) = declared.step("state", "list", "--format", "json").document
    shown = preview(declared, ask("state retire", "*/staging/*")).summary
    command = f"reconciler state retire --within '*/staging' --attempt {row['attempt']} -- {OFFERS}"
    assert command in html.unescape(shown)
    assert "ONB10011" in shown
    assert "No changes" in shown
    assert before == declared.step("state", "history").out


def test_preview_escapes(declared: Project) -> None:
    """What was typed is text in the summary."""
    declared.step("state", "import", OFFERS)
    note = "</pre><img src=x> ::error::x"
    given = ask("state resolve --created", OFFERS, note=note, value="0000")
    assert "<img" not in preview(declared, given).summary


def test_several_attempts_of_one_address(declared: Project) -> None:
    """None is taken by omission: the refusal names both."""
    url = "https://hooks.partner.example/offers"
    declared.step("state", "import", OFFERS)
    declared.declare({"offers": (["ONB10011", "ONB10012"], url)})
    declared.step("state", "import", OFFERS)
    rows = declared.step("state", "list", "--format", "json").document
    assert len(rows) == 2
    done = step(declared, "mending.py", "preview", ask("state retire", OFFERS))
    assert 1 == done.ended.code
    assert all(row["attempt"] in done.ended.err for row in rows)
    assert 0 == mend(declared, ask("state retire", OFFERS, value=rows[0]["attempt"])).ended.code


def test_broken_config(declared: Project) -> None:
    """A mistake in config/ does not keep the record from being repaired."""
    declared.step("state", "import", OFFERS)
    declared.write("config/broken.yaml", "subscriptions: [\n")
    assert 0 == step(declared, "stages.py", "request", ask("state retire", OFFERS)).ended.code
    assert 0 == mend(declared, ask("state retire", OFFERS)).ended.code


def test_secret(declared: Project) -> None:
    """A secret comes from the environment's secret alone, and is sealed to the environment's keys."""
    declared.write("config/recipients.yaml", f"recipients: [{RECIPIENT}]\n")
    declared.step("state", "import", OFFERS)
    given = ask("secret set", OFFERS)
    assert "SUBSCRIPTION_SECRET" in mend(declared, given, RECONCILER_RECIPIENTS=RECIPIENT).ended.err
    assert "RECONCILER_RECIPIENTS" in mend(declared, given, SUBSCRIPTION_SECRET="s3cret").ended.err
    done = mend(declared, given, RECONCILER_RECIPIENTS=RECIPIENT, SUBSCRIPTION_SECRET="s3cret")
    assert 0 == done.ended.code, done
    assert "secret saved" in done.summary
    assert "s3cret" not in done.summary + done.ended.err + done.ended.out


def artifact(
    project: Project, run: str, name: str, content: bytes, origin: str = "partner/hooks main push earlier"
) -> Path:
    """A file in an artifact of a run of the workflow."""
    path = project.write(f"runs/{run}/artifact/{name}", "")
    path.write_bytes(content)
    project.write(f"runs/{run}/origin", origin)
    return path


def test_notifications_of_a_run(declared: Project) -> None:
    """Notifications in a run's artifact are evidence; of what they say, the summary shows nothing."""
    declared.step("state", "import", OFFERS)
    artifact(declared, "17", "notifications.jsonl", b'{"person": "someone"}\n')
    shown = preview(declared, ask("state observe", "europe/staging", value="17"))
    assert "1 notifications" in shown.summary
    assert "someone" not in shown.summary


@pytest.mark.parametrize(
    "origin",
    [
        "fork/hooks main pull_request ours",
        "partner/hooks other push ours",
        "partner/hooks main pull_request ours",
        "partner/hooks main push of-a-tag",
    ],
)
def test_artifact_of_anyone(declared: Project, origin: str) -> None:
    """A run that anyone can start is no source of what is recorded: with a pull request, on a branch, with a tag.

    A run for a tag that is named like the branch looks like one for the branch, but for its commit.
    """
    artifact(declared, "17", "unrecorded/x/y.json", b"{}", origin)
    done = step(declared, "mending.py", "preview", ask("state recover", "europe/staging", value="17"))
    assert (1, {}) == (done.ended.code, done.outputs)
    assert "is not one of the branch main of this repository" in done.ended.err


def test_file_that_changed_after_its_approval(declared: Project) -> None:
    """What is recovered is what was shown."""
    artifact(declared, "17", "unrecorded/x/y.json", b"{}")
    given = ask("state recover", "europe/staging", value="17")
    approval = preview(declared, given).outputs["approval"]
    (declared.path / "run-17/artifact/unrecorded/x/y.json").write_bytes(b"{ }")
    done = step(declared, "mending.py", "mend", given, APPROVAL=approval)
    assert "what was approved has changed since" in done.ended.err


def test_another_rollback_is_not_accepted(declared: Project) -> None:
    """What is accepted is the loss that was shown, and not a greater one that came after it."""
    for name in ("offers", "deals"):
        declared.declare({name: (["ONB10011"], f"https://hooks.partner.example/{name}")})
        declared.step("state", "import", "--all")
    journal = declared.path / "state/europe/staging.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    given = ask("state accept-rollback", "europe/staging", force="true")
    shown = preview(declared, given)
    assert "last seen with 3 entries" in shown.summary
    journal.write_bytes(lines[0])
    done = step(declared, "mending.py", "mend", given, APPROVAL=shown.outputs["approval"])
    assert (1, lines[0]) == (done.ended.code, journal.read_bytes())
    assert "what was approved has changed since" in done.ended.err
    assert 0 == mend(declared, given).ended.code


def test_what_was_typed_is_one_line(declared: Project) -> None:
    """It looks like no other command in the preview, and is no markup where the outcome is told."""
    note = "it arrives\nreconciler state retire europe/staging/x ` ![image](https://elsewhere.example/x) @everyone"
    given = ask("state resolve --created", OFFERS, note=note, value="0000")
    shown = html.unescape(preview(declared, given).summary)
    assert "it arrives\\nreconciler state retire" in shown
    assert 1 == sum(line.removeprefix("<pre>").startswith("reconciler ") for line in shown.splitlines())
    done = mend(declared, given)
    assert 1 == done.ended.code
    assert "![image]" not in done.summary
    assert "@everyone" not in done.summary.partition("<pre>")[0]


def test_a_preview_that_is_too_long(declared: Project) -> None:
    """A summary over its limit is not shown at all: what is approved is in it whole, or nothing can be approved."""
    for number in range(8):
        artifact(declared, "17", f"unrecorded/{number}.json", b"&" * 20_000)
    url = f"https://hooks.partner.example/{'x' * 1900}"
    declared.declare({f"s-{number}": ([f"ONB{number}"], f"{url}/{number}") for number in range(20_000, 20_300)})
    given = ask("state recover", "europe/staging", value="17")
    shown = preview(declared, given).summary
    assert len(shown.encode()) <= 1 << 20
    assert shown.endswith(
        "The rest is omitted, since the summary would be too long: see `reconciler state show` and `plan`.\n"
    )
    assert 8 == shown.count("&amp;" * 20_000)
    for number in range(8, 12):
        artifact(declared, "17", f"unrecorded/{number}.json", b"&" * 20_000)
    shutil.rmtree(declared.path / "run-17")
    done = step(declared, "mending.py", "preview", given)
    assert (1, {}, "") == (done.ended.code, done.outputs, done.summary)
    assert "too much for one approval" in done.ended.err


@pytest.mark.parametrize("operation", ["state rebind", "state accept-rollback"])
def test_what_the_program_refuses_is_meant(declared: Project, operation: str) -> None:
    """What needs --force needs the tick, and the preview shows what it would accept."""
    done = step(declared, "mending.py", "preview", ask(operation, "europe/staging"))
    assert (1, "force: " in done.ended.err) == (done.ended.code, True)
    assert "What it would accept" in preview(declared, ask(operation, "europe/staging", force="true")).summary


def without_record(partner: Partner) -> Response:
    """Answer a create while the record cannot be written."""
    (partner.path / "state").rename(partner.path / "gone")
    (partner.path / "state").write_text("")
    return Response('{"id": "17"}', 200)


def test_outcome_that_could_not_be_recorded(partner: Partner) -> None:
    """The file that a run saved in its artifact is recorded: the create is known, and there is nothing left to do."""
    partner.begin(offers=["ONB10011"])
    partner.service.answer_next(lambda: without_record(partner))
    partner.step("apply", "--auto-approve", code=3)
    (partner.path / "state").unlink()
    (partner.path / "gone").rename(partner.path / "state")
    (saved,) = (partner.path.parent / "home/data/reconciler/unrecorded").iterdir()
    artifact(partner, "17", f"unrecorded/{saved.name}", saved.read_bytes())
    told = saved.read_text()
    saved.unlink()  # another runner has none
    assert ["begun", "bound", "intent"] == partner.kinds
    assert [("offers", "blocked")] == partner.planned()
    given = ask("state recover", "*/staging", value="17")
    shown = html.unescape(preview(partner, given).summary)
    assert "reconciler state recover --within '*/staging' -- " in shown
    assert told in shown
    assert ["begun", "bound", "intent"] == partner.kinds
    done = mend(partner, given)
    assert 0 == done.ended.code, done
    assert ["begun", "bound", "intent", "outcome"] == partner.kinds
    assert ([("offers", "live", ["ONB10011"])], []) == (partner.listed(), partner.planned())
    assert 1 == len(partner.service.creates)


def test_another_account(partner: Partner) -> None:
    """The record is bound to the client id and the address of the environment, which config/ does not know."""
    partner.begin(offers=["ONB10011"])
    partner.step("apply", "--auto-approve")
    client = "RECONCILER_EUROPE_STAGING_CLIENT_ID"
    known = partner.environment.pop(client)
    given = ask("state rebind", "europe/staging", force="true")
    moved = "https://api.moved.example"
    before = partner.entries
    assert "reconciler state rebind --within '*/staging' -t europe/staging --force" in html.unescape(
        preview(partner, given).summary
    )
    assert before == partner.entries
    done = mend(partner, given, CLIENT_ID="another client", BASE_URL=moved)
    assert 0 == done.ended.code, done
    *earlier, bound = partner.entries
    assert (before, "bound", moved, True) == (earlier, bound["kind"], bound["base_url"], bound["forced"])
    assert before[1]["account"] != bound["account"]
    assert "another client" not in done.summary + done.ended.err + done.ended.out
    partner.environment |= {"RECONCILER_EUROPE_STAGING_BASE_URL": moved, client: known}
    partner.want(offers=["ONB10011"], deals=["ONB10012"])
    assert "the record belongs to another account" in partner.step("apply", "--auto-approve", code=1).err
    partner.environment[client] = "another client"
    assert 0 == partner.step("state", "rebind", "--force").code
    assert [*before, bound] == partner.entries


@pytest.fixture
def overdue(partner: Partner) -> Partner:
    """A partner whose apply was killed once its intent was durable, so long ago that its outcome may be resolved."""
    partner.begin(offers=["ONB10011"])
    partner.environment["RECONCILER_TEST_FAILPOINT"] = "send_window=0.1,margin=0,after-append:1:kill"
    partner.step("apply", "--auto-approve", "--timeout", "0.1", code=-9)
    del partner.environment["RECONCILER_TEST_FAILPOINT"]
    (attempt,) = [entry for entry in partner.entries if entry["kind"] == "intent"]
    time.sleep(max(0.0, attempt["settled_by"] - time.time()))
    return partner


def test_nothing_is_asked_in_a_job(overdue: Partner) -> None:
    """Some runners have a terminal, at which nobody sees a question: the approval of the preview is the answer."""
    given = ask("state resolve --not-created", OFFERS, note="the operator has no such URL", value=overdue.attempt())
    shown = preview(overdue, given)
    assert "If it exists, the next apply creates it a second time, which can never be undone." in shown.summary
    overdue.environment |= {
        "GITHUB_EVENT_PATH": str(overdue.path / "event.json"),
        "GITHUB_SHA": "ours",
        "STAGES": "staging production",
        "APPROVAL": shown.outputs["approval"],
    }
    with overdue.appending("resolved"):
        done = at_terminal(overdue, str(ACTION.parent / "mending.py"), "mend", program=sys.executable)
    assert (0, False) == (done.code, "Are you certain" in done.out), done


@pytest.mark.parametrize("operation", ["state resolve --created", "state resolve --not-created"])
def test_an_outcome_needs_its_evidence(overdue: Partner, operation: str) -> None:
    """Without a note nobody could say later why it was resolved so; the first job refuses it."""
    given = ask(operation, OFFERS, note=" ", value=overdue.attempt())
    for script, command in (("stages.py", "request"), ("mending.py", "preview")):
        done = step(overdue, script, command, given)
        assert (1, {}) == (done.ended.code, done.outputs)
        assert f"note: {operation} expects the evidence" in done.ended.err


def test_the_way_in_the_browser(overdue: Partner) -> None:
    """A preview says how to resolve what it shows as unknown; a repair, how to set the secret that it asks for."""
    form = "*Run workflow*, operation `state resolve --created`"
    assert form in preview(overdue, ask("state init", "europe/staging")).summary
    given = ask("state resolve --created", OFFERS, note="it arrives", value=overdue.attempt())
    assert form not in preview(overdue, given).summary
    done = mend(overdue, given)
    assert "reconciler secret set" in done.summary
    assert "*Run workflow*, operation `secret set`" in done.summary


def test_every_repair_on_the_bad_day() -> None:
    """The page names each repair of the form beside its command."""
    form = yaml.safe_load(WORKFLOW.read_text())[True]["workflow_dispatch"]["inputs"]
    page = (ROOT / ".github/BAD_DAY.md").read_text()
    repairs = {*form["operation"]["options"]} - {"state init", "apply --allow-empty"}
    assert set() == {one for one in repairs if f"` | `{one}` | " not in page}


@pytest.mark.parametrize("operation", ["state init", "state import"])
def test_an_address_that_config_does_not_declare(declared: Project, operation: str) -> None:
    """A command that cannot succeed is not offered for an approval."""
    done = step(declared, "mending.py", "preview", ask(operation, "latam/staging"))
    assert (1, {}) == (done.ended.code, done.outputs)
    assert "-t latam/staging: matches no " in done.ended.err
    assert f"{operation} is about what config/ declares" in done.ended.err


def test_a_record_that_is_about_to_be(project: Project) -> None:
    """That there is none yet is no error in the preview of what creates it."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    shown = preview(project, ask("state init", "europe/staging")).summary
    assert "No record yet: this creates it." in shown
    assert "Error" not in shown
