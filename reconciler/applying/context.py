"""The bounds of a run, and what its protocol asks of the outside without I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.plan import Plan
    from reconciler.record.journal import Reading


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
        """How long after its intent a call can be in flight at most."""
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
