"""`state copy`: moves the record to another place in three durable steps.

Running it again continues an interrupted copy.

1. TO begins with FROM's id and an open loss, so that nothing is created there. (If TO holds a closed record, only the
   loss is appended.)
2. FROM is closed: it names TO, and nothing more is appended to it.
3. One append merges everything in FROM into TO, and ends the loss of step 1.

Each step is chosen from the contents of both places, so any run can continue a copy that was killed. The two places
never allow creates at the same time.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import HeadMoved, Message, RecordError, Refused, StoreUnavailable, step
from reconciler.operations.failpoints import VARIABLE, Failpoints
from reconciler.operations.statements import CONFLICTS, too_many_conflicts
from reconciler.record import chain
from reconciler.record.chain import missing
from reconciler.record.facts import Begun, Closed, Completed, LossOpened
from reconciler.record.gates import Obstacle, obstacle_messages, use_place
from reconciler.record.statement_rows import Proposal, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.record import Loss
    from reconciler.operations.project import Project
    from reconciler.record.facts import AnyFact
    from reconciler.record.journal import Journal, Reading

_STEPS = 3
_CUT_SHORT = {Obstacle.NOT_FROM_HERE, Obstacle.SECOND_MISSING}
"""The obstacles that an interrupted step 1 may leave at TO. As long as FROM is open, nothing depends on step 1."""


class CopyStep(Struct, frozen=True):
    """A durable step of a copy: the facts to append to TO or, if `at_to` is false, to FROM."""

    at_to: bool
    facts: tuple[AnyFact, ...]


class Copy:
    """Copies the record from one place to another."""

    def __init__(self, project: Project, source: str, to: str) -> None:
        """Raise SettingsError for an invalid place, and Refused if both names mean the same place."""
        self._project = project
        self._from, self._to = project.journal_at(source), project.journal_at(to)
        self._names = {self._from.place: source, self._to.place: to}
        self._again = ("reconciler", "state", "copy", source, to)
        self._failpoints = Failpoints(os.environ.get(VARIABLE, ""))
        self._failpoints.refuse_real_services(target.base_url for target in project.desired.targets.values())
        if self._from.place == self._to.place:
            raise Refused(Message("copy-to-itself", "FROM and TO are the same place", self._to.place))

    def next_step(self) -> tuple[CopyStep | None, Reading, Reading | None]:
        """Return the next step and the two readings that it is based on; the step is None if the copy is complete.

        Raises RecordError, and Refused if a gate of either place is closed or if TO is in use.
        """
        with self._about(self._from):
            source = self._from.read()
        with self._about(self._to):
            there = self._to.look()
        continues = source.record.closed_to == self._to.place
        loss = self._loss(there)
        if continues and there is not None and loss is None and there.record.contains(source.record.head):
            return None, source, there
        if there is not None:
            with self._about(self._to):
                self._refuse_in_use(source, there, loss, is_closed=continues)
        with self._about(self._from):
            self._refuse_closed_gate(source, there, loss, is_closed=continues)
        if loss is None or there is None or not _CUT_SHORT.isdisjoint(there.standing.obstacles):
            return self._begin(source, there, loss), source, there
        if not continues:
            closed = Closed(at=self._project.at(), by=self._project.by(), to=self._to.place, loss=loss.id)
            return CopyStep(False, (closed,)), source, there
        facts = missing(there.record.contained, source.lines, self._project.at(), self._project.by())
        ended = Completed(at=self._project.at(), by=self._project.by(), losses=(loss.id,))
        return CopyStep(True, (*facts, ended)), source, there

    def prepare(self) -> Proposal:
        """Return the facts of the next step, and messages about all remaining steps.

        The digest covers the id of the record and both places, so it stays the same after an interruption.
        Raises the same errors as `next_step`.
        """
        taken, source, there = self.next_step()
        opened = LossOpened(at="", by={}, loss="", cause="copy", of=self._from.place)
        closed = Closed(at="", by={}, to=self._to.place, loss="")
        digest = digest_of(source.record.id, (opened, closed), ())
        if taken is None:
            done = Message("nothing-to-do", "the copy is complete", self._to.place)
            return Proposal((), (done,), weakens=False, digest=digest)
        shown = []
        if any(isinstance(fact, LossOpened) and not fact.origin for fact in taken.facts):
            what = "opens another loss there" if there else "begins the record there, with an open loss"
            shown.append(Message("copy-step", what, self._to.place))
        if not source.record.closed_to:
            shown.append(Message("copy-step", "closes the record here, and names the new place", self._from.place))
        merges = f"merges the entries missing there (out of {len(source.lines)}), and ends the loss of this copy"
        shown.append(Message("copy-step", merges, self._to.place))
        return Proposal(taken.facts, tuple(shown), weakens=False, digest=digest)

    def carry_out(self) -> Message:
        """Take the remaining steps, and return a message for a person. Raises the same errors as `next_step`."""
        for _ in range(CONFLICTS + _STEPS):
            taken, source, there = self.next_step()
            if taken is None:
                if there is not None:
                    self._to.catch_up(there)
                place = there.record.closed_to if there and there.record.closed_to else self._to.place
                self._from.note_closed(source)
                named_by = self._project.named_by if self._project.journal.place != place else ""
                use = step(f"{use_place(place, named_by)}; do the same in every clone and in CI")
                return Message("copied", f"the record {source.record.id} continues here", place, (use,))
            if taken.at_to and self._loss(there) is None:
                self._to.store.prepare()
            try:
                self._failpoints.reach("before-append", lambda: 0)
                self._take(taken, source, there)
                self._failpoints.reach("after-append", lambda: 0)
            except HeadMoved:
                continue
            except StoreUnavailable as problem:
                resume = step("then complete the copy", *self._again)
                named = [Message(m.name, m.what, m.where, (*m.steps, resume)) for m in problem.messages]
                raise StoreUnavailable(*named) from None
        raise Refused(too_many_conflicts(self._to.place))

    def _take(self, taken: CopyStep, source: Reading, there: Reading | None) -> None:
        """Append the facts of a step to their place, and update the second head of that place.

        The two places are checked together, so the head that this machine remembers is updated only for TO.
        """
        if taken.at_to:
            self._to.accept(there, taken.facts, "copy")
            return
        data, lines = chain.link(source.record.head, len(source.lines), taken.facts)
        self._from.store.append(source.record.head, data, "copy", second=lines[-1].hash)

    def _begin(self, source: Reading, there: Reading | None, former: Loss | None) -> CopyStep:
        """Return the first step. `former` is the loss that an interrupted first step left open, if any."""
        at, by = self._project.at(), self._project.by()
        loss = LossOpened(at=at, by=by, loss=self._project.new_id(), cause="copy", of=self._from.place)
        begun = () if there else (Begun(at=at, by=by, record=source.record.id),)
        ended = (Completed(at=at, by=by, losses=(former.id,)),) if former else ()
        return CopyStep(True, (*begun, loss, *ended))

    def _loss(self, there: Reading | None) -> Loss | None:
        """Return the loss that this copy opened at TO if it is still open, otherwise None."""
        losses = there.record.open_losses if there and not there.record.closed_to else ()
        return next((loss for loss in losses if loss.cause == "copy" and loss.of == self._from.place), None)

    @contextmanager
    def _about(self, journal: Journal) -> Iterator[None]:
        """Add `--state` to the commands that errors in the block suggest, unless the journal is the project's own."""
        try:
            yield
        except (RecordError, Refused) as problem:
            text = self._names[journal.place]
            place = () if text == self._project.place else ("--state", text)
            raise type(problem)(*(_at(message, place) for message in problem.messages)) from None

    def _refuse_closed_gate(
        self, source: Reading, there: Reading | None, loss: Loss | None, *, is_closed: bool
    ) -> None:
        """Raise Refused if FROM's first gate is closed, or if FROM was closed for a copy that TO does not hold.

        FROM is not refused merely because it is closed in favour of TO, or because it lacks heads that TO contains.
        """
        if is_closed and (loss is None or source.record.closed_for != loss.id):
            what = f"the record continues at {self._to.place}, but is not there: it is on another machine, or lost"
            steps = (step("continue there"), step("if it is lost for good, run", "reconciler", "state", "accept-loss"))
            raise Refused(Message("copy-lost", what, self._from.place, steps))
        obstacles = set(source.standing.obstacles) - {Obstacle.LOSS_OPEN}
        if is_closed:
            obstacles.discard(Obstacle.CLOSED)
        if there is not None and all(map(there.record.contains, source.standing.missing)):
            obstacles.discard(Obstacle.HEADS_MISSING)
        if any(loss.cause == "copy" for loss in source.record.open_losses):
            obstacles = {Obstacle.LOSS_OPEN}
        if obstacles:
            closed = tuple(each for each in Obstacle if each in obstacles)
            standing = replace(source.standing, obstacles=closed)
            raise Refused(*obstacle_messages(source.record, standing, self._project.now()))

    def _refuse_in_use(self, source: Reading, there: Reading, loss: Loss | None, *, is_closed: bool) -> None:
        """Raise Refused unless TO holds this record, either closed or as an unfinished copy."""
        if there.record.id != source.record.id or (loss is None and not there.record.closed_to):
            other = step("copy to an empty place", *self._again[:-1], "PLACE")
            merge = step("or merge the record from here into it", "reconciler", "state", "recover", self._again[-2])
            is_same = there.record.id == source.record.id  # merged with another, two projects would become one
            what = f"the place already holds {'this' if is_same else 'another'} record, {there.record.id}"
            raise Refused(Message("place-in-use", what, self._to.place, (other, merge) if is_same else (other,)))
        is_lacking = loss is not None and not _CUT_SHORT.isdisjoint(there.standing.obstacles)
        if (is_lacking and is_closed) or not all(map(source.record.contains, there.standing.missing)):
            raise Refused(*obstacle_messages(there.record, there.standing, self._project.now()))


def _at(message: Message, place: tuple[str, ...]) -> Message:
    """Return the message with the options `place` added to its `reconciler state` commands, except `state copy`."""
    about = [
        replace(each, command=(*each.command, *place))
        if each.command[:2] == ("reconciler", "state") and each.command[2] != "copy"
        else each
        for each in message.steps
    ]
    return replace(message, steps=tuple(about))
