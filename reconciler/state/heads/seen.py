"""The last known heads as they were at one time, by record and by target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.model.address import TargetName
    from reconciler.state.heads.known_head import KnownHead
    from reconciler.state.stores.store import StoreLocation


class Seen(Struct, frozen=True):
    """The last known heads by record id; `of_targets` has the ids of each target's records.

    `witnessed` are those that a witness has seen: any number of each record.
    """

    records: Mapping[str, KnownHead]
    of_targets: Mapping[TargetName, Sequence[str]]
    witnessed: Sequence[KnownHead] = ()

    @classmethod
    def of(cls, heads: Iterable[KnownHead]) -> Seen:
        records = {known.record: known for known in heads}
        of_targets: dict[TargetName, list[str]] = {}
        for known in records.values():
            of_targets.setdefault(known.target, []).append(known.record)
        return cls(records, of_targets)

    def renewed(self, heads: Iterable[KnownHead]) -> Seen:
        """The same with these heads as they are now, and new ones among them."""
        records = self.records
        changed = {known.record: known for known in heads if known is not records.get(known.record)}
        if not changed:
            return self
        of_targets = {**self.of_targets}
        for record, known in changed.items():
            earlier = self.records.get(record)
            if earlier is None:
                of_targets[known.target] = [*of_targets.get(known.target, ()), record]
            elif earlier.target != known.target:  # edited by hand: no record changes its target
                return Seen.of({**self.records, **changed}.values())
        return Seen({**self.records, **changed}, of_targets)

    def of_target(self, target: TargetName) -> list[KnownHead]:
        """The heads of a target, wherever they were seen."""
        return [self.records[record] for record in self.of_targets.get(target, ())] + [
            known for known in self.witnessed if known.target == target
        ]

    def of_record(self, record: str) -> list[KnownHead]:
        """The heads of a record."""
        known = self.records.get(record)
        return [*([] if known is None else [known]), *(known for known in self.witnessed if known.record == record)]

    def at(self, target: TargetName, place: StoreLocation) -> list[KnownHead]:
        """The heads of a target last seen in the store at `place`, the longest record first."""
        return _longest_first(known for known in self.of_target(target) if known.was_at(place))

    def elsewhere(self, target: TargetName, place: StoreLocation) -> list[KnownHead]:
        """The heads of a target last seen in other stores only, the longest record first."""
        return _longest_first(known for known in self.of_target(target) if not known.was_at(place))

    def targets_at(self, place: StoreLocation) -> set[TargetName]:
        """The targets of which a record was seen in the store at `place`."""
        return {known.target for known in (*self.records.values(), *self.witnessed) if known.was_at(place)}


def _longest_first(heads: Iterable[KnownHead]) -> list[KnownHead]:
    return sorted(heads, key=lambda known: (-known.entries, known.record))
