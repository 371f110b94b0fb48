"""Entries and journals for tests: the smallest ones that are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.address import Address, TargetName
from reconciler.model.entry import Begun, Imported, RollbackAccepted
from reconciler.state.journal.chain import Journal, link, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.model.entry import AnyEntry

TARGET = TargetName("europe/staging")
OTHER = TargetName("usa/production")
RECORD = "c0ffee00" * 4
AT = "2026-11-20T13:30:00Z"
BY = {"user": "operator"}


def begun(target: TargetName = TARGET, record: str = RECORD) -> Begun:
    """The entry that begins a record."""
    return Begun(at=AT, by=BY, record=record, target=target, base_url="https://api.example")


def imported(attempt: str, target: TargetName = TARGET) -> Imported:
    """An entry that begins an attempt and needs no other."""
    address = Address.of(target, "offers")
    return Imported(
        at=AT, by=BY, attempt=attempt, address=address, codes=("ONB10011",), url="https://hooks.example/offers"
    )


def rollback(head: str, entries: int) -> RollbackAccepted:
    """The entry that accepts a loss."""
    return RollbackAccepted(at=AT, by=BY, lost_head=head, lost_entries=entries)


def entries(count: int, target: TargetName = TARGET, record: str = RECORD, mark: str = "a") -> list[AnyEntry]:
    """The entries of a journal of `count` lines; `mark` tells histories apart."""
    return [begun(target, record), *(imported(f"{mark}{number}", target) for number in range(2, count + 1))]


def journal_bytes(told: Sequence[AnyEntry]) -> bytes:
    """A whole journal as a store holds it."""
    return link(None, 0, told)[0]


def journal(count: int, target: TargetName = TARGET, record: str = RECORD, mark: str = "a") -> Journal:
    """A journal of `count` lines, read."""
    return parse(journal_bytes(entries(count, target, record, mark)), target, "state")
