"""`reconciler state import`"""

import click

from reconciler.cli.options import cli_command, known, target_option, within_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.import_ import import_subscriptions
from reconciler.operations.workspace import Workspace


@cli_command("import")
@click.argument("address", required=False, shell_complete=known("address"))
@click.option("--all", "everything", is_flag=True, help="Import everything in config/ that is not recorded.")
@target_option
@within_option
def command(
    terminal: Terminal, address: str | None, everything: bool, targets: tuple[str, ...], within: str | None
) -> None:
    """Import subscriptions that were created manually.

    Records ADDRESS as existing, as config/ defines it now; with --all, everything that config/ defines. Skips what is
    already recorded, also under another address. Sends nothing.
    """
    if (address is None) != everything or (targets and not everything):
        raise click.UsageError("expected an ADDRESS, or --all (with optional -t)")
    is_empty = True
    for done in import_subscriptions(Workspace(terminal, within), address, targets):
        is_empty = False
        if done.codes:
            codes, url = ", ".join(done.codes), done.subscription.url
            terminal.print_line(f"  {done.subscription.address}: imported, {codes} to {url}")
        for reason in done.skipped:
            terminal.print_line(f"  {done.subscription.address}: skipped: {reason}")
    if is_empty:
        terminal.print_line("config/ defines no matching subscription.")
