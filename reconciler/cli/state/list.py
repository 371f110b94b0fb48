"""`reconciler state list`"""

from reconciler.cli.options import cli_command, format_option, target_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.listing import read_listing
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import LIST
from reconciler.reports.text import missing_text


@cli_command("list")
@target_option
@format_option(LIST)
def command(terminal: Terminal, targets: tuple[str, ...], form: str) -> int:
    """List recorded subscriptions.

    Lists every subscription that is in force or has an unknown outcome, and every target that has no record. Exits with
    1 if a record is damaged or missing.
    """
    listing = read_listing(Workspace(terminal), targets)
    if not listing.records and not listing.whole:  # "Nothing is in force" would be wrong
        return 1
    report = LIST[form](listing.records)
    if isinstance(report, str):  # a document has no place for it
        for problem in listing.missing.values():
            terminal.warn(str(problem))
    else:
        report = [*report, *missing_text(listing.missing)]
    terminal.print_report(report)
    return 0 if listing.whole else 1
