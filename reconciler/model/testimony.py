"""What a witness keeps about the record of a target."""

from msgspec import Struct


class Testimony(Struct, frozen=True):
    """A short text about a target, and where it is kept, for messages. Others may have written it.

    `fading`: the witness will not show it much longer, unless it is added again.
    """

    target: str
    text: str
    where: str
    fading: bool = False


class Reading(Struct, frozen=True):
    """What a witness keeps, and why that may not be all; None if it is."""

    testimonies: tuple[Testimony, ...]
    gap: str | None = None
