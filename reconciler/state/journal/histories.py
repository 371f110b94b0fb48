"""Another copy of a journal, and the entries that merge it into the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import RecordForeign
from reconciler.model.entry import Joined
from reconciler.model.joining import index
from reconciler.model.url import same_service
from reconciler.state.journal.chain import link
from reconciler.state.journal.closing import refuse_closed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reconciler.model.entry import AnyEntry
    from reconciler.state.journal.chain import Journal


def missing_of(
    ours: Journal, theirs: Journal, source: str, at: str, by: Mapping[str, str], *, seen_here: bool = False
) -> Sequence[AnyEntry]:
    """The entries that merge `theirs` into `ours`; none if `ours` contains all of it.

    `seen_here`: `theirs` was in this very place before, so if it continues `ours`, its service may be another.

    If `theirs` only continues `ours`, these are its very lines; otherwise a single `joined` entry, since an interrupted
    append may leave some of its lines only. `source` says where `theirs` is from.

    Raises RecordForeign if the two are not one record, or belong to different services or accounts, and RecordClosed if
    there is something new in `theirs`, and it was closed: what `ours` has is to be merged where it continues.
    """
    if not (seen_here and theirs.contains(ours.head, len(ours.lines))):
        _refuse_foreign(ours, theirs, source)
    known = index(ours.lines)
    common = next((n for n, (_, digest) in enumerate(theirs.lines) if digest not in known), len(theirs.lines))
    after = theirs.lines[common - 1][1]
    lines = theirs.lines[common:]
    new = [entry for entry, _ in lines]
    if new:
        refuse_closed(theirs.record(), source)
    if not new or (after == ours.head and link(ours.head, len(ours.lines), new)[1] == theirs.head):
        return new
    return [Joined(at=at, by=by, source=source, head=theirs.head, entries=len(theirs.lines), after=after, lines=lines)]


def _refuse_foreign(ours: Journal, theirs: Journal, source: str) -> None:
    here, there = ours.record(), theirs.record()
    rebind = f"to rebind this record first, run: reconciler state rebind -t {ours.target}"
    if here.id != there.id or ours.lines[0] != theirs.lines[0]:
        problem, remedy = "belongs to another record", "use --state with the store it belongs to"
    elif not same_service(here.base_url, there.base_url):
        problem, remedy = f"belongs to the service at {there.base_url}, this record to {here.base_url}", rebind
    elif None not in (here.account, there.account) and here.account != there.account:
        problem, remedy = "belongs to another account than this record", rebind
    else:
        return
    raise RecordForeign(f"{source} {problem}", where=ours.target, remedy=remedy)
