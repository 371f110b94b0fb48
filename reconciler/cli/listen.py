"""`reconciler listen`"""

from pathlib import Path
from threading import Event

import click
from msgspec.structs import replace

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.deliveries import DeliveryPrinter
from reconciler.cli.terminal.terminal import Terminal
from reconciler.disk.directories import private_directory
from reconciler.errors import SettingsError
from reconciler.operations.signature_checker import SignatureChecker
from reconciler.operations.workspace import Workspace
from reconciler.receiver.capture_file import CaptureFile
from reconciler.receiver.endpoint import Endpoint
from reconciler.receiver.receiver import Behaviour, Receiver
from reconciler.receiver.shell import Server


@cli_command("listen")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port; 0 picks a free one.  [0]")
@click.option(
    "--record", metavar="FILE", type=click.Path(path_type=Path),
    help="File to append notifications to, as JSON Lines.  [notifications.jsonl in the user's data directory]",
)  # fmt: skip
@click.option(
    "--forward-to", metavar="URL",
    help="Pass notifications on to this endpoint, and answer as it does.",
)  # fmt: skip
@click.option(
    "--fail-first", metavar="N", type=click.IntRange(0, 1_000_000), default=0,
    help="Answer the first N deliveries of each notification with 503.  [0]",
)  # fmt: skip
@click.option("--respond", metavar="STATUS", type=click.IntRange(200, 599), help="Answer with this status.  [200]")
@click.option("--delay", metavar="SECONDS", type=float, default=0.0, help="Wait before each answer.  [0]")
@click.option("--verify", is_flag=True, help="Verify signatures as configured under `verification:`.")
@click.option(
    "--identity", metavar="FILE", type=click.Path(path_type=Path),
    help="age identity file that decrypts the recorded secrets.",
)  # fmt: skip
def command(
    terminal: Terminal,
    port: int,
    record: Path | None,
    forward_to: str | None,
    fail_first: int,
    respond: int | None,
    delay: float,
    verify: bool,
    identity: Path | None,
) -> None:
    """Receive notifications until interrupted.

    Listens on 127.0.0.1, on every path. A notification is answered with 2xx after it has been written to disk, then
    printed: formatted on a terminal, otherwise as one line of JSON. To let the service reach it, expose the port with
    a tunnel and use the tunnel's URL as webhookUrl in config/.

    With --forward-to, each request is passed on as it was received, after it has been written to disk: the same body
    and headers, but for Host and hop-by-hop headers. The sender gets the status that the endpoint answers, so that it
    retries what the endpoint has refused; without an answer 502, and 504 after --timeout. If URL has no path, requests
    keep theirs. Bodies that are not notifications are passed on too; what --verify refuses is not. `reconciler
    replay` sends saved notifications again.
    """
    if not 0 <= delay <= 3600:
        raise SettingsError("expected 0 to 3600 seconds", where="--delay", remedy="the default is 0")
    if identity is not None and not verify:
        raise click.UsageError("--identity requires --verify")
    if forward_to is not None and respond is not None:
        raise click.UsageError("use either --forward-to or --respond: the endpoint decides the status")
    workspace = Workspace(terminal)
    endpoint = None if forward_to is None else Endpoint(forward_to, workspace.timeout, "--forward-to")
    behaviour, checker = Behaviour(respond or 200, fail_first, delay), None
    path = record or _default_file(workspace)
    if verify:
        checker = SignatureChecker(workspace, identity)
        behaviour = replace(behaviour, enforce=checker.verification.enforce)
    _listen(terminal, port, path, behaviour, checker, endpoint)


def _listen(
    terminal: Terminal,
    port: int,
    path: Path,
    behaviour: Behaviour,
    checker: SignatureChecker | None,
    endpoint: Endpoint | None,
) -> None:
    printer, ending = DeliveryPrinter(terminal), Event()
    with CaptureFile(path) as file:
        pass_on = None if endpoint is None else endpoint.pass_on
        receiver = Receiver(file.append, printer.add, behaviour, checker, ending.wait, pass_on)
        receiver.remember(file.latest())
        with printer, Server(port, receiver.handle, warn=terminal.warn) as server:
            terminal.say(f"Listening at {server.url} on every path. Notifications are saved to {path}.")
            terminal.say(
                f"To receive notifications from the service, forward a tunnel to {server.url} and set webhookUrl to"
                " the tunnel's URL. Press Ctrl-C to stop."
            )
            if endpoint is not None:
                terminal.say(f"Passing notifications on to {endpoint.url}; it decides how they are answered.")
            if checker is not None:
                checker.announce()
            try:
                printer.wait()
            finally:
                ending.set()


def _default_file(workspace: Workspace) -> Path:
    """The file for notifications if --record is not used. Raises SettingsError."""
    try:
        return private_directory(workspace.data_directory) / "notifications.jsonl"
    except OSError as problem:
        raise SettingsError(
            f"cannot be created: {problem.strerror}",
            where=workspace.data_directory,
            remedy="choose another file with --record",
        ) from None
