"""`reconciler parity`"""

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import cli_command, format_option, known
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.result import Verdict
from reconciler.operations.parity import read_parity
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import PARITY


@cli_command("parity")
@click.argument("a", metavar="A", shell_complete=known("target"))
@click.argument("b", metavar="B", shell_complete=known("target"))
@click.option("--gate", "is_gate", is_flag=True, help="Check that everything B desires is in force in A.")
@format_option(PARITY)
def command(terminal: Terminal, a: str, b: str, is_gate: bool, form: str) -> int:
    """Compare two targets.

    Exits with 0 if A and B match, with 2 if they differ. Compares names, event codes and URLs (before variables are
    substituted) and, if both have a state record, what is in force. Declare intended differences in config/ under
    parity: {ignore: [{address: ..., reason: ...}]}.

    With --gate, checks whether B may follow A: everything that B desires must be in force in A:

    \b
        reconciler parity europe/staging europe/production --gate
    """
    parity = read_parity(Workspace(terminal), a, b, is_gate=is_gate)
    terminal.print_report(PARITY[form](parity))
    return exit_code(Verdict.DONE if parity.in_line else Verdict.CHANGES)
