"""The kinds of entries. An entry is a fact about attempts or about the record itself; it never changes another fact.

The id of a fact is the hash of the line in which it was first appended. A fact that revokes another fact
names the id of that fact.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations
from typing import Literal

from msgspec import Struct, field

from reconciler.model.outcome import Outcome  # noqa: TC001 - msgspec reads the annotations

Scalar = str | int | float | bool


class What(Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The create call of an attempt. An imported subscription is described in the same form.

    - `codes` are sorted.
    - `url` is the URL as sent; `template` is the URL before `{attempt}` was filled in, or "" if both are equal.
    - `base_url` identifies the service; `account` is a hash of the client id, or "" if no client id was used.
    - `send_by` is the deadline for sending the call, and `settled_by` is the time after which it cannot be
      in flight. Both are in epoch seconds (0 for an import).
    - `supersedes` lists the unknown attempts that this call retries.
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
    """A fact. `at` is the time of its first append (UTC, ISO 8601 with a Z), and `by` describes who appended it.

    If a merge added the fact, `origin` is its id in the other history; otherwise it is "".
    """

    at: str
    by: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""


class OfAttempt(Fact, frozen=True):
    """A fact about one attempt. Other facts are about the record or about several attempts."""

    attempt: str


class Begun(Fact, frozen=True, tag="begun"):
    """The beginning of a record, which is always its first line. `record` is the id of the record."""

    record: str


class LossOpened(Fact, frozen=True, tag="loss"):
    """The end of the record may be lost: nothing is created until a person has recorded what exists.

    `loss` is the id of the loss. `heads` are the missing heads, which count as contained from now on. `cause` is
    `begun` for the loss that a new record begins with, `accepted` for a loss that a person accepted, and `copy` for a
    loss that `state copy` opens at its destination and that only the completion of this copy can end. `of` is the place
    that was copied.
    """

    loss: str
    cause: Literal["begun", "accepted", "copy"]
    heads: tuple[str, ...] = ()
    of: str = ""


class Completed(Fact, frozen=True, tag="completed"):
    """The listed losses are over: the record has everything that exists, and no other record is in use."""

    losses: tuple[str, ...]


class Closed(Fact, frozen=True, tag="closed"):
    """The record continues at another place.

    The fact has no effect if a merge added it, and a later loss reopens the record.

    `loss` is the id of the loss that `state copy` opened at the other place. It identifies the record there even if a
    file on another machine has the same place name.
    """

    to: str
    loss: str = ""


class Joined(Fact, frozen=True, tag="joined"):
    """Two histories were merged: the record now contains the listed heads of the other history."""

    heads: tuple[str, ...]


class Rebound(Fact, frozen=True, tag="rebound"):
    """A person declares that this service (or account) is the same one that the target was bound to before."""

    target: str
    base_url: str
    account: str = ""


class Intended(OfAttempt, frozen=True, tag="intended"):
    """A create call is about to be sent. The fact is durable before the call is sent."""

    what: What
    run: str = ""


class Answered(OfAttempt, frozen=True, tag="answered"):
    """The outcome of a create call. `what` repeats the call, in case the record has lost the intent.

    `status`, `date` and `detail` are as in `Answer`. `fields` are the response fields that may be stored unencrypted.
    `response` is the response encrypted to the recipients, or the name of the private file that holds it.
    """

    what: What
    outcome: Outcome
    status: int | None = None
    date: str | None = None
    detail: str | None = None
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    response: str | None = None


class Exists(OfAttempt, frozen=True, tag="exists"):
    """A person declares that an attempt was created: by an import, or by resolving an unknown outcome.

    `disproves` are the ids of confirmed removals that this declaration refutes. `beside` are other attempts that share
    routes with this attempt and also exist.
    """

    what: What
    note: str = ""
    disproves: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


class Absent(OfAttempt, frozen=True, tag="absent"):
    """A person declares that an attempt was not created."""

    note: str = ""


class RemovalRequested(OfAttempt, frozen=True, tag="removal_requested"):
    """The operator is asked to remove these codes of an attempt.

    If `by_plan` is true, a plan may `restore` the attempt.
    """

    codes: tuple[str, ...]
    reason: str = ""
    by_plan: bool = False


class RemovalCancelled(OfAttempt, frozen=True, tag="removal_cancelled"):
    """The removal requests with these ids are withdrawn: the subscriptions stay."""

    requests: tuple[str, ...]


class RemovalConfirmed(OfAttempt, frozen=True, tag="removal_confirmed"):
    """A person declares that the operator has removed these codes of an attempt."""

    codes: tuple[str, ...]


class Renamed(Fact, frozen=True, tag="renamed"):
    """The listed attempts now belong to another address.

    `replaces` are the ids of earlier renames that this one supersedes.
    """

    attempts: tuple[str, ...]
    to: str
    replaces: tuple[str, ...] = ()


class SecretSet(OfAttempt, frozen=True, tag="secret_set"):
    """A person set the secret of an attempt's subscription. `secret` is encrypted text or names a private file."""

    secret: str


class Received(Fact, frozen=True, tag="received"):
    """Notifications of a code from a service arrived at a URL, the earliest at `first` and the latest at `last`."""

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
