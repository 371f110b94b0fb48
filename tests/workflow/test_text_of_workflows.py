"""What holds of the text of the workflows, the action and its lists; what linters say of them, offline."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from support.forge import ACTION, ROOT, WORKFLOWS

BIN = Path(sys.executable).parent
PLAN, APPLY = WORKFLOWS
CI = ROOT / ".github" / "workflows" / "ci.yml"
LISTS = ("requirements", "requirements-objectstore", "requirements-postgres")


def lint(*command: str | Path) -> tuple[int, str]:
    """Run a linter and return its exit code and what it says."""
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workflow that `init --github` writes."""
    folder = tmp_path_factory.mktemp("project")
    for words in (("git", "init", "-q", "-b", "trunk"), (sys.executable, "-m", "reconciler", "init", ".", "--github")):
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder / ".github/workflows/subscriptions.yml"


def jobs(*paths: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the jobs of workflows, by name."""
    for path in paths:
        yield from ((f"{path.name}/{name}", job) for name, job in yaml.safe_load(path.read_text())["jobs"].items())


def steps_of(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps that run in a job, those of the action for each step that uses it."""
    of_action = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]
    steps = job.get("steps", [])
    return [*steps, *(inner for step in steps if "$/" in step.get("uses", "") for inner in of_action)]


def test_size(caller: Path) -> None:
    """The user's side has at most 35 lines, of its default branch, a stage three; the workflows 200 together."""
    lines = caller.read_text().splitlines()
    assert '  push: {branches: ["trunk"]}' in lines
    assert len(lines) <= 35
    assert 3 == len(lines) - lines.index("  production:")
    assert sum(len(path.read_text().splitlines()) for path in WORKFLOWS) <= 200


def test_size_of_the_action() -> None:
    """Its Python and shell have at most 300 lines besides blanks, comments and docstrings."""
    size = 0
    for path in (*ACTION.glob("*.py"), *ACTION.glob("*.sh")):
        text = re.sub(r'^ *""".*?"""$', "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        size += sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())
    assert 200 < size <= 300


def test_zizmor(caller: Path, tmp_path: Path) -> None:
    """The audit finds nothing; in a workflow that is not pinned, it would."""
    audit = (BIN / "zizmor", "--offline", "--no-progress", "--pedantic")
    code, said = lint(*audit, *WORKFLOWS, CI, ACTION / "action.yml", ROOT / ".github" / "dependabot.yml", caller)
    assert 0 == code, said
    (tmp_path / "loose.yml").write_text(re.sub(r"@[0-9a-f]{40} # ", "@", PLAN.read_text()))
    assert "unpinned-uses" in lint(*audit, tmp_path / "loose.yml")[1]


def test_reasons() -> None:
    """What a linter is told to ignore has its reason beside it."""
    for path in (*WORKFLOWS, CI, ROOT / "reconciler/operations/templates/subscriptions.yml.j2"):
        assert not re.search(r"zizmor: ignore\[[^]]+\]\s*$", path.read_text(), re.MULTILINE), path


def test_schema(caller: Path, tmp_path: Path) -> None:
    """They are what GitHub reads; with a key that it does not know, they would not be."""
    check = (BIN / "check-jsonschema", "--builtin-schema")
    code, said = lint(*check, "vendor.github-workflows", *WORKFLOWS, CI, caller)
    assert 0 == code, said
    code, said = lint(*check, "vendor.github-actions", ACTION / "action.yml")
    assert 0 == code, said
    (tmp_path / "wrong.yml").write_text(f"{PLAN.read_text()}\nno-such-key: {{}}\n")
    assert "no-such-key" in lint(*check, "vendor.github-workflows", tmp_path / "wrong.yml")[1]


def test_pins() -> None:
    """Every third-party action is pinned to a commit, with its version beside it."""
    for path in (*WORKFLOWS, CI, ACTION / "action.yml"):
        used = re.findall(r"uses: ([^$\s]\S+)(.*)", path.read_text())
        assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) and "# v" in rest for name, rest in used), path


def test_no_caches(caller: Path) -> None:
    """No job that can reach a secret, a key or an approval can restore or save a cache.

    A cache is unpacked wherever it says, and any workflow on the default branch can write one.
    """
    for path in (*WORKFLOWS, caller):
        assert "none" == yaml.safe_load(path.read_text())["cache-mode"]
    for name, job in jobs(*WORKFLOWS, CI):
        text = str(steps_of(job))
        assert "actions/cache" not in text, name
        assert not re.search(r"'cache'|enable-cache|setup-(node|go|java|uv)", text), name


def test_what_a_job_can_reach(caller: Path) -> None:
    """A job without an environment reaches one secret, which only reads; its token writes nothing but the comment."""
    for name, job in jobs(*WORKFLOWS):
        expressions = " ".join(re.findall(r"\$\{\{(.*?)\}\}", str(job)))
        secrets = {*re.findall(r"\bsecrets\b(?:\.(\w+))?", expressions)}
        permissions = {kind for kind, access in job["permissions"].items() if access == "write"}
        if "environment" in job:
            assert set() == permissions, name
        else:
            assert secrets <= {"STORE_CREDENTIALS"}, name
            assert permissions <= {"pull-requests"}, name
            assert "ssh-key" not in str(job), name
    assert ["apply.yml/apply"] == [name for name, job in jobs(*WORKFLOWS) if "environment" in job]
    inherit = [name for name, job in jobs(caller) if job.get("secrets") == "inherit"]
    assert all("apply.yml" in dict(jobs(caller))[name]["uses"] for name in inherit)


def test_events(caller: Path) -> None:
    """No workflow runs others' code with secrets."""
    for path in (*WORKFLOWS, CI, caller):
        assert not re.search("pull_request_target|workflow_run|issue_comment", path.read_text()), path
    for name, job in jobs(*WORKFLOWS):
        assert ("pull_request" in job.get("if", "")) <= ("environment" not in job), name


def test_what_is_typed_reaches_no_shell(caller: Path) -> None:
    """No script has an expression in it: what comes from elsewhere comes as a variable."""
    for path in (*WORKFLOWS, ACTION / "action.yml"):
        for step in re.findall(r"run: (.*(?:\n {8,}.*)*)", path.read_text()):
            assert "${{" not in step, path
    assert "run:" not in caller.read_text().replace("run-name:", "")


def test_names_that_others_choose(caller: Path) -> None:
    """No job reads a title, a text, a branch's name or a label of a pull request."""
    for path in (*WORKFLOWS, ACTION / "action.yml", caller):
        assert not re.search(r"head_ref|ref_name|github\.actor|\.(title|body|label|ref)\b", path.read_text()), path


def test_no_group_waits_for_an_approval() -> None:
    """GitHub holds a group while its job waits for a reviewer, so that a run nobody approves would block the rest."""
    assert [] == [name for name, job in jobs(APPLY) if "concurrency" in job]


def test_apply_is_bound() -> None:
    """What runs in an environment is the command that the job before has shown, after another look at the branch."""
    job = dict(jobs(APPLY))["apply.yml/apply"]
    commands = [step["with"]["command"] for step in job["steps"] if "command" in step.get("with", {})]
    assert ["${{ needs.plan.outputs.command }}"] == commands
    scripts = [step["run"] for step in job["steps"] if "run" in step]
    assert ['exec "$PYTHON" "$SCRIPTS/stage.py" tip'] == scripts


def test_scripts_and_credentials() -> None:
    """Secrets go to the step that runs the program, as variables, and to no installer."""
    steps = {step["name"]: str(step) for step in yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]}
    assert ["Run reconciler"] == [name for name, text in steps.items() if "inputs.secrets" in text]


def test_requirements() -> None:
    """What the project depends on is pinned by hash, in a version that it accepts, without any address."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    texts = [(ACTION / f"{name}.txt").read_text() for name in LISTS]
    pinned = dict(row for text in texts for row in re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+)", text, re.MULTILINE))
    wanted = [Requirement(line) for line in project["dependencies"] + extras["objectstore"] + extras["postgres"]]
    assert [] == [str(row) for row in wanted if row.name not in pinned or not row.specifier.contains(pinned[row.name])]
    for text in texts:
        assert "://" not in text
        assert [] == [part for part in re.split(r"\n(?=\w)", text)[1:] if "--hash=sha256:" not in part]


def test_updates() -> None:
    """Dependabot looks after the actions of the workflows, and after the lists of hashes."""
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    looked_after = {update["package-ecosystem"]: set(update["directories"]) for update in updates}
    action = "/.github/actions/reconcile"
    assert {"github-actions": {"/", action}, "pip": {action}} == looked_after


def test_documented() -> None:
    """The action's README names every input and output, of the action and of the workflows."""
    readme = (ACTION / "README.md").read_text()
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    called = [yaml.safe_load(path.read_text())[True]["workflow_call"]["inputs"] for path in WORKFLOWS]
    names = {*action["inputs"], *action["outputs"], *(name for inputs in called for name in inputs)}
    assert [] == [name for name in sorted(names) if f"`{name}`" not in readme]
