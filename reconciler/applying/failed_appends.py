"""What is said of appends that fail, and are retried."""

import logging
import re
from collections import Counter

from reconciler.model.address import TargetName

_WRITING = "cannot write the state record"
_AGAIN = re.compile("[,;] then run the command again$")

log = logging.getLogger("reconciler.applying")


def not_repeated(problem: str) -> str:
    """`problem`, the words of a store, without the advice to run the command again: calls may have been sent."""
    return _AGAIN.sub("", problem)


def not_started(problem: str) -> str:
    """Why a change was not begun, since the record cannot be written: `problem` may say just that."""
    return problem if _WRITING in problem else f"{_WRITING}: {problem}"


class FailedAppends:
    """Warns of each problem when it first comes, since the wait that follows needs a reason, and then of how many."""

    def __init__(self, target: TargetName) -> None:
        self._target = target
        self._count = 0
        self._problems: Counter[str] = Counter()

    def add(self, problem: str) -> None:
        """An append has failed."""
        self._count += 1
        self.warn(problem)

    def warn(self, problem: str) -> None:
        """Warn of a problem, unless it was said before."""
        self._problems[problem] += 1
        log.log(logging.WARNING if self._problems[problem] == 1 else logging.INFO, "%s", problem)

    def end(self) -> None:
        """Say how many there were, if that was not said by one warning."""
        if self._count > 1:
            log.warning("%s: %d appends to the state record failed", self._target, self._count)
