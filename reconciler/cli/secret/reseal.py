"""`reconciler secret reseal`"""

from pathlib import Path

import click

from reconciler.cli.options import cli_command, target_option, within_option
from reconciler.cli.terminal.questions import ask
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.resealing import Kept, Resealing, resealing
from reconciler.operations.workspace import Workspace
from reconciler.reports.line import Line
from reconciler.reports.wording import counted


@cli_command("reseal")
@target_option
@click.option(
    "--to",
    "keys",
    multiple=True,
    metavar="KEY",
    help="age public key to encrypt to, besides the `recipients` of config/. Repeatable.",
)
@click.option(
    "--identity", metavar="FILE", type=click.Path(path_type=Path), help="age identity file to decrypt them with."
)
@within_option
def command(
    terminal: Terminal, targets: tuple[str, ...], keys: tuple[str, ...], identity: Path | None, within: str | None
) -> int:
    """Encrypt recorded responses and secrets to other age keys as well.

    Use this before an age key is replaced, or for a person who joins. Whatever is encrypted in the record and can be
    decrypted with the identity is encrypted again, to the recipients of config/ and to each --to, and added to the
    record. What the record has already stays: who could decrypt it still can. Private files stay as they are.
    """
    edit = resealing(Workspace(terminal, within), targets, keys, identity)
    _preview(terminal, edit)
    if edit.chosen:
        ask(f"Encrypt them to {'this key' if len(edit.recipients) == 1 else 'these keys'}?")
    count = 0
    for recorded in edit.record():
        count += len(recorded)
        for kept in recorded:
            terminal.print_line(f"  {_named(kept)}: encrypted again")
    for problem in edit.unreadable:
        terminal.print_problem(problem)
    failed = f", {len(edit.unreadable)} could not be decrypted" if edit.unreadable else ""
    done = edit.done + len(edit.all_chosen) - count  # another run may have done some since
    terminal.print_line(f"{count} encrypted again, {done} already encrypted to these keys{failed}.")
    return 1 if edit.unreadable else 0


def _preview(terminal: Terminal, edit: Resealing) -> None:
    if edit.chosen:
        things = counted(len(edit.all_chosen), "response or secret", "responses and secrets")
        terminal.say(f"{things} to encrypt to {counted(len(edit.recipients), 'key')}:")
        for recipient in edit.recipients:
            terminal.say(f"  {recipient}")
        for kept in edit.all_chosen:
            terminal.say_line(Line(f"  {_named(kept)}"))
    if edit.private:
        things = counted(
            edit.private, "response or secret is in a private file", "responses and secrets are in private files"
        )
        terminal.say(f"{things}, not in the record, and not encrypted")


def _named(kept: Kept) -> str:
    return f"{kept.attempt.address}: {kept.kind} of attempt {kept.attempt.id}"
