"""The clocks, and the boot that the steady clock belongs to."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from reconciler.service import clock
from reconciler.values import Instant


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the monotonic clock runs during sleep")
def test_the_steady_clock_runs_during_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that wakes finds its deadlines past."""
    monkeypatch.setattr(time, "clock_gettime", {time.CLOCK_BOOTTIME: 7.0, time.CLOCK_MONOTONIC: 5.0}.get)
    monkeypatch.setattr(time, "time", lambda: 9.0)
    assert (7.0, Instant(wall=9.0, steady=7.0)) == (clock.steady(), clock.now())


@pytest.mark.parametrize(("content", "boot"), [(b"4-2\n", "4-2"), (b"\xff", ""), (None, "")])
def test_the_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, boot: str) -> None:
    """Its id as the system tells it; a system that tells none, or nothing readable, has none."""
    file = tmp_path / "boot_id"
    file.mkdir() if content is None else file.write_bytes(content)
    monkeypatch.setattr(clock, "_BOOT_ID", file)
    assert boot == clock.boot_id.__wrapped__()
