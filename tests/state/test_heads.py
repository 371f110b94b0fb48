"""Remembered heads: an older record is noticed, on this machine at least."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from journal_samples import OTHER, RECORD, TARGET, begun, entries, imported, journal, journal_bytes, rollback

from reconciler.errors import RecordDamaged, RecordRolledBack, SettingsError
from reconciler.state.heads import Heads, Seen
from reconciler.state.journal import parse

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.state.journal import Journal


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache directory, not made yet."""
    return tmp_path / "cache"


@pytest.fixture
def heads(cache: Path) -> Heads:
    """Heads in it."""
    return Heads(cache)


def seen_of(told: Journal, location: str = "here") -> dict[str, Seen]:
    """What remembering a journal should leave."""
    record = told.record()
    return {record.id: Seen(record.id, record.target, told.head, len(told.lines), location)}


def accepting(count: int, lost: Journal) -> Journal:
    """A journal of `count` lines and one that accepts the loss of those of another."""
    told = [*entries(count), rollback(lost.head, len(lost.lines))]
    return parse(journal_bytes(told), TARGET, "state")


def test_nothing_remembered(heads: Heads, cache: Path) -> None:
    """Where nothing was remembered nothing is known, and reading leaves nothing behind."""
    assert heads.seen() == {}
    assert not cache.exists()


def test_remembered(heads: Heads, cache: Path) -> None:
    """A head is remembered for later runs, in files of their owner's alone."""
    assert heads.remember(journal(3), "here") is None
    assert seen_of(journal(3)) == Heads(cache).seen()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (cache, cache / "heads", cache / "heads" / f"{RECORD}.json")]
    assert modes == [0o700, 0o700, 0o600]


def test_nothing_written_anew(heads: Heads, cache: Path) -> None:
    """A head that is remembered already costs no write."""
    heads.remember(journal(3), "here")
    path = cache / "heads" / f"{RECORD}.json"
    before = path.stat().st_ino
    heads.remember(journal(3), "here")
    assert before == path.stat().st_ino


def test_records_side_by_side(heads: Heads) -> None:
    """Records do not touch each other."""
    one, other = journal(3), journal(2, OTHER, "f" * 32)
    heads.remember(one, "here")
    heads.remember(other, "here")
    assert seen_of(one) | seen_of(other) == heads.seen()


@pytest.mark.parametrize("count", [3, 4])
def test_same_or_longer_passes(count: int) -> None:
    """A record that holds the remembered head is the record."""
    Heads.check(journal(count), seen_of(journal(3)))


def test_unknown_record_passes() -> None:
    """Of a record never seen before nothing can be said."""
    Heads.check(journal(1), seen_of(journal(3, record="f" * 32)))


def test_shorter_record() -> None:
    """A record without its last lines is an error that says how many, and names the way out."""
    with pytest.raises(RecordRolledBack) as caught:
        Heads.check(journal(2), seen_of(journal(5)))
    assert "the last 3 of the 5 entries seen here before are missing" in caught.value.what
    assert caught.value.where == "here"
    assert "backup restored" in str(caught.value.remedy)
    assert "state accept-rollback -t europe/staging" in str(caught.value.remedy)


@pytest.mark.parametrize("count", [3, 5])
def test_other_history(count: int) -> None:
    """A record with other entries in place of the remembered one is an error, however long it is."""
    with pytest.raises(RecordRolledBack, match="entry 3 is not the one that was seen here before"):
        Heads.check(journal(count, mark="b"), seen_of(journal(3)))


def test_accepted_loss(heads: Heads) -> None:
    """A record that says its loss was accepted passes, and is remembered in its place."""
    lost = journal(5)
    heads.remember(lost, "here")
    accepted = accepting(2, lost)
    Heads.check(accepted, heads.seen())
    heads.remember(accepted, "here")
    assert seen_of(accepted) == heads.seen()


def test_another_loss_is_not_accepted() -> None:
    """Accepting one loss accepts no other."""
    with pytest.raises(RecordRolledBack):
        Heads.check(accepting(2, journal(5)), seen_of(journal(6)))


@pytest.mark.parametrize("late", [journal(2), journal(5, mark="b")])
def test_never_backwards(heads: Heads, late: Journal) -> None:
    """What was remembered is not forgotten for a record that lacks it."""
    heads.remember(journal(4), "here")
    assert heads.remember(late, "here") is None
    assert seen_of(journal(4)) == heads.seen()


def test_accept(heads: Heads) -> None:
    """Accepting a journal remembers it whatever was remembered before."""
    heads.remember(journal(4), "here")
    assert heads.accept(journal(2), "here") is None
    assert seen_of(journal(2)) == heads.seen()


def test_remembering_at_once(cache: Path) -> None:
    """Of many that remember at once the longest stays."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda count: Heads(cache).remember(journal(count), "here"), [5, 9, 2, 7, 3, 8, 1]))
    assert seen_of(journal(9)) == Heads(cache).seen()


def test_seen_at(heads: Heads) -> None:
    """A record that was here before is known by its place and target, the longest of several."""
    heads.remember(journal(3), "here")
    heads.remember(journal(5, record="f" * 32), "here")
    heads.remember(journal(6, record="e" * 32), "there")
    heads.remember(journal(7, OTHER, record="d" * 32), "here")
    expected = ("f" * 32, None)
    found = heads.seen_at("here", TARGET)
    assert found is not None
    assert expected == (found.record, heads.seen_at("nowhere", TARGET))


def test_seen_at_a_path(heads: Heads, cache: Path, tmp_path: Path) -> None:
    """A path is known by each name it had: as it was written, and where it led; and nothing else by that."""
    (tmp_path / "link").symlink_to("real")
    heads.remember(journal(3), f"{tmp_path}/link")
    (tmp_path / "link").unlink()
    names = [f"{tmp_path}/{name}" for name in ("link", "real", "cache/../real", "other")]
    assert [True, True, True, False] == [heads.seen_at(name, TARGET) is not None for name in names]
    assert heads.seen_at("", TARGET) is None
    assert heads.seen_at(names[0], OTHER) is None


@pytest.mark.parametrize("resolved", [None, 1, "there"])
def test_without_where_it_led(heads: Heads, cache: Path, resolved: object) -> None:
    """A file of an earlier version, which did not say where a path led, still says what was seen."""
    heads.remember(journal(3), "here")
    path = cache / "heads" / f"{RECORD}.json"
    fields = {**json.loads(path.read_bytes()), "resolved": resolved}
    if resolved is None:
        del fields["resolved"]
    path.write_text(json.dumps(fields))
    found = heads.seen_at("here", TARGET)
    assert found is not None
    assert (3, resolved if resolved == "there" else "") == (found.entries, found.resolved)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\xff\xfe",
        b"{}",
        b"[" * 100_000,
        b'{"record": 1}',
        json.dumps({"record": "f" * 32, "target": "a/b", "head": "c", "entries": 1, "location": "here"}).encode(),
    ],
)
def test_damaged_file(heads: Heads, cache: Path, damage: bytes) -> None:
    """A damaged file, or one of another record's name, counts as none, and is written anew."""
    heads.remember(journal(3), "here")
    heads.remember(journal(2, record="f" * 32), "here")
    (cache / "heads" / f"{RECORD}.json").write_bytes(damage)
    (cache / "heads" / "notes.txt").write_bytes(damage)
    assert seen_of(journal(2, record="f" * 32)) == heads.seen()
    heads.remember(journal(1), "here")
    assert seen_of(journal(1))[RECORD] == heads.seen()[RECORD]


def test_unreadable_file(heads: Heads, cache: Path) -> None:
    """What cannot be read counts as none."""
    (cache / "heads" / "directory.json").mkdir(parents=True)
    assert heads.seen() == {}


@pytest.mark.parametrize("record", ["../../etc/passwd", "", "C0FFEE00", "a" * 65, "c0ffee00\n"])
def test_record_id_that_is_no_name(heads: Heads, cache: Path, record: str) -> None:
    """An id from a journal names a file only if it is hexadecimal."""
    told = parse(journal_bytes([begun(record=record), imported("a2")]), TARGET, "state")
    with pytest.raises(RecordDamaged, match="id is not hexadecimal"):
        heads.remember(told, "here")
    assert not cache.exists()


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """Where nothing can be remembered the run goes on, with a warning that says what is not noticed then."""
    (tmp_path / "file").write_text("")
    heads = Heads(tmp_path / "file" / "cache")
    warning = heads.remember(journal(1), "here")
    assert warning is not None
    assert "cannot be remembered" in warning
    assert "rolled back" in warning
    assert warning == heads.warning


def test_cache_that_cannot_be_read(tmp_path: Path) -> None:
    """Not knowing what was seen is no reason to go on."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"remembered heads cannot be read: Not a directory.*--cache-dir"):
        Heads(tmp_path / "file" / "cache").seen()


@pytest.mark.parametrize("below", ["", "heads"])
def test_cache_of_anybody(heads: Heads, cache: Path, below: str) -> None:
    """Heads that somebody else may have written are neither read nor added to."""
    heads.remember(journal(2), "here")
    (cache / below).chmod(0o777)
    with pytest.raises(SettingsError, match="cannot be trusted"):
        heads.seen()
    with pytest.raises(SettingsError, match="cannot be trusted"):
        heads.remember(journal(3), "here")
