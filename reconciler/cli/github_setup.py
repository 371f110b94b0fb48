"""What `init --github --apply` does on GitHub: show, ask, set up, and say what the repository's plan does not offer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reconciler.cli.terminal.questions import ask, has_terminal
from reconciler.errors import ReconcilerError, SettingsError
from reconciler.operations.github_setup.caller import called_with
from reconciler.operations.github_setup.changes import SetSecret
from reconciler.operations.github_setup.gh import Gh, NotOffered
from reconciler.operations.github_setup.setting import instead, make
from reconciler.operations.github_setup.survey import survey

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.operations.github_setup.changes import Change
    from reconciler.operations.workspace import Workspace


def set_up_repository(terminal: Terminal, workspace: Workspace, directory: Path) -> None:
    """Set up what is missing. Raises SettingsError without `gh`, ConfigError, and Refused."""
    gh = Gh(directory)
    stages, record = called_with(directory)
    if os.path.realpath(directory) != os.path.realpath("."):
        raise SettingsError("set up from the directory itself", where="--apply", remedy=f"run: cd {directory}")
    found = survey(gh, workspace.desired, stages, record)
    for difference in found.differences:
        terminal.warn(f"{difference}; it is left as it is: find out which is right")
    secrets = [change for change in found.changes if isinstance(change, SetSecret)]
    changes: list[Change] = [change for change in found.changes if not isinstance(change, SetSecret)]
    if has_terminal():  # gh asks for each
        changes, secrets = [*changes, *secrets], []
    if changes:
        terminal.print_line("To set up on GitHub:")
        for change in changes:
            terminal.print_line(f"  {change.text}")
        ask("Set this up?")
    failed = [change for change in changes if not _make(terminal, gh, change)]
    if secrets:
        terminal.print_line("To set manually, since only you have the values; gh asks for each:")
        for secret in secrets:
            terminal.print_line(f"  gh secret set {secret.name} -e {secret.environment}")
    if failed:
        raise ReconcilerError(f"{len(failed)} of {len(changes)} could not be set up", remedy="see above")
    if not changes and not secrets:
        terminal.print_line("Nothing to set up: the repository has what the workflow needs.")


def _make(terminal: Terminal, gh: Gh, change: Change) -> bool:
    try:
        make(gh, change)
    except NotOffered as problem:
        terminal.warn(f"not offered for this repository: {change.text} ({problem}). {instead(change)}")
        return False
    terminal.print_line(f"  done: {change.text}")
    return True
