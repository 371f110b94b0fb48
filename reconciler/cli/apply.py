"""The command `reconciler apply`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from reconciler.cli.commands import command
from reconciler.cli.options import allow_empty_option, exit_code_of, format_option, target_option
from reconciler.cli.progress import log_to, progress
from reconciler.cli.terminal import has_terminal, says_yes
from reconciler.errors import Message, Refused, step
from reconciler.model.plan import SENDS
from reconciler.operations import apply as operation
from reconciler.operations.plan import has_work, make_plan
from reconciler.operations.plan_file import load_plan, refuse_changed
from reconciler.reports.apply import apply_document, removal_letters
from reconciler.reports.json import applied_json
from reconciler.reports.plan import plan_document

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation
    from reconciler.model.plan import Plan


@command(
    "apply",
    "reconciler apply",
    "reconciler apply plan.json",
    "reconciler apply -t europe/staging --auto-approve --max-creates 5",
)
@click.argument("plan_file", metavar="[PLANFILE]", required=False, type=click.Path(path_type=Path))
@target_option
@click.option("--auto-approve", is_flag=True, help="Apply without asking.")
@click.option("--expect-digest", metavar="D", default="", help="Apply only a plan with this digest.")
@click.option("--max-creates", metavar="N", type=click.IntRange(min=0), help="Refuse a plan with more than N creates.")
@allow_empty_option
@click.option("--allow-plaintext-responses", is_flag=True, help="Allow unencrypted responses on a temporary disk.")
@click.option("--pinned", is_flag=True, help="Refuse service URLs and recipients that are set only in config/.")
@format_option("json", "markdown")
def apply(
    invocation: Invocation,
    plan_file: Path | None,
    patterns: tuple[str, ...],
    auto_approve: bool,
    expect_digest: str,
    max_creates: int | None,
    allow_empty: bool,
    allow_plaintext_responses: bool,
    pinned: bool,
    form: str,
) -> int:
    """Apply the plan.

    Plans again, sends each create call at most once, and records its outcome. With PLANFILE (from `plan --out`) or
    --expect-digest, sends nothing unless the new plan equals the reviewed one. The requests are those of the new plan,
    not those of the file.
    """
    project, terminal = invocation.project, invocation.terminal
    saved = load_plan(plan_file) if plan_file else None
    planned = make_plan(project, patterns or (saved.selection if saved else ()), allow_empty=allow_empty)
    if has_work(planned.plan):  # an apply that is run again sends nothing, so there is nothing to approve
        for digest in (*([saved.digest] if saved else []), *filter(None, [expect_digest])):
            refuse_changed(planned.plan, digest, saved, plan_file)
    operation.refuse_too_many(planned.plan, max_creates)
    if pinned:
        operation.refuse_unpinned(project, planned.plan, plaintext=allow_plaintext_responses)
    session = operation.Session(project, planned, plaintext=allow_plaintext_responses)
    _approve(invocation, planned.plan, form, given=auto_approve or bool(expect_digest or saved))

    log_to(terminal)
    with progress(terminal, planned.plan) as observe:
        applied = session.carry_out(observe)
    terminal.work_is_done()
    terminal.report(lambda: apply_document(applied), lambda: applied_json(applied, removal_letters(applied)), form)
    if form != "text" and applied.messages:
        terminal.complain(*applied.messages)
    return exit_code_of(applied.verdict) if applied.signal is None else 128 + applied.signal


def _approve(invocation: Invocation, plan: Plan, form: str, *, given: bool) -> None:
    """Show the plan if there is anything to do, and ask for approval unless it has been given. Raises Refused."""
    if not has_work(plan):
        return
    if not given and not has_terminal():
        steps = (
            step("review the plan, then apply that plan", "reconciler", "plan", *plan.options, "--out", "plan.json"),
            step("or use --auto-approve or --expect-digest"),
        )
        raise Refused(Message("not-approved", "no terminal: cannot ask for approval", "", steps))
    document = replace(plan_document(plan), next=None)
    if form == "text":
        invocation.terminal.show(document)
        invocation.terminal.print("")
    elif not given:
        invocation.terminal.tell(document, is_needed=True)
    creates = any(change.action in SENDS for change in plan.changes)
    if not given and not says_yes(f"{'Creates cannot be undone. ' if creates else ''}Apply this plan?"):
        raise Refused(Message("not-approved", "not approved; nothing was sent"))
