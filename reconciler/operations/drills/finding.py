"""What is wrong after a drill, and where the page for users says how it is corrected."""

from enum import StrEnum

from msgspec import Struct

PAGE = ".github/BAD_DAY.md"


class Section(StrEnum):
    """The headings of the page, as far as drills need them."""

    UNKNOWN_OUTCOME = "An unknown outcome"
    EXISTS_TWICE = "A subscription that exists twice"
    NOT_RECORDED = "An outcome that is not recorded"
    LOST_RECORD = "A lost record"
    WRONG_URL = "A wrong URL in production"
    ROTATED_SECRET = "A rotated secret"  # noqa: S105 - a heading
    LOST_KEY = "A lost age key"
    WRONG_ONE = "The wrong one was deleted"
    SEVERAL_CLONES = "Several clones, several branches"
    ENDPOINT_DOWN = "An endpoint that is down"


class Kind(StrEnum):
    """TWICE: more exists than is wanted. LOST: what exists, or happened, and is not recorded, or the reverse.

    OPEN: what is still to be done.
    """

    TWICE = "twice"
    LOST = "lost"
    OPEN = "to do"


class Finding(Struct, frozen=True):
    """One thing that is wrong, as a sentence; no `section` where only the plan says what to do."""

    kind: Kind
    sentence: str
    section: Section | None

    @property
    def see(self) -> str:
        """Where to read what to do."""
        return "`reconciler plan`" if self.section is None else f'{PAGE}, "{self.section}"'
