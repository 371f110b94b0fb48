"""Results of creates that this machine knows and the record lacks: in recovery files, and in stored responses."""

from collections.abc import Container, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from shlex import quote

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import SettingsError, StateError
from reconciler.model.address import TargetName
from reconciler.model.entry import Imported, Intent, Settled
from reconciler.model.outcome import Outcome
from reconciler.model.record import Attempt, MeaninglessEntry, Record
from reconciler.model.unrecorded import counting
from reconciler.operations.workspace import Workspace
from reconciler.planning.reasons import evidence_of
from reconciler.state.private.unrecorded import Unrecorded, all_kept


class KnownResult(Struct, frozen=True):
    """The outcome of a create, and the recovery file that holds it, if one does."""

    outcome: Outcome
    file: Path | None = None


class KnownResults:
    """What this machine knows beside the records. Recovery files are read once for all records read with it.

    It warns of none that one of the notices `told` names.
    """

    def __init__(self, workspace: Workspace, told: Sequence[str] = ()) -> None:
        self._workspace = workspace
        self._told = told

    def read(self, target: TargetName) -> Record:
        """A target's record, read afresh, as `add_to` gives it. Raises StateError."""
        return self.add_to(self._workspace.read(target).record())

    def add_to(self, record: Record) -> Record:
        """The record, with the creates that only recovery files name, and what is known of unresolved ones.

        It is itself if there is nothing of either; warns of each file once.

        Raises StateError for a file that cannot be read, and for the result of a create that nothing describes.
        """
        if self._records.isdisjoint(record.ids):
            extended = record
        else:
            saved = [entry for entry in self._kept if entry.record in record.ids]
            extended = _extended(self._workspace, record, saved, self._told)
        return _with_evidence(self._workspace, extended)

    @property
    def location(self) -> str:
        """Where the records are, for messages."""
        return self._workspace.store.location

    @property
    def may_have_results(self) -> bool:
        """Whether there are recovery files, of whatever record."""
        try:
            return bool(self._kept)
        except StateError:
            return True

    def may_have_responses(self, record: str) -> bool:
        """Whether there may be responses of a record that `add_to` would tell of."""
        try:
            return self._workspace.responses.may_have(record)
        except SettingsError:
            return False

    @cached_property
    def _kept(self) -> list[Unrecorded]:
        """What recovery files hold; nothing if there is no directory for them."""
        try:
            directory = self._workspace.data_directory
        except SettingsError:
            return []
        return all_kept(directory)

    @cached_property
    def _records(self) -> set[str]:
        return {entry.record for entry in self._kept}


def with_known_results(workspace: Workspace, record: Record, told: Sequence[str] = ()) -> Record:
    """The record as `KnownResults.add_to` gives it, with the recovery files as they are now. Raises StateError."""
    return KnownResults(workspace, told).add_to(record)


def _extended(workspace: Workspace, record: Record, saved: list[Unrecorded], told: Sequence[str]) -> Record:
    """The record with what files have saved of it."""
    try:
        extended, news = counting(record, (entry.entry for entry in saved))
    except MeaninglessEntry as problem:
        raise _undescribed(record, saved, problem.args[1]) from None
    for file in dict.fromkeys(entry.file for entry in saved if _attempt_of(entry) in news):
        if any(quote(str(file)) in notice for notice in told):
            continue
        count = len({_attempt_of(entry) for entry in saved if entry.file == file} & news)
        workspace.warn_once(
            f"{record.target}: {file} contains the results of {count} create{'' if count == 1 else 's'} that are not in"
            " the record; until they are recorded, these creates count as unknown; run: reconciler state recover"
            f" {quote(str(file))}"
        )
    return replace(extended, attempts={**extended.attempts, **_with_files(extended, saved, news)})


def known_result(workspace: Workspace, record: Record, attempt: Attempt) -> KnownResult | None:
    """The result of an unresolved attempt, as far as this machine has evidence of it. Raises StateError.

    A response is stored only for a subscription that was created.
    """
    outcomes = {
        entry.file: entry.entry.outcome
        for entry in all_kept(workspace.data_directory)
        if entry.record in record.ids and isinstance(entry.entry, Settled) and entry.entry.attempt == attempt.id
    }
    for file, outcome in outcomes.items():
        if outcome is not Outcome.UNKNOWN:
            return KnownResult(outcome, file)
    return KnownResult(Outcome.CREATED) if _has_response(workspace, record, attempt) else None


def _with_evidence(workspace: Workspace, record: Record) -> Record:
    """The record, with what is known of its unresolved creates beside their entries; itself if that is nothing.

    Warns of each whose response a run that died has left here. One with a recovery file is to be recovered first.
    """
    found = {}
    for attempt in record.unresolved:
        if attempt.recovery_file is not None:
            continue
        known = _with_what_is_known(workspace, record, attempt)
        if known is not attempt:
            found[attempt.id] = known
        if known.answered:
            workspace.warn_once(f"{attempt.address}: {evidence_of(known)}")
    return replace(record, attempts={**record.attempts, **found}) if found else record


def _with_what_is_known(workspace: Workspace, record: Record, attempt: Attempt) -> Attempt:
    from reconciler.planning.evidence import evidence_for  # noqa: PLC0415 - a plan pays only for what it uses
    from reconciler.planning.removals import in_force_beside  # noqa: PLC0415 - a plan pays only for what it uses

    received = tuple(sorted(evidence_for(record, attempt).items()))
    answered = False
    with suppress(SettingsError, StateError):
        answered = _has_response(workspace, record, attempt)
    twins = in_force_beside(attempt, record.attempts.values())
    if not (answered or received or twins):
        return attempt
    return replace(attempt, answered=answered, received=received, twins=twins)


def _has_response(workspace: Workspace, record: Record, attempt: Attempt) -> bool:
    from reconciler.operations.kept_secrets import with_response  # noqa: PLC0415 - a plan pays only for what it uses

    return bool(with_response(workspace, record, attempt).response)


def _with_files(record: Record, saved: list[Unrecorded], news: Container[str]) -> dict[str, Attempt]:
    """The unresolved attempts of which files know more than the record, each with the first file: it starts them."""
    return {
        attempt.id: replace(attempt, recovery_file=quote(str(entry.file)))
        for entry in reversed(saved)
        if (attempt := record.attempts.get(_attempt_of(entry) or "")) and attempt.unresolved and attempt.id in news
    }


def _attempt_of(saved: Unrecorded) -> str | None:
    """The attempt that an entry starts or resolves, None for any other entry."""
    return saved.entry.attempt if isinstance(saved.entry, Intent | Imported | Settled) else None


def _undescribed(record: Record, saved: list[Unrecorded], attempt: str) -> StateError:
    """The error for the result of a create which no entry describes."""
    file = next(entry.file for entry in saved if _attempt_of(entry) == attempt)
    return StateError(
        f"{file} contains the result of create attempt {attempt}, which the record does not contain",
        where=record.target,
        remedy="find the newer journal (version control, a backup, a CI artifact) and run: reconciler state recover"
        " NEWER.jsonl; if it is lost, ask the operator what exists, import it, and move"
        f" {file} to another directory",
    )
