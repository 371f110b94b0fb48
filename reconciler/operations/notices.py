"""What an operation reports to the user while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.errors import ReconcilerError


class Notices(Protocol):
    """Takes messages that are not results; the terminal of the command line does.

    `flags` are those of the run by parameter name, without those not given.
    """

    @property
    def flags(self) -> Mapping[str, Any]: ...
    def say(self, text: str) -> None: ...
    def say_more(self, text: str) -> None: ...
    def warn(self, text: str) -> None: ...
    def print_problem(self, problem: ReconcilerError) -> None: ...
    def work_is_done(self) -> None: ...
    def start_logging(self) -> None: ...
