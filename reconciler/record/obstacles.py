"""Why the gates are closed, as messages with the way on: the same for plans, for statements and for what is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import Message, step
from reconciler.model.clock import stamp
from reconciler.record.gates import Obstacle

if TYPE_CHECKING:
    from reconciler.errors import Step
    from reconciler.model.record import Attempt, Record
    from reconciler.record.gates import Standing

_ACCEPT = step("if it is lost for good, run", "reconciler", "state", "accept-loss")


def obstacle_messages(record: Record, standing: Standing, expected: str = "") -> tuple[Message, ...]:
    """Return a message for each obstacle of a record; `expected` is the id that `record:` in `config/` names.

    While the first gate is closed, only what opens it is named: no other statement would be accepted. A record that
    continues elsewhere lacks what came after that, so nothing else is said of it.
    """
    closed = Obstacle.CLOSED in standing.obstacles
    said = (Obstacle.OTHER_RECORD, Obstacle.CLOSED) if closed else tuple(Obstacle)
    obstacles = [found for found in standing.obstacles if found in said and found is not Obstacle.LOSS_OPEN]
    return tuple(_message(obstacle, record, standing, expected) for obstacle in obstacles or standing.obstacles)


def _message(obstacle: Obstacle, record: Record, standing: Standing, expected: str) -> Message:
    steps: tuple[Step, ...]
    count = len(standing.missing)
    copy = ("reconciler", "state", "copy")
    copying = (loss.of for loss in record.open_losses if loss.cause == "copy")
    copies = tuple(step("finish the copy", *copy, place, standing.place) for place in copying)
    match obstacle:
        case Obstacle.OTHER_RECORD:
            what = f"this is the record {record.id}, and `record:` in config/ names {expected}"
            steps = (step("correct `state:`, or `record:` if the project continues with this record"),)
        case Obstacle.CLOSED:
            what = f"the record continues at {record.closed_to}"
            steps = (
                step(f"use that place: set `state: {record.closed_to}` in config/"),
                step("if its copy was interrupted, run", *copy, standing.place, record.closed_to),
                step("if the record there is lost for good, run", "reconciler", "state", "accept-loss"),
            )
        case Obstacle.NOT_FROM_HERE:
            what = "this file was not written on this machine: it was copied, cloned or restored"
            steps = (
                step("for a record that several machines use, set a git branch or another shared place as `state:`"),
                step("in a container, keep the data directory: XDG_DATA_HOME must last"),
                step("to continue with this copy, run", "reconciler", "state", "accept-loss"),
            )
        case Obstacle.HEADS_MISSING:
            noun = "head that was seen before is" if count == 1 else "heads that were seen before are"
            what = f"{count} {noun} missing: the record is older than it was, or another one"
            recover = ("reconciler", "state", "recover", "FILE")
            steps = (*copies, step("restore the record, or add what a copy or a backup has, with", *recover), _ACCEPT)
        case Obstacle.SECOND_MISSING:
            what = "the branch with the head of the record (BRANCH-head) is missing"
            steps = (step("restore it"), _ACCEPT)
        case Obstacle.LOSS_OPEN:
            causes = ", ".join(f"{loss.id} ({loss.cause}, since {loss.at})" for loss in record.open_losses)
            what = f"the record may be incomplete: nothing is created while a loss is open: {causes}"
            steps = copies or (
                step("record what exists", "reconciler", "state", "import", "ADDRESS"),
                step("when nothing is missing, run", "reconciler", "state", "complete", *_named(record)),
            )
    return Message(obstacle.value, what, standing.place, steps)


def settling(attempt: Attempt, now: float = 0.0) -> tuple[Step, Step]:
    """Return the two ways to settle an unknown outcome, from when they are accepted: by default, whenever that is."""
    after = "" if attempt.settled(now) else f"from {stamp(attempt.settled_by)}, "
    resolve = ("reconciler", "state", "resolve", attempt.address)
    return (
        step(f"{after}if it exists, run", *resolve, "--created", "--attempt", attempt.id),
        step(f"{after}if it certainly does not, run", *resolve, "--not-created", "--attempt", attempt.id),
    )


def _named(record: Record) -> tuple[str, ...]:
    """Return the options that name the open losses: a command pasted late must not end a later one."""
    return tuple(word for loss in record.open_losses for word in ("--loss", loss.id))
