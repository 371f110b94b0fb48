"""`reconciler parity`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import RecordMissing
from reconciler.model.result import Verdict
from reconciler.operations.known_results import read_with_known_results
from reconciler.operations.workspace import Workspace
from reconciler.planning.parity import compare, gate
from reconciler.reports.documents import parity_document, render
from reconciler.reports.markdown import parity_markdown
from reconciler.reports.text import parity_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.address import TargetName
    from reconciler.model.record import Record


@click.command("parity")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--gate", "is_gate", is_flag=True, help="Whether all that B desires is in force in A already.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="Of stdout.  [text]"
)
@common_options
@pass_terminal
def command(terminal: Terminal, a: str, b: str, is_gate: bool, form: str) -> int:
    """Say whether two targets are in line.

    Exits with 0 if A and B are, and with 2 and what differs if they are not. Compared are names, codes, and URLs as
    written before substitution; and what is in force, where both have a state record. Differences that are meant are
    declared in config/, under parity: {ignore: [{address: ..., reason: ...}]}.

    With --gate, A is the target that went ahead, and B the one that may follow once A has all that B desires:

    \b
        reconciler parity europe/staging europe/production --gate
    """
    workspace = Workspace(terminal)
    one, other = workspace.declared_target(a, a).name, workspace.declared_target(b, b).name
    records = _records(workspace, one, other)
    if is_gate and one not in records:
        workspace.read(one)  # says what to do about a record that is missing
    parity = (gate if is_gate else compare)(workspace.desired, records, one, other)
    for unused in parity.unused:
        terminal.warn(f"{unused.place}: nothing differs at {unused.address}; take the exception out")
    match form:
        case "json":
            terminal.print_document(render(parity_document(parity)))
        case "markdown":
            terminal.print_document(parity_markdown(parity))
        case _:
            terminal.print_lines(parity_text(parity))
    return exit_code(Verdict.DONE if parity.in_line else Verdict.CHANGES)


def _records(workspace: Workspace, *targets: TargetName) -> dict[TargetName, Record]:
    records = {}
    for name in targets:
        try:
            records[name] = read_with_known_results(workspace, name)
        except RecordMissing:
            continue  # compared is what is there
    return records
