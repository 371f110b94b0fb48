"""`reconciler sandbox serve`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import SettingsError
from reconciler.reports.line import Line

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("serve")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="0 takes any that is free.  [0]")
@click.option(
    "--retry-interval", metavar="SECONDS", type=float, default=15.0, help="Between tries to deliver an event.  [15]"
)
@click.option("--fault", "faults", metavar="NAME=PROBABILITY", multiple=True, help="Something to go wrong; repeatable.")
@click.option("--seed", metavar="N", type=int, help="Repeats the faults of an earlier run.")
@common_options
@pass_terminal
def command(terminal: Terminal, port: int, retry_interval: float, faults: tuple[str, ...], seed: int | None) -> None:
    """Serve until interrupted.

    On 127.0.0.1: tokens, subscriptions, leads, and deliveries. Once it is ready it prints, as NAME=value lines, the
    variables that point reconciler at it:

    \b
        rm -f sandbox.env; reconciler sandbox serve >sandbox.env &
        until [ -s sandbox.env ]; do sleep 0.1; done; set -a; . ./sandbox.env; set +a

    When it ends it forgets all, its credentials too: start a new state record for each (--state).

    \b
    Faults, each with a probability from 0 to 1, such as --fault reset-after=0.1:
      refuse, reset-before, hang          the request is not carried out, and not answered
      reset-after, hang-after, half       it is carried out, and the answer is lost or breaks off
      drip, huge, empty                   it is carried out; the answer comes a byte a second, is 100 MB, is empty
      html                                it is carried out, and answered with 502 and a page
      500-after, 502-after                it is carried out, and answered so all the same
      400 401 403 404 408 409 422 429     it is not carried out, and answered so; 499 500 503 too
      401-once                            the token is revoked, so that another has to be fetched
      429-retry-after, 429-forever        429, to be repeated after a second, after three years
      html-200, redirect, redirect-303    it is not carried out, and a proxy answers in its place
      token-NAME                          the same for the token endpoint, but for 401-once
    """
    from reconciler.sandbox.sandbox import Sandbox  # noqa: PLC0415 - a server is nothing --help needs

    if not 0 <= retry_interval <= 86_400:
        raise SettingsError("0 to 86400 seconds are wanted", where="--retry-interval", remedy="the default is 15")
    with Sandbox(
        port, retry_interval=retry_interval, faults=dict(map(_fault, faults)), seed=seed, warn=terminal.warn
    ) as sandbox:
        terminal.print_lines(Line(f"{name}={value}") for name, value in sandbox.variables())
        terminal.say(f"Serving at {sandbox.url}; Ctrl-C ends it.")
        sandbox.serve_forever()


def _fault(text: str) -> tuple[str, float]:
    name, equals, probability = text.partition("=")
    try:
        return name, float(probability) if equals else 1.0
    except ValueError:
        raise SettingsError("the probability is no number", where=f"--fault {text}", remedy="from 0 to 1") from None
