"""`reconciler sandbox serve`"""

from __future__ import annotations

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines, say
from reconciler.errors import SettingsError
from reconciler.reports.text import Line


@click.command("serve")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="0 takes any that is free.  [0]")
@click.option(
    "--retry-interval", metavar="SECONDS", type=float, default=15.0, help="Between tries to deliver an event.  [15]"
)
@click.option("--fault", "faults", metavar="NAME=PROBABILITY", multiple=True, help="Something to go wrong; repeatable.")
@click.option("--seed", metavar="N", type=int, help="Repeats the faults of an earlier run.")
@common_options
def command(port: int, retry_interval: float, faults: tuple[str, ...], seed: int | None) -> None:
    """Serve until interrupted.

    On 127.0.0.1: tokens, subscriptions, leads, and deliveries. On start it prints, as NAME=value lines, the variables
    that point reconciler at it:

    \b
        reconciler sandbox serve >sandbox.env &
        set -a; . ./sandbox.env; set +a
    """
    from reconciler.sandbox.sandbox import Sandbox  # noqa: PLC0415 - a server is nothing --help needs

    if not 0 <= retry_interval <= 86_400:
        raise SettingsError("0 to 86400 seconds are wanted", where="--retry-interval", remedy="the default is 15")
    with Sandbox(port, retry_interval=retry_interval, faults=dict(map(_fault, faults)), seed=seed) as sandbox:
        print_lines(Line(f"{name}={value}") for name, value in sandbox.variables())
        say(f"Serving at {sandbox.url}; Ctrl-C ends it.")
        sandbox.serve_forever()


def _fault(text: str) -> tuple[str, float]:
    name, equals, probability = text.partition("=")
    try:
        return name, float(probability) if equals else 1.0
    except ValueError:
        raise SettingsError("the probability is no number", where=f"--fault {text}", remedy="from 0 to 1") from None
