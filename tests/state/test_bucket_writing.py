"""What becomes of an append, whatever the object store answers: only what is stored counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from support.journal_samples import TARGET, entries, imported, journal, journal_bytes
from support.memory_bucket import MEMORY, MemoryBucket, bucket_store

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.state.journal.chain import link
from reconciler.state.stores.objects import writing
from reconciler.state.stores.objects.bucket import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.state.stores.objects.objects import BucketStore

KEY = f"{TARGET}/000000000003.jsonl"
OURS, THEIRS = (link(journal(2).head, 2, [imported(attempt)])[0] for attempt in ("ours", "theirs"))
CREATED, CONFLICT, UNKNOWN = Answer("created"), Answer("conflict"), Answer("unknown", "cannot connect")
REFUSED = Answer("refused", "access denied (403)", "check the credentials")
Step = tuple[Literal["ours", "theirs", "nothing"], Answer]


class Scripted(MemoryBucket):
    """A bucket that stores something and answers something, as the `steps` say, one for each create."""

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__()
        self.steps = [*steps]
        self.sent: list[bytes] = []

    def create(self, key: str, data: bytes, until: float) -> Answer:
        if key != KEY:
            return super().create(key, data, until)
        self.sent.append(data)
        stored, answer = self.steps.pop(0)
        if stored != "nothing":
            super().create(key, data if stored == "ours" else THEIRS, until)
        return answer


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_PAUSES", (0.0,) * 4)


def begun(*steps: Step) -> tuple[Scripted, BucketStore]:
    """A bucket with a journal of two entries, and a store that has read it."""
    bucket = Scripted(steps)
    store = bucket_store(lambda: bucket)
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    return bucket, store


def append(store: BucketStore) -> None:
    """Append our entry."""
    store.append(TARGET, journal(2).head, 3, OURS, "ours")


def missed(answer: Answer) -> list[Step]:
    """Four times this answer, and nothing stored."""
    return [("nothing", answer)] * 4


NOTHING: list[Step] = [("nothing", CREATED), ("nothing", CONFLICT), ("nothing", UNKNOWN)]


@pytest.mark.parametrize("answer", [CREATED, CONFLICT, UNKNOWN, REFUSED])
@pytest.mark.parametrize("before", [[], *([step] for step in NOTHING), NOTHING])
def test_what_was_stored_is_appended(before: list[Step], answer: Answer) -> None:
    """Whatever was answered, at once or after the identical object was sent again."""
    bucket, store = begun(*before, ("ours", answer))
    append(store)
    assert [OURS] * (len(before) + 1) == bucket.sent
    assert journal_bytes(entries(2)) + OURS == store.read(TARGET)


@pytest.mark.parametrize("answer", [CREATED, CONFLICT, UNKNOWN, REFUSED])
@pytest.mark.parametrize("before", [[], *([step] for step in NOTHING)])
def test_what_somebody_else_stored_is_a_conflict(before: list[Step], answer: Answer) -> None:
    """Also if the answer was that ours was created, or that nothing may be replaced."""
    _, store = begun(*before, ("theirs", answer))
    with pytest.raises(HeadMoved, match="another run appended"):
        append(store)
    assert journal_bytes(entries(2)) + THEIRS == store.read(TARGET)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (CREATED, "the object store acknowledged the entries, but does not return them"),
        (CONFLICT, "the object store reports a conflict, but the object does not exist"),
        (UNKNOWN, "cannot connect"),
    ],
)
def test_what_is_never_stored(answer: Answer, told: str) -> None:
    """After a few times it is given up, and nothing is concluded: it may still arrive."""
    bucket, store = begun(*missed(answer))
    with pytest.raises(StoreUnavailable) as caught:
        append(store)
    assert (told, f"{MEMORY} {TARGET}") == (caught.value.what, caught.value.where)
    assert [OURS] * 4 == bucket.sent


def test_an_append_that_arrives_late_is_the_same_append() -> None:
    """It was given up, and is there when it is tried again."""
    bucket, store = begun(*missed(UNKNOWN), ("nothing", CONFLICT))
    with pytest.raises(StoreUnavailable):
        append(store)
    bucket.objects[KEY] = OURS
    append(store)
    assert journal_bytes(entries(2)) + OURS == store.read(TARGET)


def test_an_append_that_arrives_too_late_does_nothing() -> None:
    """Another run has appended meanwhile, under the same number."""
    bucket, store = begun(*missed(UNKNOWN))
    with pytest.raises(StoreUnavailable):
        append(store)
    other = bucket_store(lambda: bucket)
    bucket.steps = [("ours", CREATED)]
    other.append(TARGET, journal(2).head, 3, THEIRS, "theirs")
    assert Answer("conflict") == MemoryBucket.create(bucket, KEY, OURS, 0)
    bucket.steps = [("nothing", CONFLICT)]
    with pytest.raises(HeadMoved):
        append(store)
    assert journal_bytes(entries(2)) + THEIRS == store.read(TARGET)


def test_an_append_that_is_refused_is_not_sent_again() -> None:
    """Credentials do not get better."""
    bucket, store = begun(("nothing", REFUSED))
    with pytest.raises(StoreUnavailable) as caught:
        append(store)
    assert ("access denied (403)", "check the credentials") == (caught.value.what, caught.value.remedy)
    assert [OURS] == bucket.sent
