"""Records in files: torn writes, locks, links, and disks that fail."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.late_locks import during_the_wait
from support.records import add, begin, begun, linked, named, names_of, sample
from support.refusals import raised

from reconciler import disk
from reconciler.errors import HeadMoved, RecordError, StoreUnavailable
from reconciler.record.store import Store, Stored
from reconciler.stores import files
from reconciler.stores.files import FileStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of the record."""
    return tmp_path / "quite" / "deep" / "state.jsonl"


@pytest.fixture
def store(path: Path) -> Store:
    """A store with a record of two lines."""
    store = FileStore(path)
    begin(store)
    return store


@pytest.mark.parametrize("torn", [b'{"seq":3,"at":"20', b"x" * 200_000, b"\0" * 9000])
def test_torn_write(path: Path, store: Store, torn: bytes) -> None:
    """A read returns a torn write, and the next append cuts it off."""
    path.write_bytes(sample()[0] + torn)
    assert store.read().data == sample()[0] + torn
    store.append(sample()[1][-1], b"", "")
    assert path.read_bytes() == sample()[0]
    add(store, "x")
    assert names_of(store) == ["", "line 2", "x"]


@pytest.mark.parametrize("length", [10, 8_190, 8_192, 8_194, 70_000])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_head_of_a_file(path: Path, count: int, length: int) -> None:
    """An append finds it however long the last line is, and though that is the only one."""
    lines = linked(None, 0, [begun(), *(named("x" * length) for _ in range(count - 1))])
    data = lines[0] if count > 1 else linked(None, 0, [begun("a" * length)])[0]
    store = FileStore(path)
    store.append(None, data, "")
    add(store, "last")
    assert (count + 1, "last") == (len(names_of(store)), names_of(store)[-1])


def test_last_line_edited(path: Path, store: Store) -> None:
    """A record whose last line was edited has no head to append to."""
    path.write_bytes(sample()[0].replace(b"line 2", b"line 3"))
    raised(HeadMoved, store.append, sample()[1][-1], b"x\n", "")


@pytest.mark.parametrize("torn", [b'{"seq":1', b""])
def test_only_a_torn_write(path: Path, torn: bytes) -> None:
    """A file without a complete line, and what is below it, is no missing record; it cannot begin, and has no head."""
    path.parent.mkdir(parents=True)
    path.write_bytes(torn)
    store = FileStore(path)
    for head, why in ((None, "already"), ("f" * 64, "another run")):
        with pytest.raises(HeadMoved, match=why):
            store.append(head, sample()[0], "")
    assert store.read() == Stored(torn)
    assert raised(StoreUnavailable, FileStore(path / "below").read).name == "record-not-read"


def test_begun_as_a_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file appears with all its lines or not at all, and nothing is left beside it."""
    monkeypatch.setattr("os.link", _fail(errno.EIO))
    raised(StoreUnavailable, begin, FileStore(path))
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(("number", "step"), [
    (errno.ENOSPC, "room"), (errno.EDQUOT, "quota"), (errno.EFBIG, "ulimit"), (errno.EIO, "check"), (0, ""),
])  # fmt: skip
def test_failed_write(path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, number: int, step: str) -> None:
    """A failed append, or one that Ctrl-C ends, leaves the file as it was, durably; a message says what to do."""
    synced: list[int] = []

    def write_half(descriptor: int, data: bytes, offset: int) -> None:
        os.pwrite(descriptor, data[: len(data) // 2], offset)
        raise OSError(number, os.strerror(number)) if number else KeyboardInterrupt

    monkeypatch.setattr(files, "write_at", write_half)
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    if number:
        message = raised(StoreUnavailable, store.append, sample()[1][-1], b"x\n", "x")
        assert (message.name, "write" in message.what) == ("record-unwritable", True)
        assert step in message.steps[0].text
    else:
        with pytest.raises(KeyboardInterrupt):
            store.append(sample()[1][-1], b"x\n", "x")
    assert path.read_bytes() == sample()[0]
    assert synced[-1] == len(sample()[0])


def test_locked(path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append waits for another one, not forever, and names its process; reading does not wait."""
    monkeypatch.setattr(files, "_PATIENCE", 0.05)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert store.read().data == sample()[0]
        message = raised(StoreUnavailable, add, store, "x")
    assert (message.name, message.steps[0].text) == ("record-locked", disk.LockHeld.remedy)
    add(store, "x")


@pytest.mark.parametrize("replaced", [True, False])
def test_replaced_during_the_wait(path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, *, replaced: bool) -> None:
    """A file that was replaced or deleted while an append waited for its lock is not written to; the new one may be."""

    def replace(size: int = 3) -> None:
        path.unlink()
        if replaced:
            path.write_bytes(sample(size)[0])

    during_the_wait(monkeypatch, files, "lock", replace)
    raised(HeadMoved, store.append, sample()[1][-1], b"x\n", "")
    assert store.read().data == (sample(3)[0] if replaced else None)
    if replaced:
        during_the_wait(monkeypatch, files, "lock", lambda: replace(2))
        store.append(sample()[1][-1], b"", "")


def test_link_to_the_file(tmp_path: Path, path: Path, store: Store) -> None:
    """Links are resolved, so that a file has one place."""
    (tmp_path / "link").symlink_to(path.parent)
    (tmp_path / "state.jsonl").symlink_to(path)
    for link in (tmp_path / "link" / "state.jsonl", tmp_path / "state.jsonl"):
        assert (store.place, store.path) == (FileStore(link).place, FileStore(link).path)


@pytest.mark.parametrize("kind", ["link", "directory", "pipe"])
def test_odd_files(path: Path, store: Store, kind: str) -> None:
    """A path that is no regular file is neither read nor written, nor taken for a missing record."""
    path.rename(path.with_name("elsewhere"))
    match kind:
        case "link":
            path.symlink_to("elsewhere")
        case "directory":
            path.mkdir()
        case _:
            os.mkfifo(path)
    message = raised(StoreUnavailable, store.read)
    assert (message.name, "None" in message.what) == ("record-not-read", False)
    for step in (lambda: store.append(sample()[1][-1], b"x\n", ""), store.check_writable):
        assert raised(StoreUnavailable, step).name == "record-unwritable"


def test_locks_of_one_host(path: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system whose locks other hosts do not see is refused, though it is mounted as the file alone."""
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / {path} rw - nfs4 server:/ rw,nolock\n")
    monkeypatch.setattr(disk, "_MOUNTS", table)
    for step in (store.prepare, store.check_writable):
        assert raised(RecordError, step).name == "host-only-locks"


def test_check_writable(path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory in which nothing can be written is noticed, and nothing is left behind by trying."""
    opener = Mock(wraps=disk.open_regular)
    monkeypatch.setattr(files, "open_regular", opener)
    store.check_writable()
    assert [path] == list(path.parent.iterdir())
    opener.assert_called_once_with(path, os.O_RDWR | os.O_NOFOLLOW)
    for failing in ("sync_directory", "written_beside"):
        monkeypatch.setattr(files, failing, _fail(errno.EACCES))
        assert raised(StoreUnavailable, store.check_writable).name == "record-unwritable"


def test_check_writable_before_it_begins(path: Path) -> None:
    """The place of a record that is to be begun can be tried as well, and no directory is made."""
    FileStore(path).check_writable()
    assert not path.parent.exists()


def test_what_was_read_is_durable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read waits until what it read is on the disk, whoever wrote it, and so do a beginning and an append."""
    done: list[tuple[str, bool]] = []
    for name in ("settle", "settle_name", "sync_directory"):
        monkeypatch.setattr(files, name, lambda _, name=name: done.append((name, path.exists())))
    store = FileStore(path)
    begin(store)
    store.read()
    store.append(sample()[1][-1], b"", "")
    assert done == [(name, True) for name in ("sync_directory", "settle", "settle_name", "settle_name")]
    monkeypatch.setattr(files, "settle", lambda _: path.write_bytes(b"later"))
    assert store.read().data == sample()[0]
    monkeypatch.setattr(files, "settle", _fail(errno.EIO))
    with pytest.raises(StoreUnavailable):
        store.read()


def _fail(number: int) -> object:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail
