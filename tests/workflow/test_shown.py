"""Which changes of a plan the merged pull requests have shown: the decision, and histories of merges."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import job
import msgspec
import pytest
from support.forge import CALLER, REPOSITORY
from support.scene import EUROPE, USA, Scene, hooks, target

from reconciler.model.address import TargetName
from reconciler.model.outcome import Outcome
from reconciler.model.plan import SENDS
from reconciler.operations.plan_file import SavedChange, SavedPlan, SavedRecord, unreviewed_changes
from reconciler.reports.json import plan_json, render


def change(address: str, digest: str, action: str = "create", **more: Any) -> SavedChange:
    """Return a change as a plan has it."""
    return SavedChange(address, action, digest, **more)


def plan(*changes: SavedChange, head: str = "h1") -> SavedPlan:
    """Return a plan that was made on a record with this head."""
    return SavedPlan("2.0", "", (), changes, SavedRecord(head))


def reasons(changes: Sequence[SavedChange], *reviews: Sequence[SavedPlan]) -> list[str]:
    """Return why changes are not shown, for a record that contains one head."""
    return [reason for _, reason in unreviewed_changes(plan(*changes), reviews, lambda head: head == "h1")]


def changed(row: SavedChange, **values: Any) -> SavedChange:
    """Return a change with other values, and so with another digest."""
    return msgspec.structs.replace(row, digest="2", **values)


A = change("europe/staging/a", "1", request={"webhookUrl": "https://a"})


@pytest.mark.parametrize(("heads", "expected"), [
    ([[plan(A)]], []), ([[], [plan(A)]], []), ([[plan(A), plan()]], []), ([], ["never shown"]),
    ([[plan(change("europe/staging/b", "1"))]], ["never shown"]),
    ([[plan(changed(A, request=1, before=1, after=1))]], ["shown with another request, before, after"]),
    ([[plan(changed(A))]], ["shown with another service, record or recipients"]),
    ([[plan(A), plan(changed(A, action="retry"))]], ["shown with another action"]),
    ([[plan(A, head="h0")]], ["shown for a version of the record that this one does not contain"]),
    ([[plan(changed(A))], [plan(A)]], []),
])  # fmt: skip
def test_one_change(heads: list[list[SavedPlan]], expected: list[str]) -> None:
    """A change is shown if a run has its digest, no other run of that head another, on a head that is contained."""
    assert expected == reasons([A], *heads)


def test_digest_of_another_address() -> None:
    """A plan that has the digest under another address has not shown the change."""
    assert ["never shown"] == reasons([A], [plan(change("europe/staging/other", A.digest))])


def test_blocked_changes_send_nothing() -> None:
    """A blocked change does not have to be shown."""
    assert [] == reasons([change("europe/staging/a", "1", "blocked")])


def test_pull_requests_are_asked_for_while_needed() -> None:
    """No further pull request is looked at once all changes are shown."""

    def heads() -> Any:
        yield [plan(A)]
        raise AssertionError("asked for more")

    assert [] == unreviewed_changes(plan(A), heads(), lambda _: True)


STAGES = {"staging": (EUROPE, USA), "production": (TargetName("europe/production"), TargetName("usa/production"))}


@dataclass
class Request:
    """A pull request: what it sets (codes and URL by address), and the plans that its runs have shown."""

    sets: dict[str, tuple[str, str] | None]
    plans: list[SavedPlan] = field(default_factory=list)


class World:
    """A repository, its record and its pull requests, with the program's own planner."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.scene = Scene()
        self.scene.targets = {}
        for stage, names in STAGES.items():
            self.scene.declare(*(target(name, f"https://{name.region}.example/{stage}") for name in names))
        self.open: list[Request] = []
        self.merged: list[Request] = []
        self.seen: Counter[str] = Counter()

    def plan_of(self, sets: dict[str, tuple[str, str] | None]) -> SavedPlan:
        """Return the plan of the tip with a change merged into it."""
        wanted = dict(self.scene.wanted)
        self.set(sets)
        planned = self.saved()
        self.scene.wanted = wanted
        return planned

    def saved(self, *patterns: str) -> SavedPlan:
        """Return the plan of the tip, as a file has it."""
        return msgspec.json.decode(render(plan_json(self.scene.plan(*patterns))), type=SavedPlan)

    def change(self) -> dict[str, tuple[str, str] | None]:
        """Return a change of one subscription in one region, or in all: codes and URL, or that it is not wanted."""
        name, region = self.random.choice("ab"), self.random.choice(["europe", "usa", "*"])
        values = (self.random.choice(["ONB10001", "ONB10001 ONB10002"]), hooks(self.random.choice(["1", "2"]) + name))
        wanted = self.random.choice([values, values, values, None])
        names = [known for names in STAGES.values() for known in names if region in (known.region, "*")]
        return {f"{known}/{name}": wanted for known in names}

    def set(self, sets: dict[str, tuple[str, str] | None]) -> None:
        """Change what is desired: what a later change sets wins."""
        for address, values in sets.items():
            if values:
                self.scene.want(address, *values)
            elif any(address == known for known in self.scene.wanted):
                self.scene.drop(address)

    def step(self) -> None:
        """Have something happen."""
        kinds = "open open run merge merge queue revert push apply apply apply outside"
        kind = self.random.choice(kinds.split())
        match kind:
            case "open":
                request = Request(self.change())
                request.plans.append(self.plan_of(request.sets))
                self.open.append(request)
            case "run" if self.open:  # once more: the record, or the branch, has moved on since
                request = self.random.choice(self.open)
                request.plans.append(self.plan_of(request.sets))
            case "merge" if self.open:
                self.merge(self.open.pop(self.random.randrange(len(self.open))))
            case "queue":  # several with one push
                while self.open:
                    self.merge(self.open.pop(0))
            case "revert" if self.merged:
                request = Request(dict.fromkeys(self.merged[0].sets))
                request.plans.append(self.plan_of(request.sets))
                self.merge(request)
            case "push":  # past every review
                self.set(self.change())
            case "apply":  # a stage; the other one waits
                self.apply(self.random.choice([*STAGES]))
            case "outside":
                self.outside()

    def outside(self) -> None:
        """Have a person say something of the record."""
        scene = self.scene
        live = [attempt for attempt in scene.attempts if attempt.in_force and not attempt.requested]
        unknown = [attempt for attempt in scene.attempts if attempt.outcome is Outcome.UNKNOWN and attempt.blocks]
        if unknown:
            scene.resolve(unknown[0].id, created=self.random.random() < 0.5)
        elif live and self.random.random() < 0.5:
            scene.request(self.random.choice(live).id)
        else:
            stage = self.random.choice([*STAGES])
            scene.bring(f"europe/{stage}/{self.random.choice('ab')}", "ONB10002", hooks("other"))

    def merge(self, request: Request) -> None:
        """Merge a pull request: later ones win over what they were planned on."""
        self.set(request.sets)
        self.merged.insert(0, request)

    def apply(self, stage: str, *, in_order: bool = False) -> list[tuple[SavedChange, str]]:
        """Apply a stage of the tip if all of it was shown, and return what was not. Some creates fail."""
        patterns = [f"*/{stage}"]
        planned = self.scene.plan(*patterns)
        saved = msgspec.json.decode(render(plan_json(planned)), type=SavedPlan)
        left = unreviewed_changes(saved, (request.plans for request in self.merged), self.scene.record.contains)
        self.seen["stopped" if left else "applied"] += 1
        if not left:
            sent = {str(row.address) for row in planned.changes if row.action in SENDS}
            reviewed = [row for request in self.merged for plan in request.plans for row in plan.changes]
            facts = [(row.address, row.action, row.request, row.before) for row in reviewed]
            for row in saved.changes:
                if row.address in sent and row.action != "blocked":
                    assert (row.address, row.action, row.request, row.before) in facts
                    self.seen["sent"] += 1
            failures = [Outcome.CREATED] * 6 + ([] if in_order else [Outcome.UNKNOWN, Outcome.REJECTED])
            self.scene.apply(planned, lambda _: self.random.choice(failures))
        return left


PARTS = [pytest.param(part, marks=[pytest.mark.soak] * (part > 1)) for part in range(10)]


@pytest.mark.parametrize("part", PARTS)
def test_histories(part: int) -> None:
    """In any history no create is sent that no merged pull request has shown, with all that was there before it."""
    seen: Counter[str] = Counter()
    for seed in range(part * 100, part * 100 + 100):
        world = World(seed)
        for _ in range(30):
            world.step()
        seen += world.seen
    assert min(seen["applied"], seen["stopped"], seen["sent"]) > 100, seen


@pytest.mark.parametrize("part", PARTS)
def test_undisturbed_histories(part: int) -> None:
    """Where each pull request is planned on what it is merged into, no second approval is needed, on either stage."""
    for seed in range(part * 10, part * 10 + 10):
        world = World(seed)
        for _ in range(12):
            request = Request(world.change())
            request.plans.append(world.plan_of(request.sets))
            world.merge(request)
            for stage in STAGES:
                assert [] == world.apply(stage, in_order=True)
                assert [] == world.apply(stage, in_order=True)  # run again


@pytest.mark.parametrize("waiting", range(1, 6))
def test_stage_that_waits(waiting: int) -> None:
    """A stage that waits while others are merged applies all of it at once, if each was planned on the one before."""
    world = World(0)
    for number in range(waiting):
        request = Request({f"europe/{stage}/{number}": ("ONB10001", hooks(str(number))) for stage in STAGES})
        request.plans.append(world.plan_of(request.sets))
        world.merge(request)
        assert [] == world.apply("staging", in_order=True)
    assert [] == world.apply("production", in_order=True)
    assert world.seen["sent"] == 2 * waiting


class Closed:
    """The API, with pull requests that were closed, the last updated first, and the run of each with its plan."""

    def __init__(self, count: int) -> None:
        self.pulls = [self.pull(number) for number in range(count)]
        self.asked: list[str] = []
        self.answers: dict[str, Any] = {}

    @staticmethod
    def pull(number: int) -> dict[str, Any]:
        """Return a pull request: those with low numbers were updated last, and merged first."""
        head = {"sha": f"head-{number}", "repo": {"full_name": "partner/hooks"}}
        return {"merged_at": f"2026-11-{number:06}", "merge_commit_sha": f"merge-{number}", "head": head}

    def get(self, path: str, *fields: str) -> Any:
        """Answer as the API does, a hundred at a time."""
        if path == "pulls":
            (page,) = [int(text.removeprefix("page=")) for text in fields if text.startswith("page=")]
            return self.pulls[100 * page - 100 : 100 * page]
        self.asked += [text for text in fields if text.startswith("head_sha")]
        return self.answers.get(path, {"workflow_runs": []})


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Closed:
    """A repository with 450 pull requests that were closed, all merged."""
    api = Closed(450)
    monkeypatch.setattr(job, "get", api.get)
    monkeypatch.setattr(job, "git", lambda *_: " ".join(row["merge_commit_sha"] for row in api.pulls[1:]))
    monkeypatch.setenv("GITHUB_SHA", "merge-449")
    monkeypatch.setattr(job, "WAITS", (0,))
    return api


def test_many_pull_requests_that_were_updated_since(closed: Closed) -> None:
    """The last ones that were merged are looked at, 100 at most, however many others were updated after them."""
    assert [[]] * 100 == list(job.merged())
    assert [f"head_sha=head-{number}" for number in range(449, 349, -1)] == closed.asked


def test_pull_requests_that_show_nothing(closed: Closed) -> None:
    """One from a fork, one that was not merged, and one that is no ancestor are not asked for their plans."""
    closed.pulls = closed.pulls[:5]
    closed.pulls[2]["head"]["repo"] = {"full_name": "fork/hooks"}
    closed.pulls[3]["merged_at"] = None
    assert 2 == len(list(job.merged()))
    assert ["head_sha=head-4", "head_sha=head-1"] == closed.asked


def test_merge_commit_that_is_named_late(closed: Closed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pull request of the commit is waited for, also if others are there already."""
    late = closed.pulls.pop()
    monkeypatch.setattr(time, "sleep", lambda seconds: closed.pulls.extend([late] * (seconds == 2)))
    monkeypatch.setattr(job, "WAITS", (0, 2, 4))
    assert ([], ["head_sha=head-449"]) == (next(job.merged()), closed.asked)


@pytest.mark.parametrize(("run", "kept", "counts"), [
    ({}, {}, True), ({"path": "other.yml"}, {}, False), ({"head_repository": None}, {}, False),
    ({}, {"name": "other"}, False), ({}, {"expired": True}, False), ({}, {"size_in_bytes": job.LARGEST}, False),
])  # fmt: skip
def test_plan_that_was_kept(closed: Closed, monkeypatch: pytest.MonkeyPatch, run: Any, kept: Any, counts: bool) -> None:
    """It counts if a run of this workflow and repository kept it, and if it can still be had, and is no flood."""
    row = {"id": 7, "path": f"{CALLER}@refs/heads/main", "head_repository": {"full_name": REPOSITORY}, **run}
    kept = {"name": "reconciler-plan-1", "size_in_bytes": 1, "expired": False, **kept}
    closed.answers = {"actions/runs": {"workflow_runs": [row]}, "actions/runs/7/artifacts": {"artifacts": [kept]}}
    monkeypatch.setattr(job, "_download", lambda *_: ["plan.json"])
    monkeypatch.setattr(job, "load_plan", lambda _: plan(A))
    assert [plan(A)] * counts == next(job.merged())
