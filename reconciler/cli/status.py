"""`reconciler status` and `reconciler parity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.lazy import command
from reconciler.cli.options import code_of, detailed_exitcode_option, format_option, target_option

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation


@command("status", "reconciler status", "reconciler status -t '*/production' --format json")
@target_option
@format_option("json", "markdown", "html")
@detailed_exitcode_option
def status(invocation: Invocation, patterns: tuple[str, ...], form: str, detailed_exitcode: bool) -> int:
    """Show what is in force for each target, and what waits for a person.

    Proven: a notification was received within 30 days. Silent: not lately. Never seen: none was ever recorded.
    """
    from reconciler.operations.status import status_of  # noqa: PLC0415 - not for --help
    from reconciler.planning.verdict import status_verdict  # noqa: PLC0415 - likewise
    from reconciler.reports.json import status_json  # noqa: PLC0415 - likewise
    from reconciler.reports.status import status_document  # noqa: PLC0415 - likewise

    known = status_of(invocation.project, patterns)
    invocation.terminal.report(lambda: status_document(known), lambda: status_json(known), form)
    return code_of(status_verdict(known)) if detailed_exitcode else 0


@command(
    "parity",
    "reconciler parity europe/staging europe/production --gate",
    "reconciler parity '*/staging' '*/production' --proven --soak 3d",
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--gate", is_flag=True, help="Check that all that B desires is in force in A.")
@click.option("--proven", is_flag=True, help="Check that all that B desires was observed delivering in A.")
@click.option("--soak", metavar="DURATION", default="", help="For that long, such as 36h or 7d; with --proven.")
@format_option("json", "markdown")
def parity(invocation: Invocation, a: str, b: str, gate: bool, proven: bool, soak: str, form: str) -> int:
    """Compare two targets, or each pair of two patterns that differ in one segment.

    Compares names, event codes, URLs as written before substitution, and what is in force; exits with 2 if they differ.
    """
    from reconciler.operations.parity import compare  # noqa: PLC0415 - not for --help
    from reconciler.reports.json import parity_json  # noqa: PLC0415 - likewise
    from reconciler.reports.parity import parity_document  # noqa: PLC0415 - likewise

    if soak and not proven:
        raise click.UsageError("--soak requires --proven")
    pairs = compare(invocation.project, a, b, gate=gate, proven=proven, soak=soak)
    invocation.terminal.report(lambda: parity_document(pairs), lambda: parity_json(pairs), form)
    return 0 if pairs.in_line else 2
