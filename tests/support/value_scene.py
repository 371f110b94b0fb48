"""Desired and recorded states as plain values, with verbs; and an executor that carries a plan out on them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.mistake import Place
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Desired, Overlap, Replace, Subscription, Target
from reconciler.model.entry import (
    AnyEntry,
    Begun,
    Imported,
    Intent,
    Moved,
    Removed,
    Resolved,
    Restored,
    Retired,
    Settled,
)
from reconciler.model.outcome import Outcome
from reconciler.model.plan import SENDS, Action
from reconciler.model.record import fold
from reconciler.model.selection import Selection
from reconciler.planning.planner import make_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.model.entry import Scalar
    from reconciler.model.plan import Change, Plan, Surplus
    from reconciler.model.record import Attempt, Record

EUROPE = TargetName("europe/staging")
USA = TargetName("usa/staging")
PLACE = Place("config/all.yaml", 1, 1)
AT = "2026-11-20T13:30:00Z"
BY = {"user": "deployer", "host": "build-7", "tool": "0.1.0"}
SEND_BY, SETTLED_BY = 1_800_000_000.0, 1_800_000_060.0


def hooks(path: str) -> str:
    """A webhook URL."""
    return f"https://hooks.partner.example/{path}"


def target(
    name: TargetName,
    *,
    base_url: str = "https://api.service.example",
    overlap: Overlap = Overlap.REFUSE,
    mode: Replace = Replace.OVERLAP,
) -> Target:
    """A declared target."""
    return Target(name, "https://login.service.example", base_url, "https://api.service.example", overlap, mode, PLACE)


def created(change: Change) -> Outcome:
    """What becomes of a create where the service is in order."""
    return Outcome.CREATED


@dataclass
class Scene:
    """What is wanted and what has happened. Names are of subscriptions of europe/staging, or whole addresses."""

    targets: dict[TargetName, Target] = field(default_factory=lambda: {EUROPE: target(EUROPE)})
    wanted: dict[Address, Subscription] = field(default_factory=dict)
    recipients: tuple[str, ...] = ()
    journals: dict[TargetName, list[tuple[AnyEntry, str]]] = field(default_factory=dict)
    attempts: int = 0
    _records: dict[TargetName, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.targets:
            self.declare(self.targets[name])

    # What is desired

    def declare(self, declared: Target) -> None:
        """Declare a target, and begin its record if there is none."""
        self.targets[declared.name] = declared
        if declared.name not in self.journals:
            self.journals[declared.name] = []
            record = f"id of {declared.name}"
            begun = Begun(at=AT, by=BY, record=record, target=declared.name, base_url=declared.base_url)
            self._tell(declared.name, begun)

    def set_mode(self, mode: Replace) -> None:
        """Let every target replace in this way."""
        self.targets = {name: replace(one, replace=mode) for name, one in self.targets.items()}

    def want(self, name: str, codes: str, url: str) -> None:
        """Desire a subscription: codes separated by spaces."""
        address = address_of(name)
        self.wanted[address] = Subscription(address, tuple(sorted(codes.split())), url, url, PLACE)

    def drop(self, name: str) -> None:
        """Desire a subscription no longer."""
        del self.wanted[address_of(name)]

    # What happened

    def hold(self, name: str, codes: str, url: str) -> str:
        """A create that succeeded; its attempt."""
        attempt = self.begin(name, codes, url)
        self.hear(attempt, Outcome.CREATED)
        return attempt

    def begin(self, name: str, codes: str, url: str) -> str:
        """A create that may be in flight; its attempt."""
        self.attempts += 1
        attempt, address = f"a{self.attempts}", address_of(name)
        self._tell(
            address.target,
            Intent(
                at=AT, by=BY, attempt=attempt, address=address, action="create", codes=tuple(sorted(codes.split())),
                url=url, send_by=SEND_BY, settled_by=SETTLED_BY, run="r1",
            ),
        )  # fmt: skip
        return attempt

    def lose(self, name: str, codes: str, url: str) -> str:
        """A create whose outcome is unknown; its attempt."""
        attempt = self.begin(name, codes, url)
        self.hear(attempt, Outcome.UNKNOWN)
        return attempt

    def bring(self, name: str, codes: str, url: str) -> str:
        """An import; its attempt."""
        self.attempts += 1
        attempt, address = f"a{self.attempts}", address_of(name)
        entry = Imported(at=AT, by=BY, attempt=attempt, address=address, codes=tuple(sorted(codes.split())), url=url)
        self._tell(address.target, entry)
        return attempt

    def hear(self, attempt: str, outcome: Outcome, fields: Mapping[str, Scalar] | None = None) -> None:
        told = Settled(at=AT, by=BY, attempt=attempt, outcome=outcome, status=201, fields=fields or {})
        self._tell_of(attempt, told)

    def resolve(self, attempt: str, *, created: bool) -> None:
        self._tell_of(attempt, Resolved(at=AT, by=BY, attempt=attempt, created=created))

    def retire(self, attempt: str) -> None:
        """A plan retires it."""
        self._tell_of(attempt, Retired(at=AT, by=BY, attempt=attempt, reason="no longer in config/"))

    def ask_away(self, attempt: str) -> None:
        """A person asks for its removal."""
        self._tell_of(attempt, Retired(at=AT, by=BY, attempt=attempt, reason="asked for"))

    def restore(self, attempt: str) -> None:
        self._tell_of(attempt, Restored(at=AT, by=BY, attempt=attempt))

    def remove(self, attempt: str) -> None:
        self._tell_of(attempt, Removed(at=AT, by=BY, attempt=attempt))

    def move(self, source: str, destination: str) -> None:
        before, after = address_of(source), address_of(destination)
        self._tell(before.target, Moved(at=AT, by=BY, source=before, address=after))

    def _tell(self, name: TargetName, entry: AnyEntry) -> None:
        journal = self.journals[name]
        journal.append((entry, made_up_hash(journal[-1][1] if journal else "", entry)))
        self._records[name] = fold(journal)

    def refold(self) -> None:
        """Read every journal again, after one was tampered with."""
        self._records = {name: fold(journal) for name, journal in self.journals.items()}

    def _tell_of(self, attempt: str, entry: AnyEntry) -> None:
        self._tell(self.attempt(attempt).address.target, entry)

    # What it comes to

    @property
    def desired(self) -> Desired:
        return Desired(
            dict(sorted(self.targets.items())), dict(sorted(self.wanted.items())), recipients=self.recipients
        )

    @property
    def records(self) -> dict[TargetName, Record]:
        return dict(self._records)

    def attempt(self, attempt: str) -> Attempt:
        """What is known of an attempt."""
        return next(one for one in self.all_attempts() if one.id == attempt)

    def all_attempts(self) -> list[Attempt]:
        return [one for record in self._records.values() for one in record.attempts.values()]

    def plan(self, *patterns: str) -> Plan:
        return make_plan(self.desired, self.records, Selection.of(patterns))

    def changes(self, *patterns: str) -> list[Change]:
        return self.plan(*patterns).changes

    def change(self) -> Change:
        """The one change there is."""
        (change,) = self.changes()
        return change

    def surplus(self) -> list[Surplus]:
        return [extra for one in self.plan().targets.values() for extra in one.surplus]

    # Making a plan true

    def apply(self, plan: Plan | None = None, become: Callable[[Change], Outcome] = created) -> None:
        """Carry a plan out as `apply` does: creates first, what needs no call after those it waits for."""
        for one in (plan or self.plan()).targets.values():
            outcomes = {change.address: self._send(change, become) for change in one.changes if change.action in SENDS}
            for change in one.changes:
                if all(outcomes.get(address) is Outcome.CREATED for address in change.depends_on):
                    self._settle_quietly(change)

    def _send(self, change: Change, become: Callable[[Change], Outcome]) -> Outcome:
        assert change.request is not None
        attempt = self.begin(change.address, " ".join(change.request.codes), change.request.url)
        outcome = become(change)
        self.hear(attempt, outcome)
        if outcome is Outcome.CREATED:
            for old in change.concerns:
                self.retire(old)
        return outcome

    def _settle_quietly(self, change: Change) -> None:
        for attempt in change.concerns:
            if change.action is Action.RETIRE:
                self.retire(attempt)
            elif change.action is Action.RESTORE:
                self.restore(attempt)


def address_of(name: str) -> Address:
    """An address, or that of a subscription of europe/staging."""
    return Address(name) if "/" in name else Address.of(EUROPE, name)


def made_up_hash(before: str, entry: AnyEntry) -> str:
    """A hash that follows from the entry and the one before."""
    return hashlib.sha256(f"{before} {entry!r}".encode()).hexdigest()


def actions(changes: list[Change]) -> list[tuple[str, Action]]:
    """Name and action of each change."""
    return [(change.address.name, change.action) for change in changes]
