"""The commands of `reconciler removal`, which show, request, cancel and confirm removals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.commands import command
from reconciler.cli.consent import append_with_consent, consent_options
from reconciler.cli.options import attempts_option, codes_option, format_option, target_option
from reconciler.cli.status import status_of
from reconciler.planning.status import removals as removals_of
from reconciler.record.statements import CancelRemoval, ConfirmRemoval, RequestRemoval
from reconciler.reports.json import removals_json
from reconciler.reports.removals import removals_document

if TYPE_CHECKING:
    from reconciler.cli.consent import Consent
    from reconciler.cli.invocation import Invocation


@command("list", "reconciler removal list", "reconciler removal list -t usa/production --format markdown")
@target_option
@format_option("json", "markdown")
def list_(invocation: Invocation, patterns: tuple[str, ...], form: str) -> None:
    """Show the messages to send to the operator.

    There is one message per target. It says what to remove and when each removal was requested, what to keep, and
    which unknown creates the operator must look up.
    """
    known = status_of(invocation.project, patterns, current=True)
    removals = removals_of(known)
    invocation.terminal.report(
        lambda: removals_document(removals, known.plan, known.now), lambda: removals_json(removals), form
    )


@command("request", "reconciler removal request europe/staging/offers --code ONB10011")
@click.argument("where", metavar="ADDRESS|PATTERN")
@attempts_option
@codes_option
@consent_options
def request(
    invocation: Invocation, where: str, attempts: tuple[str, ...], codes: tuple[str, ...], consent: Consent
) -> None:
    """Request the removal of subscriptions in force, or of some of their event codes.

    The service has no call for this: `removal list` prints the message to send to the operator.
    """
    append_with_consent(invocation, RequestRemoval(where, attempts, codes), consent)


@command("cancel", "reconciler removal cancel europe/staging/offers")
@click.argument("where", metavar="ADDRESS|PATTERN")
@attempts_option
@codes_option
@consent_options
def cancel(
    invocation: Invocation, where: str, attempts: tuple[str, ...], codes: tuple[str, ...], consent: Consent
) -> None:
    """Cancel a removal request: the subscription stays.

    If you have already sent the message, tell the operator too.
    """
    append_with_consent(invocation, CancelRemoval(where, attempts, codes), consent)


@command("confirm", "reconciler removal confirm europe/staging/offers", "reconciler removal confirm 'usa/*/*' --yes")
@click.argument("where", metavar="ADDRESS|PATTERN")
@attempts_option
@codes_option
@consent_options
def confirm(
    invocation: Invocation, where: str, attempts: tuple[str, ...], codes: tuple[str, ...], consent: Consent
) -> None:
    """Confirm that the operator has removed what was requested.

    If config/ still desires the subscription, the next apply creates it again.
    """
    append_with_consent(invocation, ConfirmRemoval(where, attempts, codes), consent)
