"""`reconciler apply`"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import accepted_duplicates, common_options, duplicates_option, pass_terminal, target_option
from reconciler.cli.terminal.progress import progress
from reconciler.cli.terminal.questions import says_yes, somebody_is_there
from reconciler.errors import Refused
from reconciler.model.plan import SENDS, Action
from reconciler.operations.approval import Approval, read_plan_file
from reconciler.operations.plan import make
from reconciler.operations.same_service import refuse_possible_duplicates
from reconciler.operations.shared_files import warn_of_host_only_locks
from reconciler.operations.workspace import Workspace
from reconciler.planning.guard import refuse_too_many
from reconciler.reports.documents import applied_document, render
from reconciler.reports.markdown import applied_markdown
from reconciler.reports.text import applied_text, plan_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.plan import Plan
    from reconciler.operations.plan import Planned


@click.command("apply")
@click.argument("plan_file", metavar="[PLANFILE]", required=False, type=click.Path(path_type=Path))
@target_option
@click.option("--auto-approve", is_flag=True, help="Apply without asking.")
@click.option("--expect-digest", metavar="DIGEST", help="Apply only if the plan still has this digest.")
@click.option("--max-creates", metavar="N", type=click.IntRange(min=0), help="Refuse a plan with more creates.")
@click.option("--allow-empty", is_flag=True, help="Let a target lose all its subscriptions.")
@duplicates_option
@click.option("--unsealed", is_flag=True, help="Let responses lie on this disk although it is not a lasting one.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="Of stdout.  [text]"
)
@common_options
@pass_terminal
def command(
    terminal: Terminal,
    plan_file: Path | None,
    targets: tuple[str, ...],
    auto_approve: bool,
    expect_digest: str | None,
    max_creates: int | None,
    allow_empty: bool,
    unsealed: bool,
    form: str,
) -> int:
    """Carry the plan out.

    It sends the create calls, each of them once, and records what became of them. With PLANFILE (written by plan --out)
    or --expect-digest it plans anew, and goes on only if the plan is still the same. Nothing is sent from the file.
    """
    workspace = Workspace(terminal)
    saved = None if plan_file is None else read_plan_file(plan_file)
    approval = Approval(auto_approve, expect_digest, saved)
    planned = make(workspace, targets or approval.selection, allow_empty=allow_empty)
    refuse_possible_duplicates(terminal, planned.plan, planned.desired, planned.unread, accepted_duplicates())
    approval.refuse_other_plan(planned.plan, whole=not targets)
    refuse_too_many(planned.plan, max_creates)
    _refuse_unsealed(workspace, planned, unsealed)
    _refuse_behind(terminal, workspace, planned)
    to_do = any(change.action is not Action.BLOCKED for change in planned.plan.changes)
    if to_do and not approval.given:
        _refuse_nobody()
    from reconciler.operations.session import Undertaking  # noqa: PLC0415 - nothing that a refusal so far needs

    warn_of_host_only_locks(terminal, workspace.store)
    undertaking = Undertaking(workspace, planned)
    if form == "text" and to_do:
        terminal.print_lines(plan_text(planned.plan))
    if to_do and not approval.given:
        _ask(terminal, planned.plan, shown=form == "text" and sys.stdout.isatty())
    with terminal.in_background(), progress(terminal, planned.plan) as observe:
        applied = undertaking.carry_out(observe)
    terminal.work_is_done()
    for notice in applied.unrecorded:
        terminal.complain(notice)
    match form:
        case "json":
            terminal.print_document(render(applied_document(applied)))
        case "markdown":
            terminal.print_document(applied_markdown(applied))
        case _:
            terminal.print_lines(applied_text(applied))
    return applied.exit_code


def _refuse_unsealed(workspace: Workspace, planned: Planned, unsealed: bool) -> None:
    """Raises Refused where responses, and the secrets in them, would lie on a disk that does not last."""
    creates = any(change.action in SENDS for change in planned.plan.changes)
    if not creates or planned.desired.recipients or unsealed:
        return
    if workspace.in_ci or not workspace.store.local:
        raise Refused(
            "create responses may hold secrets that are told only once, and would be kept on this machine's disk",
            remedy="make a key with age-keygen -o FILE, and name its public key in config/, recipients: [age1…], so"
            " that they are sealed into the record; or accept it with --unsealed",
        )


def _refuse_behind(terminal: Terminal, workspace: Workspace, planned: Planned) -> None:
    """Raises Refused where creates were planned on files that lack entries of the branch they are shared by."""
    from reconciler.state.stores.git.upstream import refuse_behind  # noqa: PLC0415 - only a plan with creates needs git

    targets = sorted({change.address.target for change in planned.plan.changes if change.action in SENDS})
    refuse_behind(workspace.store, targets, workspace.cache_directory, os.environ, terminal.warn)


def _refuse_nobody() -> None:
    if not somebody_is_there():
        raise Refused(
            "no terminal to approve the plan on",
            remedy="use --auto-approve, a plan file, or --expect-digest DIGEST",
        )


def _ask(terminal: Terminal, plan: Plan, *, shown: bool) -> None:
    """Raises Refused unless the person at the terminal says yes, to a plan that they see."""
    if not shown:
        for line in plan_text(plan):
            terminal.say_line(line)
    if not says_yes("A create cannot be taken back. Apply this plan?"):
        raise Refused("not approved; nothing was sent")
