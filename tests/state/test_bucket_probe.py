"""What `state init` tests of an object store, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from support.memory_bucket import MEMORY, MemoryBucket, bucket_store

from reconciler.errors import StateError, StoreUnavailable
from reconciler.state.stores.objects import probe
from reconciler.state.stores.objects.bucket import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_what_the_test_leaves_behind() -> None:
    """Few objects, below a name of its own, that no target can have; and no two tests meet."""
    bucket = MemoryBucket()
    store = bucket_store(lambda: bucket)
    for count in (1, 2):
        store.prepare()
        assert count * probe._ROUNDS == len(bucket.objects)
    assert {".probe"} == {key.partition("/")[0] for key in bucket.objects}
    assert 2 == len({key.split("/")[1] for key in bucket.objects})
    assert 1_000_000 > sum(map(len, bucket.objects.values()))
    assert [] == store.targets()


class Overwriting(MemoryBucket):
    """It ignores the condition."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        self.objects[key] = data
        return Answer("created")


class Polite(MemoryBucket):
    """It says that it has refused, and overwrites."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        with self.lock:
            answer = super().create(key, data, until)
            self.objects[key] = data
        return answer


class Forgetful(MemoryBucket):
    """It lists nothing."""

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        return []


class Pages(MemoryBucket):
    """It lists nothing behind a key."""

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        return [] if after else super().keys(folder, after, until)


class Short(MemoryBucket):
    """It keeps 65,536 bytes of an object."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        return super().create(key, data[:65_536], until)


class ShortAndDeaf(Short):
    """The same, and its answers are lost."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        super().create(key, data, until)
        return Answer("unknown", "no answer")


class Proxied(MemoryBucket):
    """Something before it remembers that there was no such object."""

    def __init__(self) -> None:
        super().__init__()
        self.absent: set[str] = set()

    def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
        found = super().get(keys, until)
        self.absent |= {key for key, data in zip(keys, found, strict=True) if data is None}
        return [None if key in self.absent else data for key, data in zip(keys, found, strict=True)]


class Lapsing(MemoryBucket):
    """It forgets the condition once the object was listed; `says` what it answers then."""

    says: Literal["created", "conflict"] = "created"

    def __init__(self) -> None:
        super().__init__()
        self.listed: set[str] = set()

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        found = super().keys(folder, after, until)
        self.listed |= {*found}
        return found

    def create(self, key: str, data: bytes, until: float) -> Answer:
        if key not in self.listed:
            return super().create(key, data, until)
        self.objects[key] = data
        return Answer(self.says)


class LapsingInSilence(Lapsing):
    """The same, and says that it has refused."""

    says = "conflict"


class Shared(MemoryBucket):
    """Every object exists."""

    def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
        return [b"x"] * len(keys)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Overwriting, "two clients created one object"),
        (Polite, "an object was overwritten, although it existed"),
        (Forgetful, "an object is missing from a list made after it was written"),
        (Pages, "an object is missing from a list made after it was written"),
        (Short, "an object was stored incompletely"),
        (Proxied, "a client does not see an object that another has written"),
        (Lapsing, "an object was overwritten, although it existed"),
        (LapsingInSilence, "an object was overwritten, although the write was refused"),
        (ShortAndDeaf, "an object was stored incompletely, or mixed with another"),
        (Shared, "an object exists that was never written"),
    ],
)
def test_a_store_that_cannot_be_trusted(kind: type[MemoryBucket], told: str) -> None:
    """It is refused, with what was seen and what to use instead."""
    bucket = kind()
    with pytest.raises(StateError) as caught:
        bucket_store(lambda: bucket).prepare()
    assert (f"this object store does not keep what a record depends on: {told}", MEMORY) == (
        caught.value.what,
        caught.value.where,
    )
    assert "use another object store, or git or PostgreSQL" in str(caught.value.remedy)


def test_each_racer_is_a_client_of_its_own() -> None:
    """What one client remembers of an object, another may not."""
    shared = MemoryBucket()
    clients: list[MemoryBucket] = []

    def connect() -> MemoryBucket:
        clients.append(MemoryBucket())
        clients[-1].objects, clients[-1].lock = shared.objects, shared.lock
        return clients[-1]

    bucket_store(connect).prepare()
    assert 1 + 8 == len(clients)


class Blinking(MemoryBucket):
    """The first race for each object is answered with conflicts only, and nothing is stored."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times * 8
        self.asked: dict[str, int] = {}

    def create(self, key: str, data: bytes, until: float) -> Answer:
        with self.lock:
            self.asked[key] = self.asked.get(key, 0) + 1
            return Answer("conflict") if self.asked[key] <= self.times else super().create(key, data, until)


def test_conflicts_without_a_winner_are_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 may answer so, and the race is run again; but not for ever."""
    monkeypatch.setattr(probe, "_PAUSE", 0)
    bucket = Blinking(1)
    bucket_store(lambda: bucket).prepare()
    never = Blinking(100)
    with pytest.raises(StoreUnavailable, match="no object could be created: conflicts only; run the command again"):
        bucket_store(lambda: never).prepare()


class Deaf(MemoryBucket):
    """Its answers to the winner are lost."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        created = super().create(key, data, until).end == "created"
        return Answer("unknown", "no answer") if created else Answer("conflict")


def test_a_winner_that_does_not_know_it() -> None:
    """Whose object it is counts, not who was told so."""
    bucket = Deaf()
    bucket_store(lambda: bucket).prepare()


class CreateOnly(MemoryBucket):
    """Its credentials allow to create, and not to replace: that is refused before the condition is looked at."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        answer = super().create(key, data, until)
        return Answer("refused", "access denied (403)") if answer.end == "conflict" else answer


def test_credentials_that_can_only_create() -> None:
    """They are what a record needs."""
    bucket = CreateOnly()
    bucket_store(lambda: bucket).prepare()


class ReadOnly(MemoryBucket):
    """Its credentials do not allow to create."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        return Answer("refused", "access denied (403)", "check the credentials")


def test_credentials_that_cannot_create() -> None:
    """That is no reason to distrust the store, nor to try again."""
    bucket = ReadOnly()
    with pytest.raises(
        StoreUnavailable, match=r"no object could be created: access denied \(403\); check the credentials"
    ):
        bucket_store(lambda: bucket).prepare()
