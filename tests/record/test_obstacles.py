"""The messages of closed gates: each names the way through, and no command that would be refused meanwhile."""

from __future__ import annotations

from support.command_line import commands_in
from support.memory_record import AT, record_of

from reconciler.record.chain import parse
from reconciler.record.facts import AnyFact, Closed, LossOpened
from reconciler.record.fold import fold
from reconciler.record.gates import Obstacle, Standing, obstacle_messages

ACCEPT = "reconciler state accept-loss"
COPY = "reconciler state copy memory:a memory:b"
UNFINISHED = LossOpened(at=AT, loss="copy", cause="copy", of="memory:a")


def told(place: str, obstacles: tuple[Obstacle, ...], *facts: AnyFact) -> dict[str, list[str]]:
    """Return the commands that the messages of a record name, by the message's name."""
    record = fold(parse(record_of(*facts), place))
    messages = obstacle_messages(record, Standing(place, obstacles, ("d" * 64,)))
    return {message.name: commands_in([message]) for message in messages}


def test_closed_record_is_told_where_it_continues_only() -> None:
    """It lacks what came after, so nothing is recovered into it; its copy may have been interrupted."""
    obstacles = (Obstacle.CLOSED, Obstacle.HEADS_MISSING)
    assert told("memory:a", obstacles, Closed(at=AT, to="memory:b")) == {"record-closed": [COPY, ACCEPT]}


def test_unfinished_copy_is_finished_first() -> None:
    """A place that lacks heads since its copy is not complete gets them from the copy."""
    named = told("memory:b", (Obstacle.HEADS_MISSING, Obstacle.LOSS_OPEN), UNFINISHED)
    assert named == {"heads-missing": [COPY, "reconciler state recover FILE", ACCEPT]}
    assert told("memory:b", (Obstacle.LOSS_OPEN,), UNFINISHED) == {"loss-open": [COPY]}


def test_place_where_a_missing_head_was_seen_is_named() -> None:
    """A clone whose `git:` place is another remote, or a second project, must not merge what is in use elsewhere."""
    record = fold(parse(record_of(), "memory:b"))
    standing = Standing("memory:b", (Obstacle.HEADS_MISSING,), ("d" * 64,), ("memory:a",))
    (message,) = obstacle_messages(record, standing)
    assert message.steps[0].text == "if the record is in use at memory:a, set `state: memory:a`"


def test_complete_names_the_losses_that_are_open() -> None:
    """Pasted late, it ends no later one."""
    loss = LossOpened(at=AT, loss="lost", cause="accepted")
    complete = "reconciler state complete --loss lost"
    assert told("memory:a", (Obstacle.LOSS_OPEN,), loss) == {"loss-open": ["reconciler state import ADDRESS", complete]}
