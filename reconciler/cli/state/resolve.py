"""`reconciler state resolve`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import attempt_option, common_options, pass_terminal
from reconciler.cli.terminal.questions import ask
from reconciler.errors import Refused
from reconciler.model.entry import Resolved
from reconciler.operations.edit import now_by
from reconciler.operations.resolve import Settling
from reconciler.operations.scope import Scope, record_chosen
from reconciler.operations.workspace import Workspace
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.record import Attempt, Record


@click.command("resolve")
@click.argument("pattern", metavar="ADDRESS|PATTERN")
@click.option("--created/--not-created", "created", default=None, help="What became of the create.")
@click.option("--note", metavar="TEXT", help="How you know; it goes into the record.")
@click.option("--force", is_flag=True, help="Even while the call may still be carried out, and against notifications.")
@attempt_option
@common_options
@pass_terminal
def command(
    terminal: Terminal, pattern: str, created: bool | None, note: str | None, force: bool, attempt: str | None
) -> None:
    """Settle an unknown outcome.

    By what you found out about the create; what is known of it is shown. Say --not-created only if you are certain:
    the next apply creates it again, and two of them can never be told apart, nor removed, by this program. A
    --not-created that was wrong is corrected by --created with --attempt ID.
    """
    if created is None:
        raise click.UsageError("say --created or --not-created")
    workspace = Workspace(terminal)
    scope = Scope.of(pattern, attempt)
    settling = Settling(workspace, scope, created)

    def choose(record: Record) -> list[Attempt]:
        chosen = settling.look(record)
        settling.refuse(chosen, force)
        return chosen

    def draft(_record: Record, one: Attempt) -> list[Resolved]:
        at, by = now_by(workspace)
        forced = settling.objection(one) is not None
        return [Resolved(at=at, by=by, attempt=one.id, created=created, note=note, forced=forced)]

    chosen = scope.choose(workspace, settling.look, "with an unknown outcome", noun="create")
    attempts = [one for some in chosen.values() for one in some]
    for line in settling.evidence_text(attempts):
        terminal.say_line(line)
    settling.refuse(attempts, force)
    if not (created or force):
        ask(f"Certain that {'it was' if len(attempts) == 1 else 'they were'} not created?")
    done = [
        one
        for target, some in chosen.items()
        for one in record_chosen(workspace, target, some, choose, draft, f"resolved {pattern}")
    ]
    word = "created" if created else "not created"
    terminal.print_lines(Line(f"  {visible(one.address)}: attempt {one.id} is settled as {word}") for one in done)
    (_advise_on_secrets if created else _advise_on_correction)(terminal, settling, done)
    _refuse_overtaken([one for one in attempts if one.id not in {settled.id for settled in done}])


def _advise_on_secrets(terminal: Terminal, settling: Settling, attempts: Sequence[Attempt]) -> None:
    known = {one.id: settling.known(one) for one in attempts}
    for file in sorted({one.file for one in known.values() if one and one.file}):
        terminal.say(f"The response to a create is not in the record yet: reconciler state recover {file}")
    lost = [one for one in attempts if not (one.response or one.secrets or known[one.id])]
    if lost:
        address = lost[0].address if len(lost) == 1 else "ADDRESS"
        terminal.say(
            "No response to the create is recorded, and so no secret: ask the operator for the secret, and keep it"
            f" with: reconciler secret set {address}"
        )


def _advise_on_correction(terminal: Terminal, _settling: Settling, attempts: Sequence[Attempt]) -> None:
    for one in attempts:
        terminal.say(
            "If it turns out to exist after all, record that before the next apply:"
            f" reconciler state resolve {one.address} --created --attempt {one.id}"
        )


def _refuse_overtaken(attempts: Sequence[Attempt]) -> None:
    """Raises Refused where somebody else settled meanwhile what was to be settled."""
    if attempts:
        told = ", ".join(one.id for one in attempts)
        raise Refused(
            f"somebody else settled it meanwhile (attempt {told}), and their word stands",
            where=attempts[0].address,
            remedy=f"see: reconciler state history {attempts[0].address}",
        )
