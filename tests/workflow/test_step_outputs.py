"""The steps of the action as forks: exit codes, outputs, the job summary, and the files that the artifact keeps."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.lending_service import refusal
from support.scripts import run_script

if TYPE_CHECKING:
    from support.partner import Partner
    from support.project import Finished
    from werkzeug import Response

PLANNED = ["changes", "digest", "plan-file", "create", "extend", "replace", "restore", "retire", "blocked"]


@dataclass
class Step:
    """A step of the action in a directory: what it printed, and what it left for the job."""

    ended: Finished
    outputs: dict[str, str]
    summary: str

    @property
    def folder(self) -> Path:
        return Path(self.outputs["folder"])


def run(partner: Partner, command: str, *, script: str = "step.py", **environment: str) -> Step:
    """Run a step as a job does, with files for its outputs and its summary."""
    temporary = partner.path / "temporary"
    temporary.mkdir(exist_ok=True)
    outputs, summary = partner.write("outputs", "earlier=1\n"), partner.write("summary", "Earlier.\n")
    files = {"RUNNER_TEMP": str(temporary), "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary)}
    given = {"INPUT_COMMAND": command, "INPUT_AUTO_APPROVE": str("INPUT_EXPECT_DIGEST" not in environment).lower()}
    variables = {**partner.variables(), **given, **files, **environment}
    ended = run_script(script, path=partner.path, environment=variables)
    told = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    assert "1" == told.pop("earlier")
    assert summary.read_text().startswith("Earlier.\n")
    return Step(ended, told, summary.read_text().removeprefix("Earlier.\n"))


def test_plan(partner: Partner) -> None:
    """A plan with changes succeeds; its outputs tell its exit code, what it has, and where its report is."""
    partner.begin(offers=["ONB10011"], loans=["LOA10013"])
    step = run(partner, "plan")
    document = json.loads((step.folder / "plan.json").read_text())
    report = (step.folder / "plan.md").read_text()
    assert (0, "", "") == (step.ended.code, step.ended.out, step.ended.err)
    assert step.outputs == {
        "folder": str(step.folder),
        "number": step.folder.name[-8:],
        "changes": "2",
        "digest": document["digest"],
        "plan-file": str(step.folder / "plan.json"),
        **{action: str(document["summary"][action]) for action in PLANNED[3:]},
        "report-file": str(step.folder / "plan.md"),
        "exit-code": "2",
    }
    assert ("2", "0") == (step.outputs["create"], step.outputs["retire"])
    assert report == step.summary
    assert f"<!-- reconciler:plan {document['digest']} -->\n### Plan: 2 create calls (2 new), 0 unchanged.\n" in report
    assert step.folder.parent == partner.path / "temporary"
    assert step.folder.name.startswith("reconciler-report-")


def test_page_of_the_plan(partner: Partner) -> None:
    """The folder of the artifact has the page of the same plan, and the summary says so, with the run."""
    partner.begin(offers=["ONB10011"])
    run_of = {"GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7"}
    step = run(partner, "plan", **run_of)
    page = (step.folder / "plan.html").read_text()
    assert step.outputs["digest"] in page
    line = "The plan as a page: plan.html in [the run](https://github.example/a/b/actions/runs/7)'s artifact.\n"
    assert step.summary.endswith(f"\n{line}")


def test_plan_without_changes(partner: Partner) -> None:
    """A plan without changes has the exit code 0, and a report all the same."""
    partner.begin()
    step = run(partner, "plan")
    assert (0, "0", "0") == (step.ended.code, step.outputs["exit-code"], step.outputs["changes"])
    assert "### No changes. 0 subscriptions match the configuration.\n" in step.summary


def test_plan_with_an_unknown_outcome(partner: Partner) -> None:
    """A plan that waits for a person succeeds: its exit code, 3, is an output."""
    partner.begin(offers=["ONB10011"])
    partner.lose_answer()
    step = run(partner, "plan")
    assert (0, "3", "1") == (step.ended.code, step.outputs["exit-code"], step.outputs["blocked"])


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_plan_that_fails(partner: Partner, command: str) -> None:
    """A plan that cannot be made fails the step; the summary points to the log, and no plan is named."""
    partner.want(offers=["ONB10011"])
    step = run(partner, command)
    assert (1, "1") == (step.ended.code, step.outputs["exit-code"])
    assert "reconciler state init -t europe/staging\n" in step.ended.err
    assert "reconciler ended before there was a report; the log says why.\n" == step.summary
    assert {"folder", "number", "report-file", "exit-code"} == set(step.outputs)
    assert step.outputs["report-file"] == str(step.folder / "plan.md")
    assert step.summary == (step.folder / "plan.md").read_text()
    assert partner.service.untouched


def test_plan_without_any_record(partner: Partner) -> None:
    """The summary has both ways, in order: a record that was deleted is restored, and only a new one initialized."""
    partner.want(offers=["ONB10011"])
    step = run(partner, "plan", INPUT_SKIP_UNINITIALIZED="true")
    assert 1 == step.ended.code
    assert (
        "### No plan: no target has a state record in <code>state</code>\n\n"
        "1. If there was one, its branch may have been deleted, or <code>state</code> is the wrong place. Initialize"
        " nothing: on a machine that has used the record, run `reconciler state recover -t '*/*'`, or restore a"
        " backup.\n"
        "2. If this is the first run after the set-up: *Run workflow*, operation `state init`, address"
        " <code>europe/staging</code>.\n"
    ) == step.summary
    partner.step("state", "init")
    partner.journal.unlink()
    lost = run(partner, "plan", INPUT_SKIP_UNINITIALIZED="true")
    assert "reconciler ended before there was a report; the log says why.\n" == lost.summary
    assert "is missing: it was last read here" in lost.ended.err


@pytest.mark.parametrize(("codes", "code"), [(["ONB10011"], 0), (["wrong"], 1)], ids=["valid", "invalid"])
def test_validate(partner: Partner, codes: list[str], code: int) -> None:
    """Validating has the exit code of the command, and needs no record."""
    partner.want(offers=codes)
    step = run(partner, "validate")
    assert (code, str(code)) == (step.ended.code, step.outputs["exit-code"])
    assert ("", {"folder", "number", "exit-code"}) == (step.summary, set(step.outputs))


def test_command_that_does_not_exist(partner: Partner) -> None:
    """Another command fails, and the log names those there are."""
    partner.begin(offers=["ONB10011"])
    step = run(partner, "destroy")
    assert (1, "1") == (step.ended.code, step.outputs["exit-code"])
    assert step.ended.err.startswith("Error: command: ")
    assert all(command in step.ended.err for command in ("validate", "plan", "apply"))


def test_apply(partner: Partner) -> None:
    """An apply reports its results, not its plan; the plan's outputs are there too."""
    partner.begin(offers=["ONB10011"])
    with partner.appending("bound", "intent", "outcome"):
        step = run(partner, "apply")
    assert (0, "0", "1") == (step.ended.code, step.outputs["exit-code"], step.outputs["create"])
    assert str(step.folder / "apply.md") == step.outputs["report-file"]
    assert (step.folder / "apply.md").read_text() == step.summary
    assert step.summary.startswith("<!-- reconciler:apply -->\n### Applied: 1 create call (1 new): 1 created.\n")
    assert [*PLANNED, "report-file"] == [name for name in step.outputs if name in {*PLANNED, "report-file"}]
    assert "" == step.ended.out


def test_apply_with_an_unknown_outcome(partner: Partner) -> None:
    """Only a plan tolerates an unknown outcome: an apply fails with it."""
    partner.begin(offers=["ONB10011"])
    partner.lose_answer()
    step = run(partner, "apply")
    assert (3, "3") == (step.ended.code, step.outputs["exit-code"])


def test_report_that_is_lost(partner: Partner) -> None:
    """Where the report cannot be read or saved, the step has the exit code of what was done all the same."""
    partner.begin(offers=["ONB10011"])

    def lose() -> Response:
        (folder,) = partner.path.joinpath("temporary").iterdir()
        shutil.rmtree(folder)
        return refusal(500)

    partner.service.answer_next(lose)
    step = run(partner, "apply")
    assert (3, "3") == (step.ended.code, step.outputs["exit-code"])
    assert "the report cannot be saved: No such file or directory" in step.ended.err


@pytest.mark.parametrize("command", ["apply", "plan"])
def test_an_unknown_outcome_by_form(partner: Partner, command: str) -> None:
    """The summary and the report name the way without a terminal, for what has an unknown outcome alone."""
    partner.begin(offers=["ONB10011"])
    assert "Run workflow" not in run(partner, "plan").summary
    partner.service.answer_next(refusal(500))
    done = run(partner, "apply")
    if command == "plan":
        done = run(partner, "plan")
    form = "*Run workflow*, operation `state resolve --created` or `state resolve --not-created`"
    assert [1, 1] == [text.count(form) for text in (done.summary, Path(done.outputs["report-file"]).read_text())]


def test_apply_of_an_approved_plan(partner: Partner) -> None:
    """The digest that was approved is applied, within the limit of creates."""
    partner.begin(offers=["ONB10011"])
    digest = run(partner, "plan").outputs["digest"]
    assert 1 == run(partner, "apply", INPUT_EXPECT_DIGEST="sha256:other").ended.code
    assert 1 == run(partner, "apply", INPUT_MAX_CREATES="0").ended.code
    assert partner.service.untouched
    assert 0 == run(partner, "apply", INPUT_EXPECT_DIGEST=digest, INPUT_MAX_CREATES="1").ended.code


def test_targets(partner: Partner) -> None:
    """The patterns of the input, one to a line, select what is planned and applied."""
    partner.begin(offers=["ONB10011"], loans=["LOA10013"], other=["ONB10001"])
    patterns = "*/*/offers\n*/*/loans\n"
    assert "2" == run(partner, "plan", INPUT_TARGET=patterns).outputs["changes"]
    assert 0 == run(partner, "apply", INPUT_TARGET=patterns).ended.code
    assert [("loans", "live", ["LOA10013"]), ("offers", "live", ["ONB10011"])] == partner.listed()


@pytest.mark.parametrize("variable", ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"])
def test_outside_of_a_runner(partner: Partner, variable: str) -> None:
    """Without a file for outputs or for the summary, the step does the rest."""
    partner.begin()
    step = run(partner, "plan", **{variable: ""})
    assert (0, "") == (step.ended.code, step.ended.err)


def test_record_is_kept(partner: Partner) -> None:
    """The history goes to stdout, and each journal into the folder, as a file store holds it."""
    partner.begin(offers=["ONB10011"])
    partner.step("apply", "--auto-approve")
    urls = "".join(f"    {name}: https://api.other.example\n" for name in ("auth_url", "base_url", "audience_base"))
    partner.write("config/other.yaml", f"targets:\n  europe/production:\n{urls}")
    partner.step("state", "init")
    folder = partner.path / "kept"
    step = run(partner, "", script="keep.py", FOLDER=str(folder))
    assert 0 == step.ended.code
    assert partner.step("state", "history").out == step.ended.out
    assert partner.journal.read_bytes() == (folder / "state/europe/staging.jsonl").read_bytes()
    assert 1 == (folder / "state/europe/production.jsonl").read_bytes().count(b"\n")


def test_record_that_cannot_be_read_is_not_kept(partner: Partner) -> None:
    """Where the history fails, so does the step, and it copies nothing."""
    partner.want(offers=["ONB10011"])
    folder = partner.path / "kept"
    partner.write("state/europe/staging.jsonl", "damaged\n")
    assert 1 == run(partner, "", script="keep.py", FOLDER=str(folder)).ended.code
    assert not folder.exists()
