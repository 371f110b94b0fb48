"""The events that the protocol handles, the effects that it requests, and the inputs of a run."""

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
    """The append in flight is durable, the second place is updated, and the new head is noted."""


class NotAppended(Discreet, frozen=True):
    """The append in flight met a different head or failed, or its answer was lost.

    `reading` is the record as read after the append, or None if it could not be read. If `reading` shows that the
    append arrived, the second place is updated. `at` is the time just before the reading began.
    """

    unprinted = ("reading",)

    problem: Message
    at: Instant
    reading: Reading | None = None


class RereadDone(Discreet, frozen=True):
    """The record was read again. `at` is the time just before the reading began."""

    unprinted = ("reading",)

    reading: Reading
    at: Instant


class RereadFailed(Struct, frozen=True):
    """The record could not be read again."""

    problem: Message


class CallEnded(Struct, frozen=True):
    """A call has ended.

    `response` says where the response is saved, as in `Answered`. `lost` is true if it could not be saved.
    """

    attempt: str
    answer: Answer
    response: str | None = None
    lost: bool = False


class InterruptAsked(Struct, frozen=True):
    """A signal asks the run to end; a second signal asks it to end at once."""


class Ticked(Struct, frozen=True):
    """Time has passed without another event."""


Event = (
    Authorised | Unauthorised | Appended | NotAppended | RereadDone | RereadFailed | CallEnded | InterruptAsked | Ticked
)


class Authorise(Struct, frozen=True):
    """Get an access token for the target. The result is Authorised or Unauthorised."""

    target: TargetName


class Append(Discreet, frozen=True):
    """Append lines, given as bytes and as values, if the head is still `head`. The result is Appended or NotAppended.

    `seq` is the number of the first line. `reading` is the record as last read. `summary` describes the append in
    stores that keep a history.
    """

    unprinted = ("reading", "new")

    reading: Reading
    head: str
    seq: int
    new: tuple[bytes, tuple[Line, ...]]
    summary: str = ""

    @property
    def last(self) -> str:
        """Return the head after the append."""
        return self.new[1][-1].hash


class Reread(Struct, frozen=True):
    """Read the record again. The result is RereadDone or RereadFailed."""


class Send(Struct, frozen=True):
    """Send a create call, unless it is late (see `is_late`). The result is CallEnded.

    `send_by` (steady seconds) is the end of the send window in the intent. `fresh_until` is the time, on both clocks,
    until which the last reading of the record is valid. With `renew`, a refused token is replaced by a new token.
    """

    attempt: str
    address: Address
    codes: tuple[str, ...]
    url: str
    send_by: float
    fresh_until: Instant
    renew: bool = True

    def is_late(self, now: Instant) -> bool:
        """True if the call must no longer be sent: its send window has ended, or the last reading is too old."""
        return now.steady >= min(self.send_by, self.fresh_until.steady) or now.wall >= self.fresh_until.wall


Effect = Authorise | Append | Reread | Send


class Limits(Struct, frozen=True):
    """The limits of a run. Durations are in seconds.

    - `parallelism`: how many calls may be in flight.
    - `send_window`: how long after its intent a call may start.
    - `freshness`: how long calls may still start, counted from the start of the last append or read, without another
      read of the record.
    - `call_timeout`: the longest duration of one call.
    - `margin`: the largest difference between clocks that the run allows for.
    - `call_grace`: how long an interrupted run waits for calls in flight; `store_grace`: how long it then waits for the
      store.
    - `last_grace`: how long a run that was interrupted twice waits for the store.
    - `backoff`: the waits before retries of a call that was certainly not sent, and of a failed append.
    - `batch_delay`: how long an outcome may wait for other outcomes that could share its append.
    - `in_a_row`: how many consecutive unknown outcomes, or refusals by a busy service, stop the calls to a target.
    - `conflicts`: how many consecutive conflicts end the run.
    - `first_yield`, `longest_yield`: the first and the longest wait before new intents after conflicts with other runs.
    """

    parallelism: int = 4
    send_window: float = 60.0
    freshness: float = 10.0
    call_timeout: float = 30.0
    margin: float = 15.0
    call_grace: float = 5.0
    store_grace: float = 2.0
    last_grace: float = 1.0
    backoff: tuple[float, ...] = (0.5, 1.0, 2.0)
    batch_delay: float = 2.0
    in_a_row: int = 3
    conflicts: int = 10
    first_yield: float = 0.05
    longest_yield: float = 0.25

    @property
    def settled_in(self) -> float:
        """Return the longest time, in seconds, from the intent of a call to its end."""
        return self.send_window + self.call_timeout + self.margin


class Context(Struct, frozen=True):
    """The inputs of a run of the protocol, apart from the record.

    `plan` is the approved plan. `replan` makes a plan for the same selection from a reading; it does no I/O and raises
    ReconcilerError. `by` says who applies, and `run` is the id of the run. `account` returns the hash of a target's
    client id. `new_id` returns an id for an attempt. `jitter` returns a number from 0 to 1 that differs from run to
    run.
    """

    plan: Plan
    replan: Callable[[Reading], Plan]
    limits: Limits
    by: Mapping[str, str]
    run: str
    account: Callable[[TargetName], str]
    new_id: Callable[[], str]
    jitter: Callable[[], float]
