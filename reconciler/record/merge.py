"""Merging: the union of two histories, as lines to append to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.record.facts import Joined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from reconciler.record.chain import Line
    from reconciler.record.facts import AnyFact


def missing(contained: Collection[str], lines: Iterable[Line], at: str, by: Mapping[str, str]) -> list[AnyFact]:
    """Return the facts to append so that a record which contains these hashes has all that `lines` say.

    Each keeps its time, its author and, as `origin`, its id; so merging is commutative, associative and idempotent in
    the fold. A head that a loss names is none of these hashes: what it stands for may still be found. Where lines of
    the other history were merged there themselves, a last fact names their hashes: a head of that history is contained
    here from now on, whichever it was. Empty if nothing is missing.
    """
    known = set(contained)
    facts: list[AnyFact] = []
    heads: list[str] = []
    for line in lines:
        if line.id not in known:
            facts.append(replace(line.fact, origin=line.id))
            known.add(line.id)
        if line.hash not in known:
            heads.append(line.hash)
            known.add(line.hash)
    if heads:
        facts.append(Joined(at=at, by=by, heads=tuple(heads)))
    return facts
