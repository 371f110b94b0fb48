"""The outside of a run: the record, the service, the clock, and whoever watches."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from reconciler.applying.events import InterruptAsked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reconciler.applying.events import Event
    from reconciler.applying.protocol import Run
    from reconciler.errors import Message
    from reconciler.model.address import TargetName
    from reconciler.model.clock import Instant
    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Plan
    from reconciler.record.chain import Line
    from reconciler.record.facts import AnyFact
    from reconciler.record.journal import Reading


class Flag:
    """Raised once and never lowered. Unlike a threading.Event it takes no lock, so a signal handler may raise it."""

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        """Raise it."""
        self.is_set = True


class Inbox:
    """The events for a run, and interrupts: a signal handler may call `interrupt`."""

    def __init__(self) -> None:
        self.interrupted = Flag()
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def interrupt(self) -> None:
        """Ask the run to end; the second time, to end at once."""
        self.interrupted.set()
        self.events.put(InterruptAsked())


class Caller(Protocol):
    """Makes the calls of one target."""

    def authorise(self) -> None:
        """Get a token. Raises ReconcilerError if none is available."""
        ...

    def create(
        self, attempt: str, codes: Sequence[str], url: str, may_send: Callable[[], bool], *, renew: bool
    ) -> tuple[Answer, str | None, bool]:
        """Make one create call and save its response.

        `may_send` is asked as late as possible, before every call; `renew`: get another token if this one is refused.
        Returns the answer, where the response is saved (None: nowhere), and True if it could not be saved.
        """
        ...


class Ports(Struct, frozen=True):
    """All that a run needs from outside.

    `read`, `extend` and `catch_up` are those of `Journal`. `replan` plans again, by the approved selection, on a record
    as it was read; it does no I/O, and raises ReconcilerError. `callers` are by target, for those with creates.
    `account` gives the hash of a target's client id, "" if none is set. `save` writes facts that could not be appended,
    for the reason given, to a recovery file, and returns a message that names it; it raises nothing. `new_id` gives 32
    random hexadecimal digits, `jitter` numbers from 0 to 1. `pause` waits so many seconds. `observe` is shown the
    progress after each event. `reach` is called at every durable step, for tests. `by` says who applies. `patience` is
    how many seconds creates of other runs are given to end.
    """

    read: Callable[[], Reading]
    extend: Callable[[Reading, str, int, tuple[bytes, tuple[Line, ...]], str], None]
    catch_up: Callable[[Reading], None]
    replan: Callable[[Reading], Plan]
    callers: Mapping[TargetName, Caller]
    save: Callable[[Sequence[AnyFact], str], Message]
    clock: Callable[[], Instant]
    new_id: Callable[[], str]
    jitter: Callable[[], float]
    pause: Callable[[float], object]
    observe: Callable[[Run], None]
    reach: Callable[[str], None]
    by: Mapping[str, str]
    account: Callable[[TargetName], str]
    inbox: Inbox
    patience: float = 5.0
