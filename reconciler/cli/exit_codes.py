"""The exit code of each verdict; a signal that ends a command otherwise has a code of its own, see `Interrupted`."""

from typing import assert_never

from reconciler.model.result import Applied, Verdict


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


def applied_exit_code(applied: Applied) -> int:
    """The exit code of an apply: its verdict's, or that of the signal that interrupted it."""
    return exit_code(applied.verdict) if applied.signal is None else 128 + applied.signal
