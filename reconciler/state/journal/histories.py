"""Another journal of a record, and what it takes for the record to hold what that one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import RecordForeign
from reconciler.model.entry import Joined
from reconciler.model.joining import index
from reconciler.model.url import same_service
from reconciler.state.journal.chain import link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reconciler.model.entry import AnyEntry
    from reconciler.state.journal.chain import Journal


def missing_of(ours: Journal, theirs: Journal, source: str, at: str, by: Mapping[str, str]) -> Sequence[AnyEntry]:
    """The entries that bring what `theirs` knows into `ours`; none where it is there already.

    A journal that `theirs` only goes on from gets the very lines of `theirs`, any other one entry that joins the two:
    one, since an append that breaks off may leave some of its lines. `source` says where `theirs` is from.

    Raises RecordForeign where the two are not one record, or belong to different services or accounts.
    """
    _refuse_foreign(ours, theirs, source)
    known = index(ours.lines)
    common = next((n for n, (_, digest) in enumerate(theirs.lines) if digest not in known), len(theirs.lines))
    after = theirs.lines[common - 1][1]
    lines = theirs.lines[common:]
    new = [entry for entry, _ in lines]
    if not new or (after == ours.head and link(ours.head, len(ours.lines), new)[1] == theirs.head):
        return new
    return [Joined(at=at, by=by, source=source, head=theirs.head, entries=len(theirs.lines), after=after, lines=lines)]


def _refuse_foreign(ours: Journal, theirs: Journal, source: str) -> None:
    here, there = ours.record(), theirs.record()
    if here.id != there.id or ours.lines[0] != theirs.lines[0]:
        problem, remedy = "is the journal of another record", "name the store that it belongs to with --state"
    elif not same_service(here.base_url, there.base_url):
        problem = f"belongs to the service at {there.base_url}, the record here to the one at {here.base_url}"
        remedy = "bind the record here to that service first: reconciler state rebind"
    elif None not in (here.account, there.account) and here.account != there.account:
        problem = "belongs to another account than the record here"
        remedy = "bind the record here to that account first: reconciler state rebind"
    else:
        return
    raise RecordForeign(f"{source} {problem}", where=ours.target, remedy=remedy)
