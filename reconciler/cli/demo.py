"""`reconciler demo`"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import ReconcilerError
from reconciler.operations.new_project.config import ENVIRONMENTS, REGIONS, config_files
from reconciler.receiver.capture_file import CaptureFile
from reconciler.receiver.receiver import Receiver
from reconciler.receiver.shell import Server
from reconciler.reports.line import Line, Tone
from reconciler.sandbox.sandbox import Sandbox
from reconciler.values import Discreet

STAGING_ENDPOINT = "https://hooks.staging.partner.example"
"""The partner's endpoint in staging, as the example configuration has it."""

CAPTURED = "notifications.jsonl"


class _Shell(Discreet, frozen=True):
    """Where commands are run, shown first."""

    unprinted = ("environment",)

    terminal: Terminal
    place: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, expected: int = 0) -> None:
        """Raises ReconcilerError where the command exits with another code than the one expected."""
        _show(self.terminal, f"$ reconciler {' '.join(arguments)}", Tone.HEADING)
        command = [sys.executable, "-m", "reconciler", *arguments]
        done = subprocess.run(command, cwd=self.place, env=self.environment, check=False)  # noqa: S603 - our own words
        if done.returncode != expected:
            what = f"it exited with {done.returncode} instead of {expected}"
            raise ReconcilerError(what, where=f"reconciler {arguments[0]}")


@cli_command("demo")
def command(terminal: Terminal) -> None:
    """Run a full cycle against the embedded sandbox.

    In a temporary directory, runs `state init`, `plan`, `apply`, a second `plan` without changes, and delivers one
    event. Calls nothing outside this machine and leaves nothing behind.
    """
    with tempfile.TemporaryDirectory(prefix="reconciler-demo-") as folder, Sandbox() as sandbox:
        place = Path(folder)
        with CaptureFile(place / CAPTURED) as file, Server(0, Receiver(file.append, lambda _: None).handle) as endpoint:
            _write_example(place / "config", endpoint.url)
            _show_loop(terminal, _Shell(terminal, place, _environment(place, dict(sandbox.variables()))), sandbox)
    _show(
        terminal,
        "That was the demo; nothing of it is left. To begin a project of your own, in an empty directory, run:"
        " reconciler init",
    )


def _write_example(config: Path, endpoint: str) -> None:
    """Write the configuration of a new project, with the partner's endpoint in staging on this machine."""
    config.mkdir()
    for name, text in config_files(REGIONS, ENVIRONMENTS).items():
        (config / name).write_text(text.replace(STAGING_ENDPOINT, endpoint), encoding="utf-8")


def _show_loop(terminal: Terminal, shell: _Shell, sandbox: Sandbox) -> None:
    _show(terminal, "This demo uses the example configuration and a sandbox of the service on this machine.")
    shell.run("state", "init")
    shell.run("plan", "--detailed-exitcode", expected=2)
    shell.run("apply", "--auto-approve", "-q")
    shell.run("plan", "--detailed-exitcode")
    _show(
        terminal,
        f"The sandbox now has {len(sandbox.world.commits)} subscriptions and has issued {len(sandbox.world.tokens)}"
        " tokens. Next, an event: offers are provided for a lead.",
    )
    shell.run("sandbox", "trigger", "ONB10011", "-t", "europe/staging")
    sandbox.deliveries.wait_idle(10)
    shell.run("state", "observe", CAPTURED)
    shell.run("status")


def _environment(place: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a user who has nothing but the sandbox's variables."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_") and name != "CI"}
    homes = {"XDG_CACHE_HOME": str(place / "cache"), "XDG_DATA_HOME": str(place / "data")}
    return {**ours, **variables, **homes}


def _show(terminal: Terminal, text: str, tone: Tone = Tone.PLAIN) -> None:
    terminal.print_lines([Line(""), Line(text, tone)])
    sys.stdout.flush()
