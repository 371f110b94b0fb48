"""Resolves creates with an unknown outcome: what is known of each, and what that rules out."""

import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from reconciler.errors import Refused, StateError
from reconciler.model.clock import stamp
from reconciler.model.entry import Resolved
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Surplus
from reconciler.model.record import Attempt, Record, Status
from reconciler.operations.attempts import AttemptEdit, AttemptSelector
from reconciler.operations.edit import now_by
from reconciler.operations.known_results import KnownResult, known_result
from reconciler.operations.workspace import Workspace
from reconciler.planning.evidence import evidence_for
from reconciler.planning.reasons import how_to_resolve
from reconciler.planning.subscription import duplicates_of

_DUPLICATE = "if it exists, the next apply creates a duplicate, which can never be undone"


class AttemptEvidence(Struct, frozen=True):
    """What this machine knows of an attempt, and which of its codes were received since it started, and when last."""

    result: KnownResult | None
    received: Mapping[str, str]

    @property
    def outcome(self) -> str | None:
        """The outcome known on this machine, in words."""
        return self.result.outcome.value.replace("_", " ") if self.result else None


class Resolution:
    """Resolves the attempts of a selection as created, or as not created."""

    def __init__(
        self, workspace: Workspace, selector: AttemptSelector, *, created: bool, note: str | None, force: bool
    ) -> None:
        """Raises Refused if nothing is selected, and StateError."""
        self._workspace = workspace
        self._selector = selector
        self._created = created
        self._note = note
        self._force = force
        self.evidence: dict[str, AttemptEvidence] = {}
        """By attempt id, of all that were selected."""
        chosen = selector.choose(workspace, self._select, "with an unknown outcome", noun="create")
        self._edit = AttemptEdit(workspace, chosen, self._permitted, self._draft, f"resolved {selector.text}")
        self.attempts: Sequence[Attempt] = self._edit.attempts

    def record(self) -> list[Attempt]:
        """Record it; the attempts that were still unresolved, as they are then. Raises as `refuse` does, StateError."""
        return [attempt for recorded in self._edit.record() for attempt in recorded]

    def refuse(self, attempts: Iterable[Attempt]) -> None:
        """Raises Refused for a resolution that evidence disproves, and unless forced for one that it speaks against."""
        for attempt in attempts:
            self._refuse_disproved(attempt)
        for attempt in attempts:
            objection = None if self._force else self._objection(attempt)
            if objection is not None:
                raise objection

    def refuse_overtaken(self, recorded: Sequence[Attempt]) -> None:
        """Raises Refused if another run resolved some of the attempts before this one could."""
        ids = {attempt.id for attempt in recorded}
        overtaken = [attempt for attempt in self.attempts if attempt.id not in ids]
        if overtaken:
            raise Refused(
                f"conflict: another run already resolved attempt {', '.join(attempt.id for attempt in overtaken)};"
                " its outcome stays",
                where=overtaken[0].address,
                remedy=f"to see it, run: reconciler state history {overtaken[0].address}",
            )

    def duplicates(self, recorded: Iterable[Attempt]) -> list[Surplus]:
        """What exists twice now, of the attempts that were resolved. Raises StateError."""
        found = []
        for attempt in recorded:
            record = self._workspace.read(attempt.address.target).record()
            twins = duplicates_of(record.at_address(attempt.address))
            found += [twin for twin in twins if attempt.id in (twin.attempt, twin.twin)]
        return found

    def _select(self, record: Record) -> list[Attempt]:
        """The attempts that are meant, one for each address; what is known of each is stored."""
        chosen = self._selector.pick(record, self._resolvable, "with an unknown outcome")
        for attempt in chosen:
            self.evidence[attempt.id] = AttemptEvidence(self._result(record, attempt), evidence_for(record, attempt))
        return chosen

    def _permitted(self, record: Record) -> list[Attempt]:
        chosen = self._select(record)
        self.refuse(chosen)
        return chosen

    def _draft(self, attempt: Attempt) -> list[Resolved]:
        at, by = now_by(self._workspace)
        forced = self._objection(attempt) is not None
        return [Resolved(at=at, by=by, attempt=attempt.id, created=self._created, note=self._note, forced=forced)]

    def _resolvable(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        return [
            attempt for attempt in attempts if attempt.unresolved or (self._created and self._is_correctable(attempt))
        ]

    def _is_correctable(self, attempt: Attempt) -> bool:
        """Whether it is named by its id, and all that is known of it is that it was resolved as not created."""
        named = attempt.id in self._selector.attempts and not attempt.removed
        return named and attempt.resolved_created is False and attempt.outcome in (None, Outcome.UNKNOWN)

    def _result(self, record: Record, attempt: Attempt) -> KnownResult | None:
        """What this machine knows. Raises StateError if that cannot be read, and would contradict."""
        with suppress(*([StateError] if self._created else [])):
            return known_result(self._workspace, record, attempt)
        return None

    def _refuse_disproved(self, attempt: Attempt) -> None:
        evidence = self.evidence[attempt.id]
        result = evidence.result
        if result is None or (result.outcome is Outcome.CREATED) == self._created:
            return
        if result.file is None:
            problem, remedy = "this machine has the response to its create call, so it was created", "use --created"
        else:
            problem = f"its outcome is known but could not be recorded: {evidence.outcome}"
            remedy = f"run: reconciler state recover {shlex.quote(str(result.file))}"
        raise Refused(problem, where=attempt.address, remedy=remedy)

    def _objection(self, attempt: Attempt) -> Refused | None:
        """Why it must not be resolved so without --force; nothing if this machine has evidence for it."""
        evidence = self.evidence[attempt.id]
        if evidence.result:
            return None
        if time.time() < attempt.settled_by:
            if attempt.status is Status.PENDING:
                return _in_flight(attempt, created=self._created)
            if not self._created:
                return _too_early(attempt)
        return _contradicted(attempt, evidence.received) if evidence.received and not self._created else None


def _in_flight(attempt: Attempt, *, created: bool) -> Refused:
    """Why the outcome is not for a person to say yet: the apply that sent the call may still record it."""
    risk = "if the call fails, nothing delivers, and no plan shows it" if created else _DUPLICATE
    return Refused(
        f"its call, started {attempt.since}, may still be in flight",
        where=attempt.address,
        remedy=f"its apply may still record the outcome: wait until {stamp(attempt.settled_by)}; if it has not by then,"
        f" {how_to_resolve(attempt.address)}; --force skips the wait: {risk}",
    )


def _too_early(attempt: Attempt) -> Refused:
    return Refused(
        "the service may still process its call",
        where=attempt.address,
        remedy=f"{how_to_resolve(attempt.address, stamp(attempt.settled_by))}; --force skips the wait: {_DUPLICATE}",
    )


def _contradicted(attempt: Attempt, received: Mapping[str, str]) -> Refused:
    codes = ", ".join(f"{code} (last {at})" for code, at in sorted(received.items()))
    return Refused(
        f"notifications have arrived since the create started, so it probably exists: {codes}",
        where=attempt.address,
        remedy=f"run: reconciler state resolve {attempt.address} --created; only if the operator confirms that another"
        f" subscription sends them and that this one does not exist, add --force: {_DUPLICATE}",
    )
