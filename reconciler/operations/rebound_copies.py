"""What is said of two histories of a record that were bound to different services or accounts."""

from collections.abc import Sequence

from reconciler.model.account import short_account
from reconciler.model.joining import history, index
from reconciler.model.record import Record, fold
from reconciler.model.url import service_key
from reconciler.state.journal.chain import Journal


def rebound_since(journal: Journal, theirs: Record, merged: Record, common: str) -> str:
    """What two histories were bound to, and the record is now; "" if both are bound to what they were at `common`.

    That is the head of what both contain. Where both were rebound since, either may have created something before.
    """
    records = (journal.record(), theirs, fold(history(index(journal.lines), common)), merged)
    services = [record.base_url for record in records]
    accounts = [record.account for record in records]
    of_services = _rebound("the service at ", services, [service_key(url) for url in services])
    return of_services or _rebound("the account ", [short_account(account) for account in accounts], accounts)


def _rebound(what: str, shown: Sequence[str], compared: Sequence[str | None]) -> str:
    """As `rebound_since`, of the one to which `ours`, `theirs`, the record before both, and the one now are bound."""
    here, there, then, now = compared
    if None not in (here, there) and here != there:
        bound = f"the record was bound to {what}{shown[0]}, what was recovered to {what}{shown[1]}"
    elif None not in (then, now) and then != now:
        bound = f"when the two diverged, the record was bound to {what}{shown[2]}"
    else:
        return ""
    return (
        f"{bound}; now it is bound to {shown[3]}: check with the operator that what was created since they diverged"
        " exists there"
    )
