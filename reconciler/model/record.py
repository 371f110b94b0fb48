"""The record: what a journal's entries come to, as a fold."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from reconciler.model.address import TargetName
from reconciler.model.entry import (
    AnyEntry,
    Begun,
    Bound,
    Imported,
    Intent,
    Moved,
    Observed,
    Removed,
    Resolved,
    Restored,
    Retired,
    RollbackAccepted,
    SecretSet,
    Settled,
)
from reconciler.model.outcome import Outcome
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.model.address import Address
    from reconciler.model.entry import Scalar


class Status(StrEnum):
    """Where an attempt stands. PENDING: its call may be in flight; GONE: certainly does not deliver."""

    PENDING = "pending"
    UNKNOWN = "unknown"
    LIVE = "live"
    AWAITING_REMOVAL = "awaiting_removal"
    GONE = "gone"


Heard = tuple["Address", str, str]
"""An address, an event code, and a URL in the form URLs compare in."""

UNSETTLED = (Status.PENDING, Status.UNKNOWN)
IN_FORCE = (Status.LIVE, Status.AWAITING_REMOVAL)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One create call (or an imported subscription) and what is known of it.

    `at` and `by` are of its last change; `since` and `begun_by` of its beginning. `send_by` and `settled_by` are
    epoch seconds, 0 for what was imported.
    """

    id: str
    address: Address
    codes: tuple[str, ...]
    url: str
    status: Status
    since: str
    begun_by: Mapping[str, str]
    at: str
    by: Mapping[str, str]
    send_by: float = 0.0
    settled_by: float = 0.0
    detail: str | None = None
    outcome: Outcome | None = None
    resolved_created: bool | None = None
    removed: bool = False
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    response: str | None = None
    secrets: tuple[str, ...] = ()

    @property
    def in_force(self) -> bool:
        """Whether, as far as anyone knows, it delivers."""
        return self.status in IN_FORCE

    @property
    def unsettled(self) -> bool:
        """Whether nobody knows if it delivers."""
        return self.status in UNSETTLED

    @property
    def routes(self) -> frozenset[tuple[str, str]]:
        """Its routes: (event code, URL in the form URLs compare in)."""
        url = normal_url(self.url)
        return frozenset((code, url) for code in self.codes)


@dataclass(frozen=True, slots=True)
class Record:
    """All that is known to exist at one target.

    `head` is the hash of the last entry and the version of the state; `entries` their number. `touched` is, for each
    address, the hash of the last entry that changed it. `accepted_losses` are heads whose loss a person accepted.
    `received` says when a notification was received last, by address, event code and URL (in the form URLs compare in).
    """

    target: TargetName
    id: str
    base_url: str
    account: str | None
    head: str
    entries: int
    attempts: Mapping[str, Attempt]
    touched: Mapping[Address, str]
    accepted_losses: frozenset[str] = frozenset()
    received: Mapping[Heard, str] = field(default_factory=dict)

    def at_address(self, address: Address) -> list[Attempt]:
        """The attempts of one address that are not GONE, oldest first."""
        return [one for one in self.attempts.values() if one.address == address and one.status != Status.GONE]

    def by_address(self) -> dict[Address, list[Attempt]]:
        """The attempts that are not GONE, by address, oldest first."""
        found: dict[Address, list[Attempt]] = {}
        for attempt in self.attempts.values():
            if attempt.status is not Status.GONE:
                found.setdefault(attempt.address, []).append(attempt)
        return found


class MeaninglessEntry(ValueError):
    """An entry that cannot follow the ones before it, such as the outcome of an attempt that was never begun."""


class _Fold:
    """The record while it is being folded; one method call for each entry."""

    def __init__(self) -> None:
        self.id = ""
        self.target = TargetName("")
        self.base_url = ""
        self.account: str | None = None
        self.head = ""
        self.entries = 0
        self.attempts: dict[str, Attempt] = {}
        self.touched: dict[Address, str] = {}
        self.accepted_losses: set[str] = set()
        self.received: dict[Heard, str] = {}

    def add(self, entry: AnyEntry, digest: str) -> None:
        if (self.entries == 0) != isinstance(entry, Begun):
            raise MeaninglessEntry("the first entry, and no other, begins a record")
        self.head = digest
        self.entries += 1
        match entry:
            case Begun():
                self.id, self.target, self.base_url = entry.record, entry.target, entry.base_url
            case Bound():
                self.base_url, self.account = entry.base_url, entry.account or self.account
            case Intent():
                self._begin(_intended(entry), digest)
            case Imported():
                self._begin(_imported(entry), digest)
            case Settled() | Resolved() | Retired() | Restored() | Removed() | SecretSet():
                self._change(entry, digest)
            case Moved():
                self._move(entry, digest)
            case RollbackAccepted():
                self.accepted_losses.add(entry.lost_head)
            case Observed():
                self._observe(entry)
            case _:
                assert_never(entry)

    def _begin(self, attempt: Attempt, digest: str) -> None:
        if attempt.id in self.attempts:
            raise MeaninglessEntry(f"attempt {attempt.id} begins twice")
        self.attempts[attempt.id] = attempt
        self.touched[attempt.address] = digest

    def _change(self, entry: Settled | Resolved | Retired | Restored | Removed | SecretSet, digest: str) -> None:
        attempt = self.attempts.get(entry.attempt)
        if attempt is None:
            raise MeaninglessEntry(f"attempt {entry.attempt} was never begun")
        self.attempts[attempt.id] = _changed(attempt, entry)
        self.touched[attempt.address] = digest

    def _move(self, entry: Moved, digest: str) -> None:
        for attempt in list(self.attempts.values()):
            if attempt.address == entry.source:
                self.attempts[attempt.id] = replace(attempt, address=entry.address)
        for (address, code, url), at in list(self.received.items()):
            if address == entry.source:
                self.received[entry.address, code, url] = at
        self.touched[entry.source] = self.touched[entry.address] = digest

    def _observe(self, entry: Observed) -> None:
        """Evidence changes nothing about an address, so it does not touch it: a plan approved before it still holds."""
        url = normal_url(entry.url)
        for code, at in entry.received.items():
            key = entry.address, code, url
            self.received[key] = max(at, self.received.get(key, ""))


def _intended(entry: Intent) -> Attempt:
    return Attempt(
        entry.attempt, entry.address, entry.codes, entry.url, Status.PENDING, entry.at, entry.by, entry.at, entry.by,
        entry.send_by, entry.settled_by,
    )  # fmt: skip


def _imported(entry: Imported) -> Attempt:
    return Attempt(
        entry.attempt, entry.address, entry.codes, entry.url, Status.LIVE, entry.at, entry.by, entry.at, entry.by,
    )  # fmt: skip


def _changed(attempt: Attempt, entry: Settled | Resolved | Retired | Restored | Removed | SecretSet) -> Attempt:
    """The attempt after an entry about it, made in one step: this is what a long journal spends its time on."""
    match entry:
        case Settled():
            return _settled(attempt, entry)
        case Resolved():
            return _resolved(attempt, entry)
        case Retired():
            status = Status.AWAITING_REMOVAL if attempt.in_force else attempt.status
            return replace(attempt, at=entry.at, by=entry.by, status=status)
        case Restored():
            status = Status.LIVE if attempt.in_force else attempt.status
            return replace(attempt, at=entry.at, by=entry.by, status=status)
        case Removed():
            return replace(attempt, at=entry.at, by=entry.by, status=Status.GONE, removed=True)
        case SecretSet():
            return replace(attempt, at=entry.at, by=entry.by, secrets=(*attempt.secrets, entry.secret))
        case _:
            assert_never(entry)


def _settled(attempt: Attempt, entry: Settled) -> Attempt:
    outcome = _stronger(attempt.outcome, entry.outcome)
    return replace(
        attempt,
        at=entry.at,
        by=entry.by,
        status=_settled_status(attempt, entry.outcome),
        outcome=outcome,
        detail=entry.detail if outcome is entry.outcome else attempt.detail,
        fields=entry.fields or attempt.fields,
        response=entry.response or attempt.response,
    )


def _resolved(attempt: Attempt, entry: Resolved) -> Attempt:
    if attempt.outcome not in (None, Outcome.UNKNOWN):
        # the service's own word came first, and is better than anyone's guess
        return replace(attempt, at=entry.at, by=entry.by)
    status = Status.LIVE if entry.created else Status.GONE
    return replace(attempt, at=entry.at, by=entry.by, status=status, resolved_created=entry.created, detail=entry.note)


def _stronger(known: Outcome | None, told: Outcome) -> Outcome:
    """CREATED once heard is never unheard; UNKNOWN tells nothing that was not known."""
    if known is Outcome.CREATED or (known is not None and told is Outcome.UNKNOWN):
        return known
    return told


def _settled_status(attempt: Attempt, told: Outcome) -> Status:
    """Where an attempt stands once the outcome `told` arrived, however late it did.

    A late CREATED beats a person's --not-created; after a removal it means that the removal cannot be trusted, so the
    attempt awaits removal again: believing too much in force costs a question, believing too little a second create.
    """
    match told:
        case Outcome.CREATED:
            if attempt.removed or attempt.status is Status.AWAITING_REMOVAL:
                return Status.AWAITING_REMOVAL
            return Status.LIVE
        case Outcome.REJECTED | Outcome.NOT_SENT:
            return attempt.status if attempt.outcome is Outcome.CREATED else Status.GONE
        case Outcome.UNKNOWN:
            return Status.UNKNOWN if attempt.status is Status.PENDING else attempt.status
        case _:
            assert_never(told)


def fold(entries: Iterable[tuple[AnyEntry, str]]) -> Record:
    """The record that `entries`, each with its hash, come to.

    Raises MeaninglessEntry where an entry cannot follow the ones before it; `args[1]` is then its number from 1.
    """
    state = _Fold()
    for number, (entry, digest) in enumerate(entries, 1):
        try:
            state.add(entry, digest)
        except MeaninglessEntry as problem:
            raise MeaninglessEntry(str(problem), number) from None
    return Record(
        target=state.target,
        id=state.id,
        base_url=state.base_url,
        account=state.account,
        head=state.head,
        entries=state.entries,
        attempts=state.attempts,
        touched=state.touched,
        accepted_losses=frozenset(state.accepted_losses),
        received=state.received,
    )
