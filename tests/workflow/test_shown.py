"""Which changes of a plan the merged pull requests have shown: the decision, and histories of merges."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field
from typing import Any

import pytest
import shown


def change(address: str, digest: str, action: str = "create", **more: object) -> dict[str, Any]:
    """Return a change as a plan has it."""
    return {"address": address, "digest": digest, "action": action, **more}


def plan(*changes: dict[str, Any], head: str = "h1") -> dict[str, Any]:
    """Return a plan that was made on a record with this head."""
    return {"changes": [*changes], "record": {"head": head}, "digest": ""}


def reasons(changes: list[dict[str, Any]], *heads: list[dict[str, Any]], known: str = "h1") -> list[str]:
    """Return why changes are not shown, for a record that contains one head."""
    return [reason for _, reason in shown.unshown(changes, heads, lambda head: head == known)]


A = change("europe/staging/a", "1", request={"webhookUrl": "https://a"})


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ([[plan(A)]], []),
        ([[], [plan(A)]], []),
        ([[plan(A), plan()]], []),
        ([], ["never shown"]),
        ([[plan(change("europe/staging/b", "1"))]], ["never shown"]),
        ([[plan({**A, "digest": "2", "request": None})]], ["shown with another request"]),
        ([[plan({**A, "digest": "2"})]], ["shown with another service, record or recipients"]),
        ([[plan(A), plan({**A, "digest": "2", "action": "retry"})]], ["shown with another action"]),
        ([[plan(A, head="h0")]], ["shown on a record that this one does not contain"]),
        ([[plan({**A, "digest": "2"})], [plan(A)]], []),
    ],
)
def test_one_change(heads: list[list[dict[str, Any]]], expected: list[str]) -> None:
    """A change is shown if a run has its digest, no other run of that head another, on a head that is contained."""
    assert expected == reasons([A], *heads)


def test_digest_of_another_address() -> None:
    """A plan that has the digest under another address has not shown the change."""
    assert ["never shown"] == reasons([A], [plan(change("europe/staging/other", A["digest"]))])


def test_blocked_changes_send_nothing() -> None:
    """A blocked change does not have to be shown."""
    assert [] == reasons([change("europe/staging/a", "1", "blocked")])


def test_pull_requests_are_asked_for_while_needed() -> None:
    """No further pull request is looked at once all changes are shown."""

    def heads() -> Any:
        yield [plan(A)]
        raise AssertionError("asked for more")

    assert [] == shown.unshown([A], heads(), lambda _: True)


@dataclass
class Request:
    """A pull request: what it sets, the plans that its runs have shown."""

    sets: dict[str, str | None]
    plans: list[dict[str, Any]] = field(default_factory=list)


class World:
    """A repository, its record and its pull requests. `config` is the tip's; `record` the attempts by address."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.config: dict[str, str] = {}
        self.record: list[tuple[str, str]] = []
        self.open: list[Request] = []
        self.merged: list[Request] = []

    def plan_of(self, config: dict[str, str]) -> dict[str, Any]:
        """Return the plan of a configuration on the record as it is."""
        changes = []
        for address in sorted({*config, *(address for address, _ in self.record)}):
            before = [url for of, url in self.record if of == address]
            after = config.get(address)
            if after != (before[-1] if before else None) and after:
                text = json.dumps([address, before, after])
                request, digest = {"webhookUrl": after}, hashlib.sha256(text.encode()).hexdigest()
                changes.append(change(address, digest, before=before, request=request))
        return plan(*changes, head=str(len(self.record)))

    def change(self) -> dict[str, str | None]:
        """Return a change of the configuration: a URL set or taken away."""
        name = self.random.choice("abc")
        return {f"europe/staging/{name}": self.random.choice(["https://1", "https://2", None])}

    def after(self, sets: dict[str, str | None]) -> dict[str, str]:
        """Return the configuration with a change merged into it."""
        both = {**self.config, **sets}
        return {address: url for address, url in both.items() if url}

    def step(self) -> None:
        """Have something happen."""
        match self.random.choice(["open", "open", "run", "merge", "merge", "queue", "push", "apply", "outside"]):
            case "open":
                request = Request(self.change())
                request.plans.append(self.plan_of(self.after(request.sets)))
                self.open.append(request)
            case "run" if self.open:  # once more: the record, or the branch, has moved on since
                request = self.random.choice(self.open)
                request.plans.append(self.plan_of(self.after(request.sets)))
            case "merge" if self.open:
                self.merge(self.open.pop(self.random.randrange(len(self.open))))
            case "queue":  # all at once
                while self.open:
                    self.merge(self.open.pop(0))
            case "push":  # past every review
                self.config = self.after(self.change())
            case "apply":
                self.apply()
            case "outside":
                self.record.append((f"europe/staging/{self.random.choice('abc')}", "https://other"))

    def merge(self, request: Request) -> None:
        """Merge a pull request: later ones win over what they were planned on."""
        self.config = self.after(request.sets)
        self.merged.insert(0, request)

    def apply(self) -> list[tuple[shown.Values, str]]:
        """Apply the tip if all of it was shown; return what was not."""
        planned = self.plan_of(self.config)
        heads = [request.plans for request in self.merged]
        left = shown.unshown(planned["changes"], heads, lambda head: int(head) <= len(self.record))
        if not left:
            reviewed = [row for request in self.merged for plan in request.plans for row in plan["changes"]]
            for row in planned["changes"]:
                assert row in reviewed
                self.record.append((row["address"], row["request"]["webhookUrl"]))
        return left


@pytest.mark.parametrize("part", range(10))
def test_histories(part: int) -> None:
    """In 1,000 histories no create is sent that no merged pull request has shown, with its URL and all before it."""
    for seed in range(part * 100, part * 100 + 100):
        world = World(seed)
        for _ in range(40):
            world.step()


@pytest.mark.parametrize("part", range(10))
def test_undisturbed_histories(part: int) -> None:
    """Where each pull request is planned on what it is merged into, no second approval is needed."""
    for seed in range(part * 10, part * 10 + 10):
        world = World(seed)
        for _ in range(12):
            request = Request(world.change())
            request.plans.append(world.plan_of(world.after(request.sets)))
            world.merge(request)
            assert [] == world.apply()
