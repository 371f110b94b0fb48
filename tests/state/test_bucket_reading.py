"""How a journal is put together from objects and packs, whatever a list says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.journal_samples import OTHER, TARGET, begun, entries, imported, journal, journal_bytes
from support.memory_bucket import MEMORY, MemoryBucket, bucket_store

from reconciler.errors import HeadMoved, RecordDamaged, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.heads.tracking import load_journal
from reconciler.state.journal.chain import link
from reconciler.state.stores.objects import objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.state.stores.objects.bucket import Answer


class Watched(MemoryBucket):
    """A bucket that notes what is read, and whose lists leave out the keys in `hidden`."""

    def __init__(self) -> None:
        super().__init__()
        self.gets: list[str] = []
        self.lists: list[tuple[str, str]] = []
        self.hidden: set[str] = set()
        self.refused = ""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        if self.refused and self.refused in key:
            raise StoreUnavailable("access denied", where=MEMORY)
        return super().create(key, data, until)

    def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
        self.gets += keys
        return super().get(keys, until)

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        self.lists.append((folder, after))
        return [key for key in super().keys(folder, after, until) if key not in self.hidden]


class Below(MemoryBucket):
    """What a longer prefix shows of a bucket."""

    def __init__(self, bucket: MemoryBucket, folder: str) -> None:
        super().__init__()
        below = [name for name in bucket.objects if name.startswith(f"{folder}/")]
        self.objects = {name.removeprefix(f"{folder}/"): bucket.objects[name] for name in below}


def key(number: int, target: str = TARGET) -> str:
    """The key of an object."""
    return f"{target}/{number:012}.jsonl"


def pack(number: int) -> str:
    """The key of a pack."""
    return f"{TARGET}/packs/{number:012}.jsonl"


def filled(appends: int, size: int = 1) -> Watched:
    """A bucket with a journal of so many appends, of so many entries each."""
    bucket, store = Watched(), None
    store = bucket_store(lambda: bucket)
    told = entries(appends * size)
    head: str | None = None
    for number in range(0, appends * size, size):
        lines, after = link(head, number, told[number : number + size])
        store.append(TARGET, head, number + 1, lines, "fill")
        head = after
    return bucket


def read(bucket: MemoryBucket, target: TargetName = TARGET) -> bytes | None:
    """What somebody reads who knows nothing yet."""
    return bucket_store(lambda: bucket).read(target)


def test_an_append_is_an_object() -> None:
    """Its key is the number of its first entry, its bytes are the lines."""
    bucket = filled(3, 2)
    assert [key(1), key(3), key(5)] == sorted(bucket.objects)
    assert journal_bytes(entries(6)) == b"".join(bucket.objects[name] for name in sorted(bucket.objects))


@pytest.mark.parametrize("hidden", [{1}, {4}, {5}, {4, 5}, {1, 2, 3, 4, 5}, {2, 4}])
def test_what_a_list_leaves_out_is_found(hidden: set[int]) -> None:
    """At the beginning, in the middle and at the end: each object tells the number of the next."""
    bucket = filled(5)
    bucket.hidden = {key(number) for number in hidden}
    assert journal_bytes(entries(5)) == read(bucket)


def test_a_missing_object_is_damage() -> None:
    """What comes after it is not left out: that would be a smaller state."""
    bucket = filled(5)
    del bucket.objects[key(3)]
    with pytest.raises(RecordDamaged, match="line 3 does not follow line 2: a line is missing"):
        load_journal(bucket_store(lambda: bucket), TARGET)


def test_the_first_object_missing_is_damage() -> None:
    """A journal that lost its beginning is not one that was never begun."""
    bucket = filled(2)
    del bucket.objects[key(1)]
    with pytest.raises(RecordDamaged, match="earlier lines are missing"):
        load_journal(bucket_store(lambda: bucket), TARGET)


@pytest.mark.parametrize("lost", [1, 64, 65])
def test_what_is_left_of_a_journal_is_not_nothing(lost: int) -> None:
    """It is listed, so that it stops creates on its service, and no new journal is begun in its place.

    One that lost its first objects only may still be whole in a pack.
    """
    bucket = filled(65)
    assert pack(65) in bucket.objects
    for number in range(1, lost + 1):
        del bucket.objects[key(number)]
    store = bucket_store(lambda: bucket)
    assert [TARGET] == store.targets()
    assert [] == bucket_store(lambda: Below(bucket, "europe")).targets()
    before = dict(bucket.objects)
    with pytest.raises(RecordDamaged if lost == 65 else HeadMoved):
        store.append(TARGET, None, 1, journal_bytes([begun()]), "begin")
    if lost < 65:
        assert journal_bytes(entries(65)) == read(bucket)
        del bucket.objects[pack(65)]
        with pytest.raises(RecordDamaged, match="earlier lines are missing"):
            load_journal(bucket_store(lambda: bucket), TARGET)
        assert [TARGET] == store.targets()
    else:
        with pytest.raises(RecordDamaged, match=r"copy the last pack to the key europe/staging/0{11}1\.jsonl"):
            load_journal(store, TARGET)
        bucket.objects[key(1)] = bucket.objects[pack(65)]
        assert journal_bytes(entries(65)) == read(bucket)
    assert before.keys() - bucket.objects.keys() <= {pack(65)}


def test_two_objects_for_one_entry_are_damage() -> None:
    """An object whose number is in the middle of another."""
    bucket = filled(2, 3)
    bucket.objects[key(2)] = bucket.objects[key(4)]
    with pytest.raises(RecordDamaged, match="line 7"):
        load_journal(bucket_store(lambda: bucket), TARGET)


@pytest.mark.parametrize("left", [0, 1, -1])
def test_part_of_an_object_is_damage(left: int) -> None:
    """It is not a torn line, which the next append deletes: nothing deletes or continues an object."""
    bucket = filled(2)
    bucket.objects[key(2)] = bucket.objects[key(2)][:left]
    with pytest.raises(RecordDamaged, match="the object is empty or incomplete") as caught:
        read(bucket)
    assert f"{MEMORY}/{key(2)}" == caught.value.where


def test_an_object_that_is_listed_and_cannot_be_read() -> None:
    """That is an error, not the end of the journal."""

    class Forgetful(Watched):
        def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
            return [None if name == key(2) else data for name, data in zip(keys, super().get(keys, until), strict=True)]

    bucket = Forgetful()
    bucket.objects = filled(2).objects
    with pytest.raises(StoreUnavailable, match="lists this object, but does not return it"):
        read(bucket)


def test_a_free_number_is_not_enough() -> None:
    """An append to a head that the journal does not have at that place is refused, and nothing is written."""
    bucket = filled(3)
    store = bucket_store(lambda: bucket)
    for head, seq in ((journal(2).head, 4), ("f" * 64, 4), (journal(3).head, 5), (None, 4)):
        with pytest.raises(HeadMoved):
            store.append(TARGET, head, seq, journal_bytes([begun()]), "elsewhere")
    assert [key(1), key(2), key(3)] == sorted(bucket.objects)


def test_a_journal_that_was_replaced_is_not_appended_to() -> None:
    """An append by somebody who has just read the one that was there before does not succeed."""
    bucket = filled(3)
    store = bucket_store(lambda: bucket)
    store.read(TARGET)
    bucket.objects = {key(1): journal_bytes([begun(record="f" * 32)])}
    with pytest.raises(HeadMoved, match="the journal has been replaced"):
        store.append(TARGET, journal(3).head, 4, link(journal(3).head, 3, [imported("a4")])[0], "late")


def test_only_targets_are_listed() -> None:
    """Not what else is in the bucket, nor what the test of `state init` left there."""
    bucket = filled(1)
    bucket_store(lambda: bucket).append(OTHER, None, 1, journal_bytes(entries(1, OTHER)), "begin")
    for name in (".probe/x/000000000000.jsonl", "logs/2026/a.txt", "a/b/c/d", "Europe/staging/x", key(2, OTHER), "z"):
        bucket.objects[name] = b"x\n"
    assert [TARGET, OTHER] == bucket_store(lambda: bucket).targets()


@pytest.mark.parametrize("name", ["a", "a/b/c", ".probe/x", "../x/y", "a/.b", "A/b"])
def test_other_names_are_no_targets(name: str) -> None:
    """Nothing is read or written outside the folder of a target."""
    bucket = filled(1)
    with pytest.raises(StoreUnavailable, match="not a valid target name"):
        read(bucket, TargetName(name))
    with pytest.raises(StoreUnavailable, match="not a valid target name"):
        bucket_store(lambda: bucket).append(TargetName(name), None, 1, b"x\n", "begin")


# Reading once more


def test_what_was_read_is_not_read_again() -> None:
    """But for the last object, which must be what it was, and the one that would follow."""
    bucket = filled(5)
    store = bucket_store(lambda: bucket)
    store.read(TARGET)
    bucket.gets.clear()
    assert journal_bytes(entries(5)) == store.read(TARGET)
    assert [key(5), key(6)] == bucket.gets


def test_a_journal_that_is_another_by_now_is_read_from_its_beginning() -> None:
    """What was read before does not count against what is there."""
    bucket = filled(3)
    store = bucket_store(lambda: bucket)
    store.read(TARGET)
    del bucket.objects[key(3)]
    assert journal_bytes(entries(2)) == store.read(TARGET)
    bucket.objects.clear()
    assert store.read(TARGET) is None


def test_a_stamp_is_one_request() -> None:
    """Whether there is an object after the last one that was read."""
    bucket = filled(3)
    store = bucket_store(lambda: bucket)
    assert store.stamp(TARGET) is None
    store.read(TARGET)
    bucket.gets.clear()
    stamp = store.stamp(TARGET)
    assert (True, [key(4)]) == (stamp is not None, bucket.gets)
    bucket_store(lambda: bucket).append(TARGET, journal(3).head, 4, link(journal(3).head, 3, [imported("a4")])[0], "")
    assert store.stamp(TARGET) is None
    store.read(TARGET)
    assert store.stamp(TARGET) not in (None, stamp)


# Packs

MANY = objects._LOOSE + 1


def test_a_pack_is_written_for_many_objects() -> None:
    """It holds all of them, is named after the last, and the next one is as far away."""
    bucket = filled(MANY)
    assert [pack(MANY)] == [name for name in bucket.objects if "packs" in name]
    assert journal_bytes(entries(MANY)) == bucket.objects[pack(MANY)]
    assert [pack(MANY), pack(2 * MANY)] == [name for name in filled(2 * MANY).objects if "packs" in name]


def test_a_pack_spares_reading_what_it_holds() -> None:
    """The list begins behind its last object, which is read to compare, and so is the next."""
    bucket = filled(MANY + 2)
    bucket.gets.clear()
    bucket.lists.clear()
    assert journal_bytes(entries(MANY + 2)) == read(bucket)
    assert {pack(MANY), *(key(number) for number in range(MANY, MANY + 4))} == set(bucket.gets)
    assert [(f"{TARGET}/packs", ""), (TARGET, key(MANY))] == bucket.lists


def test_the_objects_of_a_pack_of_large_appends() -> None:
    """An object of many entries at its end is compared whole."""
    bucket = filled(MANY, 3)
    number = (MANY - 1) * 3 + 1
    assert journal_bytes(entries(MANY * 3)) == bucket.objects[pack(number)] == read(bucket)


def broken_packs() -> dict[str, bytes]:
    """What a pack could hold that it should not."""
    whole = journal_bytes(entries(MANY))
    lines = whole.splitlines(keepends=True)
    return {
        "empty": b"",
        "cut off": whole[:-1],
        "half": whole[: len(whole) // 2],
        "edited": whole.replace(b'"a7"', b'"b7"'),
        "a line less": b"".join(lines[:10] + lines[11:]),
        "of another record": journal_bytes(entries(MANY, record="f" * 32)),
        "longer": whole + b"{}\n",
        "shorter": b"".join(lines[:-1]),
        "only the last": lines[-1],
        "junk before": b"x" + whole,
    }


@pytest.mark.parametrize("name", broken_packs())
def test_a_pack_that_is_not_the_journal_is_ignored(name: str) -> None:
    """The objects are read instead, one by one."""
    bucket = filled(MANY + 1)
    bucket.objects[pack(MANY)] = broken_packs()[name]
    assert journal_bytes(entries(MANY + 1)) == read(bucket)


@pytest.mark.parametrize("number", [1, MANY + 5, 10**11])
def test_a_pack_with_another_name_is_ignored(number: int) -> None:
    """It does not end with that object, or there is no such object."""
    bucket = filled(MANY + 1)
    bucket.objects[pack(number)] = journal_bytes(entries(MANY))
    assert journal_bytes(entries(MANY + 1)) == read(bucket)


@pytest.mark.parametrize("number", [1, 7, MANY - 1, MANY])
def test_a_pack_does_not_vouch_for_an_object_that_is_damaged(number: int) -> None:
    """Where objects are read, it is noticed; of those that a pack holds, the last one is."""
    bucket = filled(MANY)
    bucket.objects[key(number)] = b"damaged\n"
    if number < MANY:
        assert journal_bytes(entries(MANY)) == read(bucket)
        del bucket.objects[pack(MANY)]
    with pytest.raises(RecordDamaged, match=f"line {number} "):
        load_journal(bucket_store(lambda: bucket), TARGET)


@pytest.mark.parametrize("part", ["a tail", "two lines"])
def test_a_pack_does_not_vouch_for_an_object_that_is_another_part_of_it(part: str) -> None:
    """Its last object holds the end of the pack, and more or less of it than it should."""
    bucket = filled(MANY)
    whole = bucket.objects[pack(MANY)].splitlines(keepends=True)
    bucket.objects[key(MANY)] = {"a tail": whole[-1][-3:], "two lines": b"".join(whole[-2:])}[part]
    with pytest.raises(RecordDamaged):
        load_journal(bucket_store(lambda: bucket), TARGET)


def test_damage_is_not_remembered() -> None:
    """After the missing object was restored, the journal is whole."""
    bucket = filled(5)
    lost = bucket.objects.pop(key(3))
    store = bucket_store(lambda: bucket)
    with pytest.raises(RecordDamaged):
        load_journal(store, TARGET)
    bucket.objects[key(3)] = lost
    assert journal_bytes(entries(5)) == store.read(TARGET)


def test_a_pack_that_cannot_be_written() -> None:
    """The append has succeeded, and so do the next ones."""
    bucket = Watched()
    bucket.refused = "/packs/"
    store = bucket_store(lambda: bucket)
    head: str | None = None
    for number, entry in enumerate(entries(MANY + 2)):
        lines, after = link(head, number, [entry])
        store.append(TARGET, head, number + 1, lines, "fill")
        head = after
    assert journal_bytes(entries(MANY + 2)) == store.read(TARGET) == read(bucket)
    assert MANY + 2 == len(bucket.objects)
