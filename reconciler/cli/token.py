"""`reconciler token`"""

from __future__ import annotations

import click

from reconciler.cli.actions import mask
from reconciler.cli.foreign import print_value
from reconciler.cli.options import common_options
from reconciler.cli.workspace import Workspace

APIS = ("onboarding", "notification", "prequalification", "loan", "preapproval", "testsupport")


@click.command("token")
@click.option("-t", "--target", metavar="TARGET", required=True, help="Whose identity provider and account.")
@click.option("--api", type=click.Choice(APIS), default="notification", help="For which API.  [notification]")
@common_options
def command(target: str, api: str) -> None:
    """Print an access token.

    It comes from the cache if there is one that is still good.
    """
    from reconciler.cli.calling import Calling, only_target  # noqa: PLC0415 - an HTTP client takes long to load

    workspace = Workspace()
    with Calling(workspace) as calling:
        token = calling.token(only_target(workspace, target), api)
    mask(token)
    print_value(token)
