"""The one condition of an append, as every store checks it: the record still ends with the head it was made for."""

from __future__ import annotations

from reconciler.errors import HeadMoved, Message
from reconciler.record.chain import last_head


def require_head(data: bytes | None, head: str | None, place: str) -> None:
    """Raise HeadMoved unless `data` ends with the line whose hash is `head`; with None, unless there is no record."""
    if data is None or head is None:
        if data is None and head is None:
            return
        raise head_moved(place, "there is a record already" if head is None else "the record is missing")
    if last_head(data) != head:
        raise head_moved(place)


def head_moved(place: str, what: str = "another run appended to the record") -> HeadMoved:
    """Return the error of an append that came too late."""
    return HeadMoved(Message("head-moved", f"conflict: {what}", place))
