"""What a page shows of a plan or of the status."""

from collections.abc import Container, Iterable
from datetime import UTC, datetime

from reconciler.model.address import TargetName
from reconciler.model.clock import stamp
from reconciler.model.overview import Overview, TargetOverview
from reconciler.model.status import TargetStatus
from reconciler.operations.plan import Planned
from reconciler.operations.status import selected_standings
from reconciler.planning.reasons import no_record


def plan_overview(planned: Planned) -> Overview:
    """The overview of a plan, as of now."""
    return overview(planned, selected_standings(planned, datetime.now(UTC)))


def overview(planned: Planned, standings: Iterable[TargetStatus]) -> Overview:
    """The overview of a plan with the status of its targets, as of now."""
    standings = list(standings)
    return Overview(
        now=stamp(datetime.now(UTC).timestamp()),
        plan=planned.plan,
        targets=tuple(_target(planned, standing) for standing in standings if standing.recorded),
        recipients=planned.desired.recipients,
        unusable=_unusable(planned, {standing.name for standing in standings if not standing.recorded}),
    )


def _target(planned: Planned, standing: TargetStatus) -> TargetOverview:
    record = planned.records.get(standing.name) or planned.undeclared[standing.name]
    declared = planned.desired.targets.get(standing.name)
    return TargetOverview(standing, record.base_url, record.head, record.entries, record.at, declared)


def _unusable(planned: Planned, unrecorded: Container[TargetName]) -> dict[TargetName, str]:
    problems = {unread.target: str(unread.problem) for unread in planned.unread}
    for name in planned.desired.targets:
        if planned.selection.touches(name) and name not in planned.plan.targets:
            known = no_record(name) if name in unrecorded else "its record is missing or cannot be used"
            problems.setdefault(name, known)
    return dict(sorted(problems.items()))
