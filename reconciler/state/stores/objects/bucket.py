"""The few operations of an object store that journals need; an object, once written, is never changed or deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence


class Answer(Struct, frozen=True):
    """What the object store answered to a create; none of the four proves what is stored.

    A conflict may have been caused by our own write, whose first answer was lost, and may mean that nobody's was
    stored. A refusal may mean that the object exists, where the credentials allow to create and not to replace.
    `reason` and `remedy` say, for messages, why it was refused, or why the answer is unknown.
    """

    end: Literal["created", "conflict", "refused", "unknown"]
    reason: str = ""
    remedy: str = ""


class Bucket(Protocol):
    """Objects below one prefix of a bucket, through one client. Keys are relative to the prefix.

    `until` (of `time.monotonic`) is when to stop waiting. Threads may share a bucket. Each operation raises
    StoreUnavailable if it failed, or was not answered in time.
    """

    def create(self, key: str, data: bytes, until: float) -> Answer:
        """Send the object once, on the condition that there is none with that key."""
        ...

    def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
        """The objects with these keys, in that order; None for one that does not exist."""
        ...

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        """The keys below `folder`, and below its folders, that sort after the key `after` ("": all); in any order."""
        ...

    def folders(self, folder: str, until: float) -> list[str]:
        """The names of the folders in `folder` ("": the prefix itself), in any order."""
        ...
