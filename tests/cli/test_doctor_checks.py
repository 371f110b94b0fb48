"""The checks of `doctor`, one by one where that says more, and all together where everything is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyrage import x25519  # type: ignore[import-untyped]
from support.git_world import SOMEBODY, GitWorld
from support.raw_server import RawServer, say
from support.sandbox_project import HERE
from support.set_up import SetUp

from reconciler.errors import SelectionError, SettingsError, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.model.result import Finding, Health
from reconciler.operations.doctor import examine, record_checks, ruleset_checks
from reconciler.operations.doctor.examination import CHECKS
from reconciler.operations.doctor.git_checks import git_findings
from reconciler.operations.doctor.jobs import Checked, Jobs
from reconciler.operations.doctor.network_checks import site_job, sites
from reconciler.operations.workspace import Workspace
from reconciler.service.probing import Probe, Problem, Stage
from reconciler.state.stores.files import FileStore
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.project import Project

    from reconciler.state.stores.store import Store


class Unheard:
    """Notices that nobody reads."""

    def __init__(self, **flags: str) -> None:
        self.flags = flags

    def say(self, text: str) -> None: ...
    def say_more(self, text: str) -> None: ...
    def warn(self, text: str) -> None: ...
    def print_problem(self, problem: object) -> None: ...
    def work_is_done(self) -> None: ...
    def start_logging(self) -> None: ...
    def at_end(self, do: object) -> None: ...


def workspace_of(project: Project, monkeypatch: pytest.MonkeyPatch, **flags: str) -> Workspace:
    """The workspace of a command that is run in the project."""
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(project.path)
    return Workspace(Unheard(**flags))


def found_in(workspace: Workspace, *patterns: str, write: bool = False) -> list[Finding]:
    """The findings, whoever waits for them."""
    return examine(workspace, patterns, write=write, observe=lambda _over, _count: None)


def worst(findings: list[Finding], check: str) -> Health:
    """The worst that a check came to."""
    return max((finding.health for finding in findings if finding.check == check), key=list(Health).index)


def test_everything_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check says what it finds, though every other one fails; they come in one order, whoever is faster."""
    with SetUp(tmp_path) as it:
        it.receivers += [RawServer(say(b"HTTP/1.1 308 There\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"))]
        it.hook(offers=f"{it.receivers[-1].url}/offers", loans=f"{it.serve(trusted=False).url}/loans")
        many = "".join(f"    s{number}: {{eventCodes: [X], webhookUrl: nowhere}}\n" for number in range(30))
        it.project.write("config/more.yaml", f'subscriptions:\n  "*/*":\n{many}')
        it.project.write("config/recipients.yaml", f"recipients: [{x25519.Identity.generate().to_public()}]\n")
        it.project.write(".gitignore", "state/\n")
        subprocess.run(["git", "init", "--quiet"], cwd=it.project.path, check=True)
        it.project.environment |= {
            f"{it.variable}CLIENT_SECRET": "another",
            "RECONCILER_PARALLELISM": "none",
            "CI": "1",
        }
        findings = found_in(workspace_of(it.project, monkeypatch), "asia/*", HERE, write=True)
    assert [CHECKS.index(finding.check) for finding in findings] == sorted(CHECKS.index(one.check) for one in findings)
    assert {
        "config": Health.FAILED, "setting": Health.FAILED, "DNS": Health.SKIPPED, "TLS": Health.FAILED,
        "certificate": Health.SKIPPED, "clock": Health.OK, "answer": Health.WARNING, "token": Health.FAILED,
        "record": Health.WARNING, "write": Health.OK, "recipients": Health.WARNING, "git": Health.FAILED,
    } == {check: worst(findings, check) for check in {finding.check for finding in findings}}  # fmt: skip
    config = [finding.what for finding in findings if finding.check == "config"]
    assert 12 == len(config)
    assert any("of which the first 10 are shown" in what for what in config)
    assert any("matches no target" in what for what in config)


def test_a_pattern_without_a_match(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a valid configuration it is a mistake of whoever calls."""
    project.declare({})
    with pytest.raises(SelectionError):
        found_in(workspace_of(project, monkeypatch), "asia/*")


def test_without_a_home_directory(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container: what needs one says so, and the rest is checked."""

    def no_home(*_: str) -> Path:
        raise SettingsError("no home directory found")

    project.declare({}, auth_url="http://127.0.0.1:1", base_url="http://127.0.0.1:1")
    project.environment["RECONCILER_CACHE_DIR"] = str(project.path / "cache")
    project.step("state", "init", "--force")
    monkeypatch.setattr("reconciler.operations.workspace._home", no_home)
    findings = found_in(workspace_of(project, monkeypatch), write=True)
    whats = {(finding.check, finding.what) for finding in findings if finding.health is Health.FAILED}
    assert {("recipients", "no home directory found"), ("write", "no home directory found")} <= whats
    assert worst(findings, "record") is Health.OK


class OneProbe:
    """A prober that has seen what a test says."""

    def __init__(self, probe: Probe) -> None:
        self.result = probe

    def probe(self, url: str) -> Probe:
        return self.result


HTTP = "DNS ok, TLS skipped, certificate skipped, answer"


def stopped(stage: Stage, *, proxied: bool = False) -> Probe:
    """A probe over TLS that came to this stage."""
    return Probe(secure=True, proxied=proxied, problem=Problem(stage, "no"), expires_in=1e9)


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        (Probe(True, True, expires_in=86_400.0 * 14, status=204), "DNS skipped, TLS ok, certificate ok, answer ok"),
        (Probe(True, False, expires_in=86_399.0 * 14, status=501), "DNS ok, TLS ok, certificate warning, answer ok"),
        (Probe(False, False, status=302), f"{HTTP} warning"),
        (Probe(False, False, status=503), f"{HTTP} warning"),
        (Probe(False, False, status=410), f"{HTTP} warning"),
        (Probe(False, False, status=401), f"{HTTP} ok"),
        (stopped(Stage.DNS), "DNS failed, TLS skipped, certificate skipped, answer skipped"),
        (
            stopped(Stage.CONNECTION),
            "DNS ok, connection failed, TLS skipped, certificate skipped, answer skipped",
        ),
        (
            stopped(Stage.CONNECTION, proxied=True),
            "DNS skipped, connection failed, TLS skipped, certificate skipped, answer skipped",
        ),
        (stopped(Stage.TLS), "DNS ok, TLS failed, certificate skipped, answer skipped"),
        (stopped(Stage.ANSWER), "DNS ok, TLS ok, certificate ok, answer failed"),
    ],
)
def test_what_a_probe_means(project: Project, monkeypatch: pytest.MonkeyPatch, probe: Probe, expected: str) -> None:
    """Of a server of webhooks: nothing after a stage that failed is taken for well."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    (site,) = sites([], workspace_of(project, monkeypatch).desired.subscriptions.values())
    prober: Any = OneProbe(probe)
    checked = site_job(prober, site)()
    assert expected == ", ".join(f"{finding.check} {finding.health}" for finding in checked.findings)
    assert all(finding.remedy for finding in checked.findings if finding.health in (Health.WARNING, Health.FAILED))


@pytest.mark.parametrize(
    ("ahead", "health", "what"),
    [
        (15.0, Health.OK, "less than 15 s"),
        (-15.0, Health.OK, "less than 15 s"),
        (16.0, Health.FAILED, "16 s ahead of"),
        (-180.0, Health.FAILED, "180 s behind"),
        (None, Health.SKIPPED, "no answer with a date"),
    ],
)
def test_the_clock(
    project: Project, monkeypatch: pytest.MonkeyPatch, ahead: float | None, health: Health, what: str
) -> None:
    """Clocks may differ by what the guarantees say."""
    project.declare({})
    desired = workspace_of(project, monkeypatch).desired
    prober: Any = OneProbe(Probe(True, False, expires_in=1e9, status=404, ahead=ahead))
    job = site_job(prober, sites(desired.targets.values(), [])[0])
    (clock,) = [finding for finding in job().findings if finding.check == "clock"]
    assert (health, True) == (clock.health, what in clock.what)


def test_a_defect_is_not_hidden() -> None:
    """What a job raises is raised where the findings are asked for; jobs that follow are done and counted."""

    def broken() -> Checked:
        raise ZeroDivisionError

    seen = list[tuple[int, int]]()
    jobs = Jobs(lambda over, count: seen.append((over, count)))
    jobs.add(lambda: Checked((), [lambda: Checked((Finding("DNS", "x", Health.OK, "resolved"),))]))
    assert ["x"] == [finding.about for finding in jobs.findings()]
    assert [(1, 2), (2, 2)] == seen
    jobs.add(broken)
    with pytest.raises(ZeroDivisionError):
        jobs.findings()


class Elsewhere:
    """A store that is not on this machine, and not available."""

    path = None
    location = "git:state of https://forge.example/partner/hooks.git"
    place = StoreLocation(location, normalized=lambda _: "state forge.example:partner/hooks")

    def __init__(self) -> None:
        self.reads = 0

    def read(self, *_: object) -> bytes:
        self.reads += 1
        raise StoreUnavailable("cannot fetch the branch", where=self.location, remedy="check the network")


def test_a_store_that_is_not_available_is_asked_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of the other targets are skipped: each would take as long."""
    targets = "".join(
        f"  {name}: {{auth_url: https://a.example, base_url: https://b.example}}\n" for name in ("a/b", "c/d")
    )
    project.write("config/all.yaml", f"targets:\n{targets}")
    workspace, store = workspace_of(project, monkeypatch), Elsewhere()
    checks = record_checks.RecordChecks(workspace, {}, write=False, encrypted=False)
    findings = checks.findings(store, workspace.desired.targets.values())  # type: ignore[arg-type]
    assert [Health.FAILED, Health.SKIPPED] == [finding.health for finding in findings]
    assert 1 == store.reads


def test_what_this_user_may_not_write(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--write` the permissions are looked at; a file system with locks of one host is told."""
    project.declare({})
    project.step("state", "init")
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr(record_checks, "host_only_locks", lambda _: "9p")
    workspace = workspace_of(project, monkeypatch)
    checks = record_checks.RecordChecks(workspace, {}, write=False, encrypted=False)
    told = [
        (finding.check, finding.health)
        for finding in checks.findings(workspace.store, workspace.desired.targets.values())
    ]
    assert [("record", Health.WARNING), ("record", Health.OK), ("write", Health.FAILED)] == told


@pytest.mark.parametrize(
    ("script", "health", "what"),
    [
        ("""echo '[{"type": "deletion"}, {"type": "non_fast_forward"}, {"type": "creation"}]'""", Health.OK, "blocked"),
        ("""echo '[{"type": "deletion"}]'""", Health.WARNING, "not protected"),
        ("echo '[]'", Health.WARNING, "not protected"),
        ("""echo '[{"type": "pull_request"}]'""", Health.FAILED, "cannot push to the branch: Require a pull request"),
        ("echo '{}'; exit 1", Health.SKIPPED, "gave no answer"),
        ("echo no JSON", Health.SKIPPED, "gave no answer"),
        ("echo '[1]'", Health.SKIPPED, "gave no answer"),
        ("echo 5", Health.SKIPPED, "gave no answer"),
        (None, Health.SKIPPED, "gh"),
    ],
)
def test_rulesets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, health: Health, what: str
) -> None:
    """What GitHub's command lists of the branch's rules; whatever goes wrong with it is no failure."""
    if script is not None:
        (tmp_path / "gh").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    (finding,) = ruleset_checks.ruleset_findings(Elsewhere())  # type: ignore[arg-type]
    assert (health, True) == (finding.health, what in finding.what)


class TestWorkTree:
    """A record in files, in a work tree that is odd."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
        """A store in a checkout."""
        return FileStore(GitWorld(tmp_path, monkeypatch).checkout / "state")

    @pytest.fixture
    def found(self, store: Store) -> Callable[[], list[Any]]:
        """The results and texts of what is found."""
        target = TargetName(HERE)
        return lambda: [(one.health, one.what) for one in git_findings(Workspace(Unheard()), store, [target])]

    def test_no_upstream(self, found: Callable[[], list[Any]]) -> None:
        """The branch is pushed nowhere; a rule that excludes files from being ignored ignores none."""
        Path(".gitignore").write_text("*.jsonl\n!state/**/*.jsonl\n")
        journal = Path("state", f"{HERE}.jsonl")
        journal.parent.mkdir(parents=True)
        journal.write_text("")
        subprocess.run(["git", "add", "."], check=True)
        subprocess.run(["git", *SOMEBODY, "commit", "--quiet", "--message", "record"], check=True)
        assert [(Health.OK, "committed")] == found()[:1]
        assert "no upstream" in found()[1][1]

    def test_no_record(self, found: Callable[[], list[Any]]) -> None:
        """What does not exist is not committed; where it would be pushed to is checked already."""
        (none, (health, what)) = found()
        assert (Health.SKIPPED, "no state record here, so there is nothing to commit") == none
        assert (Health.WARNING, True) == (health, "no upstream" in what)

    def test_git_is_missing(self, found: Callable[[], list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing can be said then."""
        monkeypatch.setenv("PATH", "/nowhere")
        assert [(Health.SKIPPED, "git is not installed")] == found()

    def test_git_refuses(self, found: Callable[[], list[Any]], tmp_path: Path) -> None:
        """What git says is passed on."""
        (tmp_path / "checkout" / ".git" / "HEAD").write_text("nothing")
        ((health, what),) = found()
        assert Health.WARNING is health
        assert what.startswith("git cannot be used: not a git repository")

    def test_a_remote_that_is_not_there(self, found: Callable[[], list[Any]], tmp_path: Path) -> None:
        """The files were compared with what was fetched last."""
        for line in ("branch --quiet --set-upstream-to origin/main", "remote set-url origin /nowhere"):
            subprocess.run(["git", *line.split()], cwd=tmp_path / "checkout", check=True)
        (tmp_path / "checkout" / "state" / "europe").mkdir(parents=True)
        (tmp_path / "checkout" / "state" / f"{HERE}.jsonl").write_text("")
        subprocess.run(["git", "add", "."], cwd=tmp_path / "checkout", check=True)
        whats = [what for _, what in found()]
        assert "pushed to origin/main" in whats
        assert any("was compared with the last fetched state of origin/main" in what for what in whats)
