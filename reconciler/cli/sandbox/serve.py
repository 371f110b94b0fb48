"""`reconciler sandbox serve`"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import SettingsError
from reconciler.operations.sandbox_set_up import check_env_file, sandbox_targets, write_env_file
from reconciler.operations.workspace import Workspace
from reconciler.reports.line import Line
from reconciler.sandbox.memory import Memory
from reconciler.sandbox.sandbox import Sandbox


@cli_command("serve")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port; 0 picks a free one.  [0]")
@click.option(
    "--data", metavar="DIR", type=click.Path(path_type=Path),
    help="Directory to remember in what happened, across restarts.  [none]",
)  # fmt: skip
@click.option(
    "--env-file", metavar="FILE", type=click.Path(path_type=Path),
    help="Write the NAME=value lines to this file, such as .env, instead.",
)  # fmt: skip
@click.option(
    "--retry-interval", metavar="SECONDS", type=float, default=15.0, help="Delay between delivery retries.  [15]"
)
@click.option(
    "--fault", "faults", metavar="NAME=PROBABILITY", multiple=True,
    help="Fault to inject, with its probability; repeatable.",
)  # fmt: skip
@click.option("--seed", metavar="N", type=int, help="Random seed, to repeat the faults of an earlier run.")
def command(
    terminal: Terminal, port: int, data: Path | None, env_file: Path | None, retry_interval: float,
    faults: tuple[str, ...], seed: int | None,
) -> None:  # fmt: skip
    """Run the sandbox until interrupted.

    Listens on 127.0.0.1 and implements tokens, subscriptions, leads and deliveries, for the targets of config/ if there
    is one. With --data, it continues after a restart: same port, credentials and subscriptions, and the deliveries that
    were not finished. When ready, prints NAME=value lines that point reconciler at it. Commands read them from .env:

    \b
        reconciler sandbox serve --data sandbox --env-file .env

    Or have a shell set them, in CI for instance, where .env is not read:

    \b
        rm -f sandbox.env; reconciler sandbox serve >sandbox.env 2>/dev/null &
        until [ -s sandbox.env ]; do sleep 0.1; done; set -a; . ./sandbox.env; set +a

    Without --data, all is lost when it stops: use a new state record (--state) for each run.

    \b
    Faults, each with a probability from 0 to 1, such as --fault reset-after=0.1:
      refuse, reset-before, hang        not processed, no answer
      reset-after, hang-after, half     processed, the answer is lost or cut off
      drip, huge, empty                 processed; 1 byte/s, 100 MB, no content
      html                              processed, 502 and an HTML page
      500-after, 502-after              processed, this status
      400 401 403 404 408 409 422 429   not processed, this status
      499 500 503                       the same
      401-once                          the token is revoked, another is needed
      429-retry-after, 429-forever      429 with Retry-After of 1 s, of 3 years
      html-200, redirect, redirect-303  not processed; a proxy answers instead
      token-NAME                        any but 401-once, at the token endpoint
    """
    if not 0 <= retry_interval <= 86_400:
        raise SettingsError("expected 0 to 86400 seconds", where="--retry-interval", remedy="the default is 15")
    start = partial(
        Sandbox, targets=sandbox_targets(Workspace(terminal)), retry_interval=retry_interval,
        faults=dict(map(_fault, faults)), seed=seed, warn=terminal.warn,
    )  # fmt: skip
    if env_file is not None:
        check_env_file(env_file)
    _start(terminal, start, port, data, env_file)


def _start(
    terminal: Terminal, start: Callable[..., Sandbox], port: int, data: Path | None, env_file: Path | None
) -> None:
    if data is None:
        _serve(terminal, start(port), env_file)
        return
    with Memory(data) as memory:
        sandbox = start(port or memory.port, credentials=memory.credentials)
        sandbox.continue_from(memory)
        _serve(terminal, sandbox, env_file)


def _serve(terminal: Terminal, sandbox: Sandbox, env_file: Path | None) -> None:
    with sandbox:
        if env_file is None:
            terminal.print_lines(Line(f"{name}={value}") for name, value in sandbox.variables())
        else:
            write_env_file(env_file, sandbox.variables())
            terminal.say(f"The variables that point at the sandbox are in {env_file}.")
        terminal.say(f"Serving at {sandbox.url}. Press Ctrl-C to stop; in the background, run: kill {os.getpid()}")
        sandbox.serve_forever()


def _fault(text: str) -> tuple[str, float]:
    name, equals, probability = text.partition("=")
    try:
        return name, float(probability) if equals else 1.0
    except ValueError:
        raise SettingsError(
            "the probability is not a number", where=f"--fault {text}", remedy="use a number from 0 to 1"
        ) from None
