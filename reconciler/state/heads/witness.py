"""A witness: a place other than the store that remembers the heads of records, for machines that remember none.

What a witness says can only be believed to the disadvantage of the record: each head that it has seen must be in the
record, or accepted as lost there. A forged one stops the program until somebody has looked; it never makes it accept
anything.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from reconciler.model.address import TARGET, TargetName
from reconciler.state.heads.known_head import KnownHead
from reconciler.state.journal.chain import count_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.model.testimony import Reading, Testimony
    from reconciler.state.stores.store import StoreLocation

_TEXT = re.compile(
    r"(?P<entries>[1-9][0-9]{0,9}) entr(?:y|ies) head (?P<head>[0-9a-f]{64}) record (?P<record>[0-9a-f]{8,64})"
    r" at (?P<store>[0-9a-f]{8})"
)


class Witness(Protocol):
    """A place that keeps short texts about targets, and in which nothing that was added is changed or removed."""

    name: str
    """What it is, for messages."""

    def read(self) -> Reading:
        """All texts that it still keeps, of anybody. It takes a bounded time; what could not be read is a gap."""
        ...

    def add(self, texts: Mapping[TargetName, str], seconds: float) -> None:
        """Add a text of at most 140 characters for each target, within so many seconds. Raises ReconcilerError."""
        ...


class WitnessedHead(KnownHead, frozen=True):
    """A head that a witness has seen, at `where` it keeps that; `store` is the `store_tag` of the store it was in.

    `fading` as in Testimony.

    Its `location` is empty: the witness does not tell it.
    """

    store: str = ""
    where: str = ""
    fading: bool = False

    @property
    def read_here(self) -> bool:
        return False

    @property
    def source(self) -> str:
        return f"by {self.where}"

    def was_at(self, place: StoreLocation) -> bool:
        return self.store == store_tag(place)

    def elsewhere_than(self, place: StoreLocation) -> str:
        if self.was_at(place):
            return ""
        return f"{self.where} shows it in another store: if it continues there, use that store with --state; "


def witnessed_heads(testimonies: Iterable[Testimony]) -> tuple[WitnessedHead, ...]:
    """The heads that a witness has seen, each once; texts of another form are ignored."""
    heads: dict[tuple[str, str, str, str], WitnessedHead] = {}
    for testimony in testimonies:
        found = _TEXT.match(testimony.text)
        if found is None or not TARGET.fullmatch(testimony.target):
            continue
        head = WitnessedHead(
            found["record"],
            TargetName(testimony.target),
            found["head"],
            int(found["entries"]),
            "",
            store=found["store"],
            where=testimony.where,
            fading=testimony.fading,
        )
        key = head.target, head.record, head.head, head.store
        if key not in heads or heads[key].fading:
            heads[key] = head
    return tuple(heads.values())


def text_of(known: KnownHead, place: StoreLocation) -> str:
    """What a witness keeps of a head that was read at `place`."""
    return f"{count_entries(known.entries)} head {known.head} record {known.record} at {store_tag(place)}"


def store_tag(place: StoreLocation) -> str:
    """Eight digits that stand for a store: the same on every machine, if a directory is the same from where it runs."""
    name = place.normalized(place.location) or place.location
    if place.resolved:
        name = os.path.relpath(place.resolved, os.path.realpath("."))
        name = place.resolved if name.startswith("..") else name
    return sha256(name.encode(errors="surrogateescape")).hexdigest()[:8]
