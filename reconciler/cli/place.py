"""`reconciler state`: the record is begun, mended and moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.asking import has_terminal, says_yes
from reconciler.cli.lazy import command
from reconciler.cli.stating import Consent, consent_options, is_agreed, say

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation

_COMPLETE = "Does nothing exist at these services yet, and is no other record of them in use?"


@command("init", "reconciler state init --complete --yes")
@click.option(
    "--complete", is_flag=True, help="Say that nothing exists at the services yet, and no other record is in use."
)
@consent_options
def init(invocation: Invocation, complete: bool, **consent: object) -> None:
    """Begin the record, once for a project.

    Without --complete nothing is created until you have imported what exists and run `state complete`.
    """
    from reconciler.record.statements import Begin  # noqa: PLC0415 - not for --help

    agreed = Consent(**consent)  # type: ignore[arg-type]
    if has_terminal() and not (complete or agreed.yes or agreed.dry_run or agreed.expect_digest):
        complete = says_yes(_COMPLETE)
        agreed = Consent(yes=complete)  # who has said that need not say it twice
    say(invocation, Begin(complete), agreed)


@command("complete", "reconciler state complete --dry-run", "reconciler state complete --yes")
@click.option("--loss", "losses", multiple=True, metavar="ID", help="Only this loss. Repeatable.")
@consent_options
def complete(invocation: Invocation, losses: tuple[str, ...], **consent: object) -> None:
    """Say that what exists is recorded, no more and no less, and allow creates.

    It also says that no other record of these services is in use. It ends the losses that it shows.
    """
    from reconciler.record.statements import Complete  # noqa: PLC0415 - not for --help

    say(invocation, Complete(losses), Consent(**consent))  # type: ignore[arg-type]


@command("accept-loss", "reconciler state accept-loss --yes")
@consent_options
def accept_loss(invocation: Invocation, **consent: object) -> None:
    """Go on with what is left of the record, if the rest is lost for good.

    Nothing is created until you have recorded what exists (`state import`, `state recover`) and run `state complete`.
    """
    from reconciler.record.statements import AcceptLoss  # noqa: PLC0415 - not for --help

    say(invocation, AcceptLoss(), Consent(**consent))  # type: ignore[arg-type]


@command("recover", "reconciler state recover backup.jsonl")
@click.argument("source", metavar="FILE|PLACE")
@consent_options
def recover(invocation: Invocation, source: str, **consent: object) -> None:
    """Merge facts that the record does not have.

    From a recovery file, a backup, or a copy of the record that went its own way; use - for standard input.
    """
    from reconciler.operations.recovery_file import recovered  # noqa: PLC0415 - not for --help

    say(invocation, recovered(invocation.project, source), Consent(**consent))  # type: ignore[arg-type]


@command("copy", "reconciler state copy state.jsonl git:reconciler-state")
@click.argument("source", metavar="FROM")
@click.argument("to", metavar="TO")
@consent_options
def copy(invocation: Invocation, source: str, to: str, **consent: object) -> None:
    """Move the record to another place.

    The old place is closed and names the new one. Run again, it completes what was interrupted; to go back, copy the
    other way.
    """
    from reconciler.operations.copying import Copy  # noqa: PLC0415 - not for --help
    from reconciler.reports.messages import messages_document  # noqa: PLC0415 - likewise

    copying = Copy(invocation.project, source, to)
    if is_agreed(invocation, copying.prepare(), Consent(**consent)):  # type: ignore[arg-type]
        done = copying.carry_out()
        invocation.terminal.work_is_done()
        invocation.terminal.show(messages_document([done], "Note"))
