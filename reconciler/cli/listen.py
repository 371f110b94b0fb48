"""`reconciler listen`"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from time import sleep
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import Interrupted, SettingsError
from reconciler.operations.interrupts import interrupts
from reconciler.operations.workspace import Workspace

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.receiver import Delivery
    from reconciler.receiver.receiver import Behaviour

_UNSHOWN_LIMIT = 1000
_PATIENCE = 5.0  # seconds for whoever reads stdout


@click.command("listen")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="0 takes any that is free.  [0]")
@click.option(
    "--record", metavar="FILE", type=click.Path(path_type=Path),
    help="Where notifications are kept, as JSON Lines.  [notifications.jsonl in the user's data directory]",
)  # fmt: skip
@click.option(
    "--fail-first", metavar="N", type=click.IntRange(0, 1_000_000), default=0,
    help="Answer the first N deliveries of each notification with 503.  [0]",
)  # fmt: skip
@click.option(
    "--respond", metavar="STATUS", type=click.IntRange(200, 599), default=200, help="Answer with this status.  [200]"
)
@click.option("--delay", metavar="SECONDS", type=float, default=0.0, help="Wait before each answer.  [0]")
@click.option("--verify", is_flag=True, help="Verify signatures, as `verification:` in config/ says.")
@click.option("--identity", metavar="FILE", type=click.Path(path_type=Path), help="The age identity for --verify.")
@common_options
@pass_terminal
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

    On 127.0.0.1, at any path. Each is answered with a 2xx only once it is on the disk, and shown: on a terminal for
    people, off one as a line of JSON. To let the service reach it, expose the port with a tunnel of your choice, and
    put the tunnel's URL into config/.
    """
    from reconciler.receiver import Behaviour  # noqa: PLC0415 - a server is nothing --help needs

    if not 0 <= delay <= 3600:
        raise SettingsError("0 to 3600 seconds are wanted", where="--delay", remedy="the default is 0")
    if identity is not None and not verify:
        raise click.UsageError("--identity says with what to --verify, which is not asked for")
    workspace = Workspace(terminal)
    behaviour = Behaviour(respond, fail_first, delay)
    _listen(terminal, workspace, port, record or _usual_file(workspace), behaviour, identity, verify=verify)


def _listen(
    terminal: Terminal,
    workspace: Workspace,
    port: int,
    path: Path,
    behaviour: Behaviour,
    identity: Path | None,
    *,
    verify: bool,
) -> None:
    from reconciler.operations.verifier import Verifier  # noqa: PLC0415
    from reconciler.receiver import CaptureFile, Receiver, Server  # noqa: PLC0415

    verifier = Verifier(workspace, identity) if verify else None
    if verifier is not None:
        behaviour = replace(behaviour, enforce=verifier.how.enforce)
    news, ending = _News(terminal), Event()
    with CaptureFile(path) as file:
        receiver = Receiver(file.append, news.tell, behaviour, verifier, ending.wait)
        receiver.remember(file.latest())
        with news, Server(port, receiver.handle, warn=terminal.warn) as server:
            terminal.say(f"Listening at {server.url} for any path; Ctrl-C ends it. Notifications are kept in {path}.")
            terminal.say(
                f"To let the service reach it, point a tunnel of your choice to {server.url}, and webhookUrl to that."
            )
            if verifier is not None:
                verifier.tell()
            try:
                news.wait()
            finally:
                ending.set()


def _usual_file(workspace: Workspace) -> Path:
    """Where notifications are kept that nobody named a place for. Raises SettingsError."""
    from reconciler.disk.directories import private_directory  # noqa: PLC0415

    try:
        return private_directory(workspace.data_directory) / "notifications.jsonl"
    except OSError as problem:
        raise SettingsError(
            f"cannot be made: {problem.strerror}", where=workspace.data_directory, remedy="name a file with --record"
        ) from None


class _News:
    """Deliveries on their way to stdout. The threads that answer tell them, and one of their own shows them."""

    def __init__(self, terminal: Terminal) -> None:
        from reconciler.cli.terminal.deliveries import deliveries_shown  # noqa: PLC0415

        self._terminal = terminal
        self._show = deliveries_shown(terminal)
        self._waiting: SimpleQueue[Delivery | None] = SimpleQueue()
        self._room = Semaphore(_UNSHOWN_LIMIT)
        self._unshown = 0
        self._problem: Exception | None = None
        self._thread = Thread(target=self._show_all, name="shower", daemon=True)

    def tell(self, delivery: Delivery) -> None:
        """Have a delivery shown; given up where nobody reads stdout, since answers would wait for it."""
        if self._room.acquire(timeout=_PATIENCE):
            self._waiting.put(delivery)
        else:
            self._unshown += 1

    def wait(self) -> None:
        """Wait until a signal comes, and raise Interrupted; or until deliveries cannot be shown any more."""
        with interrupts(lambda: None) as caught:
            while not caught and self._thread.is_alive():
                sleep(0.1)
        if caught:
            raise Interrupted(caught[0])

    def _show_all(self) -> None:
        try:
            for delivery in iter(self._waiting.get, None):
                self._room.release()
                self._show(delivery)
                if self._terminal.reader_has_left():
                    return
        except Exception as problem:  # noqa: BLE001 - told where the command ends
            self._problem = problem

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        """Has what is left shown, and raises what kept deliveries from being shown."""
        self._waiting.put(None)
        self._terminal.wait_for_reader(self._thread, "stdout")
        if self._thread.is_alive():
            self._terminal.warn(
                "not all deliveries were shown, since nobody reads them; all that were confirmed are kept"
            )
        if self._unshown:
            self._terminal.warn(f"{self._unshown} deliveries were not shown, since nobody read them")
        if self._problem is not None and kind is None:
            raise self._problem
