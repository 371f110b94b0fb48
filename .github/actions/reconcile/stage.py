"""Runs a command in a step, and decides what a stage does. Each verb on the command line is a step of the workflows.

`review` plans a pull request, and `comment` shows the plan in a comment. `decide` plans after the merge. `tip` stops
the run if the default branch has changed, because an approval can come days later. `run` runs the command that `decide`
chose. `missing` warns about gaps in the set-up on GitHub.
"""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import job
import yaml

from reconciler.cli import parsing
from reconciler.cli.invocation import Invocation
from reconciler.cli.main import cli
from reconciler.desired import load_sound
from reconciler.operations.plan_file import SavedPlan, load_plan, unreviewed_changes

CONFIG, REPORT, TIP = os.environ["RECONCILER_CONFIG"], Path(os.environ["RUNNER_TEMP"], "plan.md"), "refs/reconciler/tip"
FETCH_TIP = ("fetch", "--quiet", "origin", f"+refs/heads/{job.BRANCH}:{TIP}")
# The first line of the comment, its author, and its maximum length in characters; GitHub refuses 65,536.
MARKER, BOT, COMMENT = "<!-- reconciler:pull-request -->\n", "github-actions[bot]", 65_000
SECRETS = re.compile(r"RECONCILER_[A-Z0-9_]+_CLIENT_(ID|SECRET)")
# The secrets and the variables that the program gets. Neither may replace the other, which anyone may have set.
VARIABLES = re.compile(r"RECONCILER_(RECIPIENTS|[A-Z0-9_]+_(AUTH_URL|BASE_URL|AUDIENCE_BASE))")
# The commands that have a report as Markdown.
REPORTS = ("plan", "apply", "status", "parity", "removal list")
REFUSED = ("yes", "dry_run", "auto_approve", "plan_file", "pinned", "allow_plaintext_responses", "max_creates")


def run() -> None:
    """Run a command with the secrets and variables that it needs, and exit with its exit code."""
    words = job.fetched(shlex.split(os.environ["INPUT_COMMAND"]))
    variables, secrets = (json.loads(os.environ.pop(f"INPUT_{name}")) for name in ("VARIABLES", "SECRETS"))
    for known, values in ((SECRETS, secrets), (VARIABLES, variables)):
        os.environ.update({name: value for name, value in values.items() if known.fullmatch(name)})
    job.take_store_credentials(secrets.get("STORE_CREDENTIALS", ""))
    sets_secret = words[:2] == ["secret", "set"]
    if sets_secret and not variables.get("RECONCILER_RECIPIENTS"):
        job.stop("the environment has no variable RECONCILER_RECIPIENTS: config/ does not decide alone")
    form = ["--format", "markdown"] if " ".join(words).startswith(REPORTS) else []
    code, text = job.reconciler(*words, *form, stdin=secrets.get("SUBSCRIPTION_SECRET", "") if sets_secret else "")
    job.show(job.say(text) if form else job.block(job.say(text)))
    job.tell("exit-code", str(code))
    sys.exit(code)


def parse(line: str, stages: list[str]) -> tuple[parsing.Parsed, str]:
    """Return a parsed command line, and the stage that approves it. Stop if the workflow does not allow the command."""
    try:
        asked = parsing.parse(cli, shlex.split(line.removeprefix("reconciler ")))
    except Exception as problem:  # noqa: BLE001 - of shlex, or of click: a mistake, or a request for help
        job.stop(f"command: {problem}")
    is_apply = asked.name == "apply"
    refused = [name for name in (*REFUSED, *([] if is_apply else ["expect_digest"])) if asked.params.get(name)]
    is_ours = asked.params["expect_digest"] if is_apply else re.match("state |removal |secret set$", asked.name)
    if refused or not is_ours:
        job.stop("command: expected apply --expect-digest D, or state, removal or secret set, without global options")
    is_of_one = len(asked.environments) == 1 and asked.environments <= {*stages}
    if is_apply and not is_of_one:
        job.stop("command: apply needs -t with targets or addresses of one stage")
    if asked.name == "state recover" and "://" in asked.params["source"]:  # it would be sent the store's credentials
        job.stop("command: state recover needs run:ID/ARTIFACT, a file of the checkout, or git:BRANCH")
    return asked, min(asked.environments) if is_of_one else stages[-1]


def preview(asked: parsing.Parsed) -> str:
    """Show what a command would do, and return the command that does exactly this, or "" if it only reads."""
    command = shlex.join(asked.words)
    job.show(job.block(f"reconciler {command}"), whole=True)
    if asked.name == "secret set":
        job.show("Records the secret SUBSCRIPTION_SECRET of the environment, encrypted to its recipients.\n")
        return f"{command} --yes"
    appends = ["--dry-run"] if "dry_run" in asked.params else []
    code, text = job.reconciler(*job.fetched(asked.words), *appends, with_errors=True)
    job.show(job.block(job.say(text)), whole=True)
    digests = re.findall(r"Digest: (sha256:[0-9a-f]{64})\. Nothing was appended\.", text)
    if code or len(digests) != len(appends):
        job.stop("it cannot be done, or has no single digest; see above")
    return f"{command} --expect-digest {digests[0]}" if appends else ""


def stages() -> dict[str, str]:
    """Return the stages of the calling workflow, in order, each with the stage that it follows ("" for none)."""
    jobs = yaml.safe_load(Path(job.WORKFLOW).read_text(encoding="utf-8"))["jobs"]
    named = {name: spec["with"]["stage"] for name, spec in jobs.items() if "stage" in spec.get("with", {})}
    needs = {name: re.findall(r"[\w-]+", str(jobs[name].get("needs"))) for name in named}  # a name, or a list of them
    return {stage: next((named[need] for need in needs[name] if need in named), "") for name, stage in named.items()}


def tip() -> None:
    """Stop if `config` or `.github` differs at the tip of the default branch."""
    job.git(*FETCH_TIP)
    if Path(CONFIG).resolve() != Path.cwd() / CONFIG:
        job.stop("config has to be a path in the checkout without symbolic links")
    for path in (CONFIG, ".github"):
        here, there = (job.git("rev-parse", "--verify", "--quiet", f"{commit}:{path}") for commit in ("HEAD", TIP))
        if not here or here != there:
            job.stop(f"the default branch has moved on, and {path} differs there: the run of that commit goes on")


def plan(*words: str) -> SavedPlan:
    """Make a plan, show all of it, and return it."""
    code, text = job.reconciler("plan", *words, "--out", str(REPORT.with_suffix(".json")), "--format", "markdown")
    if job.say(text)[:4] != "<!--" or code:  # a truncated report begins with a warning
        job.stop("there is no plan that can be shown; see above")
    REPORT.write_text(text, encoding="utf-8")
    job.show(text, whole=True)
    return load_plan(REPORT.with_suffix(".json"))


def review() -> None:
    """Plan a pull request against the record that the default branch names, even if the pull request names another."""
    desired, _ = load_sound(Path(CONFIG))
    if (declared := {name.environment for name in desired.targets}) != {*stages()}:
        job.stop(f"the stages of the workflow are {', '.join(stages())}; config/ has {', '.join(sorted(declared))}")
    job.git(*FETCH_TIP)
    folder = REPORT.with_name("tip")
    job.git("worktree", "add", "--quiet", "--detach", str(folder), TIP)
    place = load_sound(folder / CONFIG)[0].state if (folder / CONFIG).exists() else ""
    credentials = os.environ.pop("STORE_CREDENTIALS", "")
    if not place.startswith("git") and not (place and credentials):
        job.show("Validated, not planned: nothing here can read the record that the default branch names.\n")
        return
    job.take_store_credentials(credentials)
    if place != desired.state:
        os.environ["RECONCILER_STATE"] = place
    plan()


def comment() -> None:
    """Write the comment on the pull request, or update the comment of an earlier run."""
    run = f"{os.environ['GITHUB_SERVER_URL']}/{job.REPOSITORY}/actions/runs/{os.environ['GITHUB_RUN_ID']}"
    text = REPORT.read_text(encoding="utf-8") if REPORT.exists() else f"There is no plan: see [the run]({run}).\n"
    if len(text) > COMMENT:
        kept = text[:COMMENT].rpartition("\n")[0]
        text = f"**This is cut: [the summary]({run}) is whole.**\n\n{kept}\n" + "```\n" * (kept.count("```") % 2)
    body = {"body": f"{MARKER}{text}\n\nPlanned for {job.EVENT['pull_request']['head']['sha']}.\n"}
    issues = f"repos/{job.REPOSITORY}/issues"
    pages = job.gh("api", "--paginate", "--slurp", where := f"{issues}/{job.EVENT['number']}/comments")
    rows = [row for page in pages for row in page if row["user"]["login"] == BOT]
    own = [row["id"] for row in rows if row["body"].startswith(MARKER)]
    job.gh("api", *(["-X", "PATCH", f"{issues}/comments/{own[0]}"] if own else [where]), "--input", "-", stdin=body)


def decide() -> None:
    """Write the command that this stage must run to the output `command`; "" means that nothing is to be run."""
    job.take_store_credentials(os.environ.pop("STORE_CREDENTIALS", ""))
    asked, stage = None, os.environ["STAGE"]
    if inputs := job.EVENT.get("inputs"):
        asked, approving = parse(inputs["command"], [*stages()])
        if approving != stage:
            return
    tip()
    command = preview(asked) if asked and asked.name != "apply" else _apply(stage, asked)
    if command and asked:
        job.refuse_stranger(stage)
    job.tell("command", command)


def _apply(stage: str, asked: parsing.Parsed | None) -> str:
    """Return the command that applies the reviewed plan or the plan with the given digest, or "" for an empty plan."""
    words = [word for pattern in (asked.patterns if asked else [f"*/{stage}"]) for word in ("-t", pattern)]
    words += ["--allow-empty"] if asked and asked.params["allow_empty"] else []
    planned, after, soak = plan(*words), stages()[stage], os.environ["SOAK"]
    if all(change.action == "blocked" for change in planned.changes):
        return ""
    if after:
        proven = ["--proven", "--soak", soak] if soak else []
        code, text = job.reconciler("parity", f"*/{after}", f"*/{stage}", "--gate", *proven, "--format", "markdown")
        job.show(text)
        if code:
            job.stop(f"{stage} waits until all that it needs is in force in {after}")
    if asked and asked.params["expect_digest"] != planned.digest:
        job.stop(f"the plan has changed: its digest is {planned.digest}")
    way = f"apply {shlex.join(words)} --expect-digest {planned.digest}"
    project = Invocation().project
    if not asked and (left := unreviewed_changes(planned, job.merged(), project.journal.read().record.contains)):
        rows = job.block("".join(f"{change.address}: {change.action}, {reason}\n" for change, reason in left))
        job.show(f"#### Not shown by a pull request\n\n{rows}Review the plan; *Run workflow* with `{way}`.\n")
        job.stop("some changes were not shown by a pull request: the summary has them, and the command to go on with")
    return f"{way} --pinned"


def missing() -> None:
    """Warn about gaps in the set-up. The token of a run cannot show all gaps, such as who may bypass a rule."""
    kind, _, place = load_sound(Path(CONFIG))[0].state.partition(":")
    for stage in stages():
        rows = job.get(f"environments/{stage}/deployment-branch-policies", default={}).get("branch_policies", [])
        if [(row["name"], row.get("type")) for row in rows] != [(job.BRANCH, "branch")]:
            job.warn(f"see the set-up: the environment {stage} allows not only deployments from {job.BRANCH}")
    rules = [rule.get("parameters", {}) for rule in job.get(f"rules/branches/{job.BRANCH}", default=[])]
    if not any(rule.get("require_last_push_approval") for rule in rules):
        job.warn(f"see the set-up: what was pushed after an approval may be merged into {job.BRANCH}")
    for name in (place, f"{place}-head") if kind == "git" else ():
        rules = job.get(f"rules/branches/{name.replace('/', '%2F')}", default=[])
        if lacking := {"creation", "update", "deletion", "non_fast_forward"} - {rule["type"] for rule in rules}:
            job.warn(f"see the set-up: no ruleset restricts {', '.join(sorted(lacking))} of the branch {name}")


if __name__ == "__main__":
    {"run": run, "review": review, "comment": comment, "decide": decide, "tip": tip, "missing": missing}[sys.argv[1]]()
