"""The power fails after any operation on a file, and the disk keeps any part of what was not synced.

Every prefix of the operations of real commands is replayed onto a model of a disk (`disk_model`); what may be left of
it is put back, and read by the program itself.
"""

from __future__ import annotations

import os
import random
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from support.disk_machine import DiskMachine, read_tree, settled, wanting
from support.disk_model import DiskModel, Fact, Syncing
from support.disk_recorder import Killed
from support.journal_samples import TARGET, begun, imported

from reconciler.errors import RecordMissing, RecordRolledBack
from reconciler.model.outcome import Outcome
from reconciler.state.heads.tracking import HeadTrackingStore
from reconciler.state.journal.chain import head_of, link
from reconciler.state.stores import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from support.disk_machine import Facts

FIRST = wanting("alpha", "bravo", "charlie")
SECOND = wanting("alpha", "bravo", "charlie", host="elsewhere")


_MEMORY = Path("/dev/shm")
"""Where there is one: thousands of disks are put back, and none of them is to last."""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskMachine]:
    """A machine on an empty disk."""
    with TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else tmp_path) as directory:
        yield DiskMachine.on(Path(directory) / "machine", monkeypatch)


def crash_everywhere(machine: DiskMachine, since: int = 0, states: int = 8) -> int:
    """Let the power fail after each operation from `since` on, and check what is left; how many disks that were.

    At most `states` of what an operation may leave are looked at. Two of three disks are as one that was looked at
    before, with the same to hold on it; they count, and are not looked at again.
    """
    disk, rng = DiskModel(), random.Random(since)
    facts: Facts = {}
    looked_at, known = 0, set()
    for number, operation in enumerate(machine.recorder.operations.copy(), 1):
        disk.happen(operation)
        if isinstance(operation, Fact):
            facts.setdefault(operation.kind, []).append(operation.about)
        for crash in disk.after_a_crash(rng, states) if number > since else ():
            looked_at += 1
            if (case := repr((crash, facts))) not in known:
                known.add(case)
                machine.put_back(crash.tree)
                machine.check(facts, SECOND, holed=crash.holed)
    return looked_at


def live(machine: DiskMachine) -> None:
    """A record is begun, and two configurations are applied, with an outcome that nobody knows."""
    machine.begin()
    machine.apply(FIRST, [Outcome.CREATED, Outcome.UNKNOWN])
    machine.apply(SECOND)


def live_until(machine: DiskMachine, number: int) -> int:
    """The same process is killed at the operation of that number; gives how many were recorded by then."""
    machine.recorder.kill_at(number)
    with suppress(Killed):
        live(machine)
    machine.recorder.before = lambda _name: None
    machine.begin_process()
    return len(machine.recorder.operations)


def crash_after_kills(machine: DiskMachine, patch: pytest.MonkeyPatch, numbers: Iterable[int]) -> int:
    """Kill a process at each of these operations; another goes on, and the power fails after any of its own."""
    looked_at = 0
    for number in numbers:
        machine.start_over()
        with machine.recorder.recording(patch):
            killed_at = live_until(machine, number)
            if machine.store.targets():
                machine.read()
                machine.apply(SECOND)
        looked_at += crash_everywhere(machine, killed_at, states=5)
    return looked_at


def tear(machine: DiskMachine, line: bytes) -> None:
    """Do to the journal what a process that is killed in the middle of an append has done."""
    journal = machine.root / "state" / f"{TARGET}.jsonl"
    descriptor = os.open(journal, os.O_WRONLY)
    os.pwrite(descriptor, line, journal.stat().st_size)
    os.close(descriptor)


def test_what_is_recorded_is_what_is_done(machine: DiskMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model, without a crash, holds the files that are really there: no operation goes unrecorded."""
    with machine.recorder.recording(monkeypatch):
        live(machine)
        machine.keep(TARGET, begun().record, [settled("lost")])
    disk = DiskModel()
    for operation in machine.recorder.operations:
        disk.happen(operation)
    assert read_tree(machine.root) == disk.as_seen()


def test_power_failures_during_an_apply(machine: DiskMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing acknowledged is lost, nothing sent is unknown to the record, nothing is created twice."""
    with machine.recorder.recording(monkeypatch):
        live(machine)
    assert crash_everywhere(machine) > 500


def test_power_failures_while_outcomes_are_kept(machine: DiskMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be appended, and was kept, is there, whole; whatever else is kept in the same second."""
    with machine.recorder.recording(monkeypatch):
        machine.keep(TARGET, begun().record, [settled("one"), settled("two")])
        machine.keep(TARGET, begun().record, [settled("three")])
    assert crash_everywhere(machine) > 50


def test_power_failures_over_a_torn_line(machine: DiskMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append that cuts off what another one left of a line may be torn itself."""
    with machine.recorder.recording(monkeypatch):
        machine.begin()
        tear(machine, link(machine.read().head, 1, [imported("torn" * 100)])[0][:-9])
        machine.append(imported("shorter"))
        machine.append(imported("last"))
    assert crash_everywhere(machine) > 50


def test_power_failures_after_a_process_was_killed(machine: DiskMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed process had written and not synced is on the disk before another process goes by it."""
    assert crash_after_kills(machine, monkeypatch, [*range(0, 12, 2), *range(12, 120, 18)]) > 1_000


@pytest.mark.soak
def test_power_failures_after_any_kill(machine: DiskMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for every operation at which the first process can be killed."""
    assert crash_after_kills(machine, monkeypatch, range(150)) > 5_000


# Programs that are careless on purpose: a model of a disk that finds nothing wrong with them would be useless


def files_are_not_synced(machine: DiskMachine, directories: set[int]) -> None:
    """What was written is taken to be on the disk at once."""
    machine.recorder.operations = [
        one for one in machine.recorder.operations if not isinstance(one, Syncing) or one.node in directories
    ]


def directories_are_not_synced(machine: DiskMachine, directories: set[int]) -> None:
    """A new name is taken to be on the disk at once."""
    machine.recorder.operations = [
        one for one in machine.recorder.operations if not isinstance(one, Syncing) or one.node not in directories
    ]


@pytest.mark.parametrize("careless", [files_are_not_synced, directories_are_not_synced])
def test_what_is_not_synced_is_found(
    machine: DiskMachine, careless: Callable[[DiskMachine, set[int]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that does not wait for the disk loses what it has acknowledged."""
    with machine.recorder.recording(monkeypatch):
        live(machine)
    careless(machine, machine.recorder.directories)
    with pytest.raises((AssertionError, RecordMissing)):
        crash_everywhere(machine)


def test_a_head_remembered_before_its_append_is_found(machine: DiskMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A head that is remembered before its append is durable makes a whole record look rolled back."""
    append = HeadTrackingStore.append

    def remember_first(self: Any, target: Any, head: Any, seq: int, lines: bytes, note: str) -> None:
        journal, place, appended = self._followed[target]
        self._heads.remember(journal, place, [*appended, head_of(lines.splitlines()[-1])])
        append(self, target, head, seq, lines, note)

    monkeypatch.setattr(HeadTrackingStore, "append", remember_first)
    with machine.recorder.recording(monkeypatch):
        live(machine)
    with pytest.raises(RecordRolledBack):
        crash_everywhere(machine)


@pytest.mark.parametrize(("skipped", "numbers"), [("settle", range(24, 60)), ("settle_name", range(6, 60))])
def test_what_a_killed_process_left_unsynced_is_found(
    machine: DiskMachine, skipped: str, numbers: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that takes what it sees for durable remembers what is not, or adds to what vanishes."""
    monkeypatch.setattr(files, skipped, lambda _what: None)
    with pytest.raises((AssertionError, RecordMissing, RecordRolledBack)):
        crash_after_kills(machine, monkeypatch, numbers)
