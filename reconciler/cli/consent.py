"""Shows the facts that a statement would append to the record, asks for consent, and appends them."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from reconciler.cli.terminal import has_terminal, says_yes
from reconciler.errors import Message, Refused, step
from reconciler.operations.statements import append, prepare, refuse_unexpected
from reconciler.record.statements import CancelRemoval, RequestRemoval
from reconciler.reports.document import Changed, Commands, Document, Paragraph, Todo, Tone, alerts
from reconciler.reports.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.cli.invocation import Invocation
    from reconciler.record.statement_rows import Proposal
    from reconciler.record.statements import Statement

_FACTS_SHOWN = 20
"""The maximum number of facts that are shown before the question. A merge may append thousands."""


class Consent(Struct, frozen=True):
    """The consent given on the command line: to everything (`yes`), to one digest, or to nothing (`dry_run`)."""

    yes: bool = False
    dry_run: bool = False
    expect_digest: str = ""

    @property
    def is_missing(self) -> bool:
        """True if no option for consent was given."""
        return not (self.yes or self.dry_run or self.expect_digest)


def consent_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options `--yes`, `--dry-run` and `--expect-digest`, which are passed together as `consent`."""

    @wraps(function)
    def with_consent(*args: Any, yes: bool, dry_run: bool, expect_digest: str, **kwargs: Any) -> None:
        function(*args, consent=Consent(yes, dry_run, expect_digest), **kwargs)

    for option in (
        click.option("--yes", is_flag=True, help="Append without asking."),
        click.option("--dry-run", is_flag=True, help="Show what would be appended and its digest; append nothing."),
        click.option("--expect-digest", metavar="D", default="", help="Append only if the facts have this digest."),
    ):
        with_consent = option(with_consent)
    return with_consent


def append_with_consent(
    invocation: Invocation, statement: Statement, consent: Consent, before: Callable[[], None] = lambda: None
) -> None:
    """Show the facts that a statement would append, ask for consent, call `before`, and append them.

    Raises ReconcilerError.
    """
    terminal, project = invocation.terminal, invocation.project
    proposal = prepare(project, statement)
    if not ask_consent(invocation, proposal, consent):
        return
    before()
    appended = append(project, statement, proposal)
    terminal.work_is_done()
    following = Todo("To see what is left to do, run", (("reconciler", "plan"),))
    if isinstance(statement, RequestRemoval | CancelRemoval):
        following = Todo("To see the message to the operator, run", (("reconciler", "removal", "list"),))
    verdict = f"{counted(len(appended.facts), 'fact')} appended to {project.journal.place}."
    terminal.show(replace(_document(appended.messages, verdict), next=Commands((following,))))


def ask_consent(invocation: Invocation, proposal: Proposal, consent: Consent) -> bool:
    """Show what would be appended, and return True if it should be appended.

    Returns False in a dry run, or if there is nothing to append. Asks on a terminal. Raises Refused if a required
    consent is missing, or if the digest is not the expected one.
    """
    terminal = invocation.terminal
    if consent.dry_run:
        terminal.show(_document(_without_ids(proposal), f"Digest: {proposal.digest}. Nothing was appended.", None))
        return False
    if consent.expect_digest:
        refuse_unexpected(proposal, consent.expect_digest)
    if not proposal.facts:
        terminal.show(_document(proposal.shown, "Nothing was appended."))
        return False
    asks = not (consent.yes or consent.expect_digest) and (has_terminal() or proposal.weakens)
    shown = _without_ids(proposal) if asks and not has_terminal() else proposal.shown
    terminal.tell(_document(shown, ""), is_needed=asks)
    if asks and not has_terminal():
        review = step("review what is shown above, then repeat the command with --yes")
        steps = (review, step(f"or with --expect-digest {proposal.digest}"))
        raise Refused(Message("no-terminal", "no terminal: cannot ask for confirmation", "", steps))
    if asks and not says_yes("Append this?"):
        raise Refused(Message("not-agreed", "not confirmed; nothing was appended"))
    return True


def _without_ids(proposal: Proposal) -> tuple[Message, ...]:
    """Return the messages with `ID` in place of new ids, because the run that appends the facts generates others."""
    text = encode(proposal.shown, enc_hook=str).decode()
    for new in proposal.ids:
        text = text.replace(new, "ID")
    return decode(text, type=tuple[Message, ...])


def _document(messages: Sequence[Message], verdict: str, limit: int | None = _FACTS_SHOWN) -> Document:
    facts = [message for message in messages if message.name == "appends"]
    notices = [message for message in messages if message.name != "appends"]
    rows = [Changed("+", fact.where, fact.what, Tone.ADDED) for fact in facts[:limit]]
    more = [Paragraph(f"  and {len(facts) - len(rows)} more: --dry-run shows all")] if len(facts) > len(rows) else []
    return Document("statement", verdict, alerts=(*rows, *more), body=alerts(notices, "Note"))
