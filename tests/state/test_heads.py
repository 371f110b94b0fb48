"""Remembered heads: an older record is noticed, on this machine at least."""

from __future__ import annotations

import errno
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import asdict, replace
from support.journal_samples import OTHER, RECORD, TARGET, begun, entries, imported, journal, journal_bytes, rollback

from reconciler.errors import RecordDamaged, RecordRolledBack, SettingsError
from reconciler.state.heads.known_head import KnownHead, load_known_head
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.seen import Seen
from reconciler.state.journal.chain import parse
from reconciler.state.stores.files import FileStore
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reconciler.state.journal.chain import Journal

HERE, THERE, NOWHERE = (StoreLocation(location) for location in ("here", "there", "nowhere"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache directory, not made yet."""
    return tmp_path / "cache"


@pytest.fixture
def heads(cache: Path) -> Heads:
    """Heads in it."""
    return Heads(cache)


def head_of(told: Journal, location: str = "here") -> KnownHead:
    """What remembering a journal should leave in a file."""
    record = told.record()
    return KnownHead(record.id, record.target, told.head, len(told.lines), location, base_url=record.base_url)


def seen_of(*told: Journal, location: str = "here") -> Seen:
    """What remembering journals should leave."""
    return Seen.of(head_of(journal, location) for journal in told)


def accepting(count: int, lost: Journal) -> Journal:
    """A journal of `count` lines and one that accepts the loss of those of another."""
    told = [*entries(count), rollback(lost.head, len(lost.lines))]
    return parse(journal_bytes(told), TARGET, "state")


def test_nothing_remembered(heads: Heads, cache: Path) -> None:
    """Where nothing was remembered nothing is known, and reading leaves nothing behind."""
    assert heads.seen() == Seen.of(())
    assert not cache.exists()


def test_only_of_its_own_target_afresh(heads: Heads, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of other targets is read once; of the target itself, and of new records, every time."""
    Heads(cache).remember(journal(1), HERE)
    other = replace(head_of(journal(1)), record="01" * 8, target=OTHER)
    (cache / "heads" / f"{other.record}.json").write_text(json.dumps(asdict(other)))
    read: list[str] = []

    def load(path: Path) -> KnownHead | None:
        read.append(path.stem)
        return load_known_head(path)

    monkeypatch.setattr("reconciler.state.heads.listing.load_known_head", load)
    assert Seen.of([other, head_of(journal(1))]) == heads.seen(TARGET)
    Heads(cache).remember(journal(2), HERE)
    read.clear()
    assert Seen.of([other, head_of(journal(2))]) == heads.seen(TARGET)
    assert [RECORD] == read


def test_remembered(heads: Heads, cache: Path) -> None:
    """A head is remembered for later runs, in files of their owner's alone."""
    assert heads.remember(journal(3), HERE) is None
    assert seen_of(journal(3)) == Heads(cache).seen()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (cache, cache / "heads", cache / "heads" / f"{RECORD}.json")]
    assert modes == [0o700, 0o700, 0o600]


def test_nothing_written_anew(heads: Heads, cache: Path) -> None:
    """A head that is remembered already costs no write."""
    heads.remember(journal(3), HERE)
    path = cache / "heads" / f"{RECORD}.json"
    before = path.stat().st_ino
    heads.remember(journal(3), HERE)
    assert before == path.stat().st_ino


def test_records_side_by_side(heads: Heads) -> None:
    """Records do not touch each other."""
    one, other = journal(3), journal(2, OTHER, "f" * 32)
    heads.remember(one, HERE)
    heads.remember(other, HERE)
    assert seen_of(one, other) == heads.seen()


@pytest.mark.parametrize("count", [3, 4])
def test_same_or_longer_passes(count: int) -> None:
    """A record that holds the remembered head is the record."""
    Heads.check(journal(count), seen_of(journal(3)), NOWHERE)


def test_unknown_record_passes() -> None:
    """Of a record never seen before nothing can be said."""
    Heads.check(journal(1), seen_of(journal(3, record="f" * 32)), NOWHERE)


def test_shorter_record() -> None:
    """A record without its last lines is an error that says how many, and names the way out."""
    with pytest.raises(RecordRolledBack) as caught:
        Heads.check(journal(2), seen_of(journal(5)), NOWHERE)
    assert "the last 3 of 5 entries are missing" in caught.value.what
    assert caught.value.where == "here"
    assert "backup may have been restored" in str(caught.value.remedy)
    assert "state accept-rollback -t europe/staging" in str(caught.value.remedy)


@pytest.mark.parametrize("count", [3, 5])
def test_other_history(count: int) -> None:
    """A record with other entries in place of the remembered one is an error, however long it is."""
    with pytest.raises(RecordRolledBack, match="entry 3 differs from the one last seen on this machine"):
        Heads.check(journal(count, mark="b"), seen_of(journal(3)), NOWHERE)


def test_accepted_loss(heads: Heads) -> None:
    """A record that says its loss was accepted passes, and is remembered in its place."""
    lost = journal(5)
    heads.remember(lost, HERE)
    accepted = accepting(2, lost)
    Heads.check(accepted, heads.seen(), NOWHERE)
    heads.remember(accepted, HERE)
    assert seen_of(accepted) == heads.seen()


def test_another_loss_is_not_accepted() -> None:
    """Accepting one loss accepts no other."""
    with pytest.raises(RecordRolledBack):
        Heads.check(accepting(2, journal(5)), seen_of(journal(6)), NOWHERE)


@pytest.mark.parametrize("late", [journal(2), journal(5, mark="b")])
def test_never_backwards(heads: Heads, late: Journal) -> None:
    """What was remembered is not forgotten for a record that lacks it."""
    heads.remember(journal(4), HERE)
    assert heads.remember(late, HERE) is None
    assert seen_of(journal(4)) == heads.seen()


def test_accept(heads: Heads) -> None:
    """Accepting a journal remembers it whatever was remembered before."""
    heads.remember(journal(4), HERE)
    assert heads.accept(journal(2), HERE) is None
    assert seen_of(journal(2)) == heads.seen()


def test_remembering_at_once(cache: Path) -> None:
    """Of many that remember at once the longest stays."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda count: Heads(cache).remember(journal(count), HERE), [5, 9, 2, 7, 3, 8, 1]))
    assert seen_of(journal(9)) == Heads(cache).seen()


def test_seen_at(heads: Heads) -> None:
    """A record that was here before is known by its place and target, the longest of several."""
    heads.remember(journal(3), HERE)
    heads.remember(journal(5, record="f" * 32), HERE)
    heads.remember(journal(6, record="e" * 32), THERE)
    heads.remember(journal(7, OTHER, record="d" * 32), HERE)
    assert ["f" * 32, RECORD] == [known.record for known in heads.seen().at(TARGET, HERE)]
    assert [] == heads.seen().at(TARGET, NOWHERE)


def test_seen_at_a_path(heads: Heads, cache: Path, tmp_path: Path) -> None:
    """A path is known by each name it had: as it was written, and where it led; and nothing else by that."""
    (tmp_path / "link").symlink_to("real")
    heads.remember(journal(3), FileStore(tmp_path / "link").place)
    (tmp_path / "link").unlink()
    places = [FileStore(tmp_path / name).place for name in ("link", "real", "cache/../real", "other")]
    assert [1, 1, 1, 0] == [len(heads.seen().at(TARGET, place)) for place in places]
    assert [] == heads.seen().at(TARGET, StoreLocation(""))
    assert [] == heads.seen().at(OTHER, places[0])


@pytest.mark.parametrize("resolved", [None, 1, "there"])
def test_without_where_it_led(heads: Heads, cache: Path, resolved: object) -> None:
    """A file of an earlier version, which did not say where a path led, still says what was seen."""
    heads.remember(journal(3), HERE)
    path = cache / "heads" / f"{RECORD}.json"
    fields = {**json.loads(path.read_bytes()), "resolved": resolved}
    if resolved is None:
        del fields["resolved"]
    path.write_text(json.dumps(fields))
    (found,) = heads.seen().at(TARGET, HERE)
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
    """A damaged file, or one of another record's name, is never taken for none: an older record would pass."""
    heads.remember(journal(3), HERE)
    heads.remember(journal(2, record="f" * 32), HERE)
    path = cache / "heads" / f"{RECORD}.json"
    path.write_bytes(damage)
    (cache / "heads" / "notes.txt").write_bytes(damage)
    with pytest.raises(SettingsError, match=f"cannot read the last known head of state record {RECORD}") as told:
        heads.seen()
    assert (str(path), True) == (told.value.where, f"rm -r {path}" in str(told.value.remedy))
    with pytest.raises(
        SettingsError,
        match=f"cannot read the last known head of state record {RECORD}: it is empty or contains something else",
    ):
        heads.remember(journal(1), HERE)
    path.unlink()
    heads.remember(journal(1), HERE)
    assert head_of(journal(1)) == heads.seen().records[RECORD]


def put_a_directory(path: Path) -> None:
    """A directory of that name."""
    path.mkdir()


def put_a_pipe(path: Path) -> None:
    """A pipe that nobody writes to."""
    os.mkfifo(path)


def put_a_link(path: Path) -> None:
    """One that leads to what is a remembered head."""
    told = path.with_name("elsewhere")
    told.write_text(json.dumps(asdict(head_of(journal(3)))))
    path.symlink_to(told)


@pytest.mark.parametrize(
    ("put", "trouble"),
    [
        (put_a_directory, "not a regular file"),
        (put_a_pipe, "not a regular file"),
        (put_a_link, "it is a symbolic link"),
    ],
)
def test_no_file(heads: Heads, cache: Path, put: Callable[[Path], None], trouble: str) -> None:
    """What is no regular file in the place of one is an error, and keeps nobody waiting."""
    (cache / "heads").mkdir(parents=True, mode=0o700)
    cache.chmod(0o700)
    put(cache / "heads" / f"{RECORD}.json")
    with pytest.raises(SettingsError, match=f"cannot read the last known head of state record {RECORD}: {trouble}"):
        heads.seen()


def test_file_that_may_not_be_read(heads: Heads, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one whose mode forbids to read it."""
    heads.remember(journal(3), HERE)

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(
        SettingsError, match=f"cannot read the last known head of state record {RECORD}: Permission denied"
    ):
        heads.seen()


def test_another_record_in_its_place() -> None:
    """A record that knows nothing of the one that was there before is an error, until that loss is accepted."""
    before = seen_of(journal(5, record="f" * 32))
    with pytest.raises(
        RecordRolledBack, match=f"was replaced: expected record {'f' * 32} .5 entries., found record {RECORD} .3 "
    ):
        Heads.check(journal(3), before, HERE)
    Heads.check(accepting(2, journal(5, record="f" * 32)), before, HERE)


def test_another_record_in_another_place() -> None:
    """What was seen in another store, of another target, or of another service, is in nobody's way."""
    seen = head_of(journal(5, record="f" * 32))
    for other in (
        replace(seen, location="there"),
        replace(seen, target=OTHER),
        replace(seen, base_url="https://sandbox.example"),
    ):
        Heads.check(journal(3), Seen.of([other]), HERE)
    unknown = replace(seen, base_url="")  # an earlier version did not note it
    with pytest.raises(RecordRolledBack, match="was replaced: expected record"):
        Heads.check(journal(3), Seen.of([unknown]), HERE)


def test_each_place_is_remembered(heads: Heads) -> None:
    """A record that was seen in two clones of a repository is missed in either."""
    heads.remember(journal(3), HERE)
    heads.remember(journal(4), THERE)
    heads.remember(journal(5), HERE)
    found = [heads.seen().at(TARGET, place) for place in (HERE, THERE)]
    assert [[5], [5]] == [[known.entries for known in there] for there in found]
    assert ("here", ("there",)) == (heads.seen().records[RECORD].location, heads.seen().records[RECORD].places)


@pytest.mark.parametrize("record", ["../../etc/passwd", "", "C0FFEE00", "a" * 65, "c0ffee00\n"])
def test_record_id_that_is_no_name(heads: Heads, cache: Path, record: str) -> None:
    """An id from a journal names a file only if it is hexadecimal."""
    told = parse(journal_bytes([begun(record=record), imported("a2")]), TARGET, "state")
    with pytest.raises(RecordDamaged, match="id is not hexadecimal"):
        heads.remember(told, HERE)
    assert not cache.exists()


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """Where nothing can be remembered the run goes on, with a warning that says what is not noticed then."""
    (tmp_path / "file").write_text("")
    heads = Heads(tmp_path / "file" / "cache")
    warning = heads.remember(journal(1), HERE)
    assert warning is not None
    assert "cannot save the last known head" in warning
    assert "a later rollback would not be detected" in warning
    assert warning == heads.warning


def test_cache_that_cannot_be_read(tmp_path: Path) -> None:
    """Not knowing what was seen is no reason to go on."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"cannot read the last known heads: Not a directory.*--cache-dir"):
        Heads(tmp_path / "file" / "cache").seen()


@pytest.mark.parametrize("below", ["", "heads"])
def test_cache_of_anybody(heads: Heads, cache: Path, below: str) -> None:
    """Heads that somebody else may have written are neither read nor added to."""
    heads.remember(journal(2), HERE)
    (cache / below).chmod(0o777)
    with pytest.raises(SettingsError, match="unsafe directory"):
        heads.seen()
    with pytest.raises(SettingsError, match="unsafe directory"):
        heads.remember(journal(3), HERE)
