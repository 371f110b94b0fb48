"""A record that has lost entries in the store, of which this machine still has them: what a store keeps of journals."""

from __future__ import annotations

from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from reconciler.errors import RecordLost, RecordRolledBack, Refused, StateError
from reconciler.state.heads.remembered import covers, missing_heads
from reconciler.state.journal.chain import Journal, count_entries, parse
from reconciler.state.stores.store import Keeping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reconciler.model.address import TargetName
    from reconciler.state.heads.known_head import KnownHead
    from reconciler.state.heads.seen import Seen
    from reconciler.state.stores.store import Store, StoreLocation

_Problem = TypeVar("_Problem", RecordRolledBack, RecordLost, Refused)

_SEVERAL = 2
_ALL = quote("*/*")
_MOVED = "if it was copied to another store, use that store with --state; otherwise, "


class Kept(Struct, frozen=True):
    """A journal as it was seen on this machine, and its lines."""

    journal: Journal
    data: bytes

    def covers(self, known: KnownHead) -> bool:
        """Whether nothing is lost of what was last seen as `known`."""
        return covers(self.journal, known)

    def is_in(self, journal: Journal) -> bool:
        """Whether `journal` contains all of it, or was merged with it, or accepts its loss."""
        head = self.journal.head
        return journal.contains(head, len(self.journal.lines)) or head in journal.record().accepted_losses


def source_of(store: Store) -> str:
    """Where a journal is from that the store keeps, for messages and for the record."""
    return f"the local copy of {store.location}"


def lost_but_kept(store: Store, journal: Journal | None, target: TargetName, seen: Seen) -> tuple[list[Kept], bool]:
    """The journals kept here that have entries of the record which `journal` lacks, and whether nothing else is lost.

    The newest comes first. `journal` is None if the store has none: then it is the one to put back. Raises StateError.
    """
    if journal is None:
        lost = seen.at(target, store.place)
        to_put_back = _to_put_back(list(_kept(store, target)), lost) if lost else None
        return ([] if to_put_back is None else [to_put_back]), to_put_back is not None
    record = journal.record().id
    newer = [one for one in _kept(store, target) if one.journal.record().id == record and not one.is_in(journal)]
    lost = _own_losses(journal, seen, store.place)
    return newer, all(any(one.covers(known) for one in newer) for known in lost)


def _to_put_back(kept: list[Kept], lost: list[KnownHead]) -> Kept | None:
    """The journal to begin with where there is none, if all of a record that is lost is kept, else None.

    The record is one that accepts the loss of the others, or the longest. Of its journals, one that was closed comes
    first: the record continues in another store, and must not continue here too.
    """
    of_all = [one for one in kept if all(map(one.covers, lost))]
    whole = of_all or [one for one in kept if one.covers(lost[0])]
    if not whole:
        return None
    of_record = [one for one in kept if one.journal.record().id == whole[0].journal.record().id]
    opened = [one.journal for one in of_record if one.journal.record().closed is None]

    def rank(one: Kept) -> tuple[bool, bool, int]:
        is_closed = one.journal.record().closed is not None and not any(map(one.is_in, opened))
        return not is_closed, one not in whole, -len(one.journal.lines)

    return min(of_record, key=rank)


def with_other_copies(
    problem: _Problem, store: Store, journal: Journal | None, target: TargetName, seen: Seen
) -> _Problem:
    """`problem` with what to do where this machine still has what the store has lost, or git has it."""
    explained = _with_what_is_kept(problem, store, journal, target, seen)
    file = store.journal_file(target)
    place = store.place
    lost = seen.at(target, place) if journal is None else _own_losses(journal, seen, place)
    if file is None or not lost:
        return explained
    from reconciler.state.stores.git.versions import restore_all, version_with  # noqa: PLC0415 - only for an error

    version = version_with(file, lost[0].head)
    if version is None:
        return explained
    if journal is None:
        remedy = f"git has it; to restore it, run: {restore_all([version])}; or, if that fails:"
    else:
        remedy = (
            f"git has what is missing; to add it, run: {version.recover}; then delete newer.jsonl, which is not to be"
            " committed; or, if that fails:"
        )
    return type(problem)(problem.what, where=problem.where, remedy=f"{remedy} {explained.remedy}")


def _own_losses(journal: Journal, seen: Seen, place: StoreLocation) -> list[KnownHead]:
    """The heads last seen of this very record that it lacks, the longest first."""
    record = journal.record().id
    return [known for known in missing_heads(journal, seen, place) if known.record == record]


def _with_what_is_kept(
    problem: _Problem, store: Store, journal: Journal | None, target: TargetName, seen: Seen
) -> _Problem:
    """`problem` with what to do where this machine still has what the store has lost; it must not be accepted then."""
    try:
        kept, whole = lost_but_kept(store, journal, target, seen)
    except StateError:
        return problem
    if not kept:
        return problem
    length = count_entries(max(len(one.journal.lines) for one in kept))
    what = "what is missing" if whole else "a part of what is missing"
    rest = "" if whole else f"; for the rest: {problem.remedy}"
    moved = _MOVED if journal is None else ""
    remedy = (
        f"{moved}this machine still has {what}, in a copy with {length}; to restore it{_stays(journal)},"
        f" run: reconciler state recover -t {target}{rest}"
    )
    explained = type(problem)(problem.what, where=problem.where, remedy=remedy)
    explained.restorable = whole
    return explained


def nothing_kept(store: Store, journal: Journal | None, target: TargetName, seen: Seen) -> StateError | None:
    """The error for a record that has lost entries of which this machine has no copy, None if it has lost none."""
    lost = seen.at(target, store.place) if journal is None else _own_losses(journal, seen, store.place)
    if not lost:
        return None
    how = "is missing" if journal is None else "was rolled back"
    what = f"the record of {target} {how}, and this machine has no copy of it: it was last seen with {lost[0].length}"
    remedy = (
        "find a copy that has them (version control, a backup, a colleague's), and run: reconciler state recover"
        " COPY.jsonl"
    )
    if journal is None:
        return with_other_copies(RecordLost(what, where=store.where(target), remedy=remedy), store, None, target, seen)
    problem = RecordRolledBack(what, where=store.where(target), remedy=remedy)
    return with_other_copies(problem, store, journal, target, seen)


def together(problems: Mapping[TargetName, StateError | Refused], location: str) -> list[StateError | Refused]:
    """The problems with the records in the store at `location`: first those that one command restores, as one."""
    restorable = {target: problem for target, problem in problems.items() if problem.restorable}
    if len(restorable) < _SEVERAL:
        return list(problems.values())
    rolled_back = [isinstance(problem, RecordRolledBack) for problem in restorable.values()]
    missing = "are missing or were rolled back" if any(rolled_back) else "are missing"
    what = "were rolled back" if all(rolled_back) else missing
    moved = "" if all(rolled_back) else "if they were copied to another store, use that store with --state; otherwise, "
    stays = " after the entries that are here, which stay" if any(rolled_back) else ""
    all_of_them = RecordRolledBack if all(rolled_back) else RecordLost
    first = all_of_them(
        f"the state records of {', '.join(restorable)} {what}; until they are restored, nothing is created there",
        where=location,
        remedy=f"{moved}this machine still has what is missing; to restore all of it{stays}, run: reconciler state"
        f" recover -t {_ALL}",
    )
    return [first, *(problem for target, problem in problems.items() if target not in restorable)]


def _stays(journal: Journal | None) -> str:
    return "" if journal is None else f" after the {count_entries(len(journal.lines))} that are here, which stay"


def _kept(store: Store, target: TargetName) -> Iterator[Kept]:
    """The target's journals as they were seen here, the newest first; none of a store that keeps none.

    Raises StateError; a journal that is damaged is left out.
    """
    for data in store.kept(target) if isinstance(store, Keeping) else ():
        with suppress(StateError):
            yield Kept(parse(data, target, source_of(store)), data)
