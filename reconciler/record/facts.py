"""The kinds of entries. Each is a fact about attempts or about the record itself, and never changes another fact.

A fact's id is the hash of the line in which it was first appended; facts that revoke other facts name their ids.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations
from typing import Literal

from msgspec import Struct, field

from reconciler.model.outcome import Outcome  # noqa: TC001 - msgspec reads the annotations

Scalar = str | int | float | bool


class What(Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The create call of an attempt, or an imported subscription in the form of a call.

    `codes` are sorted. `url` is the URL as sent; `template` the same before `{attempt}` was filled in, "" if the two
    are equal. `base_url` is the service's, `account` a hash of the client id, "" if none was used. `send_by` is until
    when the call may be sent, `settled_by` when it can no longer be in flight (epoch seconds; 0 for an import).
    `supersedes` are the unknown attempts in place of which a retry sends this one.
    """

    address: str
    codes: tuple[str, ...]
    url: str
    base_url: str
    template: str = ""
    action: str = ""
    account: str = ""
    send_by: float = 0.0
    settled_by: float = 0.0
    supersedes: tuple[str, ...] = ()


class Fact(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"
):
    """A fact. `at` is when it was first appended (UTC, ISO 8601 with a Z), `by` is who appended it.

    `origin` is the id of a fact that a merge brought here from another history, "" for one that was appended here.
    """

    at: str
    by: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""


class OfAttempt(Fact, frozen=True):
    """A fact about one attempt; the others are about the record, or name several."""

    attempt: str


class Begun(Fact, frozen=True, tag="begun"):
    """A record begins: always the first line. `record` is its id."""

    record: str


class LossOpened(Fact, frozen=True, tag="loss"):
    """The tail of the record may be gone: nothing is created until a person has recorded what exists.

    `loss` is the loss's own id; `heads` are the missing ones, which count as contained from now on. A record
    begins with one (`begun`), a person accepts one (`accepted`), and `state copy` opens one at the place it copies to
    (`copy`), which only that copy ends; `of` is then the place copied from.
    """

    loss: str
    cause: Literal["begun", "accepted", "copy"]
    heads: tuple[str, ...] = ()
    of: str = ""


class Completed(Fact, frozen=True, tag="completed"):
    """These losses are over: the record has exactly what exists, and no other record is in use."""

    losses: tuple[str, ...]


class Closed(Fact, frozen=True, tag="closed"):
    """The record continues at another place. A merged one means nothing, and a later loss opens the record again.

    `loss` is the one that the copy opened there. It tells that record from another at a place of this name, since a
    file of another machine may have it too.
    """

    to: str
    loss: str = ""


class Joined(Fact, frozen=True, tag="joined"):
    """A merge: the record contains these heads of the other history, besides the origins of its lines."""

    heads: tuple[str, ...]


class Rebound(Fact, frozen=True, tag="rebound"):
    """Someone says that this service (or account) is the same as the one that a target was bound to."""

    target: str
    base_url: str
    account: str = ""


class Intended(OfAttempt, frozen=True, tag="intended"):
    """A create call is about to be sent. Durable before the call leaves."""

    what: What
    run: str = ""


class Answered(OfAttempt, frozen=True, tag="answered"):
    """The outcome of a create call. It repeats the intent, which a record may have lost.

    `status`, `date` and `detail` as in `Answer`. `fields` are those of the response that are safe in the clear.
    `response` is the response sealed to the recipients, or the name of the private file that it is kept in.
    """

    what: What
    outcome: Outcome
    status: int | None = None
    date: str | None = None
    detail: str | None = None
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    response: str | None = None


class Exists(OfAttempt, frozen=True, tag="exists"):
    """Someone says that an attempt was created: an import, or an unknown outcome resolved as created.

    `disproves` are the ids of confirmed removals that were wrong, since it exists. `beside` are other attempts that
    share routes with it and also exist.
    """

    what: What
    note: str = ""
    disproves: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


class Absent(OfAttempt, frozen=True, tag="absent"):
    """Someone says that an attempt was not created."""

    note: str = ""


class RemovalRequested(OfAttempt, frozen=True, tag="removal_requested"):
    """The operator is to remove these codes of an attempt. `by_plan`: a plan may take it back (`restore`)."""

    codes: tuple[str, ...]
    reason: str = ""
    by_plan: bool = False


class RemovalCancelled(OfAttempt, frozen=True, tag="removal_cancelled"):
    """The requests with these ids are withdrawn: their subscriptions stay."""

    requests: tuple[str, ...]


class RemovalConfirmed(OfAttempt, frozen=True, tag="removal_confirmed"):
    """Someone says that the operator has removed these codes of an attempt."""

    codes: tuple[str, ...]


class Renamed(Fact, frozen=True, tag="renamed"):
    """These attempts belong to another address from now on. `replaces` are the renames that this one supersedes."""

    attempts: tuple[str, ...]
    to: str
    replaces: tuple[str, ...] = ()


class SecretSet(OfAttempt, frozen=True, tag="secret_set"):
    """The subscription secret of an attempt, set by hand: sealed, or the name of a private file."""

    secret: str


class Received(Fact, frozen=True, tag="received"):
    """Notifications of a code from a service were received at a URL, the first and the last at these times."""

    base_url: str
    url: str
    code: str
    first: str
    last: str


FactOfRecord = Begun | LossOpened | Completed | Closed | Joined | Rebound | Renamed | Received
AnyFact = (
    FactOfRecord
    | Intended
    | Answered
    | Exists
    | Absent
    | RemovalRequested
    | RemovalCancelled
    | RemovalConfirmed
    | SecretSet
)
