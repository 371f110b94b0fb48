"""Plans, and decides what a stage does: `stage.py review` for a pull request, `stage.py decide` after the merge.

`stage.py tip` stops where the default branch has moved on: an approval can come days after the plan. `stage.py comment`
keeps the plan as one comment on the pull request, and `stage.py missing` says what the set-up on GitHub lacks.
"""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import job
import repair
import shown
import yaml

from reconciler.desired import load_sound
from reconciler.operations.project import Flags, Project
from reconciler.operations.settings import Sources
from reconciler.reports.words import visible

CONFIG, REPOSITORY = os.environ["RECONCILER_CONFIG"], os.environ["GITHUB_REPOSITORY"]
TEMPORARY = Path(os.environ["RUNNER_TEMP"])
REPORT, TIP = TEMPORARY / "plan.md", "refs/reconciler/tip"
BRANCH = job.event("repository", "default_branch")
MARKER, COMMENT = "<!-- reconciler:pull-request -->\n", 65_000
"""The first line of the comment, and its longest text in characters; GitHub refuses one of 65,536."""
RULES = {"creation", "update", "deletion", "non_fast_forward"}


def stages() -> dict[str, str]:
    """Return the stages of the calling workflow, in order, each with the one that it follows, "" for the first."""
    path = os.environ["GITHUB_WORKFLOW_REF"].partition("@")[0].removeprefix(f"{REPOSITORY}/")
    jobs: dict[str, Any] = yaml.safe_load(Path(path).read_text(encoding="utf-8"))["jobs"]
    named = {name: spec["with"]["stage"] for name, spec in jobs.items() if "stage" in spec.get("with", {})}
    needs = {name: jobs[name].get("needs", []) for name in named}
    lists = {name: [given] if isinstance(given, str) else given for name, given in needs.items()}
    return {stage: next((named[need] for need in lists[name] if need in named), "") for name, stage in named.items()}


def fetch_tip() -> None:
    """Fetch the commit of the default branch."""
    job.git("fetch", "--quiet", "origin", f"+refs/heads/{BRANCH}:{TIP}")


def tip() -> None:
    """Stop unless what decides here is what the default branch has now."""
    fetch_tip()
    if Path(CONFIG).resolve() != Path.cwd() / CONFIG:
        job.stop("config has to be a path in the checkout without symbolic links")
    for path in (CONFIG, ".github"):
        here, there = (job.git("rev-parse", "--verify", "--quiet", f"{commit}:{path}") for commit in ("HEAD", TIP))
        if not here or here != there:
            job.stop(f"the default branch has moved on, and {path} differs there: the run of that commit goes on")


def plan(*words: str) -> shown.Values:
    """Plan, show it whole, and return it."""
    file = TEMPORARY / "plan.json"
    code, text = job.reconciler("plan", *words, "--out", str(file), "--format", "markdown")
    job.say(text)
    if code or not text.startswith("<!--"):  # a report that was cut says so first
        job.stop("there is no plan that can be shown; see above")
    REPORT.write_text(text, encoding="utf-8")
    job.show(text, whole=True)
    planned: shown.Values = json.loads(file.read_bytes())
    return planned


def review() -> None:
    """Plan a pull request, on the record of the default branch: the change under review does not choose the place."""
    desired, _ = load_sound(Path(CONFIG))
    if (declared := {name.environment for name in desired.targets}) != {*stages()}:
        job.stop(f"the stages of the workflow are {', '.join(stages())}; config/ has {', '.join(sorted(declared))}")
    fetch_tip()
    folder = TEMPORARY / "tip"
    job.git("worktree", "add", "--quiet", "--detach", str(folder), TIP)
    place = load_sound(folder / CONFIG)[0].state if (folder / CONFIG).exists() else ""
    credentials = os.environ.pop("STORE_CREDENTIALS", "")
    if not place.startswith("git") and not credentials:
        job.show("Validated, not planned: nothing here can read the record that the default branch names.\n")
        return
    job.take_store_credentials(credentials)
    if place != desired.state:
        os.environ["RECONCILER_STATE"] = place
    plan()


def comment() -> None:
    """Write the comment, or change that of an earlier run."""
    run = f"{os.environ['GITHUB_SERVER_URL']}/{REPOSITORY}/actions/runs/{os.environ['GITHUB_RUN_ID']}"
    text = REPORT.read_text(encoding="utf-8") if REPORT.exists() else f"There is no plan: see [the run]({run}).\n"
    if len(text) > COMMENT:
        kept = text[:COMMENT].rpartition("\n")[0]
        text = f"**This is cut. The whole plan is in [the summary]({run}).**\n\n{kept}\n"
        text += "```\n" * (kept.count("```") % 2)
    body = {"body": f"{MARKER}{text}\n\nPlanned for {job.event('pull_request', 'head', 'sha')}.\n"}
    place = f"repos/{REPOSITORY}/issues"
    pages = job.gh("api", "--paginate", "--slurp", f"{place}/{job.event('number')}/comments")
    own = [row for page in pages for row in page if row["user"]["login"] == "github-actions[bot]"]
    ids = [row["id"] for row in own if row["body"].startswith(MARKER)]
    where = ["-X", "PATCH", f"{place}/comments/{ids[0]}"] if ids else [f"{place}/{job.event('number')}/comments"]
    job.gh("api", *where, "--input", "-", stdin=body)


def decide() -> None:
    """Find what this stage has to run in its environment, and tell it, if there is anything."""
    stage = os.environ["STAGE"]
    job.take_store_credentials(os.environ.pop("STORE_CREDENTIALS", ""))
    asked = repair.parse(job.event("inputs", "command"), [*stages()]) if job.event("inputs") else None
    if asked and asked.stage != stage:
        return
    tip()
    command = repair.preview(asked) if asked and asked.name != "apply" else _apply(stage, asked)
    if command and asked:
        repair.refuse_stranger(stage)
    job.tell("command", command)


def _apply(stage: str, asked: repair.Asked | None) -> str:
    """Return the command that applies what was shown, or what has the digest that was asked for; "" for nothing."""
    words = [word for pattern in (asked.values if asked else [f"*/{stage}"]) for word in ("-t", pattern)]
    words += ["--allow-empty"] if asked and asked.params["allow_empty"] else []
    planned, after, soak = plan(*words), stages()[stage], os.environ["SOAK"]
    if all(change["action"] == "blocked" for change in planned["changes"]):
        return ""
    if after:
        proven = ["--proven", "--soak", soak] if soak else []
        code, text = job.reconciler("parity", f"*/{after}", f"*/{stage}", "--gate", *proven, "--format", "markdown")
        job.show(text)
        if code:
            job.stop(f"{stage} waits until all that it needs is in force in {after}")
    if asked and asked.params["expect_digest"] != planned["digest"]:
        job.stop(f"the plan has changed: its digest is {planned['digest']}")
    record = Project(Flags(config=CONFIG), Sources.load(os.environ, Path.cwd())).journal.read().record
    way = f"apply {shlex.join(words)} --expect-digest {planned['digest']}"
    if not asked and (left := shown.unshown(planned["changes"], shown.merged(), record.contains)):
        rows = "".join(f"{change['address']}: {change['action']}, {reason}\n" for change, reason in left)
        job.show(
            f"#### Not shown by a pull request\n\n{job.block(rows)}Review the plan; *Run workflow* with `{way}`.\n"
        )
        job.stop("some changes were not shown by a pull request: the summary has them, and the command to go on with")
    return f"{way} --pinned"


def missing() -> None:
    """Warn of what the set-up lacks, as far as the token of a run can see it: never who may bypass a rule."""
    kind, _, place = load_sound(Path(CONFIG))[0].state.partition(":")
    texts = []
    for stage in stages():
        path = f"repos/{REPOSITORY}/environments/{quote(stage)}/deployment-branch-policies"
        rows = job.gh("api", path, default={}).get("branch_policies", [])
        if [(row["name"], row.get("type")) for row in rows] != [(BRANCH, "branch")]:
            texts.append(f"the environment {stage} does not allow deployments from the branch {BRANCH} alone")
    for name in (place, f"{place}-head") if kind == "git" else ():
        rules = job.gh("api", f"repos/{REPOSITORY}/rules/branches/{quote(name, safe='')}", default=[])
        if lacking := RULES - {rule["type"] for rule in rules}:
            texts.append(f"no ruleset restricts {', '.join(sorted(lacking))} of the branch {name}")
    sys.stdout.write("".join(f"::warning::{visible(text)}: see the set-up\n" for text in texts))


if __name__ == "__main__":
    {"review": review, "comment": comment, "decide": decide, "tip": tip, "missing": missing}[sys.argv[1]]()
