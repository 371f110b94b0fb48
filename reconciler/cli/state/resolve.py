"""`reconciler state resolve`"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from reconciler.cli.known import known_outcome
from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines, say
from reconciler.cli.recording import attempt_option, now_by, pick, record_entries
from reconciler.cli.workspace import Workspace
from reconciler.errors import Refused, StateError
from reconciler.model.clock import stamp
from reconciler.model.entry import Resolved
from reconciler.model.outcome import Outcome
from reconciler.model.record import Status
from reconciler.model.selection import Selection
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.cli.known import Known
    from reconciler.model.address import Address
    from reconciler.model.record import Attempt, Record


@click.command("resolve")
@click.argument("pattern", metavar="ADDRESS|PATTERN")
@click.option("--created/--not-created", "created", default=None, help="What became of the create.")
@click.option("--note", metavar="TEXT", help="How you know; it goes into the record.")
@click.option("--force", is_flag=True, help="Even while the call may still be in flight elsewhere.")
@attempt_option
@common_options
def command(pattern: str, created: bool | None, note: str | None, force: bool, attempt: str | None) -> None:
    """Settle an unknown outcome.

    By what you found out about the create. Say --not-created only if you are certain: the next apply creates it again,
    and two of them can never be told apart, nor removed, by this program.
    """
    if created is None:
        raise click.UsageError("say --created or --not-created")
    workspace = Workspace()
    selection = Selection.of((pattern,))

    settled: list[Resolved] = []

    def choose(record: Record) -> list[Attempt]:
        chosen = _chosen(record, selection, attempt)
        proven = [_refuse_contradiction(workspace, record, one, created) for one in chosen]
        if not force:
            _refuse_in_flight([one for one, known in zip(chosen, proven, strict=True) if not known])
        return chosen

    def draft(record: Record) -> list[Resolved]:
        at, by = now_by(workspace)
        settled[:] = [
            Resolved(at=at, by=by, attempt=one.id, created=created, note=note, forced=force) for one in choose(record)
        ]
        return settled

    records = workspace.records(name for name in workspace.store.targets() if selection.touches(name))
    chosen = {name: choose(record) for name, record in records.items()}  # all that is refused is, before anything is
    if not any(chosen.values()):
        raise Refused("no create with an unknown outcome", where=pattern, remedy="see: reconciler state list")
    overtaken: list[Attempt] = []
    for name, attempts in chosen.items():
        record = record_entries(workspace, name, draft, f"resolved {pattern}")
        done = {entry.attempt for entry in settled} if attempts else set()
        _tell_settled(workspace, record, [one for one in attempts if one.id in done], created)
        overtaken += [one for one in attempts if one.id not in done]
    _refuse_overtaken(overtaken)


def _chosen(record: Record, selection: Selection, attempt: str | None) -> list[Attempt]:
    """The unsettled attempts that are meant, one for each address."""
    by_address: dict[Address, list[Attempt]] = {}
    for one in record.attempts.values():
        if one.unsettled and selection.has(one.address):
            by_address.setdefault(one.address, []).append(one)
    return [pick(found, attempt, address, "with an unknown outcome") for address, found in by_address.items()]


def _tell_settled(workspace: Workspace, record: Record, attempts: list[Attempt], created: bool) -> None:
    word = "created" if created else "not created"
    print_lines(Line(f"  {visible(one.address)}: attempt {one.id} is settled as {word}") for one in attempts)
    if not created:
        return
    known = {one.id: _known(workspace, record, one) for one in attempts}
    for file in sorted({one.file for one in known.values() if one and one.file}):
        say(f"The response to a create is not in the record yet: reconciler state recover {file}")
    lost = [one for one in attempts if not (one.response or one.secrets or known[one.id])]
    if lost:
        address = lost[0].address if len(lost) == 1 else "ADDRESS"
        say(
            "No response to the create is recorded, and so no secret: ask the operator for the secret, and keep it"
            f" with: reconciler secret set {address}"
        )


def _known(workspace: Workspace, record: Record, attempt: Attempt) -> Known | None:
    with suppress(StateError):
        return known_outcome(workspace, record, attempt)
    return None


def _refuse_contradiction(workspace: Workspace, record: Record, attempt: Attempt, created: bool) -> bool:
    """Whether this machine can prove what is said. Raises Refused where it can prove the contrary, StateError."""
    known = _known(workspace, record, attempt) if created else known_outcome(workspace, record, attempt)
    if known is None:
        return False
    if (known.outcome is Outcome.CREATED) == created:
        return True
    if known.file is None:
        problem, remedy = "a response to its create is kept here, so it was created", "settle it with --created"
    else:
        problem = f"its outcome is known here, and could not be recorded: {known.outcome.value.replace('_', ' ')}"
        remedy = f"record it with: reconciler state recover {known.file}"
    raise Refused(problem, where=attempt.address, remedy=remedy)


def _refuse_overtaken(attempts: list[Attempt]) -> None:
    """Raises Refused where somebody else settled meanwhile what was to be settled."""
    if attempts:
        told = ", ".join(one.id for one in attempts)
        raise Refused(
            f"somebody else settled it meanwhile (attempt {told}), and their word stands",
            where=attempts[0].address,
            remedy=f"see: reconciler state history {attempts[0].address}",
        )


def _refuse_in_flight(chosen: list[Attempt]) -> None:
    """Raises Refused where a call may still be in flight elsewhere."""
    for one in chosen:
        if one.status is Status.PENDING and time.time() < one.settled_by:
            raise Refused(
                f"its call may still be in flight, by whoever began it {one.since}",
                where=one.address,
                remedy=f"settle it after {stamp(one.settled_by)}, or with --force if you know that run is dead",
            )
