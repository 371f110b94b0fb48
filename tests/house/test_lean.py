"""A command pays only for what it uses: the modules that it loads, and the functions that it enters."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.unmeasured import unmeasured

from reconciler.sandbox import Sandbox

HEAVY = {
    "asyncio", "cryptography", "deepdiff", "dotenv", "httpx", "importlib.metadata", "jinja2", "obstore", "psycopg",
    "pydantic", "pydantic_settings", "pyrage", "rich",
}  # fmt: skip
CONFIG = """\
targets:
  europe/staging:
    auth_url: http://127.0.0.1:9
    base_url: http://127.0.0.1:9
subscriptions:
  europe/staging:
    offers: {eventCodes: [ONB10011], webhookUrl: "http://127.0.0.1:9/offers"}
"""
RUN = """\
import json, sys
entered = set()
def profile(frame, event, _):
    code = frame.f_code
    if event == "call" and "/reconciler/" in code.co_filename and not code.co_name.startswith("<"):
        if code.co_flags & 3 == 3:  # a function's body, not a class's or a module's
            entered.add(f"{code.co_filename}:{code.co_qualname}")
import threading
from reconciler.cli.main import run
sys.argv[1:] = json.loads(sys.argv[1])
sys.setprofile(profile)
threading.setprofile(profile)
code = run()
sys.setprofile(None)
print(json.dumps({"code": code, "modules": sorted(sys.modules), "entered": len(entered)}), file=sys.stderr)
"""
"""Runs one command in a new process, and says what it loaded and how many functions of the package it entered."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A project with one subscription and a record that is complete."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "all.yaml").write_text(CONFIG)
    run(tmp_path, "state", "init", "--complete", "--yes")
    return tmp_path  # type: ignore[return-value]


def run(place: Path, *words: str, **variables: str) -> dict[str, object]:
    """Return what a command loaded, how many functions it entered, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(words)], cwd=place, env={**unmeasured(), **variables},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    said: dict[str, object] = json.loads(done.stderr.splitlines()[-1])
    return said


def test_help_loads_nothing_but_click(tmp_path: Path) -> None:
    """The help of the whole program loads no YAML, no record and no values."""
    said = run(tmp_path, "--help")

    modules = set(said["modules"])  # type: ignore[call-overload]
    assert not modules & (HEAVY | {"yaml", "msgspec", "reconciler.record", "reconciler.planning", "reconciler.desired"})


@pytest.mark.parametrize("words", [("plan",), ("validate",), ("status",), ("state", "show")])
def test_reading_commands_are_lean(place: Path, words: tuple[str, ...]) -> None:
    """What reads `config/` and the record loads no HTTP client, no pydantic and nothing for the screen."""
    said = run(place, *words)

    assert not set(said["modules"]) & HEAVY  # type: ignore[call-overload]


def test_a_plan_of_one_subscription_enters_few_functions(place: Path) -> None:
    """A plan is short enough to be read from end to end."""
    said = run(place, "plan")

    assert said["code"] == 0
    assert said["entered"] <= 200  # type: ignore[operator]


def test_an_apply_of_one_subscription_enters_few_functions(tmp_path: Path) -> None:
    """An apply, with a token and a create, takes about twice as many functions as a plan."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "all.yaml").write_text(CONFIG)
    with Sandbox() as sandbox:
        variables = {**dict(sandbox.variables()), "XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
        run(tmp_path, "state", "init", "--complete", "--yes", **variables)
        said = run(tmp_path, "apply", "--auto-approve", **variables)

    assert said["code"] == 0
    assert said["entered"] <= 450  # type: ignore[operator]
