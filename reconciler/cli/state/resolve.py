"""`reconciler state resolve`"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines, say
from reconciler.cli.recording import attempt_option, now_by, pick, record_entries
from reconciler.cli.secrets_of import with_response
from reconciler.cli.workspace import Workspace
from reconciler.errors import Refused
from reconciler.model.clock import stamp
from reconciler.model.entry import Resolved
from reconciler.model.record import Status
from reconciler.model.selection import Selection
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.address import Address
    from reconciler.model.record import Attempt, Record


@click.command("resolve")
@click.argument("pattern", metavar="ADDRESS|PATTERN")
@click.option("--created/--not-created", "created", default=None, help="What became of the create.")
@click.option("--note", metavar="TEXT", help="How you know; it goes into the record.")
@click.option("--force", is_flag=True, help="Though the call may be in flight elsewhere, or was answered.")
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

    def choose(record: Record) -> list[Attempt]:
        chosen = _chosen(record, selection, attempt)
        if not force:
            _refuse_in_flight(chosen)
            if not created:
                _refuse_answered(with_response(workspace, record, one) for one in chosen)
        return chosen

    def draft(record: Record) -> list[Resolved]:
        at, by = now_by(workspace)
        return [
            Resolved(at=at, by=by, attempt=one.id, created=created, note=note, forced=force) for one in choose(record)
        ]

    records = workspace.records(name for name in workspace.store.targets() if selection.touches(name))
    chosen = {name: choose(record) for name, record in records.items()}  # all that is refused is, before anything is
    if not any(chosen.values()):
        raise Refused("no create with an unknown outcome", where=pattern, remedy="see: reconciler state list")
    word = "created" if created else "not created"
    for name, attempts in chosen.items():
        record_entries(workspace, name, draft, f"resolved {pattern}")
        print_lines(Line(f"  {visible(one.address)}: attempt {one.id} is settled as {word}") for one in attempts)
    if created:
        settled = [with_response(workspace, records[name], one) for name, found in chosen.items() for one in found]
        _tell_what_is_lost([one for one in settled if not (one.response or one.secrets)])


def _chosen(record: Record, selection: Selection, attempt: str | None) -> list[Attempt]:
    """The unsettled attempts that are meant, one for each address."""
    by_address: dict[Address, list[Attempt]] = {}
    for one in record.attempts.values():
        if one.unsettled and selection.has(one.address):
            by_address.setdefault(one.address, []).append(one)
    return [pick(found, attempt, address, "with an unknown outcome") for address, found in by_address.items()]


def _tell_what_is_lost(attempts: list[Attempt]) -> None:
    """Say how to come by the secret of what exists, since no response told it."""
    if attempts:
        address = attempts[0].address if len(attempts) == 1 else "ADDRESS"
        say(
            "No response to the create is recorded, and so no secret: ask the operator for the secret, and keep it"
            f" with: reconciler secret set {address}"
        )


def _refuse_answered(chosen: Iterable[Attempt]) -> None:
    """Raises Refused where the create was answered: a response is kept of what was created, and of nothing else."""
    for one in chosen:
        if one.response:
            raise Refused(
                "a response to its create is kept here, so it was created",
                where=one.address,
                remedy="settle it with --created, or with --force if you know better",
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
