"""`reconciler plan`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import accepted_duplicates, common_options, duplicates_option, pass_terminal, target_option
from reconciler.disk.durable import written_beside
from reconciler.errors import SettingsError
from reconciler.model.url import same_service
from reconciler.operations.plan import make, verdict_of
from reconciler.operations.same_service import refuse_possible_duplicates
from reconciler.operations.workspace import Workspace
from reconciler.reports.documents import plan_document, render
from reconciler.reports.text import plan_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.operations.plan import Planned


@click.command("plan")
@target_option
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Also write the plan, as JSON, to FILE.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="Of stdout.  [text]"
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 if there are changes, 3 if a create is unsettled.")
@click.option("--allow-empty", is_flag=True, help="Let a target lose all its subscriptions.")
@duplicates_option
@common_options
@pass_terminal
def command(
    terminal: Terminal,
    targets: tuple[str, ...],
    out: Path | None,
    form: str,
    detailed_exitcode: bool,
    allow_empty: bool,
) -> int:
    """Show the difference between desired and recorded.

    Desired is what config/ says, recorded what the state record knows to exist. Needs no credentials and calls nobody
    but the store of the state record. Signs: + create, ~ extend, ± replace, ↺ restore, - retire, ! blocked.
    """
    workspace = Workspace(terminal)
    planned = make(workspace, targets, allow_empty=allow_empty)
    refuse_possible_duplicates(terminal, planned.plan, planned.desired, planned.unread, accepted_duplicates())
    _warn_of_other_service(terminal, planned)
    if out is not None:
        _write(out, render(plan_document(planned.plan)))
    match form:
        case "json":
            terminal.print_document(render(plan_document(planned.plan)))
        case "markdown":
            from reconciler.reports.markdown import plan_markdown  # noqa: PLC0415 - the common plan is text

            terminal.print_document(plan_markdown(planned.plan))
        case _:
            terminal.print_lines(plan_text(planned.plan))
    return exit_code(verdict_of(planned)) if detailed_exitcode else 0


def _warn_of_other_service(terminal: Terminal, planned: Planned) -> None:
    for name in planned.plan.targets:
        recorded, base_url = planned.records[name].base_url, planned.desired.targets[name].base_url
        if not same_service(recorded, base_url):
            terminal.warn(
                f"{name}: the record belongs to the service at {recorded}, the settings name {base_url};"
                " apply refuses that until: reconciler state rebind"
            )


def _write(path: Path, text: str) -> None:
    """Write a plan whole or not at all: a half of one must not be taken for one."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")  # a pipe or a device
            return
        place = Path(os.path.realpath(path))  # a link stays one
        with written_beside(place, text.encode(errors="replace"), 0o644) as beside:
            beside.replace(place)
    except OSError as problem:
        raise SettingsError(f"the plan cannot be written: {problem.strerror}", where=f"--out {path}") from None
