"""Imports subscriptions that were created manually: records them as existing, as config/ defines them now."""

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import Refused, SettingsError
from reconciler.model.address import Address, TargetName
from reconciler.model.desired import Subscription
from reconciler.model.entry import Imported
from reconciler.model.plan import Block
from reconciler.model.record import Attempt, Record
from reconciler.model.selection import Selection
from reconciler.model.url import normal_url
from reconciler.operations.edit import now_by, parse_address, record_entries
from reconciler.operations.known_results import KnownResults, with_known_results
from reconciler.operations.same_service import concerning, read_usable, warn_of_unread
from reconciler.operations.selecting import refuse_unmatched
from reconciler.operations.workspace import Workspace
from reconciler.planning.planner import Planner
from reconciler.planning.reasons import how_to_resolve_attempt
from reconciler.state.heads.unusable import UnusableRecord, replaced_records


class Import(Struct, frozen=True):
    """What was imported of a desired subscription: its missing codes, or none, for these reasons.

    `attempt` is the id that it is recorded under, empty as long as it is not; `perhaps` an attempt that was the same,
    and was recorded as removed.
    """

    subscription: Subscription
    codes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    attempt: str = ""
    perhaps: Attempt | None = None


_RECORDED = ("already recorded",)


class Importing:
    """Imports the subscription at an address, or all that patterns select, target by target."""

    def __init__(self, workspace: Workspace, address: str | None, patterns: tuple[str, ...]) -> None:
        """Raises Refused for an address that is not desired, SelectionError for patterns that match nothing."""
        self._by_target: dict[TargetName, list[Subscription]] = {}
        for subscription in _desired(workspace, address, patterns):
            self._by_target.setdefault(subscription.address.target, []).append(subscription)
        workspace.within.refuse_others(self._by_target)
        self._workspace = workspace
        self._importer = _Importer(workspace, named=address is not None)

    def preview(self) -> list[Import]:
        """What would be imported now, and what not, but for what is recorded; `record` then imports nothing else.

        Raises StateError.
        """
        importer = self._importer
        found = [done for target in sorted(self._by_target) for done in importer.look(target, self._by_target[target])]
        importer.listed = {done.subscription.address: done.codes for done in found}
        return [done for done in found if done.skipped != _RECORDED]

    def record(self) -> Iterator[Import]:
        """Import; what came of each, target by target. Raises StateError."""
        for target in sorted(self._by_target):
            yield from self._importer.run(target, self._by_target[target])

    def earlier_responses(self) -> list[Path]:
        """The directories of this machine with create responses of the lost records that those imported into replaced.

        Known once `record` has ended.
        """
        with suppress(SettingsError):
            return self._workspace.responses.directories_with_responses(self._importer.lost)
        return []


def _desired(workspace: Workspace, address: str | None, patterns: tuple[str, ...]) -> list[Subscription]:
    """The desired subscriptions that are meant."""
    subscriptions = workspace.desired.subscriptions
    if address is None:
        selection = Selection.of(patterns)
        refuse_unmatched(selection, [*workspace.desired.targets], [*subscriptions])
        return [subscription for subscription in subscriptions.values() if selection.has(subscription.address)]
    named = parse_address(address, "use an address that config/ defines; to import several, use --all -t PATTERN")
    if named not in subscriptions:
        from reconciler.model.spelling import suggestion  # noqa: PLC0415 - needed only to explain an error

        raise Refused(
            f"not defined in config/{suggestion([named], subscriptions)}",
            where=named,
            remedy="define it in config/ exactly as it exists, then import it before any apply, which would create it",
        )
    return [subscriptions[named]]


class _Importer:
    """Imports target by target.

    The other records of the store are read once, and once more after a conflict. To read them again for each target
    would take longer than the whole import does so: what other runs append meanwhile would not be noticed sooner.
    """

    def __init__(self, workspace: Workspace, *, named: bool) -> None:
        """`named`: a person named the one address, so it exists even where the record has another URL or code of it."""
        self._workspace = workspace
        self._named = named
        self._planner = Planner(workspace.desired, Selection())
        self._unread: tuple[UnusableRecord, ...] = ()
        self._is_read = False
        self.listed: Mapping[Address, tuple[str, ...]] | None = None
        """What a person was asked about, by address; None if nobody was asked."""
        self.lost: set[str] = set()
        """The ids of lost records that those imported into replaced."""

    def look(self, target: TargetName, desired: Iterable[Subscription]) -> list[Import]:
        """What is missing of `desired`, all of it on one target; nothing is recorded."""
        return self._missing(self._workspace.read_or_explain(target).record(), desired)

    def run(self, target: TargetName, desired: Iterable[Subscription]) -> list[Import]:
        """Record what is missing of `desired`, all of it on one target."""
        imports: list[Import] = []

        def draft(recorded: Record) -> list[Imported]:
            self._is_read = self._is_read and not imports  # else this is the second draft, after a conflict
            imports[:] = [_with_id(self._as_listed(done), recorded) for done in self._missing(recorded, desired)]
            at, by = now_by(self._workspace)
            entries = [_entry(done, at, by) for done in imports if done.codes]
            partial = self._is_partial(recorded, entries)
            return [replace(entry, partial=partial) for entry in entries]

        record = record_entries(self._workspace, target, draft, "imported")
        self.lost |= record.ids - {record.id}
        self._planner.put(with_known_results(self._workspace, record))
        return imports

    def _is_partial(self, recorded: Record, entries: Iterable[Imported]) -> bool:
        """Whether the record lost entries, and after these still lacks some of its target as `config/` defines it.

        They say nothing of the others, which an apply would still create a second time: neither of those that are not
        recorded, nor of those that were left out, say because they are recorded with another URL.
        """
        if not recorded.open_losses:
            return False
        subscriptions = self._workspace.desired.subscriptions.values()
        desired = (found for found in subscriptions if found.address.target == recorded.target)
        found = self._missing(recorded, desired)
        lacking = {done.subscription.address for done in found if done.skipped != _RECORDED}
        return not lacking <= {entry.address for entry in entries}

    def _missing(self, recorded: Record, desired: Iterable[Subscription]) -> list[Import]:
        record = with_known_results(self._workspace, recorded)
        blocked, held = self._blocked(record), record.by_address()
        found = [_checked(subscription, held.get(subscription.address, []), blocked) for subscription in desired]
        return found if self._named else [_unless_changed(done, held.get(done.subscription.address)) for done in found]

    def _as_listed(self, done: Import) -> Import:
        """Nothing of it if other codes were listed: another run has changed the record since."""
        if self.listed is None or not done.codes or done.codes == self.listed[done.subscription.address]:
            return done
        return Import(done.subscription, skipped=("the record has changed since it was listed; run the command again",))

    def _blocked(self, record: Record) -> Mapping[Address, tuple[str, ...]]:
        """Why what is desired on a target would not be created there, as a plan says it: it is, or may be, in force.

        What is recorded under another address is that subscription. Recorded once more, one of the two would be
        retired, and the operator asked to delete the only one there is.
        """
        workspace = self._workspace
        self._read_all()
        self._planner.put(record)
        replaced = replaced_records(record, workspace.heads.seen(record.target), workspace.store.place)
        unread = [*replaced, *(other for other in self._unread if other.target != record.target)]
        warn_of_unread(workspace.notices, concerning(unread, workspace.desired, [record.target]))
        changes = self._planner.plan(record.target).changes
        return {
            change.address: change.reasons for change in changes if change.block in (Block.ELSEWHERE, Block.UNRESOLVED)
        }

    def _read_all(self) -> None:
        if self._is_read:
            return
        workspace, seen = self._workspace, self._workspace.heads.seen()
        names = {*workspace.store.targets(), *seen.targets_at(workspace.store.place)}
        readable = read_usable(workspace, KnownResults(workspace), workspace.desired, names, seen)
        self._planner.use(readable.records)
        self._unread, self._is_read = readable.unread, True


def _unless_changed(done: Import, attempts: Sequence[Attempt] | None) -> Import:
    """Nothing of it if `attempts` of its address say otherwise: then config/ was changed, and no apply created that."""
    if not (done.codes and attempts):
        return done
    desired = done.subscription
    recorded = "; ".join(f"{', '.join(attempt.codes)} to {attempt.url}" for attempt in attempts)
    reason = (
        f"recorded with {recorded}, in config/ with {', '.join(desired.codes)} to {desired.url}; to import that too,"
        f" run: reconciler state import {desired.address}"
    )
    return Import(desired, skipped=(reason,))


def _with_id(done: Import, record: Record) -> Import:
    return replace(done, attempt=uuid.uuid4().hex[:16], perhaps=_removed_like(done, record)) if done.codes else done


def _removed_like(done: Import, record: Record) -> Attempt | None:
    """The last attempt that delivered what is imported, and was recorded as removed: perhaps by mistake."""
    address, url = done.subscription.address, normal_url(done.subscription.url)
    removed = (attempt for attempt in record.attempts.values() if attempt.removed and attempt.address == address)
    alike = [attempt for attempt in removed if attempt.codes == done.codes and normal_url(attempt.url) == url]
    return alike[-1] if alike else None


def _entry(done: Import, at: str, by: Mapping[str, str]) -> Imported:
    return Imported(
        at=at,
        by=by,
        attempt=done.attempt,
        address=done.subscription.address,
        codes=done.codes,
        url=done.subscription.url,
    )


def _checked(
    desired: Subscription, attempts: Collection[Attempt], blocked: Mapping[Address, tuple[str, ...]]
) -> Import:
    """What of a desired subscription is missing in `attempts`, those of its address, and can be imported."""
    unresolved = [attempt for attempt in attempts if attempt.unresolved]
    if unresolved:
        reason = f"a create has an unknown outcome; {how_to_resolve_attempt(unresolved[0])}"
        return Import(desired, skipped=(reason,))
    url = normal_url(desired.url)
    recorded = {code for attempt in attempts if normal_url(attempt.url) == url for code in attempt.codes}
    missing = tuple(code for code in desired.codes if code not in recorded)
    if not missing:
        return Import(desired, skipped=_RECORDED)
    if desired.address in blocked:
        return Import(desired, skipped=blocked[desired.address])
    return Import(desired, codes=missing)
