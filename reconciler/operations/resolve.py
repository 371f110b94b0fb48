"""What is known of creates whose outcome a person settles, and what that person may say against it."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reconciler.errors import Refused, StateError
from reconciler.model.clock import stamp
from reconciler.model.outcome import Outcome
from reconciler.model.record import Status
from reconciler.operations.known_results import known_result
from reconciler.planning.evidence import heard_of
from reconciler.reports.mending import settling_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reconciler.model.record import Attempt, Record
    from reconciler.operations.known_results import KnownResult
    from reconciler.operations.scope import Scope
    from reconciler.operations.workspace import Workspace
    from reconciler.reports.text import Line


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What this machine can prove of an attempt, and which of its codes were received since it began."""

    known: KnownResult | None
    heard: Mapping[str, str]


class Settling:
    """Settles the attempts of a scope as created, or as not created."""

    def __init__(self, workspace: Workspace, scope: Scope, created: bool) -> None:
        self._workspace = workspace
        self._scope = scope
        self._created = created
        self._evidence: dict[str, _Evidence] = {}

    def look(self, record: Record) -> list[Attempt]:
        """The attempts that are meant, one for each address; what is known of each is remembered.

        Raises Refused where several of an address are meant, and StateError.
        """
        chosen = self._scope.pick(record, self._meant, "with an unknown outcome")
        for one in chosen:
            self._evidence[one.id] = _Evidence(self._known(record, one), heard_of(record, one))
        return chosen

    def _meant(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        return [one for one in attempts if one.unsettled or (self._created and self._is_correctable(one))]

    def _is_correctable(self, attempt: Attempt) -> bool:
        """Whether it is named by its id, and all that is known of it is that a person said it was not created."""
        named = self._scope.attempt == attempt.id and not attempt.removed
        return named and attempt.resolved_created is False and attempt.outcome in (None, Outcome.UNKNOWN)

    def _known(self, record: Record, attempt: Attempt) -> KnownResult | None:
        """What this machine can prove. Raises StateError where that cannot be read, and would contradict."""
        with suppress(*([StateError] if self._created else [])):
            return known_result(self._workspace, record, attempt)
        return None

    def known(self, attempt: Attempt) -> KnownResult | None:
        """What this machine can prove of an attempt that was looked at."""
        return self._evidence[attempt.id].known

    def evidence_text(self, attempts: Iterable[Attempt]) -> Iterator[Line]:
        """What is to be settled, and what is known of it."""
        now = datetime.now(UTC)
        for one in attempts:
            known = self.known(one)
            proof = known.outcome.value.replace("_", " ") if known else None
            yield from settling_text(one, now, self._evidence[one.id].heard, proof)

    def refuse(self, attempts: Sequence[Attempt], force: bool) -> None:
        """Raises Refused for what is proven otherwise, and unless forced for what may prove to be otherwise."""
        for one in attempts:
            self._refuse_disproved(one)
        for one in attempts:
            objection = None if force else self.objection(one)
            if objection is not None:
                raise objection

    def _refuse_disproved(self, attempt: Attempt) -> None:
        known = self.known(attempt)
        if known is None or (known.outcome is Outcome.CREATED) == self._created:
            return
        if known.file is None:
            problem, remedy = "a response to its create is kept here, so it was created", "settle it with --created"
        else:
            problem = f"its outcome is known here, and could not be recorded: {known.outcome.value.replace('_', ' ')}"
            remedy = f"record it with: reconciler state recover {known.file}"
        raise Refused(problem, where=attempt.address, remedy=remedy)

    def objection(self, attempt: Attempt) -> Refused | None:
        """Why it must not be settled so without --force; nothing where this machine can prove what is said."""
        if self.known(attempt):
            return None
        if time.time() < attempt.settled_by:
            if attempt.status is Status.PENDING:
                return _too_early(attempt, f"its call may still be in flight, by whoever began it {attempt.since}")
            if not self._created:
                return _too_early(attempt, "the service may still carry its call out, whatever was heard of it so far")
        heard = self._evidence[attempt.id].heard
        return _contradicted(attempt, heard) if heard and not self._created else None


def _too_early(attempt: Attempt, problem: str) -> Refused:
    return Refused(
        problem,
        where=attempt.address,
        remedy=f"settle it after {stamp(attempt.settled_by)}, or with --force if you know that the call is over",
    )


def _contradicted(attempt: Attempt, heard: Mapping[str, str]) -> Refused:
    told = ", ".join(f"{code} (last {at})" for code, at in sorted(heard.items()))
    return Refused(
        f"notifications arrived since it began, so it seems to exist: {told}",
        where=attempt.address,
        remedy="settle it with --created; if you know that something else sends them: --force",
    )
