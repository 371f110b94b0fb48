"""The inputs of the action that become variables of the program, and what an apply asks before it applies."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from support.forge import ACTION
from support.git_world import SOMEBODY, GitWorld
from support.sandbox_forge import RECIPIENT
from test_step_outputs import run

from reconciler.cli import apply
from reconciler.errors import Refused, SettingsError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.partner import Partner

sys.path.insert(0, str(ACTION.parent))
import given
import tip

ONE = {"INPUT_CLIENT_ID": "the-id", "INPUT_CLIENT_SECRET": "the-secret"}


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """Give inputs, by their variables, and return the variables of the program that come of them."""

    def taken(**inputs: str) -> dict[str, str]:
        for name in list(os.environ):
            if name.startswith(("INPUT_", "RECONCILER_", "PG")):
                monkeypatch.delenv(name)
        before = {**os.environ}
        for name, value in inputs.items():
            monkeypatch.setenv(name, value)
        try:
            given.take_inputs()
            assert set() == {name for name in os.environ if name.startswith("INPUT_")} - {"INPUT_TARGET"}
            return {n: v for n, v in os.environ.items() if n not in before and n != "INPUT_TARGET"}
        finally:
            for name in set(os.environ) - set(before):
                del os.environ[name]

    return taken


def test_one_target(take: Callable[..., dict[str, str]]) -> None:
    """What is given for the one target has its name; what is empty is not there."""
    address = {"INPUT_AUTH_URL": "https://a.example", "INPUT_BASE_URL": "https://b.example", "INPUT_AUDIENCE_BASE": ""}
    found = take(**ONE, **address, INPUT_TARGET="europe/pre-prod\n", INPUT_RECIPIENTS="age1x\nage1y")
    assert found == {
        "RECONCILER_EUROPE_PRE_PROD_CLIENT_ID": "the-id",
        "RECONCILER_EUROPE_PRE_PROD_CLIENT_SECRET": "the-secret",
        "RECONCILER_EUROPE_PRE_PROD_AUTH_URL": "https://a.example",
        "RECONCILER_EUROPE_PRE_PROD_BASE_URL": "https://b.example",
        "RECONCILER_RECIPIENTS": "age1x\nage1y",
    }
    assert {} == take(INPUT_TARGET="*/staging")


def test_several_targets(take: Callable[..., dict[str, str]]) -> None:
    """Lines become variables; a value may hold anything but a line break, and an empty one is not there."""
    lines = "RECONCILER_A_B_CLIENT_ID=x=y z\n\n  RECONCILER_A_B_CLIENT_SECRET=$(id)\nRECONCILER_A_C_CLIENT_ID=\n"
    found = take(INPUT_CREDENTIALS=lines, INPUT_STORE_CREDENTIALS="PGPASSWORD=p\n", INPUT_TARGET="*/staging")
    assert found == {
        "RECONCILER_A_B_CLIENT_ID": "x=y z",
        "RECONCILER_A_B_CLIENT_SECRET": "$(id)",
        "PGPASSWORD": "p",
    }


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({**ONE, "INPUT_TARGET": "*/staging"}, "client-id: target does not name one target"),
        ({**ONE, "INPUT_TARGET": "a/b\nc/d"}, "client-id: target does not name one target"),
        ({"INPUT_AUTH_URL": "https://x", "INPUT_TARGET": ""}, "auth-url: target does not name one target"),
        ({"INPUT_CLIENT_ID": "the-id", "INPUT_TARGET": "a/b"}, "client-secret: the value is empty"),
        ({"INPUT_CLIENT_SECRET": "the-secret", "INPUT_TARGET": "a/b"}, "client-id: the value is empty"),
        ({"INPUT_CREDENTIALS": "RECONCILER_A_B_CLIENT_ID=x\nPATH=the-secret"}, "credentials: line 2 is not NAME=VALUE"),
        ({"INPUT_CREDENTIALS": "RECONCILER_STATE=the-secret"}, "credentials: line 1 is not NAME=VALUE"),
        ({"INPUT_CREDENTIALS": "the-secret"}, "credentials: line 1 is not NAME=VALUE"),
        ({"INPUT_CREDENTIALS": "RECONCILER_A_B_CLIENT_ID=x\n" * 2}, "credentials: RECONCILER_A_B_CLIENT_ID is given"),
        ({"INPUT_STORE_CREDENTIALS": "LD_PRELOAD=the-secret"}, "store-credentials: line 1 is not NAME=VALUE"),
    ],
)
def test_wrong_inputs(take: Callable[..., dict[str, str]], inputs: dict[str, str], expected: str) -> None:
    """An error names the input and shows no value."""
    with pytest.raises(SettingsError) as problem:
        take(**inputs)
    assert str(problem.value).startswith(expected)
    assert "the-secret" not in str(problem.value)


def test_masks(
    take: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In Actions, every credential is masked before anything else is printed, also before an error."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = {"INPUT_CREDENTIALS": "RECONCILER_A_C_CLIENT_SECRET=other"}
    take(**ONE, **lines, INPUT_TARGET="a/b", INPUT_STORE_CREDENTIALS="PGPASSWORD=p%w\nPGUSER=me")
    assert {"the-id", "the-secret", "other", "p%25w"} == _masked(capfd.readouterr().err)
    with pytest.raises(SettingsError):
        take(**ONE, INPUT_TARGET="*/*")
    assert {"the-id", "the-secret"} == _masked(capfd.readouterr().err)


def _masked(log: str) -> set[str]:
    return {line.removeprefix("::add-mask::") for line in log.splitlines() if line.startswith("::add-mask::")}


# Approval


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"INPUT_EXPECT_DIGEST": ""}, "Error: expect-digest: empty, which approves nothing"),
        ({"INPUT_AUTO_APPROVE": "true", "INPUT_EXPECT_DIGEST": "sha256:x"}, "given, with auto-approve: true"),
        ({"INPUT_AUTO_APPROVE": "yes"}, "Error: auto-approve: expected true or false"),
        ({"INPUT_AUTO_APPROVE": "true", "INPUT_CHECK_TIP": "no"}, "Error: check-tip: expected true or false"),
        ({"INPUT_AUTO_APPROVE": "true", "INPUT_CLIENT_ID": "x"}, "Error: client-id: target does not name one target"),
    ],
)
def test_no_approval_by_omission(partner: Partner, inputs: dict[str, str], expected: str) -> None:
    """What was not approved, or not clearly, is not applied; nothing is sent."""
    partner.begin(offers=["ONB10011"])
    with partner.appending():
        step = run(partner, "apply", **{"INPUT_AUTO_APPROVE": "false", **inputs})
    assert (1, "1") == (step.ended.code, step.outputs["exit-code"])
    assert expected in step.ended.err
    assert partner.service.untouched


def test_plan_without_changes_needs_no_approval(partner: Partner) -> None:
    """A second run of an apply that is done does nothing, and succeeds: with the digest of then, and without one."""
    partner.begin(offers=["ONB10011"])
    digest = run(partner, "plan").outputs["digest"]
    assert 0 == run(partner, "apply", INPUT_EXPECT_DIGEST=digest).ended.code
    for given_digest in (digest, "", "sha256:0"):
        with partner.appending():
            step = run(partner, "apply", INPUT_EXPECT_DIGEST=given_digest, INPUT_AUTO_APPROVE="false")
        assert (0, "0") == (step.ended.code, step.outputs["exit-code"]), step.ended.err


@pytest.mark.skipif(
    "--pinned" not in Path(apply.__file__).read_text(encoding="utf-8"), reason="apply has no --pinned yet"
)
def test_pinned(partner: Partner) -> None:
    """Addresses and recipients that only the configuration has are refused; with those of the inputs, it applies."""
    partner.begin(offers=["ONB10011"])
    address = yaml.safe_load((partner.path / "config" / "all.yaml").read_text())
    with partner.appending():
        step = run(partner, "apply", INPUT_PINNED="true")
    assert (1, True) == (step.ended.code, partner.service.untouched), step.ended.err
    target = next(iter(address["targets"].values()))
    inputs = {f"INPUT_{name.upper()}": target[name] for name in ("auth_url", "base_url", "audience_base")}
    inputs |= {"INPUT_TARGET": "europe/staging", "INPUT_RECIPIENTS": RECIPIENT}
    step = run(partner, "apply", INPUT_PINNED="true", **inputs)
    assert 0 == step.ended.code, step.ended.err


# Annotations


@pytest.mark.parametrize("below", ["", "deep/er"], ids=["at the root", "below it"])
def test_mistakes_beside_their_lines(partner: Partner, below: str) -> None:
    """Ten of each kind are shown beside their lines, by paths from the checkout's root; the summary has the rest."""
    names = [f"wrong{number}" for number in range(12)]
    partner.want(**{name: ["none"] for name in names})
    root = partner.path.parents[1] if below else partner.path
    step = run(partner, "validate", GITHUB_ACTIONS="true", GITHUB_WORKSPACE=str(root))
    lines = step.ended.out.splitlines()
    beside = [line for line in lines if line.startswith("::")]
    assert (1, 10) == (step.ended.code, len(beside)), step.ended
    place = (partner.path / "config").relative_to(root)
    assert all(line.startswith(f"::error file={place}/") for line in beside)
    assert step.summary.startswith("### More in the configuration\n\n- `2 more errors")
    assert 2 == step.summary.count("config/all.yaml:")


# The branch's tip


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitWorld:
    """A checkout with `config/` and a workflow, as a run has it."""
    world = GitWorld(tmp_path, monkeypatch)
    for path in ("config/all.yaml", ".github/workflows/subscriptions.yml"):
        (world.checkout / path).parent.mkdir(parents=True)
        (world.checkout / path).write_text("a: 1\n")
    world.git("add", ".")
    world.git(*SOMEBODY, "commit", "--quiet", "--message", "declare")
    world.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
    return world


def refuse_moved(world: GitWorld, config: str = "config") -> None:
    """Check as the step does."""
    tip.refuse_moved(Path(config), world.cache)


@pytest.mark.parametrize("path", ["README.md", "config.md", "deep/config/all.yaml", ".githubs"])
def test_unrelated_commit(world: GitWorld, path: str) -> None:
    """What is neither configuration nor workflow does not void an approval; nothing of the checkout changes."""
    refuse_moved(world)
    world.push(path, b"unrelated\n", "main")
    before = world.git("for-each-ref"), sorted((world.checkout / ".git").iterdir())
    refuse_moved(world)
    assert before == (world.git("for-each-ref"), sorted((world.checkout / ".git").iterdir()))


@pytest.mark.parametrize("path", ["config/all.yaml", "config/new.yaml", ".github/workflows/subscriptions.yml"])
def test_tip_with_another_configuration(world: GitWorld, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch that has another configuration by now, or another workflow, does not get what was approved before."""
    world.push(path, b"b: 2\n", "main")
    differs = path.partition("/")[0]
    with pytest.raises(Refused, match=rf"the branch main has moved on to [0-9a-f]{{12}}, where {differs} differs"):
        refuse_moved(world)
    monkeypatch.chdir(world.checkout / "deep")
    with pytest.raises(Refused, match="has moved on"):
        refuse_moved(world, "../config")
    monkeypatch.setenv("GITHUB_REF", "refs/tags/v1")
    refuse_moved(world)


@pytest.mark.parametrize("config", ["link", "deep/link/../config", "linked.yaml", "config/linked.yaml"])
def test_configuration_by_way_of_a_link(world: GitWorld, config: str) -> None:
    """What a link points to can be the same while the link itself points elsewhere at the tip, so none is followed."""
    for path, to in (("link", "config"), ("deep/link", "../config"), ("linked.yaml", "config/all.yaml")):
        (world.checkout / path).symlink_to(to)
    (world.checkout / "config/linked.yaml").symlink_to("all.yaml")
    world.git("add", ".")
    world.git(*SOMEBODY, "commit", "--quiet", "--message", "link")
    world.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    refuse_moved(world, config)
    world.push("README.md", b"unrelated\n", "main")
    refuse_moved(world)
    with pytest.raises(Refused, match="config is reached through a symbolic link"):
        refuse_moved(world, config)


def test_exact_ref(world: GitWorld) -> None:
    """Another branch whose name ends in the same way is another branch."""
    world.git("push", "--quiet", "origin", "HEAD:refs/heads/release/refs/heads/main")
    world.push("config/all.yaml", b"b: 2\n", "release/refs/heads/main")
    refuse_moved(world)


def test_tip_that_cannot_be_compared(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is no consent: where there is no branch, no commit of the configuration, no origin or no repository."""
    world.push("README.md", b"x\n", "main")
    with pytest.raises(Refused, match="config is not committed"):
        refuse_moved(world, "uncommitted")
    with pytest.raises(Refused, match="config is not in the checkout"):
        refuse_moved(world, str(world.root))
    world.git("push", "--quiet", "origin", ":main")
    with pytest.raises(Refused, match="the branch main no longer exists"):
        refuse_moved(world)
    world.git("remote", "remove", "origin")
    with pytest.raises(StateError, match="no remote `origin`"):
        refuse_moved(world)
    monkeypatch.chdir(world.root)
    with pytest.raises(StateError, match="not a git repository"):
        refuse_moved(world)


def test_checkout_of_another_user(world: GitWorld) -> None:
    """As in a container: the error names the command that makes git trust the checkout."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to another user")
    for path in (world.checkout, world.checkout / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(StateError) as problem:
        refuse_moved(world)
    assert f"git config --global --add safe.directory {world.checkout}" in str(problem.value)


def test_tip_is_checked_by_the_step(partner: Partner) -> None:
    """An apply of changes compares with the branch; one without changes, or told not to, does not."""
    partner.begin(offers=["ONB10011"])
    ref = {"GITHUB_REF": "refs/heads/main"}
    with partner.appending():
        step = run(partner, "apply", INPUT_CHECK_TIP="true", **ref)
    assert (1, True) == (step.ended.code, "check-tip: not a git repository" in step.ended.err)
    assert partner.service.untouched
    assert step.summary == (step.folder / "plan.md").read_text()
    assert 0 == run(partner, "apply", INPUT_CHECK_TIP="false", **ref).ended.code
    assert 0 == run(partner, "apply", INPUT_CHECK_TIP="true", **ref).ended.code
    assert "create" in json.loads((step.folder / "plan.json").read_text())["summary"]
