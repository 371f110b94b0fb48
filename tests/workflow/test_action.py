"""The action in a job of its own, for one target: who gets its credentials, and what cannot be saved."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml
from support.forge import ACTION, COMMIT, PUBLISHED, WORKFLOW
from support.sandbox_forge import CREDENTIALS, committed, declared_repository, one_client_sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.forge import Forge

    from reconciler.sandbox import Sandbox

PATH = ".github/workflows/one_target.yml"
SECRET = CREDENTIALS["CLIENT_SECRET"]


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """The service, with one target."""
    with one_client_sandbox(["europe"], ["staging"]) as served:
        yield served


@pytest.fixture
def forge(tmp_path: Path, sandbox: Sandbox) -> Forge:
    """A repository whose workflow applies to one target on a push."""
    forge = declared_repository(tmp_path / "forge", sandbox)
    forge.workflow = PATH
    found = re.search(r"actions/checkout@[0-9a-f]{40}", WORKFLOW.with_name("report.yml").read_text())
    assert found
    given = {
        "command": "apply",
        "target": "europe/staging",
        "auto-approve": True,
        "client-id": "${{ secrets.RECONCILER_EUROPE_STAGING_CLIENT_ID }}",
        "client-secret": "${{ secrets.RECONCILER_EUROPE_STAGING_CLIENT_SECRET }}",
        "cache": "${{ vars.CACHE || 'auto' }}",
    }
    steps = [{"uses": found[0]}, {"uses": f"{PUBLISHED}/.github/actions/reconcile@{COMMIT}", "with": given}]
    job = {"runs-on": "ubuntu-24.04", "steps": steps}
    forge.project.write(PATH, yaml.safe_dump({"name": "One", "on": "push", "jobs": {"apply": job}}))
    forge.push("Apply one target")
    return forge


def environments(forge: Forge) -> dict[str, str]:
    """The environment of each action that is not ours, as far as a runner gives it.

    `act` passes the inputs of an action on as INPUT_NAME-WITH-DASHES, which a runner does not do.
    """
    found = {}
    for path in (forge.path / "environments").iterdir():
        variables = path.read_text().split("\0")
        found[path.name] = "\n".join(one for one in variables if not re.match(r"INPUT_[A-Z]+(-[A-Z]+)*=", one))
    return found


def test_credentials_reach_one_step(forge: Forge, sandbox: Sandbox) -> None:
    """The step that runs the program has them; no action of others, no log and no output does; nothing is restored.

    An apply that is done stays so: each thing that could not be saved is a warning that says where it is instead.
    """
    done = forge.run("push", {}, extra={"TEST_SAVING_FAILS": "1"})
    assert (0, 2) == (done.code, len(committed(sandbox, "staging"))), done.log
    assert {"save-reconciler-kept", "upload"} == environments(forge).keys()
    assert [] == [name for name, told in environments(forge).items() if SECRET in told]
    assert SECRET not in re.sub(r"::add-mask::.*", "", done.log)
    (cached,) = [path for path in (forge.path / "cache").iterdir() if path.is_dir()]
    assert ["heads"] == [path.name for path in cached.iterdir()]
    assert all(path.suffix == ".json" for path in (cached / "heads").iterdir())
    for what in ("as an artifact", "the last known heads could not be saved"):
        assert re.search(rf"(::warning::|❗|🚧).*{what}", done.log), done.log
    assert "the entries of the record are not in the artifact" not in done.log.replace("OUTCOMES", "")


def test_heads_of_a_cache_that_was_written_by_others(forge: Forge, sandbox: Sandbox) -> None:
    """With `always`, the heads of the last run come back, and nothing else of what the cache holds.

    That this run can save nothing fails it as little as one that applies.
    """
    forge.variables = {"CACHE": "always"}
    assert 0 == forge.run("push", {}).code
    (cached,) = [path for path in (forge.path / "cache").iterdir() if path.is_dir()]
    assert {"heads", "tokens"} == {path.name for path in cached.iterdir()}
    planted = cached / "git" / "x.git"
    planted.mkdir(parents=True)
    (planted / "config").write_text("[core]\n\tfsmonitor = false\n")
    (cached / "heads" / f"{'0' * 32}.json").symlink_to("/etc/passwd")
    requests = sandbox.world.requests.total()
    done = forge.run("push", {}, extra={"TEST_SAVING_FAILS": "1"})
    assert (0, requests) == (done.code, sandbox.world.requests.total()), done.log
    (restored,) = {*(forge.path / "cache" / "restored").read_text().split()} & {cached.name[:-16]}
    assert restored.startswith("reconciler-tokens-apply-")


def test_there_is_no_other_action() -> None:
    """Each action of others that this one uses has a stand-in which leaves its environment here."""
    uses = {
        step["uses"].partition("@")[0] for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if "uses" in step
    }
    assert {
        "actions/cache/restore",
        "actions/cache/save",
        "actions/upload-artifact",
    } == uses
