"""The command `reconciler plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.commands import command
from reconciler.cli.options import (
    allow_empty_option,
    detailed_exitcode_option,
    exit_code_of,
    format_option,
    target_option,
)

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation


@command(
    "plan",
    "reconciler plan",
    "reconciler plan -t 'europe/*' --out plan.json",
    "reconciler plan --format markdown >>$GITHUB_STEP_SUMMARY",
)
@target_option
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Also save the plan, as JSON.")
@format_option("json", "markdown", "html")
@detailed_exitcode_option
@allow_empty_option
def plan(
    invocation: Invocation,
    patterns: tuple[str, ...],
    out: Path | None,
    form: str,
    detailed_exitcode: bool,
    allow_empty: bool,
) -> int:
    """Show the changes that an apply would make.

    Reads the record, but needs no service credentials and does not call the service. Signs: + create, ~ extend,
    ± replace, ↺ restore, - remove, » retry, ! blocked.
    """
    from reconciler.operations.plan import make_plan, plaintext_refusal  # noqa: PLC0415 - not for --help
    from reconciler.planning.planner import verdict_of_plan  # noqa: PLC0415 - likewise
    from reconciler.reports.plan import plan_document  # noqa: PLC0415 - likewise

    project = invocation.project
    planned = make_plan(project, patterns, allow_empty=allow_empty)
    made, refusal = planned.plan, plaintext_refusal(project, planned.plan)
    warnings = [*project.desired.warnings, *([refusal] if refusal else [])]

    def values() -> dict[str, Any]:
        from reconciler.reports.json import plan_json  # noqa: PLC0415 - not for text

        return plan_json(made)

    if out is not None:
        _save(out, values())
    saved = "" if out is None else str(out)
    desired = project.desired.subscriptions.values() if form != "text" or invocation.terminal.is_verbose else ()
    invocation.terminal.report(lambda: plan_document(made, warnings, saved, desired), values, form)
    return exit_code_of(verdict_of_plan(made, project.now())) if detailed_exitcode else 0


def _save(file: Path, values: dict[str, Any]) -> None:
    """Write a plan completely or not at all. Raises SettingsError and Refused."""
    from reconciler.disk import replace_file  # noqa: PLC0415 - only for --out
    from reconciler.errors import Message, SettingsError  # noqa: PLC0415 - likewise
    from reconciler.operations.plan_file import refuse_overwriting  # noqa: PLC0415 - likewise
    from reconciler.reports.json import render  # noqa: PLC0415 - likewise

    text = render(values)
    try:
        refuse_overwriting(file)
        if file.exists() and not file.is_file():
            file.write_text(text, encoding="utf-8")  # a pipe or a device
        else:
            replace_file(file.resolve(), text.encode(), 0o644)  # a symbolic link is kept
    except OSError as problem:
        message = Message("plan-not-saved", f"cannot write the plan: {problem.strerror}", f"--out {file}")
        raise SettingsError(message) from None
