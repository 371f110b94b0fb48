"""A record of 500 subscriptions on each kind of place: `pytest -m soak -n 0 -s tests/crash/test_five_hundred.py`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.machines import KINDS, Partner, names

COUNT, IN_FLIGHT = 500, 8
MEASURED = """
import json, os, sys, time
from reconciler.cli.main import run
from reconciler.record.journal import Journal

extend, sizes, begun = Journal.extend, [], time.perf_counter()

def counted(self, reading, head, seq, new, summary):
    sizes.append(len(new[0]))
    extend(self, reading, head, seq, new, summary)

Journal.extend = counted
code = run(sys.argv[2:])
cost = {"appends": len(sizes), "bytes": sum(sizes), "seconds": time.perf_counter() - begun, "cpu": sum(os.times()[:4])}
json.dump(cost, open(sys.argv[1], "w"))
sys.exit(code)
"""
"""Runs a command, and writes what it came to."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_of_five_hundred(partner: Partner, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All is there once; calls that are in flight together share appends."""
    machine = partner.first(0)
    machine.declare(names(COUNT))
    file, words = partner.root / "cost", ["apply", "--auto-approve", "--parallelism", str(IN_FLIGHT)]
    subprocess.run(
        [sys.executable, "-c", MEASURED, file, *words],
        cwd=machine.path, env=machine.variables(), check=True, capture_output=True,
    )  # fmt: skip
    cost = json.loads(file.read_text())
    with capsys.disabled():
        print(kind, cost)  # noqa: T201 - what it is for
    assert cost["appends"] < COUNT
    partner.assert_done(machine)
