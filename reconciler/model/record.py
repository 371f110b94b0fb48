"""The record: what a journal's entries come to, as a fold."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from reconciler.model.address import TargetName
from reconciler.model.attempt import (
    IN_FORCE,
    UNRESOLVED,
    About,
    Attempt,
    Sealing,
    Status,
    changed,
    imported,
    intended,
    place_hash,
)
from reconciler.model.entry import (
    AnyEntry,
    Begun,
    Bound,
    Closed,
    Imported,
    Intent,
    Joined,
    Moved,
    Observed,
    Opened,
    Removed,
    Resealed,
    Resolved,
    Restored,
    Retired,
    RollbackAccepted,
    SecretSet,
    Settled,
)
from reconciler.model.joining import AttemptPlace, common_heads, history, index, join_attempts, join_sealings
from reconciler.model.url import normal_url, same_service

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.model.address import Address

__all__ = ["IN_FORCE", "UNRESOLVED", "AddressRoute", "Attempt", "MeaninglessEntry", "Record", "Status", "fold"]

AddressRoute = tuple["Address", str, str]
"""An address, an event code, and a URL in the form URLs compare in."""


class Record(Struct, frozen=True, dict=True):
    """All that is known to exist at one target.

    `head` is the hash of the last entry and the version of the state, `at` when that was written (UTC, ISO 8601);
    `entries` is their number. `touched` is, for each address, the hash of the last entry that changed it.
    `accepted_losses` are heads of other histories that this record replaces: a person accepted their loss, or they were
    merged. `ids` are its own id and those of lost records whose place it took. `rebound` is the hash of the last entry
    by which a person bound it to another account or service.
    `received` says when a notification was received last, by address, event code and URL (in the form URLs compare in);
    `observed` when it was received last by each recording of such evidence, oldest first.
    `sealings` are what was sealed once more, by attempt and the hash of what was sealed first, oldest first.
    `closed` is the last entry of a record that continues in another store, or is being copied there. `open_losses` are
    the heads whose loss was accepted since the last create or whole import: what exists may be missing from here.
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
    received: Mapping[AddressRoute, str] = field(default_factory=dict)
    observed: Mapping[AddressRoute, tuple[str, ...]] = field(default_factory=dict)
    ids: frozenset[str] = frozenset()
    rebound: str = ""
    closed: Closed | None = None
    sealings: Mapping[AttemptPlace, tuple[Sealing, ...]] = field(default_factory=dict)
    at: str = ""
    open_losses: frozenset[str] = frozenset()

    def sealings_of(self, attempt: str, place: str) -> tuple[Sealing, ...]:
        """What the sealed data at a place of an attempt was sealed to once more, oldest first."""
        return self.sealings.get((attempt, place_hash(place)), ()) if self.sealings else ()

    @cached_property
    def routes(self) -> frozenset[tuple[str, str]]:
        """The routes of its attempts that are not GONE: other targets of the service are compared with them."""
        present = (attempt for attempt in self.attempts.values() if attempt.status is not Status.GONE)
        return frozenset(route for attempt in present for route in attempt.routes)

    @cached_property
    def unresolved(self) -> list[Attempt]:
        """The attempts of which it is unknown if they deliver."""
        return [attempt for attempt in self.attempts.values() if attempt.unresolved]

    def at_address(self, address: Address) -> list[Attempt]:
        """The attempts of one address that are not GONE, oldest first."""
        return self._by_address.get(address, [])

    @cached_property
    def _by_address(self) -> dict[Address, list[Attempt]]:
        """For those who ask for one address after the other; a plan asks for all at once, and keeps nothing."""
        return self.by_address()

    def by_address(self) -> dict[Address, list[Attempt]]:
        """The attempts that are not GONE, by address, oldest first."""
        attempts: dict[Address, list[Attempt]] = {}
        for attempt in self.attempts.values():
            if attempt.status is not Status.GONE:
                attempts.setdefault(attempt.address, []).append(attempt)
        return attempts


class MeaninglessEntry(ValueError):
    """An entry that cannot follow the ones before it, such as the outcome of an attempt that was never started."""


class _Fold:
    """The record during the fold; one call of `add` for each entry."""

    def __init__(self, lines: Sequence[tuple[AnyEntry, str]], folded: dict[str, Record]) -> None:
        self._lines = lines
        self._folded = folded
        """The records of histories that were joined, by head: joins within joins ask for the same ones many times."""
        self.id = ""
        self.target = TargetName("")
        self.base_url = ""
        self.account: str | None = None
        self.head = ""
        self.entries = 0
        self.attempts: dict[str, Attempt] = {}
        self.touched: dict[Address, str] = {}
        self.accepted_losses: set[str] = set()
        self.open_losses: set[str] = set()
        self.ids: set[str] = set()
        self.rebound = ""
        self.observed: dict[AddressRoute, tuple[str, ...]] = {}
        self.closed: Closed | None = None
        self.sealings: dict[AttemptPlace, tuple[Sealing, ...]] = {}

    def add(self, entry: AnyEntry, digest: str) -> None:  # noqa: C901, PLR0912 - one case for each kind of entry
        if (self.entries == 0) != isinstance(entry, Begun):
            raise MeaninglessEntry("expected `begun` as the first entry and only there")
        if self.closed is not None and not isinstance(entry, Closed | Opened):
            raise MeaninglessEntry("the record was closed before it")
        self.head = digest
        self.entries += 1
        match entry:  # what a journal has many of comes first
            case Intent():
                self.open_losses.clear()
                self._begin(intended(entry), digest)
            case Imported():
                if not entry.partial:
                    self.open_losses.clear()
                self._begin(imported(entry), digest)
            case Settled() | Resolved() | Retired() | Restored() | Removed() | SecretSet():
                self._change(entry, digest)
            case Begun():
                self.id, self.target, self.base_url = entry.record, entry.target, entry.base_url
                self.ids.add(entry.record)
            case Bound():
                self._bind(entry, digest)
            case Moved():
                self._move(entry, digest)
            case RollbackAccepted():
                self.accepted_losses.add(entry.lost_head)
                self.open_losses.add(entry.lost_head)
                self.ids |= {entry.lost_record} - {""}
            case Observed():
                self._observe(entry)
            case Resealed():
                self._reseal(entry)
            case Joined():
                self._join(entry, digest)
            case Closed():
                self.closed = entry
            case Opened():
                self._open()
            case _:
                assert_never(entry)

    def _bind(self, entry: Bound, digest: str) -> None:
        """The first create names the account, which changes nothing; any other change is a person's decision."""
        account = entry.account or self.account
        if not same_service(entry.base_url, self.base_url) or self.account not in (None, account):
            self.rebound = digest
        self.base_url, self.account = entry.base_url, account

    def _begin(self, attempt: Attempt, digest: str) -> None:
        if attempt.id in self.attempts:
            raise MeaninglessEntry(f"attempt {attempt.id} is started twice")
        self.attempts[attempt.id] = attempt
        self.touched[attempt.address] = digest

    def _change(self, entry: About, digest: str) -> None:
        attempt = self.attempts.get(entry.attempt)
        if attempt is None:
            raise MeaninglessEntry(f"attempt {entry.attempt} was never started")
        self.attempts[attempt.id] = changed(attempt, entry)
        self.touched[attempt.address] = digest

    def _move(self, entry: Moved, digest: str) -> None:
        for attempt in list(self.attempts.values()):
            if attempt.address == entry.source:
                self.attempts[attempt.id] = replace(attempt, address=entry.address)
        for (address, code, url), times in list(self.observed.items()):
            if address == entry.source:
                self.observed[entry.address, code, url] = times
        self.touched[entry.source] = self.touched[entry.address] = digest

    def _observe(self, entry: Observed) -> None:
        """Evidence changes nothing about an address, so it does not touch it: a plan approved before it still holds."""
        url = normal_url(entry.url)
        for code, at in entry.received.items():
            self._receive((entry.address, code, url), (at,))

    def _receive(self, key: AddressRoute, times: tuple[str, ...]) -> None:
        known = self.observed.get(key, ())
        is_news = not known or times[0] > known[-1]  # as nearly always: sorting each time would take longer and longer
        self.observed[key] = (*known, *times) if is_news else tuple(sorted({*known, *times}))

    def _reseal(self, entry: Resealed) -> None:
        """Who can open a response changes nothing about its address, so a plan approved before it still holds."""
        if entry.attempt not in self.attempts:
            raise MeaninglessEntry(f"attempt {entry.attempt} was never started")
        key = entry.attempt, entry.original
        self.sealings[key] = (*self.sealings.get(key, ()), Sealing(entry.sealed, entry.recipients))

    def _open(self) -> None:
        if self.closed is None:
            raise MeaninglessEntry("the record is opened without having been closed")
        self.closed = None

    def _join(self, entry: Joined, digest: str) -> None:
        known = index(self._lines[: self.entries - 1])
        try:
            shared = history(known, entry.after)
        except KeyError:
            raise MeaninglessEntry("the merged copy has no common history with this journal") from None
        lines = [*shared, *entry.lines]
        self.open_losses -= {found for _, found in lines}
        base, theirs = self._at(shared), self._at(lines)
        if theirs.closed is not None:
            raise MeaninglessEntry("the merged copy was closed: the record continues elsewhere")
        bases = [self._at(history(known, head)).attempts for head in common_heads(known, index(lines))]
        before, self.attempts = self.attempts, join_attempts(bases, self.attempts, theirs.attempts)
        for attempt in self.attempts.values():
            earlier = before.get(attempt.id)
            if attempt != earlier:
                self.touched |= {known.address: digest for known in (attempt, earlier) if known is not None}
        self.base_url = self.base_url if theirs.base_url == base.base_url else theirs.base_url
        self.account = self.account if theirs.account == base.account else theirs.account
        self.rebound = self.rebound if theirs.rebound == base.rebound else theirs.rebound
        self.ids |= theirs.ids
        self.accepted_losses |= theirs.accepted_losses | {lost_head for _, lost_head in entry.lines}
        for key, times in theirs.observed.items():
            self._receive(key, times)
        self.sealings = join_sealings(self.sealings, theirs.sealings)

    def _at(self, lines: Sequence[tuple[AnyEntry, str]]) -> Record:
        """The record of another history, or of the beginning of this one."""
        head = lines[-1][1]
        if head not in self._folded:
            self._folded[head] = _folded(lines, self._folded)
        return self._folded[head]


def fold(entries: Iterable[tuple[AnyEntry, str]]) -> Record:
    """The record that `entries`, each with its hash, come to.

    Raises MeaninglessEntry where an entry cannot follow the ones before it; `args[1]` is then its number from 1.
    """
    return _folded(tuple(entries), {})


def _folded(lines: Sequence[tuple[AnyEntry, str]], folded: dict[str, Record]) -> Record:
    """As `fold`, with the records of other histories that are known already."""
    state = _Fold(lines, folded)
    for number, (entry, digest) in enumerate(lines, 1):
        try:
            state.add(entry, digest)
        except MeaninglessEntry as problem:
            raise MeaninglessEntry(problem.args[0], number) from None
    return Record(
        target=state.target, id=state.id, ids=frozenset(state.ids), base_url=state.base_url, account=state.account,
        head=state.head, entries=state.entries, at=lines[-1][0].at if lines else "", closed=state.closed,
        attempts=state.attempts, touched=state.touched, sealings=state.sealings, rebound=state.rebound,
        received={route: times[-1] for route, times in state.observed.items()}, observed=state.observed,
        accepted_losses=frozenset(state.accepted_losses), open_losses=frozenset(state.open_losses),
    )  # fmt: skip
