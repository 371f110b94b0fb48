"""The exit code of each verdict; a signal that ends a run has a code of its own, see `Interrupted`."""

from __future__ import annotations

from typing import assert_never

from reconciler.model.result import Verdict


def exit_code(verdict: Verdict) -> int:
    """The exit code of a command that came to `verdict`."""
    match verdict:
        case Verdict.DONE:
            return 0
        case Verdict.FAILED:
            return 1
        case Verdict.CHANGES:
            return 2
        case Verdict.UNRESOLVED:
            return 3
        case _:
            assert_never(verdict)
