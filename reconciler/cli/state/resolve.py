"""`reconciler state resolve`"""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from reconciler.cli.options import attempts_option, cli_command, known, within_option
from reconciler.cli.terminal.commands import say_commands
from reconciler.cli.terminal.questions import ask
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.record import Attempt
from reconciler.operations.attempts import AttemptSelector
from reconciler.operations.resolve import Resolution
from reconciler.operations.workspace import Workspace
from reconciler.reports.attempts import unresolved_text
from reconciler.reports.line import Line
from reconciler.reports.wording import duplicate_advice


@cli_command("resolve")
@click.argument("pattern", metavar="ADDRESS|PATTERN", shell_complete=known("pattern"))
@click.option("--created/--not-created", "created", default=None, help="The outcome of the create.")
@click.option("--note", metavar="TEXT", help="Evidence for the outcome; saved to the record.")
@click.option(
    "--force",
    is_flag=True,
    help="Skip the confirmation, and resolve even if the call may still be in flight, or notifications contradict it.",
)
@attempts_option
@within_option
def command(
    terminal: Terminal,
    pattern: str,
    created: bool | None,
    note: str | None,
    force: bool,
    attempts: tuple[str, ...],
    within: str | None,
) -> None:
    """Resolve an unknown outcome.

    Shows what is known about the create, then records the outcome that you found out. At a terminal, asks before
    --not-created, and before it resolves several creates. Use --not-created only if you are certain: the next apply
    creates the subscription again, and reconciler can neither detect nor remove a duplicate. To correct a wrong
    --not-created, use --created with --attempt ID.
    """
    if created is None:
        raise click.UsageError("use --created or --not-created")
    selector = AttemptSelector.of(pattern, attempts)
    resolution = Resolution(Workspace(terminal, within), selector, created=created, note=note, force=force)
    _show_evidence(terminal, resolution)
    resolution.refuse(resolution.attempts)
    if not force:
        _ask(len(resolution.attempts), created=created)
    recorded = resolution.record()
    outcome = "created" if created else "not created"
    terminal.print_lines(
        Line(f"  {resolved.address}: attempt {resolved.id} resolved as {outcome}") for resolved in recorded
    )
    if created:
        for duplicate in resolution.duplicates(recorded):
            terminal.say(duplicate_advice(duplicate))
        _advise_on_absence(terminal, recorded)
        _advise_on_secrets(terminal, resolution, recorded)
    else:
        _advise_on_correction(terminal, recorded)
    resolution.refuse_overtaken(recorded)


def _ask(count: int, *, created: bool) -> None:
    """Ask whether the outcome is certain; of one that was created it need not be, since no create follows from it."""
    if not created:
        ask(f"Are you certain that {'it was' if count == 1 else 'they were'} not created?")
    elif count > 1:
        ask(f"Are you certain that all {count} were created?")


def _show_evidence(terminal: Terminal, resolution: Resolution) -> None:
    now = datetime.now(UTC)
    for attempt in resolution.attempts:
        evidence = resolution.evidence[attempt.id]
        for line in unresolved_text(attempt, now, evidence.received, evidence.outcome):
            terminal.say_line(line)


def _advise_on_secrets(terminal: Terminal, resolution: Resolution, attempts: Sequence[Attempt]) -> None:
    results = {attempt.id: resolution.evidence[attempt.id].result for attempt in attempts}
    for file in sorted({result.file for result in results.values() if result and result.file}):
        command = f"reconciler state recover {shlex.quote(str(file))}"
        terminal.say(f"A create response is not in the record yet; run: {command}")
    lost = [attempt for attempt in attempts if not (attempt.response or attempt.secrets or results[attempt.id])]
    say_commands(
        terminal.say,
        [f"reconciler secret set {attempt.address}" for attempt in lost],
        "No create response, and so no secret, is recorded; ask the operator for the secret, then",
        f"Of these {len(lost)} no create response, and so no secret, is recorded; ask the operator for the secrets,"
        " then record each with its command:",
    )


def _advise_on_correction(terminal: Terminal, attempts: Sequence[Attempt]) -> None:
    say_commands(
        terminal.say,
        [f"reconciler state resolve {attempt.address} --created --attempt {attempt.id}" for attempt in attempts],
        "If it turns out to exist, then before the next apply,",
        "If one of them turns out to exist, then run its command before the next apply:",
    )


def _advise_on_absence(terminal: Terminal, attempts: Sequence[Attempt]) -> None:
    """Name the way back from a wrong --created."""
    say_commands(
        terminal.say,
        [f"reconciler state removed {attempt.address} --attempt {attempt.id} --force" for attempt in attempts],
        "If it turns out not to exist,",
        "If one of them turns out not to exist, run its command:",
    )
