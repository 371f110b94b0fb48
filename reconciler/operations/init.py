"""Initializes the state record, an empty journal for each target that has none, and accepts the loss of one."""

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from reconciler.errors import HeadMoved, RecordMissing, Refused, StateError
from reconciler.model.address import TargetName
from reconciler.model.entry import Begun
from reconciler.model.url import is_placeholder, is_sandbox, same_service
from reconciler.operations.edit import now_by
from reconciler.operations.selecting import whole_selection
from reconciler.operations.sound_config import sound_targets
from reconciler.operations.workspace import Workspace
from reconciler.service.credentials import Credentials
from reconciler.state.heads.kept import lost_but_kept, together, with_other_copies
from reconciler.state.heads.known_head import KnownHead
from reconciler.state.heads.remembered import missing_heads
from reconciler.state.heads.tracking import append_entries, begin_journal, load_journal, rollback_entries
from reconciler.state.journal.chain import Journal, count_entries, parse
from reconciler.state.journal.closing import refuse_closed
from reconciler.state.stores.files import FileStore


class Initialized(Struct, frozen=True):
    """A target that has a journal: whether it is `new`, and the records whose loss the new one accepts.

    `other_service` is the service that a journal which is not new belongs to, "" if to the same.
    """

    target: TargetName
    base_url: str
    new: bool
    lost: tuple[KnownHead, ...] = ()
    other_service: str = ""


def initialize(workspace: Workspace, patterns: tuple[str, ...], *, force: bool) -> Iterator[Initialized]:
    """Initialize the journals of the selected targets, one by one.

    Unless forced, raises Refused on a disk that does not last, and for a record that exists, or existed, elsewhere.
    """
    names = whole_selection(patterns, workspace.desired.targets)
    workspace.within.refuse_others(names)
    if workspace.in_ci and workspace.store.path and not force:
        raise Refused(
            "a CI runner's disk is lost with the job, so the next job would create everything again",
            where=workspace.store.location,
            remedy="use a persistent store with --state; or, if this disk is persistent, use --force",
        )
    if not force:
        _refuse_what_git_has(workspace, names)
        _refuse_seconds(workspace, names)
    workspace.warn_of_host_only_locks()
    workspace.store.prepare()
    for name in names:
        yield _initialize(workspace, name, force=force)
    _warn_of_placeholders(workspace, names)


def _warn_of_placeholders(workspace: Workspace, names: Sequence[TargetName]) -> None:
    """Warn of base URLs that nobody has replaced: the records are bound to them."""
    urls = {name: workspace.desired.targets[name].base_url for name in names}
    found = [name for name, url in urls.items() if is_placeholder(url)]
    if found:
        overridden = [given[1] for name in found if (given := workspace.variables.override(name, "BASE_URL"))]
        places = " and ".join([*(["base_url in config/"] if len(overridden) < len(found) else []), *overridden])
        selected = "".join(f" -t {name}" for name in found)
        workspace.notices.warn(
            f"{', '.join(found)}: the base_url ends in .example, which is a placeholder: replace {places} by what the"
            " operator gave you; the record is bound to the placeholder, so after that, run: reconciler state rebind"
            f"{selected}"
        )


def _initialize(workspace: Workspace, name: TargetName, *, force: bool) -> Initialized:
    base_url = workspace.desired.targets[name].base_url
    lost = _lost(workspace, name)
    try:
        _begin(workspace, name, base_url, f"{name}: initialized", lost, force=force)
    except HeadMoved:
        recorded = workspace.read(name).record().base_url  # raises if it is damaged
        other = "" if same_service(recorded, base_url) else recorded
        return Initialized(name, base_url, new=False, other_service=other)
    return Initialized(name, base_url, new=True, lost=tuple(lost))


def _begin(
    workspace: Workspace, name: TargetName, base_url: str, note: str, lost: Sequence[KnownHead], *, force: bool
) -> None:
    """Begin a journal for this service. Raises HeadMoved if there is one."""
    at, by = now_by(workspace)
    begun = Begun(at=at, by=by, record=uuid.uuid4().hex, target=name, base_url=base_url, forced=force)
    begin_journal(workspace.store, begun, workspace.heads, note, lost)
    workspace.notices.work_is_done()


def _refuse_seconds(workspace: Workspace, names: Sequence[TargetName]) -> None:
    """Raises what `_refuse_second` does, for all together where one command restores several."""
    refused: dict[TargetName, Refused] = {}
    for name in names:
        try:
            _refuse_second(workspace, name)
        except Refused as problem:
            refused[name] = problem
            if not problem.restorable:
                break
    if refused:
        raise together(refused, workspace.store.location)[0]


def _refuse_what_git_has(workspace: Workspace, names: Sequence[TargetName]) -> None:
    """Raises Refused for records of files that are missing, and that git has, for these services."""
    store = workspace.store
    files = {name: store.journal_file(name) for name in names if not _lost(workspace, name)}
    missing = {name: file for name, file in files.items() if file is not None and not os.path.lexists(file)}
    if not missing:
        return
    from reconciler.state.stores.git.versions import longest_versions, restore_all  # noqa: PLC0415 - few stores need git

    versions = {name: one for name, one in longest_versions(missing).items() if _is_for(workspace, name, one.data)}
    if versions:
        lengths = " and ".join(f"that of {name} with {count_entries(one.entries)}" for name, one in versions.items())
        selected = "".join(f" -t {name}" for name in versions)
        raise Refused(
            f"no new record is initialized where git has one: {lengths}",
            where=store.location,
            remedy=f"restore it, or its subscriptions will be created again; run: {restore_all(versions.values())}; to"
            f" initialize a new one anyway, run: reconciler state init{selected} --force",
        )


def _is_for(workspace: Workspace, name: TargetName, data: bytes) -> bool:
    """Whether a journal is a target's for its service, as far as can be read."""
    with suppress(StateError):
        recorded = parse(data[: data.rfind(b"\n") + 1], name, str(name)).record().base_url
        return same_service(recorded, workspace.desired.targets[name].base_url)
    return True


def _refuse_second(workspace: Workspace, name: TargetName) -> None:
    """Raises Refused if a record of the target, for this service, existed here and is missing, or exists elsewhere."""
    base_url = workspace.desired.targets[name].base_url
    lost = _lost(workspace, name)
    elsewhere = workspace.heads.seen(name).elsewhere(name, workspace.store.place)
    others = [seen for seen in elsewhere if seen.concerns(base_url)]
    if not (lost or others) or workspace.store.read(name) is not None:
        return
    if not lost and is_sandbox(base_url):
        _warn_of_sandbox(workspace, name, others)
        return
    where = f"{name} in {workspace.store.location}"
    if lost:
        refused = Refused(
            f"the record with {lost[0].length} is missing",
            where=where,
            remedy=f"{lost[0].elsewhere_than(workspace.store.place)}restore it (version control, a backup, another"
            " --state), or its subscriptions will be created again; with a copy of it, such as a colleague's, run:"
            " reconciler state recover COPY.jsonl; if it is lost for good, run: reconciler state accept-rollback -t"
            f" {name}",
        )
        raise with_other_copies(refused, workspace.store, None, name, workspace.heads.seen(name))
    raise Refused(
        f"a record with {others[0].length} exists {_seen_at(others[0])}",
        where=where,
        remedy=f"{_use(others[0])}, or its subscriptions will be created again; to initialize a new one anyway,"
        f" run: reconciler state init -t {name} --force",
    )


def _warn_of_sandbox(workspace: Workspace, name: TargetName, others: Sequence[KnownHead]) -> None:
    """Warn of a record with contents elsewhere, unless it is of another account: without --data, a sandbox makes new
    ones at each start, and at the same port it is another service.
    """
    client_id = workspace.variables.override(name, "CLIENT_ID")
    account = None if client_id is None else Credentials(client_id[0].strip(), "").account()
    for other in others:
        if other.entries > 1 and (account is None or _account(other, name) in (None, account)):
            workspace.notices.warn(
                f"{name}: a record with {other.length} of this sandbox exists {_seen_at(other)}; if the sandbox still"
                f" has its data, {_use(other)}, or its subscriptions will be created again"
            )
            return


def _account(known: KnownHead, name: TargetName) -> str | None:
    """The account of a record elsewhere, None if it is of none, or cannot be read without a call."""
    with suppress(StateError, OSError):
        journal = load_journal(FileStore(Path(known.resolved)), name) if known.resolved else None
        return None if journal is None else journal.record().account
    return None


def _use(known: KnownHead) -> str:
    return f"use it with --state {known.location}" if known.resolved else "use that store with --state"


def _seen_at(known: KnownHead) -> str:
    return f"at {known.location}" if known.location else f"in another store, last seen {known.source}"


def _lost(workspace: Workspace, name: TargetName) -> list[KnownHead]:
    """What was seen here of the target's records for this service; lost if there is no journal."""
    known = workspace.heads.seen(name).at(name, workspace.store.place)
    return [seen for seen in known if seen.concerns(workspace.desired.targets[name].base_url)]


class Rollback(Struct, frozen=True):
    """The journal of a target as it is, if there is one, and what this machine last knew of it and it does not hold.

    `elsewhere` is what to try first, if that was last seen in another store. `kept`: whether this machine still has
    some of it.
    """

    target: TargetName
    journal: Journal | None
    lost: list[KnownHead]
    elsewhere: str
    kept: bool


def rollbacks(workspace: Workspace, pattern: str) -> Iterator[Rollback]:
    """Each selected target, read when it is asked for. Raises RecordMissing for one that never had a record."""
    place, seen, targets = workspace.store.place, workspace.heads.seen(), sound_targets(workspace)
    selected = whole_selection((pattern,), {*workspace.store.targets(), *targets, *seen.targets_at(place)})
    workspace.within.refuse_others(selected)
    for name in selected:
        journal = load_journal(workspace.store, name)
        if journal is not None:
            refuse_closed(journal.record(), workspace.store.where(name))
        lost = seen.at(name, place) if journal is None else missing_heads(journal, seen, place)
        if journal is None and not lost:
            raise RecordMissing(
                f"{name} has no state record here, and never had one, as far as this machine knows",
                where=workspace.store.location,
                remedy="if it had one, restore it, or run this command on a machine that has seen it (see A lost record"
                f" in BAD_DAY.md); if it never had one, run: reconciler state init -t {name}",
            )
        elsewhere = next((text for known in lost if (text := known.elsewhere_than(place))), "")
        kept, _ = lost_but_kept(workspace.store, journal, name, seen)
        yield Rollback(name, journal, lost, elsewhere, bool(lost and kept))


def accept(workspace: Workspace, rollback: Rollback, *, force: bool) -> None:
    """Record that the loss is accepted, in a new journal if there is none. Raises StateError."""
    name, journal, lost = rollback.target, rollback.journal, rollback.lost
    note = f"{name}: rollback accepted"
    if journal is not None:
        at, by = now_by(workspace)
        accepted = append_entries(
            workspace.store, journal, rollback_entries(lost, at, by, forced=force), workspace.heads, note
        )
        workspace.notices.work_is_done()
        workspace.heads.accept(accepted, workspace.store.place)
        return
    base_url = _service(workspace, name, lost)
    workspace.store.prepare()  # the place may be lost with the record
    _begin(workspace, name, base_url, note, lost, force=force)


def _service(workspace: Workspace, name: TargetName, lost: list[KnownHead]) -> str:
    """The service for a new record: the declared one, else that of the lost record. Raises RecordMissing."""
    target = sound_targets(workspace).get(name)
    urls = [target.base_url] if target else [seen.base_url for seen in lost if seen.base_url]
    if not urls:
        raise RecordMissing(
            "the service of the lost record is unknown",
            where=name,
            remedy=f"declare the target {name} in config/ with its base_url, then run this command again",
        )
    return urls[0]
