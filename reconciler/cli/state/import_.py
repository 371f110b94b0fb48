"""`reconciler state import`"""

from collections.abc import Iterable, Iterator

import click

from reconciler.cli.options import cli_command, target_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.import_ import Import, import_subscriptions
from reconciler.operations.workspace import Workspace
from reconciler.reports.line import Line


@cli_command("import")
@click.argument("address", required=False)
@click.option("--all", "everything", is_flag=True, help="Import everything in config/ that is not recorded.")
@target_option
def command(terminal: Terminal, address: str | None, everything: bool, targets: tuple[str, ...]) -> None:
    """Import subscriptions that were created manually.

    Records ADDRESS as existing, as config/ defines it now; with --all, everything that config/ defines. Skips what is
    already recorded, also under another address. Sends nothing.
    """
    if (address is None) != everything or (targets and not everything):
        raise click.UsageError("expected an ADDRESS, or --all (with optional -t)")
    is_empty = True
    for imports in import_subscriptions(Workspace(terminal), address, targets):
        is_empty = False
        terminal.print_lines(_lines(imports))
    if is_empty:
        terminal.print_line("config/ defines no subscription there.")


def _lines(imports: Iterable[Import]) -> Iterator[Line]:
    for done in imports:
        shown = done.subscription.address
        if done.codes:
            yield Line(f"  {shown}: imported, {', '.join(done.codes)} to {done.subscription.url}")
        for reason in done.skipped:
            yield Line(f"  {shown}: skipped: {reason}")
