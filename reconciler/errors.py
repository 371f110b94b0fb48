"""Messages as data, and the tree of errors. Each class has the exit code of a run that ends with such an error.

::

    ReconcilerError             1   one message, or several: what, where, what to do next
    ├── ConfigError             1   every mistake found in config/, each with its place
    ├── SettingsError           1   an invalid flag, variable, secrets file or .env
    ├── SelectionError          1   a target pattern that is malformed or matches nothing
    ├── Refused                 1   a gate or a guard stopped the run before anything was changed
    ├── RecordError             1   the record
    │   ├── RecordMissing       1   no record at the place: never treated as an empty record
    │   ├── RecordDamaged       1   a line breaks the chain, or the data is not a record
    │   ├── RecordClosed        1   the record continues at another place
    │   ├── HeadMoved           1   another run appended first
    │   └── StoreUnavailable    1   the store could not be read or written
    └── ServiceError            1   the lending service
        ├── TokenError          1   no access token available
        └── CallFailed          1   a call that is not a create failed

    Interrupted     129/130/143     a signal ended the run
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence


class Place(Struct, frozen=True, order=True, gc=False):
    """A place in a file: the file's name as the user would write it, and the line and column, counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Step(Struct, frozen=True, gc=False):
    """A step to take: an imperative phrase and the words of a command to paste. Either may be empty.

    A command that begins with `reconciler` has no global flags: the renderer adds the flags in use.
    """

    text: str = ""
    command: tuple[str, ...] = ()


class Message(Struct, frozen=True, gc=False):
    """A message for a person: the problem, its place, and the steps to take. It contains no secrets.

    `name` identifies it, in kebab case, for tests and JSON. `what` is a phrase without a full stop. `where` is a
    target, an address, a file or a setting; `place` is its position in a file of `config/`. `cli` and `reports` render
    the text; nothing parses it.
    """

    name: str
    what: str
    where: str = ""
    steps: tuple[Step, ...] = ()
    place: Place | None = None

    @property
    def located(self) -> str:
        """Return the position in a file if there is one, otherwise `where`."""
        return str(self.place) if self.place else self.where

    def __str__(self) -> str:
        """Return the message as one line, for logs and for errors that no renderer sees."""
        head = f"{self.located}: {self.what}" if self.located else self.what
        todo = [" ".join(filter(None, (step.text, " ".join(step.command)))) for step in self.steps]
        return "; ".join([head, *todo])


def step(text: str, *command: str) -> Step:
    """Return a step with this text and the words of its command."""
    return Step(text, command)


class ReconcilerError(Exception):
    """The base class of all errors. `messages` has at least one message."""

    exit_code = 1

    def __init__(self, *messages: Message) -> None:
        super().__init__(*messages)
        self.messages = messages

    def __str__(self) -> str:
        return "\n".join(map(str, self.messages))


class ConfigError(ReconcilerError):
    """The configuration has `count` mistakes (by default, the length of `mistakes`). `messages` are sorted by place.

    If one file has very many mistakes, `messages` has only the first ones.
    """

    def __init__(self, mistakes: Sequence[Message], count: int | None = None) -> None:
        super().__init__(*mistakes)
        self.count = len(mistakes) if count is None else count


class SettingsError(ReconcilerError):
    """A flag, an environment variable, a secrets file or `.env` has an invalid value."""


class SelectionError(ReconcilerError):
    """A target pattern is malformed or matches nothing."""


class Refused(ReconcilerError):
    """A gate or a guard stopped the run before anything was sent or written."""


class RecordError(ReconcilerError):
    """The record cannot be used as it is."""


class RecordMissing(RecordError):
    """There is no record at the place. A missing record is never treated as an empty record."""


class RecordDamaged(RecordError):
    """The record is not valid; the message names the first invalid line."""


class RecordClosed(RecordError):
    """The record continues at another place: nothing is appended to it here."""


class HeadMoved(RecordError):
    """An append was refused because the record no longer has the head that the append expected."""


class StoreUnavailable(RecordError):
    """The store could not be read or written. An append may nevertheless have reached it."""


class ServiceError(ReconcilerError):
    """The lending service failed, or cannot be used."""


class TokenError(ServiceError):
    """No access token is available."""


class CallFailed(ServiceError):
    """A call other than a create failed; a failed create has an outcome instead."""


INTERRUPTING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run: Ctrl-C, a stop by the runner or the system, and a closed terminal or connection."""


class Interrupted(BaseException):
    """A signal ended the run. The exit code is 129 for SIGHUP, 130 for SIGINT, and 143 for SIGTERM.

    This is not an `Exception`, because it may be raised between any two steps, and a library that ignores its own
    failures, such as logging, would ignore the signal too.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__("interrupted")
        self.exit_code = 128 + signal_number
