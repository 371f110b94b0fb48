"""The capture file: what is confirmed is on the disk, whatever happens to the process or the disk."""

from __future__ import annotations

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from errno import EIO, ENOSPC
from threading import Event, Lock
from typing import TYPE_CHECKING

import pytest

from reconciler.errors import SettingsError
from reconciler.receiver.capture_file import CaptureFile
from reconciler.receiver.captured import Captured, captured_in, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def line(number: int) -> bytes:
    """A line like no other."""
    return line_of(Captured("t", str(number).encode()))


def numbers(path: Path) -> list[int]:
    """Which lines a file holds."""
    return [int(one.body) for one in captured_in(path)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is to be."""
    return tmp_path / "r.jsonl"


@pytest.fixture
def file(path: Path) -> Iterator[CaptureFile]:
    """An open file, new."""
    with CaptureFile(path) as one:
        yield one


class TestAppend:
    """Appending a line."""

    def test_is_over_once_the_disk_has_it(self, file: CaptureFile, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The disk is waited for, after the line was written and before anyone goes on."""
        seen: list[list[int]] = []
        monkeypatch.setattr(os, "fsync", lambda _: seen.append(numbers(path)))
        file.append(line(1))
        file.append(line(2))
        assert [[1], [1, 2]] == seen

    def test_waits_for_the_disk_together(self, file: CaptureFile, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those that come while the disk is at work go there with the next write, all at once."""
        begun, go_on, syncs = Event(), Event(), []

        def sync(_: int) -> None:
            syncs.append(len(numbers(path)))
            begun.set()
            assert go_on.wait(20)

        monkeypatch.setattr(os, "fsync", sync)
        with ThreadPoolExecutor(9) as pool:
            first = pool.submit(file.append, line(0))
            assert begun.wait(20)
            others = [pool.submit(file.append, line(number)) for number in range(1, 9)]
            while len(file._batch.lines) < 8:
                time.sleep(0.01)
            assert not first.done()
            go_on.set()
        assert [None] * 9 == [one.result() for one in (first, *others)]
        assert ([1, 9], list(range(9))) == (syncs, sorted(numbers(path)))

    def test_many_at_once(self, file: CaptureFile, path: Path) -> None:
        """No line is lost, none is torn, none comes twice."""
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda number: file.append(line(number)), range(400)))
        assert list(range(400)) == sorted(numbers(path))

    def test_by_several_at_once(self, path: Path) -> None:
        """Two receivers may have one file."""
        with CaptureFile(path) as one, CaptureFile(path) as other, ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: (one, other)[number % 2].append(line(number)), range(100)))
        assert list(range(100)) == sorted(numbers(path))

    def test_a_little_at_a_time(self, file: CaptureFile, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A write may take less than it was given."""
        original = os.pwrite
        monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: original(fd, data[:7], offset))
        file.append(line(1))
        assert [1] == numbers(path)


class TestFailure:
    """A disk that is full, or broken."""

    @pytest.mark.parametrize("call", ["pwrite", "fsync"])
    def test_is_told_and_leaves_nothing(
        self, file: CaptureFile, path: Path, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        """The file is as before, and the next append works."""
        file.append(line(1))

        def fail(*_: object) -> None:
            raise OSError(ENOSPC, os.strerror(ENOSPC))

        with monkeypatch.context() as broken:
            broken.setattr(os, call, fail)
            with pytest.raises(OSError, match="No space left"):
                file.append(line(2))
        assert line(1) == path.read_bytes()
        file.append(line(3))
        assert [1, 3] == numbers(path)

    def test_is_told_to_all_who_waited(self, file: CaptureFile, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody takes another's failed write for a success."""
        lock = Lock()

        def fail(_: int) -> None:
            with lock:
                time.sleep(0.01)
            raise OSError(EIO, os.strerror(EIO))

        monkeypatch.setattr(os, "fsync", fail)
        with ThreadPoolExecutor(8) as pool:
            results = [pool.submit(file.append, line(number)) for number in range(40)]
        assert [EIO] * 40 == [getattr(one.exception(), "errno", None) for one in results]

    @pytest.mark.parametrize("torn", [b'{"a', line(2)[:-1], b"x" * 3000])
    def test_a_torn_line_is_cut_off(self, path: Path, torn: bytes) -> None:
        """By the next append, and not before."""
        path.write_bytes(line(1) + torn)
        with CaptureFile(path) as file:
            assert line(1) + torn == path.read_bytes()
            file.append(line(3))
        assert line(1) + line(3) == path.read_bytes()

    @pytest.mark.parametrize("torn", [b"", b"{", b'{"at": "2026', line(1)[:-1]])
    def test_a_torn_first_line(self, path: Path, torn: bytes) -> None:
        """Is cut off too."""
        path.write_bytes(torn)
        with CaptureFile(path) as file:
            file.append(line(3))
        assert line(3) == path.read_bytes()


class TestOpening:
    """What is taken for a capture file."""

    def test_a_new_one_is_its_owners(self, path: Path) -> None:
        """Notifications tell of people."""
        CaptureFile(path).close()
        assert (0o600, b"") == (stat.S_IMODE(path.stat().st_mode), path.read_bytes())

    @pytest.mark.parametrize("content", [b"precious", b"# notes\nmore", b"{}\n", b'{"kind": "begun"}\n'])
    def test_another_file_stays_as_it_is(self, path: Path, content: bytes) -> None:
        """It would lose what follows its last newline."""
        path.write_bytes(content)
        with pytest.raises(SettingsError, match=r"r\.jsonl"):
            CaptureFile(path)
        assert content == path.read_bytes()

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        """A directory, a pipe, a place that is not there."""
        os.mkfifo(tmp_path / "pipe")
        for place, told in (
            (tmp_path, "cannot write: Is a directory"),
            (tmp_path / "no" / "r.jsonl", "cannot write: No such file or directory"),
            (tmp_path / "pipe", "not a regular file"),
        ):
            with pytest.raises(SettingsError) as caught:
                CaptureFile(place)
            assert told in str(caught.value)

    def test_what_it_holds(self, path: Path) -> None:
        """Is there to be remembered."""
        path.write_bytes(line(1) + line(2) + line(3)[:9])
        with CaptureFile(path) as file:
            assert [b"1", b"2"] == [one.body for one in file.latest()]

    def test_of_a_long_one_the_end(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file of years must not hold up the start."""
        monkeypatch.setattr("reconciler.receiver.capture_file._REMEMBERED", 3 * len(line(1)) - 1)
        path.write_bytes(b"".join(map(line, range(9))))
        with CaptureFile(path) as file:
            assert [b"7", b"8"] == [one.body for one in file.latest()]
