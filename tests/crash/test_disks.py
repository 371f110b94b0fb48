"""Streams that break, disks that are full, and directories that cannot be written: one clear error, nothing lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.command_line import Ran
from support.machines import EXECUTABLE, Machine, Partner, Places, limited, names


def _shell(machine: Machine, line: str) -> Ran:
    """Run a line of bash, in which `$r` is the executable."""
    process = subprocess.Popen(
        ["bash", "-c", line], cwd=machine.path, env={**machine.variables(), "r": str(EXECUTABLE)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    return machine.finish(process)


def _errors(finished: Ran) -> int:
    return finished.err.count("Error: ")


@pytest.mark.parametrize(
    ("streams", "code"),
    [("| true; exit ${PIPESTATUS[0]}", 0), (">&-", 0), (">&- 2>&- <&-", 0), (">/dev/full", 0), ("2>/dev/full", 0)],
)
def test_an_apply_whose_output_cannot_be_written_still_does_its_work(partner: Partner, streams: str, code: int) -> None:
    """What is shown after the work is done cannot fail it; shown before, nothing is sent, and exit 1 says so."""
    machine = partner.first(2)
    done = _shell(machine, f"$r apply --auto-approve --format json {streams}")
    assert done.code == code, done
    assert "Traceback" not in done.err
    partner.assert_done(machine)


@pytest.mark.parametrize("words", ["plan", "status", "state show", "plan --format json", "state history"])
def test_a_reader_that_has_left_is_no_error_and_a_full_disk_is(partner: Partner, words: str) -> None:
    """A broken pipe ends quietly with the command's code; /dev/full is one error and 1."""
    machine = partner.first(2)
    piped = _shell(machine, f"$r {words} | true; exit ${{PIPESTATUS[0]}}")
    assert (piped.code, piped.err) == (0, ""), piped
    full = _shell(machine, f"$r {words} >/dev/full")
    assert (full.code, _errors(full)) == (1, 1), full


def test_a_plan_file_that_does_not_fit_is_one_error(partner: Partner) -> None:
    """`plan --out` to a full disk leaves no file."""
    machine = partner.first(2)
    done = machine.run("plan", "--out", "plan.json", prefix=limited("fsize", 500))
    assert (done.code, _errors(done)) == (1, 1), done
    assert not (machine.path / "plan.json").exists()


@pytest.mark.parametrize("room", [0, 200, 1200, 4000])
def test_a_disk_that_is_full_loses_no_outcome(tmp_path: Path, places: Places, room: int) -> None:
    """However much more fits into the record: exit 1 or 3, and whatever was sent can be settled."""
    with Partner(tmp_path / "p", places.make("git" if room == 0 else "file")) as partner:
        machine = partner.first(4)
        record = machine.path / "state.jsonl"
        size = record.stat().st_size if record.exists() else 0
        done = machine.apply("--parallelism", "1", prefix=limited("fsize", size + room))
        assert done.code in (1, 3), done
        for file in (machine.data / "unrecorded").glob("*.jsonl"):
            machine.succeed("state", "recover", str(file))
        machine.recover()


def test_a_disk_that_is_full_when_a_response_is_kept_sends_nothing(tmp_path: Path, places: Places) -> None:
    """Without recipients, room for a response is tried before the first intent."""
    with Partner(tmp_path / "p", places.make("file"), seals=False) as partner:
        machine = partner.first(1)
        done = machine.apply(prefix=limited("fsize", 100_000))
        assert (done.code, _errors(done), partner.creates) == (1, 1, 0), done
        machine.recover()


@pytest.mark.parametrize("seals", [True, False])
def test_a_data_directory_that_cannot_be_written_sends_nothing(partner: Partner, machine: Machine) -> None:
    """Neither a head can be noted there nor a response be kept: one error, 1, and nothing is sent."""
    folders = [machine.data, *(path for path in machine.data.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    done = machine.apply(prefix=limited("rights", 0))
    for folder in folders:
        folder.chmod(0o700)
    assert (done.code, partner.creates) == (1, 0), done
    assert str(machine.data) in done.err, done
    machine.recover()


def test_a_record_that_cannot_be_written_sends_nothing(partner: Partner, machine: Machine) -> None:
    """A file without the permission to write can be planned on; an apply and a statement are one error."""
    (machine.path / "state.jsonl").chmod(0o444)
    denied = limited("rights", 0)
    assert machine.run("plan", prefix=denied).code == 0
    for words in (("apply", "--auto-approve"), ("state", "accept-loss", "--yes")):
        done = machine.run(*words, prefix=denied)
        assert (done.code, partner.creates) == (1, 0), done
        assert "ermission denied" in done.out + done.err
    (machine.path / "state.jsonl").chmod(0o644)
    machine.recover()


def test_a_cache_directory_that_cannot_be_written_stops_nothing(machine: Machine) -> None:
    """The cache of tokens is an aid: without it an apply goes on."""
    (machine.home / "cache").write_text("not a directory")
    machine.recover()


def test_the_record_is_whole_after_any_write_that_was_cut_off(partner: Partner) -> None:
    """A torn last line is left out by readers, and cut off by the next append."""
    machine = partner.recovered()
    with (machine.path / "state.jsonl").open("ab") as file:
        file.write(b'{"torn')
    machine.declare(names(2))
    assert "torn" in machine.succeed("state", "verify").out
    machine.recover()
    assert os.fspath(Path("torn")) not in (machine.path / "state.jsonl").read_text()
