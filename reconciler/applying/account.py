"""The account that creates are made with, and the one that a record belongs to."""

from reconciler.errors import RecordForeign
from reconciler.model.account import short_account
from reconciler.model.desired import Target
from reconciler.model.plan import SENDS, TargetPlan
from reconciler.model.record import Record
from reconciler.model.url import same_service


def refuse_foreign(target: Target, record: Record, account: str | None) -> None:
    """Raises RecordForeign if the record belongs to another service, or to another account than `account`."""
    if not same_service(record.base_url, target.base_url):
        problem = (
            f"the record belongs to the service at {record.base_url}, but the current settings use {target.base_url}"
        )
        check = f"check `base_url` in config/ and {target.name.variable_prefix}BASE_URL, which may be of another target"
        intended = "if the service has moved"
    elif account is not None and record.account not in (None, account):
        problem = (
            "the record belongs to another account: it was created with another client id"
            f" ({short_account(record.account)}, not {short_account(account)})"
        )
        check = f"check {target.name.variable_prefix}CLIENT_ID, which may be of another environment"
        intended = "if the operator has issued a new client id for the same subscriptions"
    else:
        return
    remedy = f"{check}; only {intended}, run: reconciler state rebind -t {target.name}"
    raise RecordForeign(problem, where=target.name, remedy=remedy)


def needs_account(target: TargetPlan) -> bool:
    """Whether applying the target's plan takes credentials."""
    return any(change.action in SENDS for change in target.changes)
