"""What is known of a journal from objects that were read or written: they never change."""

from __future__ import annotations

from msgspec import Struct

from reconciler.errors import RecordDamaged
from reconciler.state.journal.chain import head_of, intact_head

_REMEDY = "restore the object from a version or a backup of the bucket, then run: reconciler state verify"


class History(Struct, frozen=True):
    """A journal up to the object with the number `last`, and the number of the `next` object, 0 if it is damaged.

    `parts` are the bytes of its objects; the first part may be that of many. `loose` of them are in no pack.
    """

    parts: tuple[bytes, ...] = ()
    last: int = 0
    next: int = 1
    loose: int = 0

    @property
    def head(self) -> str | None:
        """The hash of the last line; None if there is none, or it was edited."""
        return head_of(self.parts[-1][:-1].rpartition(b"\n")[2]) if self.parts else None

    def followed_by(self, number: int, data: bytes) -> History:
        """The history with one more object; damaged if its number is not the next."""
        after = number + count_lines(data) if number == self.next else 0
        return History((*self.parts, data), number, after, self.loose + 1)


def count_lines(data: bytes) -> int:
    """How many entries an object holds."""
    return data.count(b"\n")


def refuse_incomplete(data: bytes, where: str) -> None:
    """Raises RecordDamaged for an object that does not end with a line: objects are written whole, so it was cut off.

    The end of a file may be an interrupted write, which the next append deletes. Nothing can append to an object.
    """
    if not data.endswith(b"\n"):
        raise RecordDamaged("the object is empty or incomplete", where=where, remedy=_REMEDY)


def unpacked(pack: bytes | None, last: bytes | None, number: int) -> History | None:
    """The history that a pack holds, if it is one and agrees with `last`, the object with the `number` of the pack.

    Equal last lines are equal histories, since each line holds the hash of the one before it.
    """
    if pack is None or not last or not pack.endswith(last):
        return None
    before = pack[: len(pack) - len(last)]
    whole = not before or before.endswith(b"\n")
    if not whole or count_lines(before) != number - 1 or intact_head(pack) is None:
        return None
    return History((before, last) if before else (last,), number, number + count_lines(last))
