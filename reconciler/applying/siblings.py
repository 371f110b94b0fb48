"""Other targets that are the same service: their journals are others, and what they hold counts all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.record import Status
from reconciler.model.url import normal_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.plan import Request
    from reconciler.model.record import Record


def hindrance(request: Request, records: Iterable[Record]) -> str | None:
    """What, in the records of other targets of the service, delivers or may deliver a route of `request` already.

    No append to one journal is refused for what is appended to another. But of two runs that intend one route on two
    targets, at least one finds the other's intent if each looks once its own is durable; and that one does not send.
    """
    url = normal_url(request.url)
    routes = {(code, url) for code in request.codes}
    for record in records:
        for one in record.attempts.values():
            if one.status is not Status.GONE and not routes.isdisjoint(one.routes):
                return f"it is delivered, or may be, under {one.address} already (attempt {one.id})"
    return None
