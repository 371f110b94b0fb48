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
from reconciler.receiver.receiver import Behaviour, Receiver
from reconciler.receiver.shell import Server


@cli_command("listen")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port; 0 picks a free one.  [0]")
@click.option(
    "--record", metavar="FILE", type=click.Path(path_type=Path),
    help="File to append notifications to, as JSON Lines.  [notifications.jsonl in the user's data directory]",
)  # fmt: skip
@click.option(
    "--fail-first", metavar="N", type=click.IntRange(0, 1_000_000), default=0,
    help="Answer the first N deliveries of each notification with 503.  [0]",
)  # fmt: skip
@click.option(
    "--respond", metavar="STATUS", type=click.IntRange(200, 599), default=200, help="Answer with this status.  [200]"
)
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
    fail_first: int,
    respond: int,
    delay: float,
    verify: bool,
    identity: Path | None,
) -> None:
    """Receive notifications until interrupted.

    Listens on 127.0.0.1, on every path. A notification is answered with 2xx after it has been written to disk, then
    printed: formatted on a terminal, otherwise as one line of JSON. To let the service reach it, expose the port with
    a tunnel and use the tunnel's URL as webhookUrl in config/.
    """
    if not 0 <= delay <= 3600:
        raise SettingsError("expected 0 to 3600 seconds", where="--delay", remedy="the default is 0")
    if identity is not None and not verify:
        raise click.UsageError("--identity requires --verify")
    workspace = Workspace(terminal)
    behaviour, checker = Behaviour(respond, fail_first, delay), None
    path = record or _default_file(workspace)
    if verify:
        checker = SignatureChecker(workspace, identity)
        behaviour = replace(behaviour, enforce=checker.verification.enforce)
    _listen(terminal, port, path, behaviour, checker)


def _listen(terminal: Terminal, port: int, path: Path, behaviour: Behaviour, checker: SignatureChecker | None) -> None:
    printer, ending = DeliveryPrinter(terminal), Event()
    with CaptureFile(path) as file:
        receiver = Receiver(file.append, printer.add, behaviour, checker, ending.wait)
        receiver.remember(file.latest())
        with printer, Server(port, receiver.handle, warn=terminal.warn) as server:
            terminal.say(f"Listening at {server.url} on every path. Notifications are saved to {path}.")
            terminal.say(
                f"To receive notifications from the service, forward a tunnel to {server.url} and set webhookUrl to"
                " the tunnel's URL. Press Ctrl-C to stop."
            )
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
