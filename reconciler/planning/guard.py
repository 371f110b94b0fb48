"""What must not be applied, however well it was planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import Refused
from reconciler.model.plan import SENDS
from reconciler.model.record import Status
from reconciler.planning.reasons import create_calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.plan import Plan
    from reconciler.model.record import Record
    from reconciler.model.selection import Selection


def refuse_emptied(desired: Desired, records: Mapping[TargetName, Record], selection: Selection) -> None:
    """Raises Refused for a target with live subscriptions and none desired: more likely a mistake than intended."""
    for name in desired.targets:
        if not selection.touches(name) or name not in records or desired.of_target(name):
            continue
        live = [attempt for attempt in records[name].attempts.values() if attempt.status is Status.LIVE]
        if live:
            in_force = f"{len(live)} {'is' if len(live) == 1 else 'are'} in force"
            raise Refused(
                f"config/ defines no subscription for this target, but {in_force}",
                where=name,
                remedy="to remove all of them, use --allow-empty",
            )


def refuse_too_many(plan: Plan, max_creates: int | None) -> None:
    """Raises Refused where the plan would send more creates than were allowed."""
    actions = [change.action for change in plan.changes]
    if max_creates is not None and sum(action in SENDS for action in actions) > max_creates:
        raise Refused(
            f"the plan has {create_calls(actions)}; --max-creates allows {max_creates}",
            remedy="review the plan; creates cannot be undone",
        )
