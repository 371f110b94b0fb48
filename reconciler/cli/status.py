"""The commands `reconciler status` and `reconciler parity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from reconciler.cli.commands import command
from reconciler.cli.options import detailed_exitcode_option, exit_code_of, format_option, target_option
from reconciler.errors import Refused
from reconciler.operations.plan import make_plan
from reconciler.planning.parity import parity as compare
from reconciler.planning.status import status as status_now
from reconciler.planning.status import verdict_of_status
from reconciler.record.gates import obstacle_messages
from reconciler.reports.json import parity_json, status_json
from reconciler.reports.parity import parity_document
from reconciler.reports.status import status_document

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation
    from reconciler.model.status import ProjectStatus
    from reconciler.operations.project import Project

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@command("status", "reconciler status", "reconciler status -t '*/production' --format json")
@target_option
@format_option("json", "markdown", "html")
@detailed_exitcode_option
def status(invocation: Invocation, patterns: tuple[str, ...], form: str, detailed_exitcode: bool) -> int:
    """Show what is in force for each target, and what needs your attention.

    Proven: a notification was received in the last 30 days. Silent: the last one is older. Never seen: none is
    recorded.
    """
    known = status_of(invocation.project, patterns)
    invocation.terminal.report(lambda: status_document(known), lambda: status_json(known), form)
    return exit_code_of(verdict_of_status(known)) if detailed_exitcode else 0


def status_of(project: Project, patterns: tuple[str, ...], *, current: bool = False) -> ProjectStatus:
    """Return the status of the selected targets, with their plan. Raises ReconcilerError.

    With `current`, raises Refused if the first gate is closed.
    """
    planned = make_plan(project, patterns, allow_empty=True)
    if current and not planned.reading.standing.first_gate_open:
        raise Refused(*planned.plan.gates)
    return status_now(project.desired, planned.reading.record, planned.plan, project.now())


@command(
    "parity",
    "reconciler parity europe/staging europe/production --gate",
    "reconciler parity '*/staging' '*/production' --proven --soak 3d",
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--gate", is_flag=True, help="Check that everything that B desires is in force in A.")
@click.option("--proven", is_flag=True, help="Check that A has received a notification for everything that B desires.")
@click.option(
    "--soak", metavar="DURATION", default="", help="With --proven: require deliveries for this long, such as 36h or 7d."
)
@format_option("json", "markdown")
def parity(invocation: Invocation, a: str, b: str, gate: bool, proven: bool, soak: str, form: str) -> int:
    """Compare two targets, or the targets of two patterns pair by pair.

    Compares names, event codes, URLs as written before substitution, and what is in force. Patterns must differ
    in exactly one segment. Exits with 2 if the targets differ.
    """
    if soak and not proven:
        raise click.UsageError("--soak requires --proven")
    seconds, project = _seconds(soak) if soak else None, invocation.project
    reading = project.journal.read()
    moment, accounts = project.now(), project.accounts()
    pairs = compare(
        project.desired, reading.record, a, b, now=moment, gate=gate, proven=proven, soak=seconds, accounts=accounts
    )
    gates = obstacle_messages(reading.record, reading.standing, moment, project.journal.expected)
    pairs = replace(pairs, gates=gates)
    invocation.terminal.report(lambda: parity_document(pairs), lambda: parity_json(pairs), form)
    return 0 if pairs.in_line else 2


def _seconds(text: str) -> float:
    """Return the number of seconds in a duration such as `36h`. Raises UsageError."""
    number, unit = text[:-1], _UNITS.get(text[-1:])
    if unit is None or not (number.isascii() and number.isdigit()):
        raise click.UsageError(f"--soak {text}: expected a number and one of {', '.join(_UNITS)}, such as 36h")
    return min(float(number) * unit, 1e9)  # no record is older, and no date as old can be written
