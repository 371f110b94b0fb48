"""Buckets that break their promises: refused by `state init`, harmless, or beyond what a client can survive."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.broken_buckets import BROKEN, HARMLESS, BrokenBucket, clients_of
from support.contended import contend
from support.journal_samples import TARGET, entries, imported, journal_bytes
from support.memory_bucket import bucket_store

from reconciler.errors import HeadMoved, RecordRolledBack, StateError
from reconciler.model.entry import Intent, Settled
from reconciler.model.outcome import Outcome
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import HeadTrackingStore, read_journal
from reconciler.state.journal.chain import link, parse

if TYPE_CHECKING:
    from support.contended import CountingService, Machine
    from support.object_servers import ObjectServer

    from reconciler.state.stores.store import Store

REFUSED = {
    "ignores the condition", "checks, then writes", "a stale list", "a stale read", "half an object",
    "two regions that disagree for a while", "success with nothing stored",
}  # fmt: skip
"""What the test of `state init` finds, if it happens while that runs."""

PAGE = Path(__file__).parents[2] / ".github" / "STORES.md"


def begun_in(bucket: BrokenBucket) -> BrokenBucket:
    """The bucket, with a record that was begun while nothing was wrong."""
    bucket.objects[f"{TARGET}/000000000001.jsonl"] = journal_bytes(entries(1))
    return bucket


def at_rest() -> None:
    """Let what is late arrive."""
    time.sleep(0.1)


def stored(bucket: BrokenBucket) -> bytes:
    """The journal as far as it is whole, whatever clients see of it."""
    data = b"".join(bucket.objects[key] for key in sorted(bucket.objects) if re.fullmatch(r".*/\d{12}\.jsonl", key))
    return data[: data.rfind(b"\n") + 1]


def assert_nothing_twice_and_nothing_lost(
    bucket: BrokenBucket, service: CountingService, machines: list[Machine]
) -> None:
    """Each create was sent once at most, after its intent was stored; its outcome is stored, or kept, or unknown."""
    assert [] == [code for code, times in service.created.items() if times > 1]
    journal = parse(stored(bucket), TARGET, "bucket")
    intents = {code: entry.attempt for entry, _ in journal.lines if isinstance(entry, Intent) for code in entry.codes}
    assert service.created.keys() <= intents.keys()
    attempts = journal.record().attempts
    told = {entry.attempt for machine in machines for entry in machine.kept if isinstance(entry, Settled)}
    for code in service.created:
        attempt = attempts[intents[code]]
        assert attempt.outcome is Outcome.CREATED or attempt.unresolved or attempt.id in told


@pytest.mark.parametrize("broken", sorted(REFUSED))
def test_refused_by_state_init(broken: str) -> None:
    """The test that a store must pass before a record is begun finds it."""
    store = bucket_store(clients_of(broken, BrokenBucket()))
    with pytest.raises(StateError, match=r"does not keep what a record depends on|could be created"):
        store.prepare()


@pytest.mark.parametrize("broken", sorted(BROKEN.keys() - REFUSED))
def test_admitted(broken: str) -> None:
    """What breaks no promise that a record depends on is admitted."""
    store = bucket_store(clients_of(broken, BrokenBucket(), 0.1))
    store.prepare()


@pytest.mark.parametrize("broken", sorted(HARMLESS))
def test_contended_applies(broken: str, tmp_path: Path) -> None:
    """Where it happens now and then, in a store that was admitted: nothing is sent twice, and nothing is lost."""
    bucket = begun_in(BrokenBucket())
    stores = [bucket_store(clients_of(broken, bucket, 0.1)) for _ in range(3)]
    service, machines = contend(stores, tmp_path, 6)
    at_rest()
    assert_nothing_twice_and_nothing_lost(bucket, service, machines)
    assert broken == "half an object" or service.created.total() == 6


@pytest.mark.parametrize(
    "broken", ["ignores the condition", "checks, then writes", "two regions that disagree for a while"]
)
def test_what_no_client_can_survive(broken: str, tmp_path: Path) -> None:
    """Two appends to one head both succeed, and no client can know; whoever's was lost is told as soon as it reads."""
    bucket = begun_in(BrokenBucket())
    bucket.other_region().objects.update(bucket.objects)
    stores = [bucket_store(clients_of(broken, bucket)) for _ in range(2)]
    heads = [Heads(tmp_path / f"heads{number}") for number in range(2)]
    barrier = threading.Barrier(2)

    def append(number: int) -> None:
        machine = HeadTrackingStore(stores[number], heads[number])
        before = machine.follow(read_journal(stores[number], TARGET, heads[number]))
        lines, _ = link(before.head, 1, [imported(f"of machine {number}")])
        barrier.wait()
        machine.append(TARGET, before.head, 2, lines, "race")

    with ThreadPoolExecutor(2) as pool:
        ended = [future.exception() for future in [pool.submit(append, number) for number in range(2)]]
    at_rest()
    told = [known_problem(stores[number], heads[number]) for number in range(2)]
    assert any(isinstance(problem, RecordRolledBack | HeadMoved) for problem in [*told, *ended])


def known_problem(store: Store, heads: Heads) -> StateError | None:
    """What a machine is told that reads the record once more."""
    try:
        read_journal(store, TARGET, heads)
    except StateError as problem:
        return problem
    return None


def test_a_clock_that_lies(s3_with_a_lying_clock: ObjectServer, tmp_path: Path) -> None:
    """No time that the store tells is used: it is admitted, and contended applies do nothing twice."""
    stores = [s3_with_a_lying_clock.open() for _ in range(3)]
    stores[0].prepare()
    stores[0].append(TARGET, None, 1, journal_bytes(entries(1)), "begin")
    service, _ = contend(stores, tmp_path, 4)
    assert [1] * 4 == [*service.created.values()]


def test_the_page_has_a_row_for_each() -> None:
    """The table says of each broken store what becomes of it, as the tests here show it."""
    rows = dict(re.findall(r"^\| ([a-z][^|]*?) \| ([a-z][^|]*?) \|", PAGE.read_text(), re.MULTILINE))
    for broken in BROKEN:
        assert ("refused" in rows[broken]) == (broken in REFUSED), broken
        assert ("harmless" in rows[broken]) == (broken in HARMLESS), broken
    assert "harmless" in rows["a clock that lies"]
