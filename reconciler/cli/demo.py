"""The command `reconciler demo`, which shows a complete run against the embedded sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from reconciler.cli.commands import command
from reconciler.errors import Message, ReconcilerError
from reconciler.operations.listening import Listening
from reconciler.operations.sandbox import sandbox_served

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.cli.invocation import Invocation

_CONFIG = """\
targets:
  europe/staging: {{auth_url: {AUTH_URL}, base_url: {BASE_URL}, audience_base: {AUDIENCE_BASE}}}
subscriptions:
  "*/*":
    offers: {{eventCodes: [ONB10011], webhookUrl: "{endpoint}/offers/{{attempt}}"}}
    applications: {{eventCodes: [LOA10013, ONB10001], webhookUrl: "{endpoint}/applications"}}
"""
_URLS = ("AUTH_URL", "BASE_URL", "AUDIENCE_BASE")


@command("demo", "reconciler demo")
def demo(invocation: Invocation) -> None:
    """Run the whole loop against the embedded sandbox: plan, apply, an event, and a second plan without changes.

    It calls nothing outside this machine and leaves nothing behind.
    """
    with TemporaryDirectory(prefix="reconciler-demo-") as folder:
        place = Path(folder)
        captured = place / "notifications.jsonl"
        with (
            sandbox_served(0, ["europe/staging"], place / "sandbox") as sandbox,
            Listening(0, captured, place) as endpoint,
        ):
            (place / "config").mkdir()
            variables = dict(sandbox.variables())
            urls = {field: variables.pop(f"RECONCILER_EUROPE_STAGING_{field}") for field in _URLS}
            config = _CONFIG.format(endpoint=endpoint.url, **urls)
            (place / "config" / "demo.yaml").write_text(config, encoding="utf-8")
            environment = _environment(place, variables)
            _run(invocation, place, environment, "state", "init", "--complete", "--yes", "-q", shown="appended")
            _run(invocation, place, environment, "plan")
            _run(invocation, place, environment, "apply", "--auto-approve", "-q", shown="Applied")
            _run(invocation, place, environment, "sandbox", "trigger", "ONB10011")
            sandbox.wait_idle(10)
            _run(invocation, place, environment, "state", "observe", captured.name, "-q", shown="appended")
            _run(invocation, place, environment, "status")
            _run(invocation, place, environment, "plan")
    invocation.terminal.print("\nThe demo left no files behind. To begin a project of your own: reconciler init")


def _environment(place: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with `variables` instead of the user's settings. Cache and data are kept in `place`."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_") and name != "CI"}
    return {**ours, **variables, "XDG_CACHE_HOME": str(place / "cache"), "XDG_DATA_HOME": str(place / "data")}


def _run(invocation: Invocation, place: Path, environment: Mapping[str, str], *words: str, shown: str = "") -> None:
    """Show a command, then run it. Raises ReconcilerError if it fails."""
    invocation.terminal.print(f"\n$ reconciler {' '.join(words)}")
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-m", "reconciler", *words],
        cwd=place,
        env=dict(environment),
        check=False,
        stdin=subprocess.DEVNULL,  # the command asks nothing
        stdout=subprocess.PIPE if shown else None,
    )
    if shown:
        lines = [line for line in done.stdout.decode().splitlines() if shown in line]
        invocation.terminal.print("\n".join(lines))
    if done.returncode:
        raise ReconcilerError(Message("demo-failed", f"exited with {done.returncode}", f"reconciler {words[0]}"))
