"""When a run goes on that competes with another run for the same changes.

Each append makes every other run that is about to append read the record and plan again. Runs of one plan that go on as
fast as they can do hardly anything else. So a run that has lost changes to another one, and has nothing to record of
its own, waits before its next intents: longer each time that the other one was first again. If the head is still the
same by then, it goes on: the other one has ended, or has only its calls to wait for, and both share the work.
"""

from msgspec import Struct

from reconciler.applying.context import RunContext
from reconciler.model.clock import Instant


class Yielding(Struct, frozen=True):
    """`losses`: conflicts that took changes away. `until` (steady seconds) is when to go on; None: at once."""

    losses: int = 0
    until: float | None = None

    def after_loss(self, append_took: float, context: RunContext, now: Instant) -> "Yielding":
        """After one more conflict: runs that collided wait for times of their own, so that they do not meet again."""
        shortest, longest = context.limits.yielding
        shortest = max(shortest, 2 * append_took)
        wait = min(shortest * 2**self.losses, max(shortest, longest))
        return Yielding(self.losses + 1, now.steady + wait * (0.5 + context.jitter() / 2))

    def at(self, now: Instant) -> "Yielding":
        """The same, unless its time is over."""
        return self if self.until is None or now.steady < self.until else Yielding(self.losses)
