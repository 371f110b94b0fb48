"""A project and the sandbox it works with: what was committed there, against what the record says."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from reconciler.model.address import TargetName
from reconciler.model.record import Status
from reconciler.sandbox import Sandbox
from reconciler.state.journal.chain import parse
from support.project import EXECUTABLE, Finished, Project, finish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from reconciler.model.record import Attempt, Record
    from support.warm import Started

Route = tuple[str, str, str]
"""A target, an event code and the URL it is delivered to."""

HERE = "europe/staging"
THERE = "usa/production"


def subscriptions(count: int) -> dict[str, list[str]]:
    """So many subscriptions, by name, of one event code each."""
    return {f"s{number}": [f"ONB{10000 + number}"] for number in range(count)}


class SandboxProject:
    """A project below `path`, a sandbox that plays `targets`, and what is wanted on each of them (name -> codes)."""

    def __init__(
        self,
        path: Path,
        wanted: Mapping[str, Sequence[str]],
        targets: Sequence[str] = (HERE,),
        faults: Mapping[str, float] | None = None,
        seed: int | None = None,
        credentials: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        self.targets = tuple(targets)
        self.sandbox = Sandbox(targets=targets, faults=faults, seed=seed, credentials=credentials)
        self.project = Project(path, dict(self.sandbox.variables()))
        self.wanted = dict(wanted)
        self.urls: dict[str, str] = {}
        self.declare(self.wanted)

    def __enter__(self) -> Self:
        self.sandbox.start()
        self.project.step("state", "init")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sandbox.close()
        assert self.sandbox.world.failures == []

    # What a user does

    def declare(self, wanted: Mapping[str, Sequence[str]], folder: str = "config") -> None:
        """Write a configuration that wants this on every target, at `urls`, or each at a URL of its own name."""
        self.wanted = dict(wanted)
        text = "targets:\n"
        for target in self.sandbox.world.targets.values():
            text += f"  {target.name}:\n    auth_url: {target.provider.auth_url}\n    base_url: {target.base_url}\n"
        text += 'subscriptions:\n  "*/*":\n'
        for name, codes in wanted.items():
            text += f"    {name}:\n      eventCodes: [{', '.join(codes)}]\n      webhookUrl: {self.url_of(name)}\n"
        self.project.write(f"{folder}/all.yaml", text)

    def at(self, failpoint: str) -> Project:
        """The project, with an environment in which something happens at a durable step."""
        environment = {**self.project.environment, "RECONCILER_TEST_FAILPOINT": failpoint}
        return replace(self.project, environment=environment)

    def apply(self, *arguments: str, failpoint: str = "") -> Finished:
        """Apply in a process of its own that is a `step`: it dies as any other, and starts ten times as fast."""
        return self.at(failpoint).step("apply", "--auto-approve", *arguments, code=None)

    def run_apply(self, *arguments: str) -> Finished:
        """Apply, beside what else goes on."""
        return finish(self.start_apply(*arguments))

    def start_apply(self, *arguments: str, failpoint: str = "") -> Started:
        return self.at(failpoint).start_step("apply", "--auto-approve", *arguments)

    def run_under(self, prefix: Sequence[str], *arguments: str, failpoint: str = "") -> Finished:
        """Run `reconciler` by way of another command."""
        project = self.at(failpoint)
        done = subprocess.run(
            [*prefix, EXECUTABLE, *arguments],
            cwd=project.path,
            env=project.variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    def settle(self) -> int:
        """Settle every unknown outcome truthfully; how many there were."""
        truths = {attempt.address: self.was_created(attempt) for attempt in self.unresolved()}
        alike = len(set(truths.values())) == 1
        for address, created in {"*/*/*": next(iter(truths.values()))}.items() if alike else truths.items():
            word = "--created" if created else "--not-created"
            self.project.step("state", "resolve", address, word, "--force")
        return len(truths)

    # What there is

    def journal(self, target: str = HERE) -> Path:
        return self.project.path / "state" / f"{target}.jsonl"

    def record(self, target: str = HERE) -> Record:
        """The record of a target; reading it fails where its journal does not hold together."""
        return parse(self.journal(target).read_bytes(), TargetName(target), "the scene").record()

    def attempts(self) -> list[Attempt]:
        return [attempt for target in self.targets for attempt in self.record(target).attempts.values()]

    def unresolved(self) -> list[Attempt]:
        """The attempts of which nobody knows what became."""
        return [attempt for attempt in self.attempts() if attempt.unresolved]

    def url_of(self, name: str) -> str:
        """The URL that is wanted of a subscription."""
        return self.urls.get(name, f"https://hooks.partner.example/{name}")

    def routes(self) -> Counter[Route]:
        """The routes that are wanted, each once."""
        return Counter(
            (target, code, self.url_of(name))
            for target in self.targets
            for name, codes in self.wanted.items()
            for code in codes
        )

    def committed(self) -> Counter[Route]:
        """The routes that exist at the service, and how often."""
        commits = self.sandbox.world.subscriptions()
        return Counter((commit.target, code, commit.url) for commit in commits for code in commit.codes)

    def recorded(self, *statuses: Status) -> Counter[Route]:
        """The routes of recorded attempts that stand so."""
        return Counter(route for attempt in self.attempts() if attempt.status in statuses for route in _routes(attempt))

    def was_created(self, attempt: Attempt) -> bool:
        """Whether the create of an unresolved attempt was committed."""
        missing = Counter(_routes(attempt)) - (self.committed() - self.recorded(Status.LIVE, Status.AWAITING_REMOVAL))
        return not missing

    # What must hold

    def assert_at_most_once(self) -> None:
        """Nothing exists twice, nothing exists that the record rules out, nothing is recorded as live that is not."""
        self.wait_until_served()
        committed, live = self.committed(), self.recorded(Status.LIVE, Status.AWAITING_REMOVAL)
        assert Counter() == committed - Counter(set(committed)), "created twice"
        assert Counter() == committed - live - self.recorded(Status.PENDING, Status.UNKNOWN), "lost"
        assert Counter() == live - committed, "recorded and not created"

    def assert_done(self) -> None:
        """All that is wanted exists once, is recorded, and there is nothing left to do."""
        self.assert_at_most_once()
        assert self.routes() == self.committed()
        assert self.routes() == self.recorded(Status.LIVE)
        self.project.step("plan", "--detailed-exitcode")

    def recover(self) -> int:
        """Do what a person does after a crash: look, settle truthfully, apply again; how many were settled."""
        self.assert_at_most_once()
        self.project.step("plan", "--detailed-exitcode", code=self.due_code())
        settled = self.settle()
        self.project.step("apply", "--auto-approve")
        self.assert_done()
        return settled

    def due_code(self) -> int:
        """What `plan --detailed-exitcode` has to say."""
        if self.unresolved():
            return 3
        return 0 if self.routes() == self.recorded(Status.LIVE) else 2

    def wait_until_served(self) -> None:
        """Wait until nothing that a dead client sent is still on its way into the sandbox's world."""
        with suppress(urllib.error.HTTPError):
            urllib.request.urlopen(f"{self.sandbox.url}/last", timeout=10)  # connections are taken in their order
        until = time.monotonic() + 10
        while self.sandbox._server._connections and time.monotonic() < until:
            time.sleep(0.005)
        assert {} == self.sandbox._server._connections

    def wait_until_committed(self, count: int = 1) -> None:
        """Wait until so many creates were committed."""
        until = time.monotonic() + 30
        while len(self.sandbox.world.commits) < count:
            assert time.monotonic() < until, "no create arrived"
            time.sleep(0.005)


_LAUNCHER = """\
import os, resource, sys
name, value, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
if name == "umask":
    os.umask(value)
if name == "fsize":
    resource.setrlimit(resource.RLIMIT_FSIZE, (value, value))
os.execv(command[0], command)
"""


def confined(name: str, value: int) -> list[str]:
    """What to put before a command for a `umask`, or an `fsize` (bytes) that no file may outgrow."""
    return [sys.executable, "-c", _LAUNCHER, name, str(value)]


def _routes(attempt: Attempt) -> list[Route]:
    return [(attempt.address.target, code, attempt.url) for code in attempt.codes]
