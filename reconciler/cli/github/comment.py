"""`reconciler github comment`"""

import click

from reconciler.cli.options import cli_command, skip_uninitialized_option, target_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.pull_request_comment import When, keep_comment
from reconciler.operations.workspace import Workspace


@cli_command("comment")
@target_option
@skip_uninitialized_option
@click.option("--page", is_flag=True, help="Say that the artifact of the run has the plan as a page, plan.html.")
@click.option(
    "--when",
    type=click.Choice([when.value for when in When]),
    default=When.ALWAYS.value,
    help="When to comment; with changes-only, an existing comment is still updated.  [always]",
)
@click.option(
    "--pull-request", metavar="N", type=click.IntRange(min=1), help="The pull request.  [that of the workflow run]"
)
def command(
    terminal: Terminal,
    targets: tuple[str, ...],
    when: str,
    pull_request: int | None,
    page: bool,
    skips_uninitialized: bool,
) -> int:
    """Keep the plan as one comment on the pull request.

    Plans as `reconciler plan` does, and creates the comment or updates it. If there is no plan, the comment shows every
    mistake in config/, or the error, and the exit code is 1. Results of an older run or commit never replace newer
    ones. Each selection of targets has a comment of its own. The token needs the permission pull-requests: write.
    """
    kept = keep_comment(
        Workspace(terminal), targets, When(when), pull_request, has_page=page, skips_uninitialized=skips_uninitialized
    )
    terminal.work_is_done()
    if kept.problem is not None:
        terminal.print_problem(kept.problem)
    terminal.print_line(kept.what)
    return 0 if kept.problem is None else kept.problem.exit_code
