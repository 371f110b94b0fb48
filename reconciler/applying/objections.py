"""Why a call must not be sent, as the records say that were re-read for it."""

from collections.abc import Iterable

from reconciler.applying.calls import Call
from reconciler.model.plan import Request
from reconciler.model.record import Attempt, Record, Status
from reconciler.model.url import normal_url


def objection(call: Call, record: Record, same_service: Iterable[Record]) -> str | None:
    """Why the call must not be sent, None if it may be.

    `record` is that of its target, `same_service` are the other records of the same service.
    """
    if record.closed is not None:
        return f"its record was closed, since it is copied to {record.closed.to}"
    attempt = record.attempts.get(call.attempt)
    if attempt is None:
        return "its intent is missing from the record"
    if attempt.status is not Status.PENDING:
        return "already resolved by another run"
    for other in record.attempts.values():  # one that was lost with its entries, and found again, under any address
        if other.id != call.attempt and _delivers(other) and not other.routes.isdisjoint(attempt.routes):
            return f"another attempt delivers it or may deliver it (attempt {other.id})"
    return objection_of_same_service(call.request, same_service)


def objection_of_same_service(request: Request, records: Iterable[Record]) -> str | None:
    """Which attempt, in other records of the same service, delivers or may deliver a route of `request`.

    No append to one journal is refused because of an append to another. But of two runs that intend one route on two
    targets, at least one finds the other's intent if each re-reads after its own is durable; and that one does not
    send.
    """
    url = normal_url(request.url)
    routes = {(code, url) for code in request.codes}
    for record in records:
        if routes.isdisjoint(record.routes):
            continue
        for attempt in record.attempts.values():
            if attempt.status is not Status.GONE and not routes.isdisjoint(attempt.routes):
                return f"already delivered, or possibly delivered, by {attempt.address} (attempt {attempt.id})"
    return None


def _delivers(attempt: Attempt) -> bool:
    """Whether it keeps another attempt from being sent; what awaits removal was known when that was planned."""
    return attempt.status not in (Status.GONE, Status.AWAITING_REMOVAL)
