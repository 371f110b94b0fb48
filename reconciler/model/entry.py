"""The entries of a journal: what happened, never changed afterwards.

An entry says when (`at`, UTC, ISO 8601 with a trailing Z) and by whom (`by`). Entries about an attempt name it by id;
the address of an attempt follows from the entry that started it and the moves since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.address import Address, TargetName
    from reconciler.model.outcome import Outcome

Scalar = str | int | float | bool

ASKED_FOR = "asked for"
"""The reason of a Retired that a person wrote, with `state retire`, in journals old and new. No plan gives it."""


class Entry(Struct, frozen=True, kw_only=True):
    """What every entry has. `kind` is what the journal calls it.

    `forced`, where an entry has it, says that a person overrode a refusal or a question with --force.
    """

    kind: ClassVar[str]
    at: str
    by: Mapping[str, str]


class Begun(Entry, frozen=True, kw_only=True):
    """The first entry of every journal: a random id, the target, and the service it belongs to."""

    kind: ClassVar[str] = "begun"
    record: str
    target: TargetName
    base_url: str
    format: int = 1
    forced: bool = False


class Bound(Entry, frozen=True, kw_only=True):
    """Binds the record to a service and, where `account` is not None, to an account (a hash of its client id)."""

    kind: ClassVar[str] = "bound"
    base_url: str
    account: str | None = None
    forced: bool = False


class Intent(Entry, frozen=True, kw_only=True):
    """A create call that is about to be sent.

    `send_by` (epoch seconds): no call for this attempt starts later. `settled_by` (epoch seconds): later than that
    none can still be in flight.
    """

    kind: ClassVar[str] = "intent"
    attempt: str
    address: Address
    action: str
    codes: tuple[str, ...]
    url: str
    send_by: float
    settled_by: float
    run: str = ""


class Settled(Entry, frozen=True, kw_only=True):
    """The outcome of an attempt.

    `fields` holds the harmless scalars of the response; `response` says where the whole of it is: the response
    itself sealed (`age:` and base64), `file` (a private file of the machine that applied), or None.
    """

    kind: ClassVar[str] = "outcome"
    attempt: str
    outcome: Outcome
    status: int | None = None
    detail: str | None = None
    date: str | None = None
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    response: str | None = None


class Resolved(Entry, frozen=True, kw_only=True):
    """A person resolved an attempt whose outcome was unknown."""

    kind: ClassVar[str] = "resolved"
    attempt: str
    created: bool
    note: str | None = None
    forced: bool = False


class Imported(Entry, frozen=True, kw_only=True):
    """A subscription that was created by other means and is known to exist."""

    kind: ClassVar[str] = "imported"
    attempt: str
    address: Address
    codes: tuple[str, ...]
    url: str


class Retired(Entry, frozen=True, kw_only=True):
    """The operator is asked to remove the attempt's subscription; until then it delivers."""

    kind: ClassVar[str] = "retired"
    attempt: str
    reason: str | None = None

    @property
    def on_purpose(self) -> bool:
        """Whether a person asked for it, and not a plan: a later plan may restore what a plan retired."""
        return self.reason == ASKED_FOR


class Restored(Entry, frozen=True, kw_only=True):
    """The attempt awaited removal, and is kept."""

    kind: ClassVar[str] = "restored"
    attempt: str


class Removed(Entry, frozen=True, kw_only=True):
    """The operator has deleted the attempt's subscription."""

    kind: ClassVar[str] = "removed"
    attempt: str
    forced: bool = False


class Moved(Entry, frozen=True, kw_only=True):
    """A subscription was renamed: every attempt of `source` now belongs to `address`."""

    kind: ClassVar[str] = "moved"
    source: Address
    address: Address


class SecretSet(Entry, frozen=True, kw_only=True):
    """A subscription secret that was received in another way than in the response.

    `secret` is as `Settled.response`, except that `file:` and 8 hex digits name a private file of its own; a record
    may also contain `file` alone, which names none.
    """

    kind: ClassVar[str] = "secret"
    attempt: str
    secret: str


class RollbackAccepted(Entry, frozen=True, kw_only=True):
    """A person accepted the loss of entries up to `lost_head`, the `lost_entries`-th.

    They were in this record, or in the record with the id `lost_record` that it replaced.
    """

    kind: ClassVar[str] = "rollback"
    lost_head: str
    lost_entries: int
    lost_record: str = ""
    forced: bool = False


class Observed(Entry, frozen=True, kw_only=True):
    """Notifications that arrived at an address's URL: each event code, and when it was received last."""

    kind: ClassVar[str] = "observed"
    address: Address
    url: str
    received: Mapping[str, str]


class Joined(Entry, frozen=True, kw_only=True):
    """What another history of this record did after the two diverged.

    `lines` are its entries with their hashes, as they were there, after the one whose hash is `after`; `head` is the
    hash of the last and `entries` the number of all of them there. `source` is the file it came from.
    """

    kind: ClassVar[str] = "joined"
    source: str
    head: str
    entries: int
    after: str
    lines: tuple[tuple[AnyEntry, str], ...]


AnyEntry = (
    Begun | Bound | Intent | Settled | Resolved | Imported | Retired | Restored | Removed | Moved | SecretSet
    | RollbackAccepted | Observed | Joined
)  # fmt: skip


def who(by: Mapping[str, str]) -> str:
    """Who did it, in a few words, from an entry's `by`."""
    name = by.get("actor") or by.get("user") or "?"
    host = f" on {by['host']}" if "host" in by else ""
    run = f" ({by['url']})" if "url" in by else ""
    return f"{name}{host}{run}"
