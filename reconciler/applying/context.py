"""The context of a run of the protocol: its limits, and what it asks of the outside."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from reconciler.model.plan import Change
from reconciler.model.record import Record


class Limits(Struct, frozen=True):
    """Seconds and counts that bound a run.

    `send_window`: how long after its intent a call may start. `freshness`: for how long after an append, or a re-read
    of the record, has begun a call may start without another re-read; a push takes some of it. `call_timeout`: how long
    one call may take, in all. `margin`: what clocks may differ by. `grace`: how long an interrupted run waits for calls
    in flight. `closing`: how long it waits for the store after that. `parting`: how long one that is interrupted twice
    waits for the store. `batch_delay`: how long an outcome waits at most for those of other calls in flight, to be
    appended together. `backoff`: the waits before a call that was certainly not sent is retried, and before a failed
    append is. `unknowns`: how many unknown outcomes in a row end a target. `yielding`: how long a run that
    has lost changes to another one waits before it intends more, at first and at most.
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
    unknowns: int = 3
    yielding: tuple[float, float] = (0.05, 0.25)

    @property
    def settled_in(self) -> float:
        """How long after its intent a call can be in flight at most."""
        return self.send_window + self.call_timeout + self.margin


class RunContext(Struct, frozen=True):
    """What a run of the protocol is given besides its changes.

    `by` says who applies, for the entries; `run` is the run's id. `account` is the hash of the client id. `new_id`
    gives an id for an attempt. `replan` gives the changes of the target for its record and the other records of the
    same service, and raises ReconcilerError if this run must not write to the record; it reads nothing. `jitter` gives
    numbers from 0 to 1 that differ from run to run. `shares_service`: whether other targets are the same service, so
    that their records count too.
    """

    limits: Limits
    by: Mapping[str, str]
    run: str
    account: str
    new_id: Callable[[], str]
    replan: Callable[[Record, Sequence[Record]], Sequence[Change]]
    jitter: Callable[[], float]
    shares_service: bool = False
