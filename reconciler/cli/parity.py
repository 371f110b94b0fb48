"""`reconciler parity`"""

import re

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import cli_command, format_option, known
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.result import Verdict
from reconciler.model.selection import has_wildcard
from reconciler.operations.parity import Gate, read_pairs, read_parity
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import PARITY

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _seconds(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A DURATION in seconds."""
    if text is None:
        return None
    match = re.fullmatch("([1-9][0-9]{0,5})([smhd])", text)
    if match is None:
        raise click.BadParameter("expected a whole number and s, m, h or d, for example 90s, 30m, 24h or 7d")
    return float(match[1]) * _SECONDS[match[2]]


def _pattern(workspace: Workspace, text: str) -> str:
    """The targets of a region, or of an environment."""
    return f"{text}/*" if any(target.region == text for target in workspace.desired.targets) else f"*/{text}"


@cli_command("parity")
@click.argument("a", metavar="A", required=False, shell_complete=known("pattern"))
@click.argument("b", metavar="B", required=False, shell_complete=known("pattern"))
@click.option("--gate", "is_gate", is_flag=True, help="Check that everything B desires is in force in A.")
@click.option("--proven", is_flag=True, help="As --gate, and that it was observed delivering in A.")
@click.option(
    "--soak", metavar="DURATION", callback=_seconds, help="With --proven: for this long, such as 90s, 30m, 24h or 7d."
)
@format_option(PARITY)
def command(
    terminal: Terminal, a: str | None, b: str | None, is_gate: bool, proven: bool, soak: float | None, form: str
) -> int:
    """Compare targets.

    Exits with 0 if A and B match, with 2 if they differ. Compares names, event codes and URLs (before variables are
    substituted) and, if both have a state record, what is in force. Declare intended differences in config/ under
    parity: {ignore: [{address: ..., reason: ...}]}. A and B may be patterns that differ in one segment: then each pair
    is compared, and a target without its counterpart is a difference.

    With --gate, checks whether B may follow A: everything that B desires must be in force in A. With --proven, each
    event code must also have been received there and recorded with `state observe`; with --soak, its first such
    notification must be that old. Only what the subscription in force has delivered counts: a new URL, or a new create,
    starts anew.

    \b
        reconciler parity europe/staging europe/production --gate
        reconciler parity '*/staging' '*/production' --proven --soak 24h
    """
    if a is None or b is None:
        raise click.UsageError("expected two targets or patterns; run: reconciler parity '*/staging' '*/production'")
    if soak is not None and not proven:
        raise click.UsageError("--soak needs --proven")
    workspace = Workspace(terminal)
    if "/" not in a + b:
        pair = " ".join(f"'{_pattern(workspace, text)}'" for text in (a, b))
        raise click.UsageError(f"expected targets region/environment; run: reconciler parity {pair}")
    checked = Gate(proven, soak) if is_gate or proven else None
    read = read_pairs if has_wildcard(a + b) else read_parity
    found = read(workspace, a, b, checked)
    terminal.print_report(PARITY[form](found))
    return exit_code(Verdict.DONE if found.in_line else Verdict.CHANGES)
