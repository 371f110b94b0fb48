"""`reconciler secret`: one file for each of its commands."""

from __future__ import annotations

import click

from reconciler.cli.lazy import LazyGroup
from reconciler.cli.options import common_options

COMMANDS = {
    "show": ("reconciler.cli.secret.show", "Print the secret, or the create response that may contain it."),
    "set": ("reconciler.cli.secret.set", "Store a secret obtained outside of the create response."),
}


@click.group("secret", cls=LazyGroup, table=COMMANDS)
@common_options
def command() -> None:
    """Show or set the secret of a subscription.

    The service signs its notifications with this secret.
    """
