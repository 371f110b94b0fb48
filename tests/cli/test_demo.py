"""`demo`: the whole loop, whose commands run here within the process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
from support.command_line import CommandLine

from reconciler.cli.main import run
from reconciler.sandbox import Sandbox

COMMANDS = [
    "state init --complete --yes -q", "plan", "apply --auto-approve -q", "sandbox trigger ONB10011",
    "state observe notifications.jsonl -q", "status", "plan",
]  # fmt: skip


def in_process(
    capsys: pytest.CaptureFixture[str], seen: list[tuple[list[str], Path, dict[str, str]]], fails: str = ""
) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return a function that runs a command here as subprocess.run would, and notes it; one ends with 1."""

    def ran(argv: list[str], *, cwd: Path, env: dict[str, str], stdin: int, stdout: int | None, **_: Any) -> Any:
        assert (argv[:3], stdin) == ([sys.executable, "-m", "reconciler"], subprocess.DEVNULL)
        words, said = argv[3:], capsys.readouterr().out
        seen.append((words, cwd, env))
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(cwd)
            patch.setattr(os, "environ", env)
            code = run(words)
        out = capsys.readouterr().out
        sys.stdout.write(said if stdout else said + out)
        return subprocess.CompletedProcess(argv, 1 if words[0] == fails else code, out.encode())

    return ran


def test_the_whole_loop(reconciler: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command is shown before its result, and runs on nothing of the user's; nothing is left."""
    seen: list[tuple[list[str], Path, dict[str, str]]] = []
    reconciler.environment.setenv("RECONCILER_TIMEOUT", "mine")
    reconciler.environment.setenv("CI", "true")
    reconciler.environment.setattr(subprocess, "run", in_process(capsys, seen))
    waits = create_autospec(Sandbox.wait_idle, side_effect=Sandbox.wait_idle)
    reconciler.environment.setattr(Sandbox, "wait_idle", waits)
    out = reconciler.fine("demo").out
    assert waits.call_count == 1  # until the notification has come
    assert [" ".join(words) for words, _, _ in seen] == COMMANDS
    assert [part.partition("\n")[0] for part in out.split("\n$ reconciler ")[1:]] == COMMANDS
    results = [part.split("\n")[1:] for part in out.split("\n$ reconciler ")[1:]]
    assert [len(results[index]) for index in (0, 2, 4)] == [2] * 3  # one line of what a quiet command says
    assert ["appended" in results[0][0], "Applied: 2" in results[2][0], "appended" in results[4][0]] == [True] * 3
    assert ("No changes. 2 subscriptions" in "".join(results[6]), "outside config/" in out) == (True, False)
    for _, place, environment in seen:
        assert not {"CI", "RECONCILER_TIMEOUT"} & environment.keys()
        assert {Path(environment[f"XDG_{name}_HOME"]).parent for name in ("CACHE", "DATA")} == {place}
        assert not place.exists()


@pytest.mark.parametrize("fails", ["state", "plan"])
def test_a_command_that_fails_ends_it(fails: str, reconciler: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named."""
    seen: list[tuple[list[str], Path, dict[str, str]]] = []
    reconciler.environment.setattr(subprocess, "run", in_process(capsys, seen, fails))
    ran = reconciler("--log-format", "json", "demo")
    assert (ran.code, len(seen), '"name":"demo-failed"' in ran.err) == (1, 1 + (fails == "plan"), True)
    assert f'"where":"reconciler {fails}"' in ran.err
