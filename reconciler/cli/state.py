"""The commands of `reconciler state`, which show the record, and record what people know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.commands import command
from reconciler.cli.consent import Consent, append_with_consent, ask_consent, consent_options
from reconciler.cli.options import attempts_option, format_option
from reconciler.cli.terminal import has_terminal, says_yes
from reconciler.operations.copying import Copy
from reconciler.operations.observing import observed
from reconciler.operations.record import attempts_json, find_attempts, list_entries, verify_record
from reconciler.operations.recovery_file import recover_statement
from reconciler.planning.reasons import who
from reconciler.record.statements import AcceptLoss, Begin, Complete, Import, Move, Rebind, Resolve
from reconciler.reports.document import messages_document
from reconciler.reports.record import history_document, record_document
from reconciler.reports.words import counted

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation


@command("show", "reconciler state show", "reconciler state show 'europe/*/*' --format json")
@click.argument("where", metavar="[ADDRESS|PATTERN]", default="")
@format_option("json")
def show(invocation: Invocation, where: str, form: str) -> None:
    """Show the subscriptions that are, or may be, in force."""
    shown = find_attempts(invocation.project, where)
    invocation.terminal.report(
        lambda: record_document(shown.attempts, shown.messages, whole=shown.of_address),
        lambda: attempts_json(shown.attempts),
        form,
    )


@command("history", "reconciler state history europe/staging/offers")
@click.argument("where", metavar="[ADDRESS|PATTERN]", default="")
@format_option("json")
def history(invocation: Invocation, where: str, form: str) -> None:
    """Show the history of the record, oldest entry first."""
    entries = list_entries(invocation.project, where)
    rows = [(str(entry.number), entry.at, who(entry.by), ", ".join(entry.subjects), entry.what) for entry in entries]
    invocation.terminal.report(lambda: history_document(rows), lambda: entries, form)


@command("verify", "reconciler state verify", "reconciler state verify --state backup.jsonl")
def verify(invocation: Invocation) -> None:
    """Check the integrity of the record.

    Exits with 1 if there is no record, or if its chain is broken: the error then names the broken line.
    """
    known = verify_record(invocation.project)
    invocation.terminal.warn(*known.messages)
    torn = f", {counted(known.torn, 'byte')} of a torn write ignored" if known.torn else ""
    what = f"{counted(known.entries, 'entry', 'entries')}{torn}; the chain is intact"
    invocation.terminal.print(f"{known.place}: {what}\nrecord {known.record}\nhead {known.head}")


@command(
    "import",
    "reconciler state import europe/staging/offers",
    "reconciler state import usa/staging/old --url https://x.test/h --code LOA10013",
)
@click.argument("where", metavar="ADDRESS|PATTERN")
@click.option(
    "--attempt", metavar="ID", default="", help="The attempt id in its URL or, if the URL has none, any new id."
)
@click.option("--url", metavar="URL", default="", help="Its URL, if it differs from config/.")
@click.option("--code", "codes", metavar="CODE", multiple=True, help="Its code, if config/ differs. Repeatable.")
@consent_options
def import_(
    invocation: Invocation, where: str, attempt: str, url: str, codes: tuple[str, ...], consent: Consent
) -> None:
    """Record subscriptions that were created by other means.

    They are recorded as config/ now defines them, or with --url and --code. Subscriptions already recorded are skipped.
    """
    append_with_consent(invocation, Import(where, attempt, url, codes), consent)


@command("resolve", "reconciler state resolve europe/staging/offers --created --note 'ticket 4711'")
@click.argument("where", metavar="ADDRESS|PATTERN")
@click.option("--created/--not-created", "created", default=None, help="The outcome of the create.")
@attempts_option
@click.option("--note", metavar="TEXT", default="", help="How you know the outcome; kept in the record.")
@click.option("--force", is_flag=True, help="Override the record, or evidence that the subscription exists.")
@consent_options
def resolve(
    invocation: Invocation,
    where: str,
    created: bool | None,
    attempts: tuple[str, ...],
    note: str,
    force: bool,
    consent: Consent,
) -> None:
    """Resolve unknown outcomes, once the operator has told you what exists.

    After a wrong --not-created, the next apply creates the subscription a second time, which you can neither detect nor
    undo.
    """
    if created is None:
        raise click.UsageError("expected --created or --not-created")
    append_with_consent(invocation, Resolve(where, created, attempts, note, force), consent)


@command("mv", "reconciler state mv europe/staging/offers europe/staging/loan-offers")
@click.argument("source", metavar="FROM")
@click.argument("to", metavar="TO")
@consent_options
def mv(invocation: Invocation, source: str, to: str, consent: Consent) -> None:
    """Rename a subscription without creating it again; TO may be on another target of the same service."""
    append_with_consent(invocation, Move(source, to), consent)


@command("rebind", "reconciler state rebind -t europe/staging")
@click.option("-t", "--target", required=True, metavar="TARGET", help="The target to rebind.")
@consent_options
def rebind(invocation: Invocation, target: str, consent: Consent) -> None:
    """Point a target at the service and account in the current settings.

    You declare that these are the same service and account that the target was bound to before: a subscription recorded
    at either is in force at both. Another service needs its own target.
    """
    append_with_consent(invocation, Rebind(target), consent)


@command("observe", "reconciler state observe notifications.jsonl")
@click.argument("file")
@consent_options
def observe(invocation: Invocation, file: str, consent: Consent) -> None:
    """Record notifications as evidence.

    FILE is a file written by `listen --record`; use - for standard input. A notification at a URL with {attempt} proves
    that the attempt exists.
    """
    append_with_consent(invocation, observed(invocation.project, file), consent)


_COMPLETE_QUESTION = "Do you declare that nothing exists at these services, and that no other record of them is in use?"


@command("init", "reconciler state init --complete --yes")
@click.option(
    "--complete", is_flag=True, help="Declare that nothing exists at the services, and that no other record is in use."
)
@consent_options
def init(invocation: Invocation, complete: bool, consent: Consent) -> None:
    """Begin the record; run this once per project.

    Without --complete, nothing is created until you have imported what exists and run `state complete`.
    """
    if has_terminal() and not complete and consent.is_missing:
        complete = says_yes(_COMPLETE_QUESTION)
        consent = Consent(yes=complete)  # who answers this question is not asked a second one
    append_with_consent(invocation, Begin(complete), consent)


@command("complete", "reconciler state complete --dry-run", "reconciler state complete --yes")
@click.option("--loss", "losses", multiple=True, metavar="ID", help="End only this loss. Repeatable.")
@consent_options
def complete(invocation: Invocation, losses: tuple[str, ...], consent: Consent) -> None:
    """Declare the record complete, and allow creates.

    You declare that the record lists exactly what exists at the services, and that no other record of them is in use.
    Your declaration ends the losses listed in the preview.
    """
    append_with_consent(invocation, Complete(losses), consent)


@command("accept-loss", "reconciler state accept-loss --yes")
@consent_options
def accept_loss(invocation: Invocation, consent: Consent) -> None:
    """Continue with what is left of the record when the missing part is permanently lost.

    Nothing is created until you have recorded what exists (`state import`, `state recover`) and run `state complete`.
    """
    append_with_consent(invocation, AcceptLoss(), consent)


@command("recover", "reconciler state recover backup.jsonl")
@click.argument("source", metavar="FILE|PLACE")
@consent_options
def recover(invocation: Invocation, source: str, consent: Consent) -> None:
    """Merge facts that the record lacks.

    The facts come from a recovery file, a backup, or a copy of the record that has diverged; use - for standard input.
    """
    append_with_consent(invocation, recover_statement(invocation.project, source), consent)


@command("copy", "reconciler state copy state.jsonl git:reconciler-state")
@click.argument("source", metavar="FROM")
@click.argument("to", metavar="TO")
@consent_options
def copy(invocation: Invocation, source: str, to: str, consent: Consent) -> None:
    """Move the record to another place.

    The old place is closed and points to the new one. If the copy was interrupted, run the command again; to go back,
    copy in the other direction.
    """
    copying = Copy(invocation.project, source, to)
    if ask_consent(invocation, copying.prepare(), consent):
        done = copying.carry_out()
        invocation.terminal.work_is_done()
        invocation.terminal.show(messages_document([done], "Note"))
