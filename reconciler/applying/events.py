"""The events that the protocol handles, the effects that it asks for, and the inputs of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.errors import Message
    from reconciler.model.address import Address, TargetName
    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Plan
    from reconciler.record.chain import Line
    from reconciler.record.journal import Reading
    from reconciler.values import Instant


class Authorised(Struct, frozen=True):
    """An access token for the target is available."""

    target: TargetName


class Unauthorised(Struct, frozen=True):
    """No access token for the target is available; `problem` says why."""

    target: TargetName
    problem: Message


class Appended(Struct, frozen=True):
    """The append in flight is durable, also in the second place, and its head is noted."""


class NotAppended(Discreet, frozen=True):
    """The append in flight met another head, failed, or its answer was lost.

    `reading` is the record as it was read since, not before `at`, with the second place brought up to date; None if
    that failed. It shows whether the answer was lost.
    """

    unprinted = ("reading",)

    problem: Message
    at: Instant
    reading: Reading | None = None


class RereadDone(Discreet, frozen=True):
    """The record was re-read, not before `at`."""

    unprinted = ("reading",)

    reading: Reading
    at: Instant


class RereadFailed(Struct, frozen=True):
    """The record could not be re-read."""

    problem: Message


class CallEnded(Struct, frozen=True):
    """A call has ended. `response`: where the response is saved, as in `Answered.response`; `lost`: it could not be."""

    attempt: str
    answer: Answer
    response: str | None = None
    lost: bool = False


class InterruptAsked(Struct, frozen=True):
    """A signal asks the run to end; a second one asks it to end at once."""


class Ticked(Struct, frozen=True):
    """Time has passed without another event."""


Event = (
    Authorised | Unauthorised | Appended | NotAppended | RereadDone | RereadFailed | CallEnded | InterruptAsked | Ticked
)


class Authorise(Struct, frozen=True):
    """Get an access token for the target; answer with Authorised or Unauthorised."""

    target: TargetName


class Append(Discreet, frozen=True):
    """Append lines (as bytes and as values) if the head is still `head`; answer with Appended or NotAppended.

    `seq` is the number of the first line; `reading` is the record as it was read last.
    """

    unprinted = ("reading", "new")

    reading: Reading
    head: str
    seq: int
    new: tuple[bytes, tuple[Line, ...]]
    note: str = ""

    @property
    def last(self) -> str:
        """The head after the append."""
        return self.new[1][-1].hash


class Reread(Struct, frozen=True):
    """Re-read the record; answer with RereadDone or RereadFailed."""


class Send(Struct, frozen=True):
    """Send one create call, unless it `is_late`; answer with CallEnded.

    `send_by` (steady seconds) is the end of the window that its intent names. `fresh_until` is how long, on either
    clock, what was read of the record may be relied on. `renew`: get another token if the service refuses this one.
    """

    attempt: str
    address: Address
    codes: tuple[str, ...]
    url: str
    send_by: float
    fresh_until: Instant
    renew: bool = True

    def is_late(self, now: Instant) -> bool:
        """True if the call must not be sent any more: its window has passed, or the record was read too long ago."""
        return now.steady >= min(self.send_by, self.fresh_until.steady) or now.wall >= self.fresh_until.wall


Effect = Authorise | Append | Reread | Send


class Limits(Struct, frozen=True):
    """Seconds and counts that bound a run.

    `send_window`: how long after its intent a call may start. `freshness`: for how long after an append, or a re-read
    of the record, has begun a call may start without another re-read; a push takes some of it. `call_timeout`: how long
    one call may take, in all. `margin`: what clocks may differ by. `grace`: how long an interrupted run waits for calls
    in flight. `closing`: how long it waits for the store after that. `parting`: how long one that is interrupted twice
    waits for the store. `batch_delay`: how long an outcome waits at most for those of other calls in flight, to be
    appended together. `backoff`: the waits before a call that was certainly not sent is retried, and before a failed
    append is. `in_a_row`: how many unknown outcomes, or refusals of a busy service, end a target. `conflicts`: how many
    in a row end the run. `yielding`: how long a run that has lost changes to another one waits before it intends more,
    at first and at most.
    """

    parallelism: int = 4
    send_window: float = 60.0
    freshness: float = 10.0
    call_timeout: float = 30.0
    margin: float = 15.0
    grace: float = 5.0
    closing: float = 2.0
    parting: float = 1.0
    backoff: tuple[float, ...] = (0.5, 1.0, 2.0)
    batch_delay: float = 2.0
    in_a_row: int = 3
    conflicts: int = 10
    yielding: tuple[float, float] = (0.05, 0.25)

    @property
    def settled_in(self) -> float:
        """The longest time that a call can be in flight after its intent."""
        return self.send_window + self.call_timeout + self.margin


class Context(Struct, frozen=True):
    """The inputs of a run of the protocol besides the record.

    `plan` is the one that was approved; `replan` plans the same again on a record, raises ReconcilerError if that
    cannot be done, and does no I/O. `by` says who applies, for the facts; `run` is the run's id. `account` gives the
    hash of a target's client id. `new_id` gives an id for an attempt, `jitter` numbers from 0 to 1 that differ from run
    to run.
    """

    plan: Plan
    replan: Callable[[Reading], Plan]
    limits: Limits
    by: Mapping[str, str]
    run: str
    account: Callable[[TargetName], str]
    new_id: Callable[[], str]
    jitter: Callable[[], float]
