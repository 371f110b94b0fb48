"""`reconciler sandbox trigger`"""

from pathlib import Path

import click

from reconciler.cli.options import cli_command, known
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.sandbox_events import SANDBOX_URL, trigger_event
from reconciler.operations.workspace import Workspace
from reconciler.reports.wording import counted


@cli_command("trigger")
@click.argument("code")
@click.option(
    "--properties", metavar="FILE", type=click.Path(path_type=Path), help="File with the EventProperties, as JSON."
)
@click.option(
    "--count", metavar="N", type=click.IntRange(1, 10_000), default=1, help="Number of events to trigger.  [1]"
)
@click.option("-t", "--target", metavar="TARGET", shell_complete=known("target"), help="Limit to this target.")
@click.option("--url", metavar="URL", help=f"URL of the sandbox.  [{SANDBOX_URL}]")
def command(
    terminal: Terminal, code: str, properties: Path | None, count: int, target: str | None, url: str | None
) -> None:
    """Trigger an event in a running sandbox.

    CODE is an event code such as ONB10011. Sends a notification to every subscription with this code and retries if it
    is not confirmed. Without --properties, ONB10011 gets sample properties. Use - as FILE for standard input.
    """
    started = trigger_event(Workspace(terminal), url, code, properties, count, target)
    terminal.work_is_done()
    deliveries = f"{counted(started, 'delivery', 'deliveries')} started"
    terminal.print_line(deliveries if started else f"No subscription has {code}: nothing delivered")
