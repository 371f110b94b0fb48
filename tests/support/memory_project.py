"""A project whose places are in memory, whose time stands still, and whose ids count up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Desired, Subscription
from reconciler.model.outcome import Outcome
from reconciler.model.record import Record
from reconciler.operations.project import Flags, Project
from reconciler.operations.settings import Sources
from reconciler.operations.statements import AppendResult, append, prepare
from reconciler.record.chain import parse
from reconciler.record.facts import Answered, AnyFact, Intended, What
from reconciler.record.fold import fold
from reconciler.record.statements import Statement
from reconciler.values import stamp
from support.desired_values import NOWHERE, target_of
from support.memory_record import MemoryNotes, MemoryStore, record_of

NOW = 1_800_000_000.0
EU, API, URL = "europe/staging", "https://api.example", "https://hooks.example/{}"


def desired_of(
    wanted: Mapping[str, tuple[str, ...] | tuple[tuple[str, ...], str]] | None = None,
    targets: Mapping[str, str] | None = None,
    **fields: Any,
) -> Desired:
    """Return a desired state: `wanted` has codes and a URL template by address, `targets` a base URL by name."""
    declared = {TargetName(name): target_of(name, url) for name, url in (targets or {EU: API}).items()}
    subscriptions = {
        Address(address): Subscription(Address(address), tuple(codes), str(url), str(url), NOWHERE)
        for address, (codes, url) in (wanted or {}).items()
    }
    return Desired(declared, subscriptions, **fields)


class MemoryProject(Project):
    """One machine: it has its own notes, and shares the places in `stores` with others."""

    def __init__(self, stores: dict[str, MemoryStore] | None = None, desired: Desired | None = None) -> None:
        super().__init__(Flags(state="memory:a"), Sources({}, Path()))
        self.stores = {} if stores is None else stores
        self.__dict__["desired"] = desired or desired_of()
        self.__dict__["notes"] = MemoryNotes()
        self.clock = NOW
        self.ids = 0
        self.person = "somebody"
        self.known_accounts: dict[TargetName, str] = {}

    def now(self) -> float:
        return self.clock

    def new_id(self) -> str:  # type: ignore[override]
        self.ids += 1
        return f"{id(self) % 2**64:016x}{self.ids:016x}"

    def by(self) -> dict[str, str]:
        return {"user": self.person}

    def accounts(self) -> dict[TargetName, str]:
        return self.known_accounts

    def _open(self, place: str) -> MemoryStore:
        store = self.stores.setdefault(place, MemoryStore())
        store.place = place
        return store

    def say(self, statement: Statement) -> AppendResult:
        """Make a statement, as a person who agrees to what is shown."""
        return append(self, statement, prepare(self, statement))

    def add(self, *facts: AnyFact) -> None:
        """Append facts of an apply."""
        self.journal.append(self.journal.read(), facts, "apply")

    def record_at(self, place: str = "memory:a") -> Record:
        """Return the record at a place, whatever is remembered of it."""
        data = self.stores[place].data
        assert data is not None
        return fold(parse(data, place))

    def plan_opens(self, place: str = "memory:a") -> bool:
        """True if the first two gates of the record at a place are open for this machine."""
        reading = self.journal_at(place).look()
        return reading is not None and reading.standing.open


def project_with(*facts: AnyFact, desired: Desired | None = None, complete: bool = True) -> MemoryProject:
    """Return a project whose record says these facts."""
    project = MemoryProject({"memory:a": MemoryStore(record_of(*facts, complete=complete))}, desired)
    project.journal.read()
    return project


def what(address: str, *codes: str, url: str = "", settled_by: float = NOW - 100, **rest: Any) -> What:
    """Return a create call of an address."""
    sent = url or URL.format(address.rpartition("/")[2])
    return What(
        address=address, codes=codes or ("ONB10001",), url=sent, base_url=rest.pop("base_url", API),
        settled_by=settled_by, **rest,
    )  # fmt: skip


def created(
    attempt: str, address: str, *codes: str, at: float = NOW - 1000, outcome: Outcome = Outcome.CREATED, **rest: Any
) -> list[AnyFact]:
    """Return the facts of a create that had this outcome."""
    call = what(address, *codes, **rest)
    return [
        Intended(at=stamp(at), attempt=attempt, what=call),
        Answered(at=stamp(at), attempt=attempt, what=call, outcome=outcome),
    ]


def unknown(attempt: str, address: str, *codes: str, **rest: Any) -> list[AnyFact]:
    """Return the facts of a create whose answer was lost."""
    return created(attempt, address, *codes, outcome=Outcome.UNKNOWN, **rest)
