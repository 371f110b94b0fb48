"""`reconciler apply`"""

import sys
from pathlib import Path

import click

from reconciler.cli.exit_codes import applied_exit_code
from reconciler.cli.options import allow_empty_option, cli_command, duplicates_option, format_option, target_option
from reconciler.cli.terminal.progress import progress
from reconciler.cli.terminal.questions import has_terminal, says_yes
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import Refused
from reconciler.model.plan import SENDS, Plan
from reconciler.model.result import Applied
from reconciler.operations.apply import Approval, plan_to_apply
from reconciler.operations.plan_file import read_plan_file
from reconciler.operations.session import ApplySession
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import APPLIED
from reconciler.reports.text import plan_text
from reconciler.state.private.unrecorded import is_only_copy


@cli_command("apply")
@click.argument("plan_file", metavar="[PLANFILE]", required=False, type=click.Path(path_type=Path))
@target_option
@click.option("--auto-approve", is_flag=True, help="Skip the interactive approval.")
@click.option("--expect-digest", metavar="DIGEST", help="Apply only if the plan has this digest.")
@click.option("--max-creates", metavar="N", type=click.IntRange(min=0), help="Refuse a plan with more than N creates.")
@allow_empty_option
@duplicates_option
@click.option("--unsealed", is_flag=True, help="Allow unencrypted responses on a temporary disk.")
@click.option(
    "--pinned", is_flag=True, help="Refuse service addresses and recipients that are in config/ (or .env) alone."
)
@format_option(APPLIED)
def command(
    terminal: Terminal,
    plan_file: Path | None,
    targets: tuple[str, ...],
    auto_approve: bool,
    expect_digest: str | None,
    max_creates: int | None,
    allow_empty: bool,
    accepted_duplicates: tuple[str, ...],
    unsealed: bool,
    pinned: bool,
    form: str,
) -> int:
    """Apply the plan.

    Sends each create call once and records its outcome. With PLANFILE (written by `plan --out`) or --expect-digest,
    plans again and continues only if the plan has not changed. Nothing is sent from the file itself.

    With --pinned, each target needs its AUTH_URL and BASE_URL from the environment (and AUDIENCE_BASE if config/
    declares another one), and RECONCILER_RECIPIENTS must name the keys to encrypt responses to: whoever can change
    config/ cannot send a secret elsewhere.
    """
    workspace = Workspace(terminal)
    approval = Approval(auto_approve, expect_digest, read_plan_file(plan_file) if plan_file else None)
    planned = plan_to_apply(
        workspace, targets, approval, accepted_duplicates, max_creates,
        allow_empty=allow_empty, unsealed=unsealed, pinned=pinned,
    )  # fmt: skip
    must_ask = planned.has_work and not approval.given
    _refuse_without_terminal(must_ask)
    workspace.warn_of_host_only_locks()
    session = ApplySession(workspace, planned)
    if form == "text" and planned.has_work:
        terminal.print_lines(plan_text(planned.plan))
    if must_ask:
        _ask(terminal, planned.plan, shown=form == "text" and sys.stdout.isatty())
    applied = _carry_out(terminal, session, planned.plan)
    try:
        terminal.print_report(APPLIED[form](applied))
    finally:  # last, so that the command to run next is seen
        _tell_unrecorded(terminal, applied, only_copies=False)
    return applied_exit_code(applied)


def _refuse_without_terminal(must_ask: bool) -> None:
    if must_ask and not has_terminal():
        raise Refused(
            "no terminal: cannot ask for approval",
            remedy="use --auto-approve, a plan file, or --expect-digest DIGEST",
        )


def _carry_out(terminal: Terminal, session: ApplySession, plan: Plan) -> Applied:
    sys.dont_write_bytecode = True  # on a full disk Python keeps a part of a module's file, and takes it for whole
    with terminal.in_background(), progress(terminal, plan) as observe:
        applied = session.carry_out(observe)
    terminal.work_is_done()
    _tell_unrecorded(terminal, applied, only_copies=True)
    return applied


def _tell_unrecorded(terminal: Terminal, applied: Applied, *, only_copies: bool) -> None:
    """What could not be recorded. What nothing else has comes before the report, whose reader may be stuck."""
    for notice in applied.unrecorded:
        if is_only_copy(notice) is only_copies:
            terminal.complain(notice)


def _ask(terminal: Terminal, plan: Plan, *, shown: bool) -> None:
    """Show the plan, unless it is shown, and ask. Raises Refused for any answer but yes."""
    if not shown:
        for line in plan_text(plan):
            terminal.say_line(line)
    creates = any(change.action in SENDS for change in plan.changes)
    if not says_yes(f"{'Creates cannot be undone. ' if creates else ''}Apply this plan?"):
        raise Refused("not approved; nothing was sent")
