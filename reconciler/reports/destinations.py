"""Where a plan sends to, and to whom it encrypts the responses, in words: no changed configuration may hide it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.url import same_service
from reconciler.reports.wording import counted

if TYPE_CHECKING:
    from reconciler.model.plan import Destination, Plan


def service_addresses(there: Destination) -> list[tuple[str, str]]:
    """The addresses in use for a target, each after what it is for; that of audiences only if it is another one."""
    rows = [("at", there.base_url), ("tokens from", there.auth_url)]
    return rows if there.audience_base == there.base_url else [*rows, ("audience", there.audience_base)]


def service_line(there: Destination) -> str:
    """The same in a line."""
    return ", ".join(f"{purpose} {url}" for purpose, url in service_addresses(there))


def recipients_line(plan: Plan) -> str:
    """To which keys create responses are encrypted."""
    if not plan.recipients:
        return "Responses are not encrypted: no recipients"
    return f"Responses are encrypted to {', '.join(plan.recipients)}"


def deviations(plan: Plan) -> list[str]:
    """What of the addresses and the keys in use is known not to be what the records have, a sentence for each."""
    lines = []
    for name in sorted(plan.targets):
        there = plan.targets[name].destination
        if there is not None and not same_service(there.recorded_url, there.base_url):
            lines.append(
                f"{name}: subscriptions go to {there.base_url}, but the record belongs to the service at"
                f" {there.recorded_url}"
            )
    known = {key for target in plan.targets.values() if target.destination for key in target.destination.resealed_to}
    new = [key for key in plan.recipients if known and key not in known]
    if new:
        lines.append(
            f"nothing in these records is known to be encrypted to {', '.join(new)}; what was resealed was encrypted to"
            f" {counted(len(known), 'key')}: {', '.join(sorted(known))}"
        )
    return lines
