"""`reconciler state rebind`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal, target_option
from reconciler.cli.terminal.questions import confirm
from reconciler.errors import SettingsError
from reconciler.model.entry import Bound
from reconciler.model.url import same_service
from reconciler.operations.edit import now_by, record_entries
from reconciler.operations.workspace import Workspace, whole_selection
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.address import TargetName
    from reconciler.model.record import Record


@click.command("rebind")
@target_option
@click.option("--force", is_flag=True, help="Without asking.")
@common_options
@pass_terminal
def command(terminal: Terminal, targets: tuple[str, ...], force: bool) -> None:
    """Bind a record to another service or account.

    To those that the settings name now, for a service that moved to another address, or a client id that was issued
    anew. What the record says exists must exist there: nobody can check that.
    """
    workspace = Workspace(terminal)
    selected = whole_selection(targets, workspace.desired.targets)
    if not targets:  # not all that is declared needs to have a record
        known = {*workspace.store.targets(), *workspace.targets_seen()}
        selected = [name for name in selected if name in known] or selected
    todo = [name for name in selected if _describe(terminal, workspace, name, workspace.read(name).record())]
    if not todo:
        terminal.print_lines([Line("Every record belongs to the service and the account that the settings name.")])
        return
    confirm(force, "Bind them?")
    for name in todo:
        record_entries(workspace, name, lambda record, name=name: _draft(workspace, name, record, force), "rebound")  # type: ignore[misc]
        terminal.print_lines([Line(f"  {visible(name)}: rebound")])


def _describe(terminal: Terminal, workspace: Workspace, name: TargetName, record: Record) -> bool:
    """Say what would be accepted; whether anything would."""
    base_url, account = workspace.desired.targets[name].base_url, _account(workspace, name)
    if not same_service(record.base_url, base_url):
        terminal.say(f"  {name}: the record belongs to the service at {record.base_url}; it would belong to {base_url}")
    if account is not None and record.account not in (None, account):
        terminal.say(
            f"  {name}: the record belongs to another account; it would belong to that of the client id set now"
        )
    return bool(_draft(workspace, name, record, forced=False))


def _draft(workspace: Workspace, name: TargetName, record: Record, forced: bool) -> list[Bound]:
    base_url, account = workspace.desired.targets[name].base_url, _account(workspace, name)
    if same_service(record.base_url, base_url) and (account is None or record.account in (None, account)):
        return []
    at, by = now_by(workspace)
    return [Bound(at=at, by=by, base_url=base_url, account=account, forced=forced)]


def _account(workspace: Workspace, name: TargetName) -> str | None:
    """The account that the settings name; None where they name none, and the record keeps its own."""
    from reconciler.operations.settings import credentials  # noqa: PLC0415 - it loads pydantic

    try:
        return credentials(name, workspace.variables).account()
    except SettingsError:
        return None
