"""Writes an object that nobody else may have written, and finds out whose it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, assert_never

from reconciler.errors import HeadMoved, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.state.stores.objects.bucket import Answer, Bucket

_PAUSES = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)  # seconds before each time that the object is sent
_REMEDY = "run the command again; if that does not help, check the rules of the bucket, or use another store"


def write_once(bucket: Bucket, key: str, data: bytes, before: Mapping[str, bytes], where: str, until: float) -> None:
    """Write the object, and read it back together with the ones `before` it, by their keys.

    No answer is believed: what is stored decides. If it is nobody's, the identical object is sent again; should an
    earlier one arrive late, it is the same write. Raises HeadMoved if the object is another's, or those before it have
    been replaced, and StoreUnavailable.
    """
    for pause in _PAUSES:
        time.sleep(min(pause, max(0.0, until - time.monotonic())))
        answer = bucket.create(key, data, until)
        stored, *followed = bucket.get([key, *before], until)
        if followed != [*before.values()]:
            raise HeadMoved("the journal has been replaced", where=where)
        if stored == data:
            return
        if stored is not None:
            raise HeadMoved("conflict: another run appended to this journal", where=where)
        if answer.end == "refused":  # credentials do not get better
            break
    raise StoreUnavailable(_absence(answer), where=where, remedy=answer.remedy or _REMEDY)


def _absence(answer: Answer) -> str:
    """Why an object may be absent after this answer."""
    match answer.end:
        case "created":
            return "the object store acknowledged the entries, but does not return them"
        case "conflict":
            return "the object store reports a conflict, but the object does not exist"
        case "refused" | "unknown":
            return answer.reason
        case _:
            assert_never(answer.end)
