"""The files of a new project, and what is added to one that exists."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml
from pyrage import x25519  # type: ignore[import-untyped]
from support.configs import ROOT
from support.refusals import raised

from reconciler.desired import load
from reconciler.errors import ConfigError, Refused, SettingsError
from reconciler.operations.init import BRANCH, WORKFLOW, Choices, Written, initialize, proposed_state

NEW = ("config/targets.yaml", "config/subscriptions.yaml", "config/.schema.json", ".gitignore")


def git(directory: Path, *words: str) -> None:
    """Run git there."""
    directory.mkdir(exist_ok=True)
    identity = ("-c", "user.name=x", "-c", "user.email=x@x.test")
    subprocess.run(("git", "-C", str(directory), *identity, *words), check=True, capture_output=True)


def repository_at(directory: Path, branch: str = "trunk") -> Path:
    """Make a work tree with a remote."""
    git(directory, "init", "-q", "-b", branch)
    git(directory, "remote", "add", "origin", "https://git.test/x.git")
    return directory


def init(directory: Path, choices: Choices | None = None) -> Written:
    """Initialize there, with a data directory beside it."""
    return initialize(directory, choices or Choices(), directory.parent / "data")


def tree(directory: Path) -> dict[str, bytes]:
    """Return all files, by name."""
    files = (path for path in directory.rglob("*") if path.is_file() and ".git/" not in str(path))
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_a_new_project_is_valid(tmp_path: Path) -> None:
    """The files are those of the example, but for the place of the record, and say what comes next."""
    written = init(tmp_path / "new")
    assert NEW == written.files
    assert {*NEW} == {*tree(tmp_path / "new")}
    desired = load(tmp_path / "new" / "config")
    counts = (len(desired.targets), len(desired.subscriptions))
    assert ("state.jsonl", (4, 8), ()) == (desired.state, counts, desired.unread)
    commands = [" ".join(step.command) for step in written.steps if step.command]
    steps = ("reconciler validate", "reconciler state init", "reconciler plan")
    assert [f"cd {tmp_path / 'new'}", *steps] == commands
    for github in (True, False):
        written = init(tmp_path / f"ci-{github}", Choices(state=BRANCH, begins_here=False, github=github))
        commands = [" ".join(step.command) for step in written.steps if step.command]
        assert [f"cd {tmp_path / f'ci-{github}'}", "reconciler validate", "reconciler init --age-key"] == commands


@pytest.mark.parametrize(("state", "is_shared"), [
    ("file:records.jsonl", False), ("records.jsonl", False), ("file:///r.jsonl", False), (BRANCH, True),
    ("git+ssh://git@git.test/x.git#b", True), ("s3://bucket/p", True), ("postgresql://db.test/x", True),
])  # fmt: skip
def test_responses_are_encrypted_where_others_use_the_record(tmp_path: Path, state: str, is_shared: bool) -> None:
    """A record in a file, whatever its name, is told from one that several machines use."""
    written = init(tmp_path, Choices(state=state))
    advised = ("reconciler", "init", "--age-key") in [step.command for step in written.steps]
    assert (is_shared, not is_shared) == (advised, state in (tmp_path / ".gitignore").read_text())


def test_the_example_is_what_init_writes(tmp_path: Path) -> None:
    """The `config/` at the top of the project is a new project whose record is on a branch."""
    init(tmp_path / "new", Choices(state=BRANCH))
    example = {name: data for name, data in tree(ROOT / "config").items() if name != "README.md"}
    assert example == tree(tmp_path / "new" / "config")


def test_names_and_the_place_are_taken(tmp_path: Path) -> None:
    """Each region in each environment is a target; the record is where it was asked for."""
    init(tmp_path / "new", Choices(("asia", "asia"), ("test",), "s3://bucket/records#1"))
    desired = load(tmp_path / "new" / "config")
    assert (["asia/test"], "s3://bucket/records#1") == (list(desired.targets), desired.state)
    assert "RECONCILER_ASIA_TEST_CLIENT_ID" in (tmp_path / "new/config/targets.yaml").read_text()
    init(tmp_path / "two", Choices(("asia", "africa"), ("staging", "live"), "@me/*.jsonl"))
    desired = load(tmp_path / "two" / "config")
    shown = {str(address): each.template for address, each in desired.subscriptions.items()}
    assert "@me/*.jsonl" == desired.state
    assert "https://hooks.africa.partner.example/applications" == shown["africa/live/applications"]
    assert "https://hooks.staging.partner.example/africa/offers" == shown["africa/staging/offers"]
    assert "RECONCILER_ASIA_STAGING_CLIENT_ID" in (tmp_path / "two/config/targets.yaml").read_text()


@pytest.mark.parametrize("url", ["{hooks}/{region}/{name}/{attempt}", "{hooks}/{region}/{name}?attempt={attempt}"])
def test_the_attempt_is_explained(tmp_path: Path, url: str) -> None:
    """A comment beside the URLs shows both ways, and each is valid."""
    init(tmp_path / "new")
    path = tmp_path / "new/config/subscriptions.yaml"
    text = path.read_text()
    assert f'"{url}"' in text
    assert "`replace`" in text
    path.write_text(text.replace('webhookUrl: "{hooks}/{region}/{name}"', f'webhookUrl: "{url}"'))
    assert 7 == sum("{attempt}" in each.template for each in load(path.parent).subscriptions.values())


def test_a_work_tree_with_a_remote_has_the_record_on_a_branch(tmp_path: Path) -> None:
    """Without a remote, or outside of git, it is a file; the project need not exist yet."""
    git(tmp_path / "alone", "init", "-q")
    git(repository_at(tmp_path / "shared"), "remote", "rename", "origin", "upstream")
    (tmp_path / "plain").mkdir()
    assert BRANCH == proposed_state(tmp_path / "plain", github=True)
    places = [proposed_state(tmp_path / name) for name in ("plain", "alone", "shared", "shared/below")]
    assert ["state.jsonl", "state.jsonl", BRANCH, BRANCH] == places
    commands = [step.command for step in init(tmp_path / "alone", Choices(github=True)).steps]
    assert ("reconciler", "state", "init") in commands
    assert BRANCH == load(tmp_path / "alone/config").state
    init(tmp_path / "shared")
    assert BRANCH == load(tmp_path / "shared/config").state


def test_credentials_and_not_the_record_are_ignored(tmp_path: Path) -> None:
    """git ignores `.env` and what a sandbox leaves, but neither the record nor the configuration."""
    init(repository_at(tmp_path / "new"), Choices(state="state.jsonl"))
    names = [
        ".env", "sandbox.env", "sandbox/x", "notifications.jsonl", "plan.json", "state.jsonl", "config/targets.yaml",
    ]  # fmt: skip
    command = ("git", "-C", str(tmp_path / "new"), "check-ignore", *names)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert names[:5] == done.stdout.split()


@pytest.mark.parametrize("text", ["mine\n", ""])
def test_an_existing_gitignore_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A step says what to add to it; whoever is in the directory need not go there."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new/.gitignore").write_text(text)
    monkeypatch.chdir(tmp_path / "new")
    written = initialize(Path() if text else Path.cwd(), Choices(), tmp_path / "data")
    assert ".gitignore" not in written.files
    assert text == (tmp_path / "new/.gitignore").read_text()
    ignored = ".env, sandbox.env, sandbox/, notifications.jsonl, plan.json"
    assert [True] == [step.text.endswith(ignored) for step in written.steps if ".gitignore" in step.text]
    assert not [step for step in written.steps if step.command[:1] == ("cd",)]


def test_an_age_key_is_private_and_outside(tmp_path: Path) -> None:
    """The public key is a recipient; the private one belongs to it, in a file that only its owner can read."""
    written = init(tmp_path / "new", Choices(age_key=True, state=BRANCH))
    assert written.key
    assert ("reconciler", "init", "--age-key") not in [step.command for step in written.steps]
    assert 0o600 == stat.S_IMODE(written.key.stat().st_mode)
    assert not written.key.is_relative_to(tmp_path / "new")
    identity = x25519.Identity.from_str(written.key.read_text().splitlines()[1])
    assert (str(identity.to_public()),) == load(tmp_path / "new/config").recipients
    assert str(identity) not in str(written)
    assert any(str(written.key) in step.text for step in written.steps)
    assert written.key != init(tmp_path / "other", Choices(age_key=True)).key


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A project that exists is refused, by the names of its files, and stays as it is."""
    init(tmp_path / "new")
    before = tree(tmp_path / "new")
    message = raised(Refused, init, tmp_path / "new")
    assert "project-exists" == message.name
    assert "config/subscriptions.yaml, config/targets.yaml" in message.what
    assert before == tree(tmp_path / "new")
    (tmp_path / "other/config/eu").mkdir(parents=True)
    (tmp_path / "other/config/eu/a.yml").touch()
    assert "config/eu/a.yml already exists;" in raised(Refused, init, tmp_path / "other").what


def test_what_is_in_the_way_is_refused(tmp_path: Path) -> None:
    """A file in the place of the directory, or a schema alone: nothing is written, no key is left."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new/config").write_text("")
    with pytest.raises(Refused):
        init(tmp_path / "new", Choices(age_key=True))
    assert {"config"} == {*tree(tmp_path / "new")}
    assert [] == list((tmp_path / "data/identities").iterdir())
    (tmp_path / "other/config/.schema.json").mkdir(parents=True)
    (tmp_path / "other/.gitignore").symlink_to("nowhere")
    assert ".gitignore, config/.schema.json already exist;" in raised(Refused, init, tmp_path / "other").what
    assert {} == tree(tmp_path / "other")
    (tmp_path / "data").chmod(0o777)
    assert "unsafe-directory" == raised(SettingsError, init, tmp_path / "third", Choices(age_key=True)).name


@pytest.mark.parametrize(("choices", "name"), [
    (Choices(regions=("a: {",)), "invalid-name"), (Choices(environments=("a: {",)), "invalid-name"),
    (Choices(("a-b", "a"), ("c", "b-c")), "shared-variables"), (Choices(state="s3"), "place-is-kind"),
    (Choices(state="Git"), "place-is-kind"), (Choices(state="postgresql://me:hunter2@db.test/x"), "state-password"),
    (Choices(state="state.jsonl", github=True), "record-on-runner"),
    (Choices(state="file:///var/lib/state.jsonl", github=True), "record-on-runner"),
])  # fmt: skip
def test_unusable_choices_are_refused(tmp_path: Path, choices: Choices, name: str) -> None:
    """Names that would not be valid, or share variables, and places are refused before anything is written."""
    with pytest.raises(SettingsError) as caught:
        init(tmp_path / "new", choices)
    where = {"place-is-kind": "--state", "record-on-runner": "--github"}.get(name, "--region, --environment, --state")
    assert [(name, where)] == [(message.name, message.where) for message in caught.value.messages]
    assert "hunter2" not in str(caught.value)
    assert {} == tree(tmp_path)


def test_what_is_missing_is_added(tmp_path: Path) -> None:
    """In a project that exists, a key and a workflow are added once, and nothing else is touched."""
    directory = repository_at(tmp_path / "new")
    init(directory, Choices(environments=("test", "staging", "acceptance"), config="of/hooks"))
    before = tree(directory)
    given = Choices(environments=("staging", "live", "acceptance"), age_key=True, github=True, config="of/hooks")
    written = init(directory, given)
    words = " ".join(step.text for step in written.steps).replace(",", "").replace(";", "").split()
    assert {str(written.key), "rulesets"} <= {*words}
    assert ("of/hooks/recipients.yaml", WORKFLOW) == written.files
    jobs = yaml.load((directory / WORKFLOW).read_text(), yaml.BaseLoader)["jobs"]
    assert ["plan", "test", "staging", "acceptance"] == [*jobs]
    assert before == {name: data for name, data in tree(directory).items() if name not in written.files}
    assert 1 == len(load(directory / "of/hooks").recipients)
    again = init(directory, Choices(age_key=True, github=True, config="of/hooks"))
    assert ((), None) == (again.files, again.key)
    (directory / WORKFLOW).unlink()
    (directory / WORKFLOW).symlink_to("nowhere")
    assert () == init(directory, Choices(github=True, config="of/hooks")).files


@pytest.mark.parametrize(("chosen", "declared", "works"), [
    (BRANCH, "state.jsonl", True), ("state.jsonl", BRANCH, False), ("", BRANCH, True), ("", "state.jsonl", False),
    ("", "", False), (BRANCH, "", True),
])  # fmt: skip
def test_a_workflow_needs_a_place_that_a_runner_has(tmp_path: Path, chosen: str, declared: str, works: bool) -> None:
    """For the place, a flag is over the configuration, as everywhere; without either it is a file."""
    directory = repository_at(tmp_path / "new")
    init(directory, Choices(state=declared))
    if not declared:
        config = directory / "config/targets.yaml"
        config.write_text(config.read_text().replace(f"\nstate: {BRANCH}\n", "\n"))
    if works:
        assert (WORKFLOW,) == init(directory, Choices(state=chosen, github=True)).files
    else:
        with pytest.raises(SettingsError):
            init(directory, Choices(state=chosen, github=True))
        assert not (directory / WORKFLOW).exists()


def test_a_project_with_mistakes_is_not_added_to(tmp_path: Path) -> None:
    """Its recipients and its record are not known."""
    (tmp_path / "new/config").mkdir(parents=True)
    (tmp_path / "new/config/a.yaml").write_text("x: 1")
    with pytest.raises(ConfigError):
        init(tmp_path / "new", Choices(age_key=True))


@pytest.mark.parametrize("head", [None, "main", "release/2,3"])
def test_the_workflow_is_for_the_default_branch(tmp_path: Path, head: str | None) -> None:
    """The branch is that of origin/HEAD, else the current one; each environment is a job, after the one before."""
    directory = repository_at(tmp_path / "new")
    if head:
        git(directory, "commit", "-q", "--allow-empty", "-m", "x")
        git(directory, "update-ref", f"refs/remotes/origin/{head}", "HEAD")
        git(directory, "symbolic-ref", "refs/remotes/origin/HEAD", f"refs/remotes/origin/{head}")
    written = init(directory, Choices(environments=("staging", "live"), github=True))
    assert WORKFLOW in written.files
    workflow = yaml.load((directory / WORKFLOW).read_text(), yaml.BaseLoader)
    assert [head or "trunk"] == workflow["on"]["push"]["branches"]
    assert ["plan", "staging", "live"] == [*workflow["jobs"]]
    assert "staging" in str(workflow["jobs"]["live"]["needs"])


@pytest.mark.parametrize(("url", "host", "repository"), [
    ("", "", ""), ("none", "", ""), ("file:///src", "", ""), ("https://github.com/o/r.git", "", "o/r"),
    ("https://github.com/o/r/", "", "o/r"), ("ssh://git@github.com/o-1/r.s", "", "o-1/r.s"),
    ("https://ghe.test/o/r", "ghe.test", "o/r"), ("https://github.com/o/r", "ghe.test", ""),
    ("https://githubxcom/o/r", "", ""),
])  # fmt: skip
def test_what_is_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, host: str, repository: str) -> None:
    """The one that this was installed from; an installation that does not know it says what to fill in."""
    origin = json.dumps({"url": url, "vcs_info": {"requested_revision": "main", "commit_id": "abc"}}) if url else ""
    problem, found = PackageNotFoundError if url == "none" else None, Mock(read_text=lambda _: origin)
    monkeypatch.setattr("importlib.metadata.distribution", Mock(side_effect=problem, return_value=found))
    monkeypatch.setenv("GH_HOST", host)
    written = init(repository_at(tmp_path / "new"), Choices(github=True))
    workflow = (tmp_path / "new" / WORKFLOW).read_text()
    told = [step.text for step in written.steps if "OWNER/REPOSITORY" in step.text]
    uses = {line.partition("uses: ")[2].split(",")[0] for line in workflow.splitlines() if "uses:" in line}
    at = f"{repository or '$'}/.github/workflows/{{}}.yml{'@abc' if repository else ''}"
    assert ({at.format("plan"), at.format("apply")}, bool(repository)) == (uses, not told)


def test_a_workflow_below_the_top_is_refused(tmp_path: Path) -> None:
    """GitHub would never read it; a directory may have a name that is not UTF-8."""
    top = repository_at(tmp_path / "t\udcffp")
    assert "not-repository-top" == raised(SettingsError, init, top / "below", Choices(github=True)).name
    (tmp_path / "link").symlink_to(top)
    assert WORKFLOW in init(tmp_path / "link", Choices(github=True)).files


@pytest.mark.parametrize("text", ["", "\ud800", "unsynced"])
def test_a_disk_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """If a directory cannot be made, or a file be written, what was before it and the key are removed."""
    path_open = os.mkdir

    def refuse(path: Path, *rest: int) -> None:
        if str(path).endswith(".github") and not text:
            raise OSError(28, "No space left on device")
        path_open(path, *rest)

    monkeypatch.setattr(os, "mkdir", refuse)
    if text == "unsynced":
        monkeypatch.setattr("reconciler.operations.init.sync_directory", Mock(side_effect=OSError(5, "I/O error")))
    elif text:
        monkeypatch.setattr("reconciler.operations.init._workflow", lambda *_: {WORKFLOW: text})
    with pytest.raises((OSError, UnicodeEncodeError)):
        init(tmp_path / "new", Choices(age_key=True, github=True))
    assert {} == tree(tmp_path)
    assert [tmp_path / "data"] == [*tmp_path.iterdir()]
    assert [0o700] * 2 == [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("data", "data/identities")]


def test_what_another_process_writes_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that appears after the check is neither replaced nor removed, nor is its directory."""
    make, theirs = Path.mkdir, tmp_path / "new/config/subscriptions.yaml"
    monkeypatch.setattr(Path, "mkdir", lambda path: (make(path), path == theirs.parent and theirs.write_text("theirs")))
    with pytest.raises(FileExistsError):
        init(tmp_path / "new")
    assert {"config/subscriptions.yaml": b"theirs"} == tree(tmp_path / "new")


def test_git_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, or if it does not answer, there is no branch to propose."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "state.jsonl" == proposed_state(tmp_path)
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=subprocess.TimeoutExpired("git", 10)))
    assert "state.jsonl" == proposed_state(tmp_path)


def test_another_repository_of_the_environment_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a hook of git, whose variables name the repository that it is run for."""
    elsewhere = repository_at(tmp_path / "elsewhere", "of-another")
    directory = repository_at(tmp_path / "new", "trunk")
    git(tmp_path / "alone", "version")
    monkeypatch.setenv("GIT_DIR", str(elsewhere / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(elsewhere))
    assert (BRANCH, "state.jsonl") == (proposed_state(directory), proposed_state(tmp_path / "alone"))
    init(directory, Choices(github=True))
    text = (directory / WORKFLOW).read_text()
    assert ("trunk" in text, "of-another" in text) == (True, False)
