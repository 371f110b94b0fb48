"""The entries of a journal: what happened, never changed afterwards.

An entry says when (`at`, UTC, ISO 8601 with a trailing Z) and by whom (`by`). Entries about an attempt name it by id;
the address of an attempt follows from the entry that started it and the moves since.

msgspec reads the annotations, to decode entries: as text each would be compiled for that at every start.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct, field

from reconciler.model.address import Address, TargetName
from reconciler.model.outcome import Outcome

Scalar = str | int | float | bool

LAST_SECOND: Final = 253_402_300_800
"""Of the year 9999, since 1970: no later time can be formatted."""

Seconds = Annotated[float, Meta(gt=-LAST_SECOND, lt=LAST_SECOND)]
"""A time, in seconds since 1970."""

ASKED_FOR = "asked for"
"""The reason of a Retired that a person wrote, with `state retire`, in journals old and new. No plan gives it."""


REPLACED_BY = "replaced by "
"""What begins the reason of a Retired that follows the create of its replacement, before the address of both."""


class _Kind:
    """The `kind` of a class of entries, or of one of them: its tag."""

    def __get__(self, entry: object, owner: type[Struct]) -> object:
        return owner.__struct_config__.tag


class Entry(
    Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", forbid_unknown_fields=True,
    rename={"codes": "eventCodes", "url": "webhookUrl"},
):  # fmt: skip
    """What every entry has. `kind` is what the journal calls it.

    `forced`, where an entry has it, says that a person overrode a refusal or a question with --force.
    The journal calls codes and URL by the service's names (SERVICE.md, section 2.2).
    """

    kind: ClassVar[str] = _Kind()  # type: ignore[assignment]
    at: str
    by: Mapping[str, str]


class Begun(Entry, frozen=True, kw_only=True, tag="begun"):
    """The first entry of every journal: a random id, the target, and the service it belongs to."""

    record: str
    target: TargetName
    base_url: str
    format: int = 1
    forced: bool = False


class Bound(Entry, frozen=True, kw_only=True, tag="bound"):
    """Binds the record to a service and, where `account` is not None, to an account (a hash of its client id)."""

    base_url: str
    account: str | None = None
    forced: bool = False


class Intent(Entry, frozen=True, kw_only=True, tag="intent"):
    """A create call that is about to be sent.

    `send_by` (epoch seconds): no call for this attempt starts later. `settled_by` (epoch seconds): later than that
    none can still be in flight.
    """

    attempt: str
    address: Address
    action: str
    codes: tuple[str, ...]
    url: str
    send_by: Seconds
    settled_by: Seconds
    run: str = ""


class Settled(Entry, frozen=True, kw_only=True, tag="outcome"):
    """The outcome of an attempt.

    `fields` holds the harmless scalars of the response; `response` says where the whole of it is: the response
    itself sealed (`age:` and base64), `file` (a private file of the machine that applied), or None.
    """

    attempt: str
    outcome: Outcome
    status: int | None = None
    detail: str | None = None
    date: str | None = None
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    response: str | None = None


class Resolved(Entry, frozen=True, kw_only=True, tag="resolved"):
    """A person resolved an attempt whose outcome was unknown."""

    attempt: str
    created: bool
    note: str | None = None
    forced: bool = False


class Imported(Entry, frozen=True, kw_only=True, tag="imported"):
    """A subscription that was created by other means and is known to exist.

    `partial`: the record had lost entries, and this import left out something that `config/` defined.
    """

    attempt: str
    address: Address
    codes: tuple[str, ...]
    url: str
    partial: bool = False


class Retired(Entry, frozen=True, kw_only=True, tag="retired"):
    """The operator is asked to remove the attempt's subscription; until then it delivers."""

    attempt: str
    reason: str | None = None

    @property
    def on_purpose(self) -> bool:
        """Whether a person asked for it, and not a plan: a later plan may restore what a plan retired."""
        return self.reason == ASKED_FOR


class Restored(Entry, frozen=True, kw_only=True, tag="restored"):
    """The attempt awaited removal, and is kept."""

    attempt: str


class Removed(Entry, frozen=True, kw_only=True, tag="removed"):
    """The operator has deleted the attempt's subscription."""

    attempt: str
    forced: bool = False


class Moved(Entry, frozen=True, kw_only=True, tag="moved"):
    """A subscription was renamed: every attempt of `source` now belongs to `address`."""

    source: Address
    address: Address


class SecretSet(Entry, frozen=True, kw_only=True, tag="secret"):
    """A subscription secret that was received in another way than in the response.

    `secret` is as `Settled.response`, except that `file:` and 8 hex digits name a private file of its own; a record
    may also contain `file` alone, which names none.
    """

    attempt: str
    secret: str


class Resealed(Entry, frozen=True, kw_only=True, tag="resealed"):
    """A response or secret of an attempt, sealed once more, to `recipients` (age public keys).

    `original` is the hash of the sealed text that the record has already (`model/attempt.py:place_hash`), which stays,
    so who could open it still can. `sealed` is the same data, sealed as in `Settled.response`.
    """

    attempt: str
    original: str
    sealed: str
    recipients: tuple[str, ...]


class RollbackAccepted(Entry, frozen=True, kw_only=True, tag="rollback"):
    """A person accepted the loss of entries up to `lost_head`, the `lost_entries`-th.

    They were in this record, or in the record with the id `lost_record` that it replaced.
    """

    lost_head: str
    lost_entries: int
    lost_record: str = ""
    forced: bool = False


class Observed(Entry, frozen=True, kw_only=True, tag="observed"):
    """Notifications that arrived at an address's URL: each event code, and when it was received last."""

    address: Address
    url: str
    received: Mapping[str, str]


class Joined(Entry, frozen=True, kw_only=True, tag="joined"):
    """What another history of this record did after the two diverged.

    `lines` are its entries with their hashes, as they were there, after the one whose hash is `after`; `head` is the
    hash of the last and `entries` the number of all of them there. `source` is the file it came from.
    """

    source: str
    head: str
    entries: int
    after: str
    lines: tuple[tuple["AnyEntry", str], ...]


class Closed(Entry, frozen=True, kw_only=True, tag="closed"):
    """The record is being copied from the store `source` to the store `to`: only Closed and Opened may follow.

    Both are free of credentials, and values of --state where they were written if they can be. `complete`: the copy at
    `to` has every line before this one, and the record continues there; until then another Closed or an Opened here
    ends the copy.
    """

    source: str
    to: str
    complete: bool = False
    forced: bool = False


class Opened(Entry, frozen=True, kw_only=True, tag="opened"):
    """The record, which was closed, continues in the store `place`: the copy, or where it was closed."""

    place: str
    forced: bool = False


AnyEntry = (
    Begun | Bound | Intent | Settled | Resolved | Imported | Retired | Restored | Removed | Moved | SecretSet
    | Resealed | RollbackAccepted | Observed | Joined | Closed | Opened
)  # fmt: skip


def who(by: Mapping[str, str]) -> str:
    """Who did it, in a few words, from an entry's `by`."""
    name = by.get("actor") or by.get("user") or "?"
    if "triggering_actor" in by:
        name = f"{by['triggering_actor']}, rerunning a run of {name}"
    host = f" on {by['host']}" if "host" in by else ""
    run = f" ({by['url']})" if "url" in by else ""
    return f"{name}{host}{run}"
