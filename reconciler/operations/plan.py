"""`plan`: compares `config/` with the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.errors import Message, Step
from reconciler.model.address import Selection
from reconciler.model.plan import SENDS, Action
from reconciler.operations.recovery_file import recovery_messages
from reconciler.planning.planner import plan

if TYPE_CHECKING:
    from reconciler.model.plan import Plan
    from reconciler.operations.project import Project
    from reconciler.record.journal import Reading


class Planned(Struct, frozen=True):
    """A plan and the reading that it was made from, with the arguments that are needed to make the plan again."""

    plan: Plan
    reading: Reading
    selection: Selection
    allow_empty: bool = False


def make_plan(project: Project, patterns: tuple[str, ...] = (), *, allow_empty: bool = False) -> Planned:
    """Read `config/` and the record, and make a plan. Raises ReconcilerError."""
    selection = Selection.of(patterns)
    reading = project.journal.read()
    made = plan_from(reading, project, selection, allow_empty=allow_empty)
    return Planned(made, reading, selection, allow_empty)


def plan_from(reading: Reading, project: Project, selection: Selection, *, allow_empty: bool = False) -> Plan:
    """Make a plan from a reading. Raises SelectionError and Refused."""
    return plan(
        project.desired,
        reading.record,
        reading.standing,
        selection,
        now=project.now(),
        accounts=project.accounts(),
        unrecovered=recovery_messages(project, reading).values() if project.recovery_files else (),
        allow_empty=allow_empty,
    )


def plaintext_refusal(project: Project, plan: Plan) -> Message | None:
    """Return a message that says why this machine cannot keep the responses to a plan's creates, or None if it can.

    Without recipients, responses are kept in files on this machine. The disk of a CI runner is lost with its job, and
    other machines that read the same record do not have these files.
    """
    if plan.recipients or not (project.in_ci or project.journal.store.path is None):
        return None
    if not any(change.action in SENDS for change in plan.changes):
        return None
    allow = ("reconciler", "apply", *plan.options, "--allow-plaintext-responses")
    steps = (
        Step("encrypt them: add `recipients` to config/", ("reconciler", "init", "--age-key")),
        Step("or allow unencrypted responses on this disk", allow),
    )
    what = "create responses, which may hold the only copy of a secret, would be kept unencrypted on this machine"
    return Message("plaintext-responses", what, "recipients", steps)


def has_work(plan: Plan) -> bool:
    """True if an apply of the plan would do anything; blocked changes do not count."""
    return any(change.action is not Action.BLOCKED for change in plan.changes)
