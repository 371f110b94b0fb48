"""Gates and rules that are taken away, each by itself: lives that find nothing wrong then are useless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from reconciler.model.record import Attempt
from reconciler.operations import copying
from reconciler.planning import planner, routes
from reconciler.record import attempt_rows, gates, journal, statement_rows
from reconciler.record.facts import LossOpened
from reconciler.record.gates import Obstacle

Break = Callable[[pytest.MonkeyPatch], None]


def _without(patch: pytest.MonkeyPatch, *obstacles: Obstacle) -> None:
    stand = gates.stand

    def stand_without(*args: Any, **options: Any) -> Any:
        standing = stand(*args, **options)
        return replace(standing, obstacles=tuple(found for found in standing.obstacles if found not in obstacles))

    patch.setattr(journal, "stand", stand_without)


def forget_heads(patch: pytest.MonkeyPatch) -> None:
    """A record that lacks what this machine has seen is one to go by."""
    _without(patch, Obstacle.HEADS_MISSING)


def use_closed_places(patch: pytest.MonkeyPatch) -> None:
    """A record that continues elsewhere is one to go by."""
    _without(patch, Obstacle.CLOSED)
    patch.setattr(journal, "refuse_closed", lambda *_: None)


def use_files_from_elsewhere(patch: pytest.MonkeyPatch) -> None:
    """A file is a record to go by on any machine."""
    _without(patch, Obstacle.NOT_FROM_HERE)


def ignore_losses(patch: pytest.MonkeyPatch) -> None:
    """Creates are sent while a loss is open."""
    _without(patch, Obstacle.LOSS_OPEN)


def ignore_the_second_place(patch: pytest.MonkeyPatch) -> None:
    """The second branch is not looked at."""
    judged = journal.Journal._judged
    patch.setattr(
        journal.Journal, "_judged", lambda self, record, lines, _, *rest: judged(self, record, lines, None, *rest)
    )


def create_at_other_services(patch: pytest.MonkeyPatch) -> None:
    """A target may be at another service, or account, than the record has."""
    patch.setattr(planner, "foreign", lambda *_: ())


def create_beside_others(patch: pytest.MonkeyPatch) -> None:
    """Other addresses of the service are not looked at."""
    patch.setattr(routes.Routes, "elsewhere", lambda *_: [])


def create_beside_unknowns(patch: pytest.MonkeyPatch) -> None:
    """An attempt with an unknown outcome blocks nothing."""
    patch.setattr(Attempt, "blocks", property(lambda _: False))


def complete_at_once(patch: pytest.MonkeyPatch) -> None:
    """A loss ends while calls from before it are in flight."""
    patch.setattr(gates, "IN_FLIGHT_AFTER_LOSS", 0)


def complete_by_merging(patch: pytest.MonkeyPatch) -> None:
    """What was said of another record ends a loss of this one."""
    recover = statement_rows._recover

    def merge(statement: Any, case: Any, record: Any) -> Any:
        draft = recover(statement, case, record)
        facts = tuple(fact for fact in draft.facts if not isinstance(fact, LossOpened) or fact.origin)
        return replace(draft, facts=facts)

    patch.setitem(statement_rows._ROWS, type_of("Recover"), merge)


def resolve_at_once(patch: pytest.MonkeyPatch) -> None:
    """An outcome is settled while the call may be in flight."""
    settled = Attempt.settled
    patch.setattr(Attempt, "settled", lambda self, now: settled(self, now + 1_000.0))


def copy_from_closed_gates(patch: pytest.MonkeyPatch) -> None:
    """A record that is not one to go by is copied."""
    patch.setattr(copying.Copy, "_refuse_closed_gate", lambda *_, **__: None)


def settle_what_was_not_named(patch: pytest.MonkeyPatch) -> None:
    """A statement is about all attempts of an address, whichever it names."""
    selected = attempt_rows.selected
    patch.setattr(attempt_rows, "selected", lambda record, where, _: selected(record, where, ()))


def name_init_in_ci(patch: pytest.MonkeyPatch) -> None:
    """A message names `state init` wherever there is no record."""
    init = journal.Journal.__init__

    def begins_here(self: Any, *args: Any, **options: Any) -> None:
        init(self, *args, **{**options, "begins_here": True})

    patch.setattr(journal.Journal, "__init__", begins_here)


def type_of(name: str) -> type:
    """Return the type of a statement."""
    return next(kind for kind in statement_rows._ROWS if kind.__name__ == name)
