"""Another copy of a journal, and the entries that merge it into the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import RecordForeign
from reconciler.model.entry import Begun, Bound, Joined
from reconciler.model.joining import all_entries, index
from reconciler.model.record import fold
from reconciler.model.url import same_service, service_key
from reconciler.state.journal.chain import link
from reconciler.state.journal.closing import refuse_closed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.model.entry import AnyEntry
    from reconciler.model.joining import Numbered
    from reconciler.model.record import Record
    from reconciler.state.journal.chain import Journal


def missing_of(
    ours: Journal, theirs: Journal, source: str, at: str, by: Mapping[str, str], *, seen_here: bool = False
) -> Sequence[AnyEntry]:
    """The entries that merge `theirs` into `ours`; none if `ours` contains all of it.

    `seen_here`: `theirs` was in this very place before, so that it may be bound to another service or account: whoever
    rebound it meant this record, and the binding that is newer than what both have in common holds.

    If `theirs` only continues `ours`, these are its very lines; otherwise a single `joined` entry, since an interrupted
    append may leave some of its lines only. `source` says where `theirs` is from.

    Raises RecordForeign if the two are not one record, or belong to different services or accounts, and RecordClosed if
    there is something new in `theirs`, and it was closed: what `ours` has is to be merged where it continues.
    """
    known = index(ours.lines)
    common = next((n for n, (_, digest) in enumerate(theirs.lines) if digest not in known), len(theirs.lines))
    _refuse_another_record(ours, theirs, source)
    if not seen_here:
        _refuse_another_binding(ours, theirs, fold(theirs.lines[:common]), source)
        elsewhere = services_since(theirs, common, services_of(ours.lines))
        if elsewhere:
            unless = "only if the service has been there, first rebind this record to it, and back"
            raise made_elsewhere(theirs, source, elsewhere, unless)
    after = theirs.lines[common - 1][1]
    lines = theirs.lines[common:]
    new = [entry for entry, _ in lines]
    if new:
        refuse_closed(theirs.record(), source)
    if not new or (after == ours.head and link(ours.head, len(ours.lines), new)[1] == theirs.head):
        return new
    return [Joined(at=at, by=by, source=source, head=theirs.head, entries=len(theirs.lines), after=after, lines=lines)]


def services_of(lines: Iterable[Numbered]) -> list[str]:
    """The base URLs that the record of these lines was ever bound to."""
    return [entry.base_url for entry in all_entries(lines) if isinstance(entry, Begun | Bound)]


def services_since(journal: Journal, count: int, known: Iterable[str]) -> list[str]:
    """The base URLs that a journal was bound to after its first `count` entries, but for those of the services `known`.

    Not one to which it was bound by mistake, and from which it was bound back with nothing done in between.
    """
    keys, found = set(map(service_key, known)), {}
    base_url = ""
    for entry in all_entries(journal.lines[count:]):
        if isinstance(entry, Begun | Bound):
            base_url = entry.base_url
        elif base_url:
            found[service_key(base_url)] = base_url
    found[service_key(journal.record().base_url)] = journal.record().base_url
    return [base_url for key, base_url in found.items() if key not in keys]


def made_elsewhere(theirs: Journal, source: str, base_urls: Sequence[str], unless: str) -> RecordForeign:
    """The error for a copy that was bound to other services than its record was known to be; `unless` is a remedy."""
    return RecordForeign(
        f"{source} was rebound to the service at {' and '.join(base_urls)}, perhaps to rehearse with a sandbox, and"
        " what was done there would count here",
        where=theirs.target,
        remedy=f"use a copy from before that, then import what was created here since; {unless}",
    )


def _refuse_another_record(ours: Journal, theirs: Journal, source: str) -> None:
    if ours.record().id != theirs.record().id or ours.lines[0] != theirs.lines[0]:
        remedy = "use --state with the store it belongs to"
        raise RecordForeign(f"{source} belongs to another record", where=ours.target, remedy=remedy)


def _refuse_another_binding(ours: Journal, theirs: Journal, common: Record, source: str) -> None:
    """Raises RecordForeign if `theirs` was bound to something else than `ours` since `common`, the record of both.

    A copy may have been bound to a sandbox, to rehearse with it. One whose binding is that of `common` is merged: only
    `ours` was rebound, and stays so.
    """
    here, there = ours.record(), theirs.record()
    if not (same_service(here.base_url, there.base_url) or same_service(common.base_url, there.base_url)):
        problem = f"belongs to the service at {there.base_url}, this record to {here.base_url}"
        setting = f"in config/, or {ours.target.variable_prefix}BASE_URL where that is set"
        condition = f"if the service has moved there, set base_url of {ours.target} to {there.base_url} ({setting})"
    elif None not in (here.account, there.account) and there.account not in (here.account, common.account):
        problem = "belongs to another account than this record"
        condition = f"if the operator has issued that client id, set {ours.target.variable_prefix}CLIENT_ID to it"
    else:
        return
    remedy = (
        f"{condition}, then rebind this record, and run this command again; to rebind, run: reconciler state rebind -t"
        f" {ours.target}"
    )
    raise RecordForeign(f"{source} {problem}", where=ours.target, remedy=remedy)
