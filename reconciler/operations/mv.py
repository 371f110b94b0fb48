"""Renames subscriptions in the record, without a call."""

import re
from collections.abc import Callable, Iterable, Sequence

from reconciler.errors import Refused
from reconciler.model.address import Address, TargetName
from reconciler.model.entry import Moved
from reconciler.model.record import Attempt, Record
from reconciler.model.selection import Selection, is_pattern
from reconciler.operations.edit import not_recorded, now_by, parse_address, record_entries
from reconciler.operations.workspace import Workspace

Rename = tuple[Address, Address]
Show = Callable[[Iterable[Attempt], Address], None]


def renames(workspace: Workspace, source: str, destination: str) -> dict[TargetName, list[Rename]]:
    """What FROM and TO rename, by target: one address, or each that a pattern matches.

    Raises Refused for what is no such pair, for nothing to rename, and for an address in use; and StateError.
    """
    if "*" not in source + destination:
        pair = _of_one(parse_address(source), parse_address(destination))
        workspace.within.refuse_others(pair)
        return pair
    pattern, new = _pair(source, destination)
    selection = Selection.of((source,))
    found: dict[TargetName, list[Rename]] = {}
    targets = [target for target in workspace.store.targets() if selection.touches(target)]
    workspace.within.refuse_others(targets)
    for target, record in workspace.records(targets).items():
        for before in sorted(record.by_address()):
            match = pattern.fullmatch(before.name)
            if match and selection.has(before):
                after = parse_address(f"{target}/{new.replace('*', match[match.re.groups])}")
                _refuse_used(record, after)
                found.setdefault(target, []).append((before, after))
    if not found:
        raise not_recorded(source)
    return found


def move(
    workspace: Workspace,
    target: TargetName,
    pairs: Sequence[Rename],
    show: Callable[[Iterable[Attempt], Address], None],
) -> None:
    """Record the attempts of each first address as those of the second; `show` gets them before.

    Raises Refused for nothing to move, and for an address in use; and StateError.
    """

    def draft(record: Record) -> list[Moved]:
        for before, after in pairs:
            if not record.at_address(before):
                raise not_recorded(before, record)
            _refuse_used(record, after)
        for before, after in pairs:
            show(record.at_address(before), after)
        at, by = now_by(workspace)
        return [Moved(at=at, by=by, source=before, address=after) for before, after in pairs]

    names = ", ".join(f"{before.name} to {after.name}" for before, after in pairs[:3])
    more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
    record_entries(workspace, target, draft, f"moved {names}{more}")


def _of_one(before: Address, after: Address) -> dict[TargetName, list[Rename]]:
    if before.target != after.target:
        raise Refused(
            "cannot move a subscription to another target",
            where=f"{before} to {after}",
            remedy="create it on the other target, then retire it here",
        )
    return {before.target: [(before, after)]}


def _pair(source: str, destination: str) -> tuple[re.Pattern[str], str]:
    """What matches a name of FROM, and the new one, in which a `*` stands for what its `*` matches. Raises Refused."""
    over, _, name = source.rpartition("/")
    same_over, _, new = destination.rpartition("/")
    stars = name.count("*")
    sound = is_pattern(source) and source.count("/") == 2 and not {*"?["} & {*source, *destination}
    if not sound or over != same_over or new.count("*") != stars or stars > 1 or not new:
        raise Refused(
            "expected two patterns with the same target, and as many * in the name, one at most",
            where=f"{source} to {destination}",
            remedy="for example: '*/production/offers' '*/production/deals', or 'europe/staging/old-*'"
            " 'europe/staging/new-*'",
        )
    return re.compile(re.escape(name).replace(r"\*", "(.*)")), new


def _refuse_used(record: Record, after: Address) -> None:
    if record.at_address(after):
        raise Refused(
            "already in the state record",
            where=after,
            remedy="if config/ now uses another name for it, rename that first (`reconciler plan` prints the"
            f" command); to see it, run: reconciler state show {after}",
        )
