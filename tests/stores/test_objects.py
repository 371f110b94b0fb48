"""Records in object stores: segments, and stores that lie, lag, or lose answers."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Literal
from unittest.mock import Mock

import obstore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.exceptions import BaseError
from support.raw_server import RawServer, say
from support.records import add, begin, lines_of, linked, named, names_of, sample
from support.refusals import raised

from reconciler.errors import HeadMoved, Message, ReconcilerError, RecordDamaged, RecordError, StoreUnavailable
from reconciler.record.chain import last_head, parse
from reconciler.stores import objects as buckets
from reconciler.stores.objects import Bucket, Conflict, Held, ObjectStore, open_objects
from stores.conftest import Site

Fault = Literal[
    "stale list", "stale read", "conflict after success", "conflict with nothing", "lost answer", "lost request",
    "success with nothing",
]  # fmt: skip
_FAULTS: tuple[Fault, ...] = Fault.__args__  # type: ignore[attr-defined]


class FaultyBucket(Bucket):
    """Objects in memory. Each operation meets the first of `faults` that concerns it, "" being none."""

    def __init__(self) -> None:
        self.place = "s3://records/test"
        self.versions: dict[str, list[bytes]] = {}
        self.ignored: set[str] = set()
        """The conditions that are ignored, "create" and "version", or "read" for objects that do not appear."""
        self.faults: list[Fault | Literal[""]] = []

    def next_fault(self, *concerned: Fault) -> str:
        if self.faults and self.faults[0] in (*concerned, ""):
            return self.faults.pop(0)
        return ""

    def keys(self) -> list[str]:
        keys = [key for key in self.versions if not key.startswith("probe")]
        return keys[:-1] if self.next_fault("stale list") else keys

    def get(self, keys: Sequence[str]) -> list[Held | None]:
        stale = self.next_fault("stale read")
        found: list[Held | None] = []
        for key in keys:
            versions = self.versions.get(key, [])
            at = len(versions) - (2 if stale and key == keys[0] else 1 + len(versions) * ("read" in self.ignored))
            found.append(Held(versions[at], {"e_tag": str(at)}) if at >= 0 else None)
        return found

    def put(self, key: str, data: bytes, version: Mapping[str, str] | None) -> None:
        versions = self.versions.get(key, [])
        if version is None:
            expected, condition = 0, "create"
        else:
            expected, condition = int(version["e_tag"]) + 1, "version"
        fault = self.next_fault(*_FAULTS[2:]) if not key.startswith("probe") else ""
        if fault == "conflict with nothing" or (len(versions) != expected and condition not in self.ignored):
            raise Conflict
        if fault not in ("success with nothing", "lost request"):
            self.versions.setdefault(key, []).append(data)
        if fault == "conflict after success":
            raise Conflict
        if fault.startswith("lost"):
            raise StoreUnavailable(Message("objects-unavailable", "no answer", self.place))

    def delete(self, key: str) -> None:
        self.versions.pop(key, None)

    def contents(self) -> bytes:
        return b"".join(versions[-1] for _, versions in sorted(self.versions.items()))


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as context:
        context.setattr(buckets, "_PAUSES", (0.0, 0.0, 0.0))
        yield


@pytest.fixture
def bucket() -> FaultyBucket:
    """A bucket without faults so far."""
    return FaultyBucket()


@pytest.fixture
def store(bucket: FaultyBucket) -> ObjectStore:
    """A store with a record of two lines in that bucket."""
    store = ObjectStore(bucket)
    begin(store)
    return store


def fill(store: ObjectStore, *names: str) -> None:
    """Append lines of which each fills a segment."""
    for name in names:
        add(store, name * 300_000)


# Segments


def test_segments(bucket: FaultyBucket, store: ObjectStore) -> None:
    """A segment is replaced until it has 256 KiB, and is never written again from then on, nor for no lines."""
    head = add(store, "a")
    for count, name in enumerate(["b" * 300_000, "c" * 300_000, "d"], 3):  # without a read in between
        lines, (line,) = linked(head, count, [named(name)])
        store.append(head, lines, "x")
        head = line.hash
    store.append(head, b"", "nothing")
    assert [key for key in bucket.versions if not key.startswith("probe")] == [
        "000001.jsonl", "000002.jsonl", "000003.jsonl",
    ]  # fmt: skip
    assert [3, 1, 1] == [len(versions) for versions in bucket.versions.values()]
    assert [name[:2] for name in names_of(ObjectStore(bucket))] == ["", "li", "a", "bb", "cc", "d"]


def test_lines_of_another_run_before_the_read_back(
    bucket: FaultyBucket, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written is there, whatever follows it, and that is not written over."""

    def put(key: str, data: bytes, version: Mapping[str, str] | None) -> None:
        FaultyBucket.put(bucket, key, data, version)
        if not key.startswith("probe"):
            bucket.versions[key].append(data + b"more\n")

    monkeypatch.setattr(bucket, "put", put)
    head = add(store, "a")
    raised(HeadMoved, store.append, head, linked(head, 3, [named("b")])[0], "b")
    assert bucket.contents().endswith(b"more\n")


def test_exactly_full(bucket: FaultyBucket) -> None:
    """A segment of exactly 256 KiB is full, one of a byte less is not."""
    for size, count in ((256 * 1024, 2), (256 * 1024 - 1, 1)):
        bucket.versions.clear()
        store = ObjectStore(bucket)
        begin(store)
        rest = size - len(bucket.contents()) - len(linked("f" * 64, 2, [named("")])[0]) - len(',"origin":""')
        add(store, "x" * rest)
        assert len(bucket.contents()) == size
        add(store, "y")
        assert len(bucket.versions) == count


@pytest.mark.parametrize("number", [1, 2])
def test_missing_segment(bucket: FaultyBucket, store: ObjectStore, number: int) -> None:
    """A segment that is missing before others is damage, named by its key, and never a smaller record."""
    fill(store, "a", "b", "c")
    del bucket.versions[f"00000{number}.jsonl"]
    message = raised(RecordDamaged, ObjectStore(bucket).read)
    assert (message.name, f"00000{number}.jsonl" in message.where) == ("segment-missing", True)


def test_other_objects(bucket: FaultyBucket, store: ObjectStore) -> None:
    """Objects of other names are none of the record."""
    for key in ("backup.jsonl", "000009.jsonl.bak", "0000009.jsonl", "deep"):
        bucket.put(key, b"hello", None)
    assert store.read().data == sample()[0]


@pytest.mark.parametrize("names", [[], ["a"]])
def test_torn_segment(bucket: FaultyBucket, store: ObjectStore, names: list[str]) -> None:
    """A read returns a torn write, though it fills a segment, and the next append cuts it off; none begins there."""
    fill(store, *names)
    torn = bucket.contents() + b'{"seq":'
    bucket.versions["000001.jsonl"].append(torn)
    assert store.read().data == torn
    add(store, "x")
    assert [name[:1] for name in names_of(store)] == ["", "l", *names, "x"]
    bucket.versions["000001.jsonl"] = [b'{"seq":1']
    assert raised(HeadMoved, begin, ObjectStore(bucket)).name == "head-moved"


def test_replaced_segment(bucket: FaultyBucket, store: ObjectStore) -> None:
    """A segment that does not follow the one before it is returned as it is, for the chain to name the line."""
    fill(store, "a", "b")
    bucket.versions["000001.jsonl"].append(sample(9)[0])
    assert raised(RecordDamaged, lines_of, store).name == "record-damaged"


def test_other_record_below(bucket: FaultyBucket, store: ObjectStore) -> None:
    """A new segment is not believed if the one before it was replaced meanwhile."""
    fill(store, "a")
    head = last_head(store.read().data or b"")
    bucket.versions["000001.jsonl"].append(sample()[0])
    message = raised(StoreUnavailable, store.append, head, linked(head, 3, [named("x")])[0], "x")
    assert (message.name, message.where) == ("objects-not-seen", f"{store.place}/000002.jsonl")


# Stores that lie, lag, or lose answers


@pytest.mark.parametrize("ignored", ["create", "version", "read"])
def test_ignored_condition(bucket: FaultyBucket, ignored: str) -> None:
    """A store that ignores a condition is refused each time, unprepared or with a record too, and left as it was."""
    bucket.ignored.add(ignored)
    unprepared, store = ObjectStore(bucket), ObjectStore(bucket)
    for step in (lambda: begin(unprepared), store.prepare, store.check_writable, lambda: begin(store)):
        assert raised(RecordError, step).name == "objects-untrusted"
    assert bucket.versions == {}
    bucket.ignored.clear()
    lines, _ = linked(begin(unprepared), 2, [named("x")])
    bucket.ignored.add(ignored)
    message = raised(RecordError, ObjectStore(bucket).append, sample()[1][-1], lines, "x")
    assert ("objects-untrusted", [()]) == (message.name, [step.command for step in message.steps])


def test_conflict_without_a_reason(bucket: FaultyBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that refuses what nobody else writes is not usable now."""
    monkeypatch.setattr(bucket, "put", Mock(side_effect=Conflict))
    store = ObjectStore(bucket)
    message = raised(StoreUnavailable, store.prepare)
    assert ("objects-conflict", store.place) == (message.name, message.where)


def test_probe_cannot_be_deleted(bucket: FaultyBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that do not permit to delete are good enough, each time."""
    denied = StoreUnavailable(Message("objects-unavailable", "denied", bucket.place))
    monkeypatch.setattr(bucket, "delete", Mock(side_effect=denied))
    ObjectStore(bucket).prepare()
    begin(ObjectStore(bucket))


@pytest.mark.parametrize(("fault", "error", "is_there"), [
    ("conflict after success", HeadMoved, True), ("conflict with nothing", HeadMoved, False),
    ("lost answer", StoreUnavailable, True), ("lost request", StoreUnavailable, False),
    ("success with nothing", StoreUnavailable, False),
])  # fmt: skip
def test_write_that_fails(
    bucket: FaultyBucket, store: ObjectStore, fault: Fault, error: type[RecordError], *, is_there: bool
) -> None:
    """No answer to a write is believed, and reading again shows what became of it."""
    head = sample()[1][-1]
    lines, _ = linked(head, 2, [named("x")])
    bucket.faults = [fault]
    raised(error, store.append, head, lines, "x")
    assert names_of(store)[2:] == (["x"] if is_there else [])
    if not is_there:
        store.append(head, lines, "x")


@pytest.mark.parametrize("names", [[], ["a", "b"]])
def test_stale_list(bucket: FaultyBucket, store: ObjectStore, names: list[str]) -> None:
    """A list without the newest segments, or without any, does not hide them."""
    fill(store, *names)
    bucket.faults = ["stale list"]
    assert [name[:1] for name in names_of(store)] == ["", "l", *names]


def test_stale_segment_before_the_last(bucket: FaultyBucket, store: ObjectStore) -> None:
    """Segments that do not follow each other, since one of them is old, are read again."""
    fill(store, "a")
    add(store, "b")
    bucket.faults = ["stale read"]
    assert [name[:2] for name in names_of(store)] == ["", "li", "aa", "b"]


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.sampled_from([*_FAULTS, ""]), max_size=3)), max_size=25))
def test_any_faults(runs: list[tuple[int, list[Fault]]]) -> None:
    """Whatever three runs meet, a record only grows, what was acknowledged stays, and nobody's line is there twice."""
    bucket = FaultyBucket()
    stores = [ObjectStore(bucket) for _ in range(3)]
    data, _ = sample()
    stores[0].append(None, data, "begin")
    grown, acknowledged = [data], []
    for turn, (number, faults) in enumerate(runs):
        name, bucket.faults = f"{turn} " + "x" * random.Random(turn).choice([1, 150_000]), list(faults)
        try:
            read = stores[number].read().data or b""
            assert bucket.contents().startswith(read) or not parse(read, "memory")  # refused, if stale to the end
            head = last_head(read)
            stores[number].append(head, linked(head, read.count(b"\n"), [named(name)])[0], name)
            acknowledged.append(name)
        except RecordError:
            pass
        assert bucket.contents().startswith(grown[-1])
        grown.append(bucket.contents())
    names = [line.fact.origin for line in parse(grown[-1], "memory")]
    assert len(set(names)) == len(names)
    assert [name for name in names if name in acknowledged] == acknowledged


# The client


def test_generation_of_google(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Google Cloud Storage the condition is the generation, elsewhere the ETag."""
    answer = Mock(meta={"e_tag": "tag", "version": "7"}, bytes=lambda: b"x")
    monkeypatch.setattr("obstore.get", lambda *_: answer)
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    found = [open_objects(f"{scheme}://bucket/p")._bucket.get(["k"]) for scheme in ("gs", "s3")]
    assert [[Held(b"x", {"version": "7"})], [Held(b"x", {"e_tag": "tag"})]] == found


@pytest.mark.parametrize(("scheme", "variables", "endpoint", "allow_http"), [
    ("s3", {}, None, False), ("s3", {"AWS_ENDPOINT_URL": "b", "AWS_ENDPOINT": "a"}, "b", False),
    ("s3", {"AWS_ENDPOINT_URL": "b", "AWS_ENDPOINT_URL_S3": "c", "AWS_ALLOW_HTTP": "TRUE"}, "c", True),
    ("s3", {"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT": "a", "AWS_PROFILE": "", "AZURE_ALLOW_HTTP": "1"}, "a", False),
    ("az", {"AZURE_STORAGE_ENDPOINT": "b", "AZURE_ENDPOINT": "a", "AZURE_ALLOW_HTTP": "no"}, "b", False),
    ("gs", {"GOOGLE_ENDPOINT": "a", "GOOGLE_ALLOW_HTTP": "1"}, None, True),
])  # fmt: skip
def test_settings_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, scheme: str, variables: dict[str, str], endpoint: str | None, *, allow_http: bool
) -> None:
    """If two variables name the endpoint, the more particular counts; an empty variable is an unset one."""
    make = Mock()
    monkeypatch.setitem(buckets._MADE_BY, scheme, make)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    open_objects(f"{scheme}://bucket/p")
    assert "" not in map(os.environ.get, variables)
    for call, retries in zip(make.call_args_list, (3, 0), strict=True):
        options = call.kwargs
        assert (("bucket",), "p", retries) == (call.args, options["prefix"], options["retry_config"]["max_retries"])
        assert (endpoint, {**buckets._CLIENT, "allow_http": allow_http}) == (
            (options["config"] or {}).get("endpoint"),
            options["client_options"],
        )


def test_no_bucket(s3: Site, azure: Site) -> None:
    """A bucket that does not exist is never one without a record."""
    for site in (s3, azure):
        site.place = site.place.replace("records", "missing")
        for step in (site.open().read, site.open().prepare):
            assert "does not exist" in raised(StoreUnavailable, step).what


def test_wrong_key(azure: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that are refused are named as such, and not shown."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "aHVudGVyMi1odW50ZXIy")
    with pytest.raises(StoreUnavailable) as caught:
        azure.open().prepare()
    assert "denied" in caught.value.messages[0].what
    assert "aHVudGVyMi" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(("text", "told"), [
    ("status code: 401, hunter2", "(401); check the cre"), ("<Code>Denied</Code> 403 Forbidden", "denied (403 Denied)"),
    ("500 Server Error\ntoken request", "failed (500)"), ("<Code>ContainerNotFound</Code>", "does not exist"),
    ("kind: Timeout", "in time"), ("token request failed", "GOOGLE_APPLICATION"), ("hunter2", "failed;"),
])  # fmt: skip
def test_failed_requests(monkeypatch: pytest.MonkeyPatch, text: str, told: str) -> None:
    """An object that may not be read, or that a proxy hides, is not one that is missing; the cause is told."""
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    monkeypatch.setattr(obstore, "get", Mock(side_effect=BaseError(text)))
    message = raised(StoreUnavailable, open_objects("gs://bucket/p")._bucket.get, ["k"])
    assert (message.name, told in str(message), "hunter2" in str(message)) == ("objects-unavailable", True, False)


def test_no_server(s3: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that cannot be reached is no store without a record, and no credential is shown."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr(buckets, "_READ_RETRIES", 0)
    store = s3.open()
    for step in (store.read, store.prepare, lambda: begin(store)):
        with pytest.raises(StoreUnavailable) as caught:
            step()
        assert [message.name for message in caught.value.messages] == ["objects-unavailable"]
        assert "hunter2" not in str(caught.value) + repr(caught.value)


def test_a_write_is_sent_once(s3: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fails is not repeated, since it might conflict with itself; its status is named, its object deleted."""
    server = RawServer(say(b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    with closing(server), pytest.raises(StoreUnavailable) as raised:
        s3.open().prepare()
    assert [b"PUT", b"POST"] == [request.split()[0] for request in server.requests]
    assert "(503)" in raised.value.messages[0].what


def test_no_answer(s3: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is not answered in time ends."""
    monkeypatch.setattr(buckets, "_PATIENCE", 0.0)
    assert "in time" in raised(StoreUnavailable, s3.open().read).what


@pytest.mark.parametrize("problem", [BaseError("{hunter2}"), ValueError("{hunter2}"), None])
def test_settings_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, problem: Exception | None) -> None:
    """Settings that obstore refuses are an error that names the variables and does not quote them."""
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", "{hunter2}")
    if problem:
        monkeypatch.setitem(buckets._MADE_BY, "gs", Mock(side_effect=problem))
    with pytest.raises(ReconcilerError) as caught:
        open_objects("gs://bucket/p")
    assert [message.name for message in caught.value.messages] == ["objects-settings"]
    assert ("hunter2" in str(caught.value), "GOOGLE_" in str(caught.value)) == (False, True)
