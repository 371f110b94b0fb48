"""The account that creates are made with, and the one that a record belongs to."""

from reconciler.errors import RecordForeign
from reconciler.model.account import short_account
from reconciler.model.desired import Target
from reconciler.model.plan import SENDS, TargetPlan
from reconciler.model.record import Record
from reconciler.model.url import same_service
from reconciler.planning.reasons import rebind_to_service


def refuse_foreign(target: Target, record: Record, account: str | None) -> None:
    """Raises RecordForeign if the record belongs to another service, or to another account than `account`."""
    if not same_service(record.base_url, target.base_url):
        problem = (
            f"the record belongs to the service at {record.base_url}, but the current settings use {target.base_url}"
        )
        remedy = rebind_to_service(target.name, record.base_url, target.base_url)
    elif account is not None and record.account not in (None, account):
        problem = (
            "the record belongs to another account: it was created with another client id"
            f" ({short_account(record.account)}, not {short_account(account)})"
        )
        remedy = (
            f"check {target.name.variable_prefix}CLIENT_ID, which may be of another environment; only if the operator"
            f" has issued a new client id for the same subscriptions, run: reconciler state rebind -t {target.name}"
        )
    else:
        return
    raise RecordForeign(problem, where=target.name, remedy=remedy)


def needs_account(target: TargetPlan) -> bool:
    """Whether applying the target's plan takes credentials."""
    return any(change.action in SENDS for change in target.changes)
