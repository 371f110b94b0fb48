"""What each kind of fact is about, and what a person reads of it."""

from __future__ import annotations

from typing import get_args

import pytest
from support.memory_record import AT, record_of

from reconciler.model.outcome import Outcome
from reconciler.record import facts as kinds
from reconciler.record.chain import parse
from reconciler.record.descriptions import describe, subjects
from reconciler.record.fold import fold

BEFORE, NOW = "europe/staging/before", "europe/staging/now"
ID, URL = "a" * 32, "https://hooks.example/x"
CALL = kinds.What(BEFORE, ("ONB10001", "ONB10002"), URL, "https://api.example")
RENAMED = kinds.Renamed(at=AT, attempts=(ID,), to=NOW)
RECORD = fold(parse(record_of(kinds.Exists(at=AT, attempt=ID, what=CALL), RENAMED), "memory:record"))
OF_RECORD: list[kinds.AnyFact] = [
    kinds.Begun(at=AT, record="c0ffee"), kinds.Completed(at=AT, losses=("lost", "copied")),
    kinds.Closed(at=AT, to="memory:b"), kinds.Joined(at=AT, heads=("f" * 64,)),
    kinds.Received(at=AT, base_url=URL, url=URL, code="ONB10001", first="1", last="2"),
    kinds.LossOpened(at=AT, loss="one", cause="begun"),
    kinds.LossOpened(at=AT, loss="two", cause="accepted", heads=("e" * 64,)),
    kinds.LossOpened(at=AT, loss="three", cause="copy", of="memory:a"),
]  # fmt: skip
OF_CALL: list[kinds.AnyFact] = [
    kinds.Intended(at=AT, attempt=ID, what=CALL),
    kinds.Answered(at=AT, attempt=ID, what=CALL, outcome=Outcome.CREATED, status=201),
    kinds.Exists(at=AT, attempt=ID, what=CALL, note="seen", beside=("b" * 32,)),
]  # fmt: skip
OF_ATTEMPT: list[kinds.AnyFact] = [
    kinds.Absent(at=AT, attempt=ID, note="asked"), kinds.RemovalRequested(at=AT, attempt=ID, codes=("ONB10001",)),
    kinds.RemovalCancelled(at=AT, attempt=ID, requests=("?",)),
    kinds.RemovalConfirmed(at=AT, attempt=ID, codes=("ONB10001",)), kinds.SecretSet(at=AT, attempt=ID, secret="sealed"),
]  # fmt: skip
REBOUND = kinds.Rebound(at=AT, target="europe/staging", base_url="https://new.example", account="sha256:1")
ABOUT: list[tuple[kinds.AnyFact, tuple[str, ...]]] = [
    *((fact, ()) for fact in OF_RECORD),
    *((fact, (NOW, BEFORE)) for fact in OF_CALL),
    *((fact, (NOW,)) for fact in OF_ATTEMPT),
    (kinds.Renamed(at=AT, attempts=(ID, "f" * 32), to="europe/staging/later"), (NOW, "europe/staging/later")),
    (REBOUND, ("europe/staging",)),
]


@pytest.mark.parametrize(("fact", "about"), ABOUT, ids=lambda value: type(value).__name__)
def test_subjects(fact: kinds.AnyFact, about: tuple[str, ...]) -> None:
    """The address as it is now comes first, then the one that the fact names; what is about the record has none."""
    assert about == subjects(fact, RECORD)


def test_descriptions() -> None:
    """Every kind has words of its own, with what a person needs to tell two of a kind apart."""
    told = [describe(fact) for fact, _ in ABOUT]
    assert {*get_args(kinds.AnyFact)} == {type(fact) for fact, _ in ABOUT}
    assert len(told) == len({*told})
    assert {f"attempt {ID}"} == {describe(fact).partition(":")[0] for fact in (*OF_CALL, *OF_ATTEMPT)}
    assert [
        "record c0ffee begins", "what exists is recorded: loss lost, copied ends",
        "what exists already is not recorded, so nothing is created until loss one ends",
        f"what was recorded last may be lost, so nothing is created until loss two ends; heads missed: {'e' * 64}",
        "the record is being copied here from memory:a, so nothing is created until loss three ends",
        f"attempt {ID}: create call intended: ONB10001, ONB10002 to {URL}", f"attempt {ID}: created (HTTP 201)",
        f"attempt {ID}: exists: ONB10001, ONB10002 to {URL}, beside attempt {'b' * 32} (seen)",
        f"attempt {ID}: was not created (asked)",
        "the service of this target is also https://new.example, account sha256:1",
    ] == [describe(fact) for fact in (*OF_RECORD[:2], *OF_RECORD[5:], *OF_CALL, OF_ATTEMPT[0], REBOUND)]  # fmt: skip
