"""A project that works with the lending service of the tests: its record, its plans, and what it lists."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from support.lending_service import AUDIENCE_BASE, CLIENT_ID, CLIENT_SECRET, LendingService, refusal
from support.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Partner(Project):
    """A project with one target, europe/staging, which is a `LendingService`, on plain http as a sandbox is."""

    service: LendingService = field(kw_only=True)

    def declare(self, subscriptions: dict[str, tuple[list[str], str]], **addresses: str) -> None:
        given = {
            "auth_url": self.service.auth_url,
            "base_url": self.service.base_url,
            "audience_base": AUDIENCE_BASE,
            **addresses,
        }
        super().declare(subscriptions, **given)

    def want(self, **codes: list[str]) -> None:
        """Declare subscriptions, name -> codes, each with a URL of its own."""
        self.declare({name: (some, f"https://hooks.partner.example/{name}") for name, some in codes.items()})

    def begin(self, **codes: list[str]) -> None:
        """As `want`, and start the state record."""
        self.want(**codes)
        self.step("state", "init")

    @property
    def journal(self) -> Path:
        return self.path / "state" / "europe" / "staging.jsonl"

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What the journal says, entry by entry."""
        return [json.loads(line) for line in self.journal.read_text(encoding="utf-8").splitlines()]

    @property
    def kinds(self) -> list[str]:
        return [entry["kind"] for entry in self.entries]

    @contextmanager
    def appending(self, *kinds: str) -> Iterator[None]:
        """Hold that what is done inside appends entries of these kinds, with when and by whom, and changes no other."""
        before = self.journal.read_bytes()
        yield
        after = self.journal.read_bytes()
        assert after.startswith(before)
        entries = [json.loads(line) for line in after[len(before) :].splitlines()]
        assert list(kinds) == [entry["kind"] for entry in entries]
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry["at"]) and entry["by"] for entry in entries)

    def plan(self) -> Any:
        """The plan as a document."""
        return self.step("plan", "--format", "json").document

    def planned(self) -> list[tuple[str, str]]:
        """The name and the action of every change of the plan."""
        return [(change["address"].rpartition("/")[2], change["action"]) for change in self.plan()["changes"]]

    def listed(self) -> list[tuple[str, str, list[str]]]:
        """The name, the status and the codes of every attempt that `state list` gives."""
        found = self.step("state", "list", "--format", "json").document
        return [(one["address"].rpartition("/")[2], one["status"], one["eventCodes"]) for one in found]

    def attempt(self, number: int = 0) -> str:
        """The id of an attempt that `state list` gives."""
        return str(self.step("state", "list", "--format", "json").document[number]["attempt"])

    def lose_answer(self, *arguments: str) -> None:
        """Apply, with an answer to the first create that says nothing about its outcome."""
        self.service.answer_next(refusal(500))
        self.step("apply", "--auto-approve", *arguments, code=3)


@pytest.fixture
def partner(tmp_path: Path, lending_service: LendingService) -> Partner:
    """A project that works with a lending service, with nothing declared yet."""
    credentials = {
        "RECONCILER_EUROPE_STAGING_CLIENT_ID": CLIENT_ID,
        "RECONCILER_EUROPE_STAGING_CLIENT_SECRET": CLIENT_SECRET,
    }
    return Partner(tmp_path / "project", credentials, service=lending_service)
