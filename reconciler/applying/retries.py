"""Which calls are retried and when, and when an outage ends a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from reconciler.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.model.outcome import Answer


def retry_delay(tries: int, answer: Answer, backoff: Sequence[float]) -> float | None:
    """The seconds until a call is retried after the answer to its `tries`-th try, None if it is not.

    Only what was certainly not created is retried: a call that was not sent, or one that the service asks to repeat.
    """
    invited = answer.status == 429 or (answer.status == 401 and answer.retry_after is not None)
    if not (answer.outcome is Outcome.NOT_SENT or invited) or tries > len(backoff):
        return None
    if invited and answer.retry_after is not None:
        return max(answer.retry_after, 0.0)
    return backoff[tries - 1]


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Limits what an outage costs. `unknowns` counts unknown outcomes in a row, `alone` says to send one at a time."""

    unknowns: int = 0
    alone: bool = True

    def after(self, outcome: Outcome) -> CircuitBreaker:
        """The breaker after one more outcome; a call that was not sent says nothing about the service."""
        match outcome:
            case Outcome.UNKNOWN:
                unknowns = self.unknowns + 1
            case Outcome.CREATED | Outcome.REJECTED:
                unknowns = 0
            case Outcome.NOT_SENT:
                unknowns = self.unknowns
            case _:
                assert_never(outcome)
        return CircuitBreaker(unknowns, alone=unknowns > 0)
