"""`reconciler doctor`"""

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import cli_command, format_option, target_option
from reconciler.cli.terminal.progress import checking
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.result import Health, Verdict
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import FINDINGS


@cli_command("doctor")
@target_option
@click.option("--write", is_flag=True, help="Also try whether the state record can be written, without any entry.")
@format_option(FINDINGS)
def command(terminal: Terminal, targets: tuple[str, ...], write: bool, form: str) -> int:
    """Check the set-up.

    Checks all that an apply depends on, even if something fails: config/, settings (by name only), name resolution,
    TLS and certificates, the clock, an answer from each webhook URL (to HEAD, so that nothing is notified), an access
    token for each target, the state record, recipients, git and the rules of a state branch. Changes nothing but the
    cache. Exits with 1 if a check failed; warnings do not count.
    """
    from reconciler.operations.doctor import examine  # noqa: PLC0415 - an HTTP client takes long to load

    workspace = Workspace(terminal)
    with checking(terminal) as observe:
        findings = examine(workspace, targets, write=write, observe=observe)
    terminal.print_report(FINDINGS[form](findings))
    has_failed = any(finding.health is Health.FAILED for finding in findings)
    return exit_code(Verdict.FAILED if has_failed else Verdict.DONE)
