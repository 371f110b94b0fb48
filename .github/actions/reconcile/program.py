"""Runs reconciler in a step of a workflow, with the credentials of the record's store that the step is given."""

from __future__ import annotations

import sys

from given import ask_nobody, take_store_credentials

from reconciler.cli.main import leave, run
from reconciler.cli.options import Invocation
from reconciler.errors import ReconcilerError

INVOCATION = Invocation()


def main() -> int:
    """Run the command that the arguments are; its exit code."""
    ask_nobody()
    try:
        take_store_credentials()
    except ReconcilerError as problem:
        INVOCATION.terminal.print_problem(problem)
        return problem.exit_code
    return run(sys.argv[1:], INVOCATION)


if __name__ == "__main__":
    leave(main(), INVOCATION)
