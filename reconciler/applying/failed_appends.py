"""What is said of appends that fail, and are retried."""

import logging
from collections import Counter

from reconciler.model.address import TargetName

log = logging.getLogger("reconciler.applying")


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
            log.warning("%s: the state record could not be written %d times", self._target, self._count)
