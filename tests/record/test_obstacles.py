"""The messages of closed gates: each names the way through, and no command that would be refused meanwhile."""

from __future__ import annotations

from support.command_line import commands_in
from support.memory_project import NOW
from support.memory_record import AT, record_of
from support.records import time_of

from reconciler.record.chain import parse
from reconciler.record.facts import AnyFact, Closed, LossOpened
from reconciler.record.fold import fold
from reconciler.record.gates import IN_FLIGHT_AFTER_LOSS, Obstacle, Standing, obstacle_messages

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
    assert message.steps[0].text == "if the record is in use at memory:a: set `state: memory:a` in config/"


def test_a_setting_that_overrides_config_is_what_must_change() -> None:
    """Where `RECONCILER_STATE` names the place, no step says to set `state:`, which would change nothing."""
    record = fold(parse(record_of(Closed(at=AT, to="memory:b")), "memory:a"))
    for obstacle in (Obstacle.CLOSED, Obstacle.HEADS_MISSING):
        standing = Standing("memory:a", (obstacle,), ("d" * 64,), ("memory:b",), "`RECONCILER_STATE` in .env")
        (message,) = obstacle_messages(record, standing)
        assert message.steps[0].text.endswith(
            "`RECONCILER_STATE` in .env overrides `state:` in config/; change it to memory:b, or remove it"
        )


def test_nothing_but_a_loss_makes_a_missing_second_branch_again() -> None:
    """A clone may have an older head of it, which a record that was set back contains too."""
    place = "git+https://git.test/a.git#records"
    assert told(place, (Obstacle.SECOND_MISSING,)) == {"second-missing": [ACCEPT]}


def test_second_branch_that_is_ahead_is_named() -> None:
    """A machine that never saw the record has not seen the missing head before."""
    record, place = fold(parse(record_of(), "memory:a")), "git+https://git.test/a.git#records"
    standing = Standing(place, (Obstacle.HEADS_MISSING,), ("d" * 64,), second_ahead=True)
    (message,) = obstacle_messages(record, standing)
    assert message.what.startswith("the branch records-head names a head that the record lacks")


def test_complete_names_the_losses_that_are_open() -> None:
    """Pasted late, it ends no later one."""
    loss = LossOpened(at=AT, loss="lost", cause="accepted")
    complete = "reconciler state complete --loss lost"
    assert told("memory:a", (Obstacle.LOSS_OPEN,), loss) == {"loss-open": ["reconciler state import ADDRESS", complete]}


def test_complete_is_named_with_the_time_before_which_it_is_refused() -> None:
    """After an accepted loss, calls from before it may still be in flight."""
    opened = LossOpened(at=time_of(NOW), loss="lost", cause="accepted")
    record = fold(parse(record_of(opened), "memory:a"))

    def text(now: float) -> str:
        (message,) = obstacle_messages(record, Standing("memory:a", (Obstacle.LOSS_OPEN,)), now=now)
        return message.steps[-1].text

    until = NOW + IN_FLIGHT_AFTER_LOSS
    assert text(NOW) == f"when nothing is missing, after {time_of(until)}, run"
    assert text(until) == "when nothing is missing, run"
