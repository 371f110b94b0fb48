"""An attempt: one create call, and its status after each entry about it."""

from __future__ import annotations

from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from reconciler.model.entry import Imported, Intent, Removed, Resolved, Restored, Retired, SecretSet, Settled
from reconciler.model.outcome import Outcome
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.address import Address
    from reconciler.model.entry import Scalar

About = Settled | Resolved | Retired | Restored | Removed | SecretSet
"""The entries that change an existing attempt."""


class Status(StrEnum):
    """The status of an attempt. PENDING: its call may be in flight; GONE: it certainly does not deliver."""

    PENDING = "pending"
    UNKNOWN = "unknown"
    LIVE = "live"
    AWAITING_REMOVAL = "awaiting_removal"
    GONE = "gone"


UNRESOLVED = (Status.PENDING, Status.UNKNOWN)
IN_FORCE = (Status.LIVE, Status.AWAITING_REMOVAL)


class Attempt(Struct, frozen=True, gc=False):
    """One create call (or an imported subscription) and what is known of it.

    `at` and `by` are of its last change, `since` and `started_by` of its first entry. `send_by` and `settled_by` are
    epoch seconds, 0 for what was imported. `on_purpose`: a person asked for its removal, so no plan restores it.
    `requested` is when its removal was requested last, `withdrawn` when that was withdrawn; "" if it was not.
    No journal contains the last four, which are known of an unresolved one: `recovery_file` is the file on this
    machine, quoted for a shell, that knows more of it than the record; `answered`: the response to its call is here;
    `received`: which of its codes were received since, and when last; `twins`: those in force of its target that
    deliver a code of it to its URL.
    """

    id: str
    address: Address
    codes: tuple[str, ...]
    url: str
    status: Status
    since: str
    started_by: Mapping[str, str]
    at: str
    by: Mapping[str, str]
    send_by: float = 0.0
    settled_by: float = 0.0
    detail: str | None = None
    outcome: Outcome | None = None
    resolved_created: bool | None = None
    removed: bool = False
    on_purpose: bool = False
    requested: str = ""
    withdrawn: str = ""
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    response: str | None = None
    secrets: tuple[str, ...] = ()
    recovery_file: str | None = None
    answered: bool = False
    received: tuple[tuple[str, str], ...] = ()
    twins: tuple[Attempt, ...] = ()

    @property
    def in_force(self) -> bool:
        """Whether, as far as anyone knows, it delivers."""
        return self.status in IN_FORCE

    @property
    def unresolved(self) -> bool:
        """Whether it is unknown if it delivers."""
        return self.status in UNRESOLVED

    @property
    def disputed(self) -> bool:
        """Whether it is unknown if it delivers because two histories of the record contradict each other."""
        return self.status is Status.UNKNOWN and bool(self.resolved_created)

    @property
    def routes(self) -> frozenset[tuple[str, str]]:
        """Its routes: (event code, URL in the form URLs compare in)."""
        url = normal_url(self.url)
        return frozenset((code, url) for code in self.codes)


class Sealing(Struct, frozen=True):
    """A response or secret of an attempt that was sealed once more (`text`, as `Settled.response`), to `recipients`."""

    text: str
    recipients: tuple[str, ...]


def place_hash(place: str) -> str:
    """What names the sealed data that an attempt has at a place: the data itself may be a megabyte."""
    return sha256(place.encode(errors="surrogatepass")).hexdigest()


def intended(entry: Intent) -> Attempt:
    """The attempt that an intent starts."""
    return Attempt(
        entry.attempt, entry.address, entry.codes, entry.url, Status.PENDING, entry.at, entry.by, entry.at, entry.by,
        entry.send_by, entry.settled_by,
    )  # fmt: skip


def imported(entry: Imported) -> Attempt:
    """The attempt that an import starts."""
    return Attempt(
        entry.attempt, entry.address, entry.codes, entry.url, Status.LIVE, entry.at, entry.by, entry.at, entry.by,
    )  # fmt: skip


def changed(attempt: Attempt, entry: About) -> Attempt:
    """The attempt after an entry about it, made in one step: this is what a long journal spends its time on."""
    match entry:
        case Settled():
            return _settled(attempt, entry)
        case Resolved():
            return _resolved(attempt, entry)
        case Retired():
            status = Status.AWAITING_REMOVAL if attempt.in_force else attempt.status
            on_purpose = attempt.on_purpose or entry.on_purpose
            return replace(
                attempt,
                at=entry.at,
                by=entry.by,
                status=status,
                on_purpose=on_purpose,
                requested=entry.at,
                withdrawn="",
            )
        case Restored():
            status = Status.LIVE if attempt.in_force else attempt.status
            withdrawn = entry.at if attempt.requested else ""
            return replace(attempt, at=entry.at, by=entry.by, status=status, on_purpose=False, withdrawn=withdrawn)
        case Removed():
            return replace(attempt, at=entry.at, by=entry.by, status=Status.GONE, removed=True)
        case SecretSet():
            return replace(attempt, at=entry.at, by=entry.by, secrets=(*attempt.secrets, entry.secret))
        case _:
            assert_never(entry)


def _settled(attempt: Attempt, entry: Settled) -> Attempt:
    outcome = stronger(attempt.outcome, entry.outcome)
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
        # the answer of the service came first, and is better evidence than a person's
        return replace(attempt, at=entry.at, by=entry.by)
    status = Status.LIVE if entry.created else Status.GONE
    return replace(attempt, at=entry.at, by=entry.by, status=status, resolved_created=entry.created, detail=entry.note)


def stronger(known: Outcome | None, new: Outcome) -> Outcome:
    """Which of two outcomes holds: CREATED is final, and UNKNOWN adds nothing to what is known."""
    if known is Outcome.CREATED or (known is not None and new is Outcome.UNKNOWN):
        return known
    return new


def _settled_status(attempt: Attempt, outcome: Outcome) -> Status:
    """The status of an attempt after `outcome`, however late it arrived.

    A late CREATED overrides a person's --not-created. After a removal it means that the removal cannot be trusted, so
    the attempt awaits removal again: too much in force costs a question, too little a second create.
    """
    match outcome:
        case Outcome.CREATED:
            if attempt.removed or attempt.status is Status.AWAITING_REMOVAL:
                return Status.AWAITING_REMOVAL
            return Status.LIVE
        case Outcome.REJECTED | Outcome.NOT_SENT:
            return attempt.status if attempt.outcome is Outcome.CREATED else Status.GONE
        case Outcome.UNKNOWN:
            return Status.UNKNOWN if attempt.status is Status.PENDING else attempt.status
        case _:
            assert_never(outcome)
