"""A mistake in the configuration, and its place; what checking the configuration came to."""

from msgspec import Struct


class Place(Struct, frozen=True, order=True, gc=False):
    """The place of something: a file as the user would name it, line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Mistake(Struct, frozen=True, order=True):
    """One mistake in the configuration, or a warning: where, what, and what to do."""

    place: Place
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}; {self.remedy}"


class Validation(Struct, frozen=True):
    """Every mistake and warning, sorted by place, and how many subscriptions and targets there are without mistakes.

    `count` is the number of mistakes: of very many in one file, `mistakes` has the first ones.
    """

    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[Mistake, ...] = ()
    count: int = 0
    subscriptions: int = 0
    targets: int = 0
