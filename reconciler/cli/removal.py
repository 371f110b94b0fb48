"""`reconciler removal`: what the operator is asked to remove, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.lazy import command
from reconciler.cli.options import attempts_option, codes_option, format_option, target_option
from reconciler.cli.stating import consent_options, say
from reconciler.cli.status import status_of
from reconciler.planning.status import removals as removals_of
from reconciler.record.statements import CancelRemoval, ConfirmRemoval, RequestRemoval
from reconciler.reports.json import removals_json
from reconciler.reports.plan import surplus_messages
from reconciler.reports.status import removals_document

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation
    from reconciler.cli.stating import Consent


@command("list", "reconciler removal list", "reconciler removal list -t usa/production --format markdown")
@target_option
@format_option("json", "markdown")
def list_(invocation: Invocation, patterns: tuple[str, ...], form: str) -> None:
    """Show the messages to send to the operator.

    One message for each target: what is to be removed and since when, what is to stay, and what only the operator
    knows.
    """
    known = status_of(invocation.project, patterns, current=True)
    removals = removals_of(known)
    surplus = [message for message in surplus_messages(known.plan) if message.steps]  # the others are in a letter
    invocation.terminal.report(lambda: removals_document(removals, surplus), lambda: removals_json(removals), form)


@command("request", "reconciler removal request europe/staging/offers --code ONB10011")
@click.argument("where", metavar="ADDRESS|PATTERN")
@attempts_option
@codes_option
@consent_options
def request(
    invocation: Invocation, where: str, attempts: tuple[str, ...], codes: tuple[str, ...], consent: Consent
) -> None:
    """Ask for the removal of what is in force, or of event codes of it.

    The service has no call for this: `removal list` prints the message to send to the operator.
    """
    say(invocation, RequestRemoval(where, attempts, codes), consent)


@command("cancel", "reconciler removal cancel europe/staging/offers")
@click.argument("where", metavar="ADDRESS|PATTERN")
@attempts_option
@codes_option
@consent_options
def cancel(
    invocation: Invocation, where: str, attempts: tuple[str, ...], codes: tuple[str, ...], consent: Consent
) -> None:
    """Take a request back: what it is about stays. Tell the operator too."""
    say(invocation, CancelRemoval(where, attempts, codes), consent)


@command("confirm", "reconciler removal confirm europe/staging/offers", "reconciler removal confirm 'usa/*/*' --yes")
@click.argument("where", metavar="ADDRESS|PATTERN")
@attempts_option
@codes_option
@consent_options
def confirm(
    invocation: Invocation, where: str, attempts: tuple[str, ...], codes: tuple[str, ...], consent: Consent
) -> None:
    """Record that the operator has removed what was to be removed.

    The next apply may create it again, if config/ desires it.
    """
    say(invocation, ConfirmRemoval(where, attempts, codes), consent)
