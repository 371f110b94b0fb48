"""What an operation reports to the user while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.errors import ReconcilerError


class Notices(Protocol):
    """Takes messages that are not results; `flags` are those of the run by parameter name, without those not given."""

    @property
    def flags(self) -> Mapping[str, Any]: ...

    def say(self, text: str) -> None:
        """Print a message, unless -q was given."""
        ...

    def say_more(self, text: str) -> None:
        """Print, with -v, what the program works with."""
        ...

    def warn(self, text: str) -> None:
        """Warn the user, unless -q was given."""
        ...

    def print_problem(self, problem: ReconcilerError) -> None:
        """Print an error that does not end the command."""
        ...

    def work_is_done(self) -> None:
        """From now on a result that cannot be printed is no failure: a second run would do the work again."""
        ...

    def start_logging(self) -> None:
        """Have log records reach the user; to be called before what logs is used, once or more."""
        ...
