"""What can go wrong, as one tree; each class carries the exit code of a run that ends with it.

::

    ReconcilerError                 1   where, what, what to do next
    ├── ConfigError                 1   every mistake found in config/, each with its place
    ├── SettingsError               1   a flag, a variable or a file named by one
    ├── SelectionError              1   a -t that matches nothing
    ├── Refused                     1   a guard stopped the run before anything was changed
    ├── StateError                  1   the state record
    │   ├── RecordMissing           1   no journal for a target: never treated as an empty one
    │   ├── RecordLost              1   no journal where one was seen before
    │   ├── RecordDamaged           1   a line that breaks the chain, or no journal at all
    │   ├── RecordRolledBack        1   older than what was last seen on this machine
    │   ├── RecordForeign           1   of another target, service or account
    │   ├── RecordClosed            1   continues in another store, or is being copied there
    │   ├── HeadMoved               1   another run appended first
    │   └── StoreUnavailable        1   the store could not be read or written
    ├── GitHubError                 1   the API of GitHub
    └── ServiceError                1   the lending service
        ├── TokenError              1   no access token available
        └── CallFailed              1   a call that is not a create failed

    Interrupted         129/130/143 a signal ended the run
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.mistake import Mistake


class ReconcilerError(Exception):
    """The root: `what` went wrong, `where` (a place, a target, a file) and the `remedy`.

    None of the three contains secrets.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: object = None, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = None if where is None else str(where)
        self.remedy = remedy

    def __str__(self) -> str:
        head = self.what if self.where is None else f"{self.where}: {self.what}"
        return head if self.remedy is None else f"{head}; {self.remedy}"


class ConfigError(ReconcilerError):
    """The configuration has `count` mistakes (default: all given); `mistakes` are sorted by place.

    Of very many in one file, `mistakes` has the first ones, and how many more there are. `warnings` and `unread` are
    as in Desired.
    """

    def __init__(
        self,
        mistakes: Sequence[Mistake],
        count: int | None = None,
        warnings: Sequence[Mistake] = (),
        unread: Sequence[Mistake] = (),
    ) -> None:
        count = len(mistakes) if count is None else count
        super().__init__(f"{count} mistake{'' if count == 1 else 's'} in the configuration")
        self.mistakes = tuple(mistakes)
        self.count = count
        self.warnings = tuple(warnings)
        self.unread = tuple(unread)


class SettingsError(ReconcilerError):
    """A flag, an environment variable, a secrets file or `.env` holds something unusable."""


class SelectionError(ReconcilerError):
    """A target pattern is malformed or matches nothing."""


class Refused(ReconcilerError):
    """A guard stopped the run before anything was sent or written; `restorable` as in StateError."""

    restorable = False


class StateError(ReconcilerError):
    """Something about the state record; `restorable`: this machine has what is missing, for `state recover -t`."""

    restorable = False


class RecordMissing(StateError):
    """A target has no journal. It is never treated as an empty one."""


class RecordLost(StateError):
    """A journal is missing that was seen on this machine before: what it recorded may still exist."""


class RecordDamaged(StateError):
    """A journal is not valid; `where` ends with the number of the first line that breaks it."""


class RecordRolledBack(StateError):
    """A journal does not contain what was last seen of it, or of the record that was in its place before."""


class RecordForeign(StateError):
    """A journal belongs to another target, service or account."""


class RecordClosed(StateError):
    """A record that continues in another store, or is being copied there: nothing is appended to it here."""


class HeadMoved(StateError):
    """An append was refused, since the journal's head is no longer the one it was made for."""


class StoreUnavailable(StateError):
    """The store could not be read or written. An append may have reached it nevertheless."""


class GitHubError(ReconcilerError):
    """A call of the API of GitHub failed, or the settings for it cannot be used."""


class ServiceError(ReconcilerError):
    """Something about the lending service."""


class TokenError(ServiceError):
    """No access token is available."""


class CallFailed(ServiceError):
    """A call that is not a create failed; creates have outcomes instead."""


INTERRUPTING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run: Ctrl-C, the runner or the system, and a terminal or connection that is closed."""


class Interrupted(BaseException):
    """A signal ended the run: 129 for SIGHUP, 130 for SIGINT, 143 for SIGTERM.

    Not an `Exception`, since it may be raised between any two steps: a library that ignores its own failures, as
    logging does, would ignore it too, and the signal would be lost.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__("interrupted")
        self.exit_code = 128 + signal_number
