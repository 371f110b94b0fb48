"""`reconciler state import`"""

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from reconciler.cli.options import cli_command, known, target_option, within_option
from reconciler.cli.terminal.questions import ask, has_terminal
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.import_ import Import, Importing
from reconciler.operations.workspace import Workspace
from reconciler.reports.letters import ids_of
from reconciler.reports.wording import counted


@cli_command("import")
@click.argument("address", required=False, shell_complete=known("address"))
@click.option("--all", "everything", is_flag=True, help="Import everything in config/ that is not recorded.")
@target_option
@click.option("--force", is_flag=True, help="With --all: do not ask for confirmation.")
@within_option
def command(
    terminal: Terminal,
    address: str | None,
    everything: bool,
    targets: tuple[str, ...],
    force: bool,
    within: str | None,
) -> None:
    """Import subscriptions that were created manually.

    Records ADDRESS as existing, as config/ defines it now; with --all, everything that config/ defines. Skips what is
    already recorded, also under another address, and with --all what is recorded with another URL or other event codes.
    With --all at a terminal, lists what it would record and asks first. Sends nothing.
    """
    if (address is None) != everything or (targets and not everything):
        raise click.UsageError("expected an ADDRESS, or --all (with optional -t)")
    importing = Importing(Workspace(terminal, within), address, targets)
    asks = everything and not force and has_terminal()
    if asks:
        _ask(terminal, importing.preview())
    is_empty, imported = True, []
    for done in importing.record():
        is_empty = False
        if done.codes:
            imported.append(done)
            terminal.print_line(f"  {done.subscription.address}: imported, {_codes_and_url(done)}")
        for reason in done.skipped:
            terminal.print_line(f"  {done.subscription.address}: skipped: {reason}")
    if is_empty:
        terminal.print_line("config/ defines no matching subscription.")
    _name_what_it_was(terminal, imported)
    if everything and not asks and imported:
        trusted = counted(len(imported), "subscription")
        terminal.say(f"Recorded as existing without a question, since you say so: {trusted}.")
    _name_the_way_back(terminal, imported)
    _advise_on_secrets(terminal, imported, importing.earlier_responses())


def _ask(terminal: Terminal, found: Sequence[Import]) -> None:
    """Show what would be imported and what not, and ask. Raises Refused for any answer but yes."""
    imports = [done for done in found if done.codes]
    if not imports:
        return
    for done in found:
        for reason in done.skipped:
            terminal.say(f"  {done.subscription.address}: left out: {reason}")
    for done in imports:
        terminal.say(f"  {done.subscription.address}: to be imported, {_codes_and_url(done)}")
    which = "Does it" if len(imports) == 1 else f"Do all {len(imports)}"
    ask(f"{which} exist at the service exactly like this?")


def _codes_and_url(done: Import) -> str:
    return f"{', '.join(done.codes)} to {done.subscription.url}"


def _name_what_it_was(terminal: Terminal, imported: Sequence[Import]) -> None:
    """The ids that a request to delete what was imported would lack, where the record has them of what is gone."""
    for done in imported:
        if done.perhaps is not None and (ids := ids_of(done.perhaps)):
            terminal.say(
                f"{done.subscription.address} is perhaps what was recorded as removed (attempt {done.perhaps.id}):"
                f" {ids}; name that in a request to delete it"
            )


def _name_the_way_back(terminal: Terminal, imported: Sequence[Import]) -> None:
    for done in imported:
        address = done.subscription.address
        which = "it" if len(imported) == 1 else address
        terminal.say(
            f"If {which} does not exist at the service, run: reconciler state removed {address}"
            f" --attempt {done.attempt} --force"
        )


def _advise_on_secrets(terminal: Terminal, imported: Sequence[Import], directories: Sequence[Path]) -> None:
    """Say that no secret came with an import, and where responses of a lost record may have it."""
    if not imported:
        return
    is_one = len(imported) == 1
    address = imported[0].subscription.address if is_one else "ADDRESS"
    looked_up = ""
    if directories:
        places = ", ".join(shlex.quote(str(directory)) for directory in directories)
        looked_up = f"look for it in the create responses of the lost record, which are in {places}, or "
    terminal.say(
        f"No secret of {'it' if is_one else 'these'} is recorded; {looked_up}ask the operator for it, then run:"
        f" reconciler secret set {address}"
    )
