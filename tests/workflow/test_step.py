"""The step of the action, run as the action runs it, where its streams and files fail."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.terminal import at_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.partner import Partner

STEP = Path(__file__).parents[2] / ".github/actions/reconcile/step.py"


def test_a_step_loads_what_it_uses() -> None:
    """A plan in a job takes no HTTP client to load, nor what writes to a terminal."""
    script = f"import sys; sys.path.insert(0, {str(STEP.parent)!r}); import step; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"httpx", "rich", "pydantic", "cryptography", "jinja2"}.isdisjoint(done.stdout.split())


@contextmanager
def stuck() -> Iterator[int]:
    """A pipe that is full, and that nobody reads."""
    reading, writing = os.pipe()
    try:
        os.write(writing, b"x" * fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096))
        yield writing
    finally:
        os.close(reading)
        os.close(writing)


def step(partner: Partner, stderr: int, **environment: str) -> int:
    """The exit code of an apply in a step."""
    temporary = partner.path / "temporary"
    temporary.mkdir()
    given = {"INPUT_COMMAND": "apply", "RUNNER_TEMP": str(temporary)}
    given |= {"INPUT_AUTO_APPROVE": str(not environment.get("INPUT_EXPECT_DIGEST")).lower(), **environment}
    return subprocess.run(
        [sys.executable, STEP],
        cwd=partner.path, env={**partner.variables(), **given}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=stderr, timeout=60, check=False,
    ).returncode  # fmt: skip


def test_a_log_that_nobody_reads(partner: Partner) -> None:
    """A thread that is stuck in the log does not keep the step from ending, with the code of what was done."""
    partner.begin(offers=["ONB10011"])
    outputs = partner.write("outputs", "")
    with stuck() as stderr:
        assert 0 == step(partner, stderr, GITHUB_OUTPUT=str(outputs))
    assert "exit-code=0\n" in outputs.read_text()
    assert ["begun", "bound", "intent", "outcome"] == partner.kinds


@pytest.mark.parametrize("left", [0, 100, 1 << 20])
def test_a_summary_that_is_nearly_full(partner: Partner, left: int) -> None:
    """What does not fit is left out by sections: a summary of more than a mebibyte is not shown at all."""
    partner.begin(offers=["ONB10011"])
    summary = partner.write("summary", "#" * ((1 << 20) - left))
    with Path(os.devnull).open("wb") as stderr:
        assert 0 == step(partner, stderr.fileno(), GITHUB_STEP_SUMMARY=str(summary))
    written = summary.read_text().lstrip("#")
    assert summary.stat().st_size <= 1 << 20
    assert (left == 1 << 20) == ("</code> | created" in written)


@pytest.mark.parametrize("approved", [True, False], ids=["with a digest", "without"])
def test_max_creates(partner: Partner, approved: bool) -> None:
    """It limits a plan that was approved by its digest, too."""
    partner.begin(offers=["ONB10011"])
    given = {"INPUT_MAX_CREATES": "0", "INPUT_EXPECT_DIGEST": partner.plan()["digest"] if approved else ""}
    log = partner.path / "log"
    with log.open("wb") as file, partner.appending():
        assert 1 == step(partner, file.fileno(), **given)
    assert "the plan has 1 create call (1 new); --max-creates allows 0" in log.read_text()
    assert partner.service.untouched


def test_digest_of_another_plan(partner: Partner) -> None:
    """What was approved is applied, and nothing else."""
    partner.begin(offers=["ONB10011"])
    digest = partner.plan()["digest"]
    partner.want(offers=["ONB10011", "ONB10012"])
    log = partner.path / "log"
    with log.open("wb") as file, partner.appending():
        assert 1 == step(partner, file.fileno(), INPUT_EXPECT_DIGEST=digest)
    assert f"--expect-digest {digest}" in log.read_text()
    assert partner.service.untouched


@pytest.mark.parametrize("variable", ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"])
def test_a_file_of_the_runner_that_is_full(partner: Partner, variable: str) -> None:
    """What was created is not called a failure for it."""
    partner.begin(offers=["ONB10011"])
    log = partner.path / "log"
    with log.open("wb") as file:
        assert 0 == step(partner, file.fileno(), **{variable: "/dev/full"})
    assert f"Warning: {variable} cannot be written: No space left on device\n" in log.read_text()
    assert ["begun", "bound", "intent", "outcome"] == partner.kinds


def test_a_step_asks_nothing(partner: Partner) -> None:
    """A command of a later step is refused where a person would be asked, also on a runner that has a terminal."""
    partner.begin(offers=["ONB10011"])
    with partner.appending():
        done = at_terminal(partner, str(STEP.with_name("program.py")), "apply", program=sys.executable)
    assert (1, False) == (done.code, "Type 'yes'" in done.out), done
    assert "--auto-approve" in done.out
    assert partner.service.untouched
